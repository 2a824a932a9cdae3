"""The states of turns as shown to users: waiting, due, processing, processed, outdated, settled, failed; and flushing them.

A view computed from the marks (with events since they were written), from what was analysed and when, and from models'
answers. Reading states analyses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from backscroll.deprecation import warn_renamed
from backscroll.derive.models.assertions import worth_reading
from backscroll.derive.window import Window, window_of
from backscroll.engine.core.signatures import doors
from backscroll.engine.knowledge.analysis import catch_up, plan_analysis
from backscroll.engine.knowledge.graph_cache import held_graph
from backscroll.engine.knowledge.model_turns import messages_of
from backscroll.engine.models.extraction import (
    ModelReading,
    ReadingFailure,
    extracting_for,
    failed_extractions,
    found_by_models,
    is_imported,
    reading_now,
)
from backscroll.record.derived import TurnMark
from backscroll.record.ports import Reader
from backscroll.vocab.assertion import TurnState, TurnStatus
from backscroll.vocab.event import Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.thread import Turn

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope


@dataclass(frozen=True, slots=True)
class _StoredTurns:
    """What the store holds about some turns."""

    marks: Mapping[Ref, TurnMark]
    done: Mapping[Ref, tuple[str, str]]  # version that was analysed, and when
    read: Mapping[bytes, ModelReading]
    failed: Mapping[bytes, ReadingFailure]
    busy: str | None  # the turn that a model is reading now
    left: frozenset[Ref]  # turns that no model will read automatically


@doors
class ThreadWindow:
    """The sliding window of one thread."""

    def __init__(self, thread: ThreadScope) -> None:
        self.thread = thread

    @property
    def window(self) -> Window:
        """The settings in force."""
        return window_of(self.thread.engine.settings)

    @property
    def target(self) -> int | None:
        """The turn that the newest one made due; None if there is none yet."""
        return self.window.target(self.thread.info.turns)

    @property
    def span(self) -> tuple[int, int]:
        """The first and last turn of the window: those whose changes still affect the graph."""
        return self.window.span(self.thread.info.turns)

    def eligible(self, turn: int) -> bool:
        """Return True if a change of this turn makes it due again."""
        newest = self.thread.info.turns
        edits = self.window.settled_edits == "reconcile"
        return 0 <= turn <= newest and (edits or self.window.holds(turn, newest))

    def flush(self) -> int:
        """The old name of `thread.graph.flush()`; deprecated."""
        warn_renamed("thread.window.flush()", "thread.graph.flush()")
        return flush_turns(self.thread)

    def states(
        self, first: int = 0, last: int | None = None, *, last_turns: int | None = None
    ) -> list[TurnStatus]:
        """Return the states of turns, in order; `last_turns` limits them to the newest so many."""
        newest = self.thread.info.turns
        if last_turns is not None:
            first = max(first, newest - last_turns + 1, 0)
        turns = list(self.thread.legible.turns(first, last))
        if not turns:
            return []
        engine = self.thread.engine
        openings = {t.sequence: self._opening(t) for t in turns}
        with_model = extracting_for(engine) is not None
        known = engine.store.read(
            lambda reader: self._read_states(reader, list(openings.values()), with_model)
        )
        told = [self._status(t, openings[t.sequence], known, newest, with_model) for t in turns]
        affected = self._find_affected(told)
        return [replace(s, affected=s.opening in affected) for s in told]

    def _opening(self, turn: Turn) -> Ref:
        return turn.messages[0].id if turn.sequence else Ref(self.thread.id, 0)

    def _read_states(self, reader: Reader, openings: list[Ref], with_model: bool) -> _StoredTurns:
        engine = self.thread.engine
        rule = self.window.rule
        wanted = set(openings)
        marks = {m.opening: m for m in reader.turn_marks(self.thread.id, rule) if m.opening in wanted}
        step = plan_analysis(engine, reader, self.thread.id, self.window)
        if step is not None:
            for opening in step.marks.changed:
                now = step.marks.get(opening)
                if now is None:
                    marks.pop(opening, None)
                elif opening in wanted:
                    marks[opening] = now
        keys = [m.key for m in marks.values() if m.key]
        read = found_by_models(reader, keys)
        unread = [m for m in marks.values() if with_model and m.key and m.key not in read]
        return _StoredTurns(
            marks,
            reader.turn_state(self.thread.id, openings),
            read,
            failed_extractions(reader, keys) if with_model else {},
            reading_now(reader, self.thread.id, engine.means.now()),
            frozenset(m.opening for m in unread if not _waits_for_a_model(reader, m)),
        )

    def _status(
        self, turn: Turn, opening: Ref, known: _StoredTurns, newest: int, with_model: bool
    ) -> TurnStatus:
        mark, done = known.marks.get(opening), known.done.get(opening)
        status = TurnStatus(
            turn.sequence,
            turn.id,
            opening,
            TurnState.WAITING,
            turn.version,
            in_window=self.window.holds(turn.sequence, newest) and turn.sequence < newest,
        )
        if mark is None or not mark.due:
            return status
        if done is None and mark.version:
            return replace(status, state=TurnState.DUE)
        at = None if done is None else done[1]
        if done is not None and done[0] != mark.version and mark.version:
            return replace(status, state=TurnState.OUTDATED, processed_at=at)
        settled = TurnState.SETTLED if mark.pinned else TurnState.PROCESSED
        status = replace(status, state=settled, processed_at=at, by="rules")
        if mark.key in known.read:
            read = known.read[mark.key]
            return replace(status, by=read.model, processed_at=read.at)
        if not with_model or not mark.key:
            return status
        if known.busy is not None and known.busy in {str(m.id) for m in turn.messages}:
            return replace(status, state=TurnState.PROCESSING)
        if mark.key in known.failed:
            failed = known.failed[mark.key]
            return replace(status, state=TurnState.FAILED, why=failed.why, tries=failed.tries)
        return status if opening in known.left else replace(status, state=TurnState.DUE)

    def _find_affected(self, told: list[TurnStatus]) -> set[Ref]:
        """Return turns that mention what an outdated earlier turn introduced, as far as the graph in memory knows."""
        outdated = [s.opening for s in told if s.state is TurnState.OUTDATED]
        held = held_graph(self.thread.engine, self.thread.id) if outdated else None
        if held is None:
            return set()
        return {opening for each in outdated for opening in held.graph.find_affected_turns(each)} - set(
            outdated
        )


def flush_turns(thread: ThreadScope) -> int:
    """Analyse every turn now, without the delay; return how many were waiting."""
    window = ThreadWindow(thread)
    newest = window.states(last_turns=window.window.delay + 2)
    waiting = sum(s.state is TurnState.WAITING for s in newest)
    if waiting:
        thread.stroke(lambda pen: pen.write(Kind.FLUSHED))
    catch_up(thread.engine, thread.id)
    return waiting


def _waits_for_a_model(reader: Reader, mark: TurnMark) -> bool:
    """Return False for imported turns, which wait for consent, and for turns that are too short."""
    if mark.sources and is_imported(reader, mark.sources[0]):
        return False
    return worth_reading(messages_of(reader, mark.sources))
