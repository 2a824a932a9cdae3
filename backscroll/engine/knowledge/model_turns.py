"""Have a model read the due turns of a thread: which ones, in what order, until when.

Owns the walk over the marks, from the newest back, and what to do if a turn changes while the model reads it: the reply is
stored under the key of its sources, and the turn is read again, up to `max_retries` times. Imported old turns are left to
rules until the user has seen the price and asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from backscroll.derive.extract.assertions import from_body
from backscroll.derive.models.assertions import worth_reading
from backscroll.derive.window import window_of
from backscroll.engine.core.history import message_of
from backscroll.engine.knowledge.analysis import catch_up
from backscroll.engine.knowledge.analysis_marks import number_in
from backscroll.engine.knowledge.graph_cache import moved_by_model
from backscroll.engine.knowledge.graph_holder import EXTRACTED
from backscroll.engine.knowledge.model_world import world_text
from backscroll.engine.models.extraction import (
    TurnExtraction,
    estimate_extraction,
    extract_turn,
    extracting_for,
    failed_extractions,
    found_by_models,
    is_imported,
    worth_trying,
)
from backscroll.engine.work.memory.model_preferences import note_preferences
from backscroll.record.derived import TurnMark
from backscroll.record.history import Entry
from backscroll.record.ports import Reader, Writer
from backscroll.vocab.assertion import Assertion
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message

if TYPE_CHECKING:
    from backscroll.engine.budget.costs import Estimate
    from backscroll.engine.core.thread_scope import EngineScope
    from backscroll.engine.models.recipes import RecipeRunner


@dataclass(frozen=True, slots=True)
class TurnJob:
    """A turn that a model has still to read."""

    mark: TurnMark
    messages: tuple[Message, ...]
    stand_in: tuple[Assertion, ...]


def pending(
    engine: EngineScope,
    thread: str,
    model: str,
    *,
    imported: bool = False,
    limit: int | None = None,
    newest: int | None = None,
) -> list[TurnJob]:
    """Return turns that are due and that no model has read, newest first; imported ones only if asked for.

    `newest`: look only at so many turns from the end.
    """

    def look(reader: Reader) -> tuple[list[TurnJob], int]:
        rule = window_of(engine.settings).rule
        found = reader.turn_marks(thread, rule, newest_first=True, limit=newest)
        marks = [m for m in found if m.due and m.key]
        keys = [m.key for m in marks]
        read, failed = found_by_models(reader, keys), failed_extractions(reader, keys)
        now = engine.means.now()
        out: list[TurnJob] = []
        for mark in marks:
            if mark.key in read or (mark.key in failed and not worth_trying(failed[mark.key], model, now)):
                continue
            if not imported and mark.sources and is_imported(reader, mark.sources[0]):
                continue
            due = _due(reader, mark)
            if not worth_reading(due.messages):
                continue  # too short to ask a model about, such as "ok"
            out.append(due)
            if limit is not None and len(out) >= limit:
                break
        return out, sum(key in read for key in keys)

    found, known = engine.store.read(look)
    if newest is None:
        _note(engine, thread, known)
    return found


def _due(reader: Reader, mark: TurnMark) -> TurnJob:
    messages = tuple(messages_of(reader, mark.sources))
    made = reader.read_artefacts([mark.key]).get(mark.key)
    return TurnJob(mark, messages, () if made is None else from_body(made.body, mark.sources))


def messages_of(reader: Reader, revisions: Sequence[Ref]) -> list[Message]:
    """Return messages as they are in these revisions, whether or not a history shows them now."""
    spoken = reader.read_spoken(revisions)
    out: list[Message] = []
    for revision in revisions:
        event = reader.event(revision)
        if event is None or event.message is None or spoken[revision].body is None:
            continue
        first = reader.event(event.message)
        assert first is not None
        entry = Entry(event.message, b"", first.head["role"], revision, since=event.seq)
        out.append(message_of(entry, spoken[revision]))
    return out


def read_pending(
    engine: EngineScope,
    thread: str,
    limit: int | None = None,
    stop: Callable[[], bool] = lambda: False,
    *,
    imported: bool = False,
    background: bool = False,
    newest: int | None = None,
) -> int:
    """Have the configured model read what is due; return how many turns it read. Does nothing without a model."""
    working = extracting_for(engine, background=background)
    if working is None:
        return 0
    done = 0
    with working:
        catch_up(engine, thread)
        waiting = pending(engine, thread, working.model, imported=imported, limit=limit, newest=newest)
        for due in waiting:
            if stop():
                break
            result = _one(working, thread, due)
            done += result.by in ("model", "journal")
            if result.passing and not result.busy:
                break  # the service is down: the others would fail as well
    return done


def _one(working: RecipeRunner, thread: str, due: TurnJob) -> TurnExtraction:
    """Have a model read one turn, again if it changes meanwhile."""
    engine = working.engine
    result = TurnExtraction(due.stand_in)
    for _ in range(engine.settings.sliding_window_max_retries + 1):
        if not due.messages:
            return result
        number = engine.thread(thread).reading(partial(number_in, opening=due.mark.opening))
        turn = number if number >= 0 else None
        world = world_text(engine, thread, due.messages)
        result = extract_turn(working, thread, due.messages, stand_in=due.stand_in, turn=turn, world=world)
        if result.by in ("model", "journal"):
            engine.store.write(lambda tx: _count(tx, thread))
            note_preferences(engine, thread, due.messages, result.reading)
            moved_by_model(engine, thread, due.mark, result.assertions, result.reading.implied)
        catch_up(engine, thread)
        now = _again(engine, thread, due.mark)
        if now is None or now.mark.key == due.mark.key:
            return result
        due = now
    return result


def _again(engine: EngineScope, thread: str, mark: TurnMark) -> TurnJob | None:
    """Return the same turn in its current version; None if it is gone."""

    def look(reader: Reader) -> TurnJob | None:
        marks = reader.turn_marks(thread, mark.rule)
        found = next((m for m in marks if m.opening == mark.opening and m.due and m.key), None)
        return None if found is None else _due(reader, found)

    return engine.store.read(look)


def _count(tx: Writer, thread: str) -> None:
    """Signal that cached graphs are outdated: of this thread, and of those that share its turns."""
    state = tx.thread(thread)
    for kin in tx.family(state.root) if state is not None else ():
        times, turns = _read_counts(tx, kin.id)
        tx.set_meta(f"{EXTRACTED}{kin.id}", f"{times + 1}.{turns + (kin.id == thread)}")


def _note(engine: EngineScope, thread: str, turns: int) -> None:
    """Signal the same if the number of read turns differs: shared turns were read or forgotten in another thread."""
    if engine.store.read(lambda reader: _read_counts(reader, thread))[1] == turns:
        return

    def work(tx: Writer) -> None:
        times, before = _read_counts(tx, thread)
        if before != turns:
            tx.set_meta(f"{EXTRACTED}{thread}", f"{times + 1}.{turns}")

    engine.store.write(work)


def _read_counts(reader: Reader, thread: str) -> tuple[int, int]:
    """Return the read counter of a thread, and the number of read turns at the last check."""
    times, _, turns = (reader.meta(f"{EXTRACTED}{thread}") or "").partition(".")
    return int(times or "0"), int(turns or "0")


def estimate(engine: EngineScope, thread: str) -> Estimate | None:
    """Return what having a model read every unread turn of a thread would cost; None if no model is configured."""
    working = extracting_for(engine)
    if working is None:
        return None
    with working:
        catch_up(engine, thread)
        found = pending(engine, thread, working.model, imported=True)
        return estimate_extraction(working, [(d.messages, d.stand_in, "") for d in found])
