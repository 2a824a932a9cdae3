"""What the live turns of a thread state, including turns that are not analysed yet.

The graph of a thread waits until a turn is due and keeps what has settled. In a user's other threads, a turn counts at once
and only as long as the history shows it: so every turn is used in its current version. Most come from the marks of the
analysis, without reading a message; turns that were touched since, or not analysed yet, are read. Claims are stored under
the same keys, so nothing is read twice. A waiting caller gives an allowance; the newest turns are read first, and the rest
is left for the next call.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from backscroll.derive.extract.assertions import RECIPE, extract, rule_key, to_body
from backscroll.derive.summaries.tree import just_before
from backscroll.derive.window import window_of
from backscroll.engine.core.history import message_of
from backscroll.engine.core.lineage import View
from backscroll.engine.inputs.changes import touched_by
from backscroll.engine.knowledge.analysis import FOUND, progress_name
from backscroll.engine.knowledge.graph_cache import claims_of
from backscroll.engine.knowledge.graph_holder import EXTRACTED
from backscroll.engine.work.memory.log import rare_of
from backscroll.record.derived import Artefact, TurnMark
from backscroll.record.history import FORGOTTEN
from backscroll.record.order import at_end
from backscroll.record.ports import Reader, ThreadState
from backscroll.vocab.assertion import TurnClaims
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.values.moment import microseconds

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

_PAGE = 256


@dataclass(slots=True)
class ScopeAllowance:
    """How much a waiting caller may still read across all threads of a scope; None: everything."""

    messages: int | None = None
    turns: int | None = None  # maximum number of turns to be analysed
    fresh: list[Artefact] = field(default_factory=list[Artefact])  # new artefacts to be stored

    def messages_left(self) -> bool:
        """Return True while messages may be read."""
        return self.messages is None or self.messages > 0

    def take_turn(self) -> bool:
        """Return True if one more turn may be analysed."""
        if self.turns is None:
            return True
        self.turns -= 1
        return self.turns >= 0


@dataclass(frozen=True, slots=True)
class LiveTurn:
    """One turn of a history: the key of its claims, and its sources."""

    opening: Ref
    position: bytes
    key: bytes
    sources: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class ThreadTurns:
    """The turns of one thread that state something, up to its newest event."""

    head: int
    seen: int  # the event that the analysis had reached
    models: str  # how many turns models have read
    touched: int  # the last event that may have changed a message
    turns: tuple[LiveTurn, ...]  # in chronological order
    order: tuple[TurnClaims, ...]  # of the turns that state something
    times: dict[Ref, int]  # when they started, in microseconds
    unread: bool = False  # messages older than the allowance are left to the analysis
    unfound: bool = False  # turns whose claims are not found yet


def turns_of(
    engine: EngineScope,
    reader: Reader,
    state: ThreadState,
    known: ThreadTurns | None,
    reading: ScopeAllowance,
    *,
    modelled: bool = False,
) -> ThreadTurns:
    """Return what the turns of a thread state now, continuing from `known` if only its end changed.

    `modelled`: models may have read turns.
    """
    models = (reader.meta(f"{EXTRACTED}{state.id}") or "") if modelled else ""
    if known is not None and known.models != models:
        known = None  # a model has read turns that rules had read before
    if known is not None and known.head == state.head and not (known.unread or known.unfound):
        return known
    view = View(reader, state)
    touched = rare_of(engine, view).touched
    seen = reader.progress(state.id, progress_name(window_of(engine.settings)))
    finding = _TurnFinder(engine, view, reading, seen, models)
    patient = reading.messages is not None and known is not None and known.seen == seen
    if known is not None and known.touched == touched and not known.unfound and (patient or not known.unread):
        return known if known.head == state.head else finding.extend_turns(known)
    return finding.complete_turns(finding.all(), touched, known)


class _TurnFinder:
    """Find the live turns of one thread."""

    def __init__(
        self, engine: EngineScope, view: View, reading: ScopeAllowance, seen: int, models: str
    ) -> None:
        self._engine, self._view, self._reader = engine, view, view.reader
        self._reading, self._confirm_unseen, self._models = reading, seen, models
        self._texts: dict[Ref, list[Message]] = {}  # of the turns whose messages were read
        self._unread = False

    # -- finding turns ---------------------------------------------------------------------------------------

    def all(self) -> list[LiveTurn]:
        """Return every turn: from the marks of the analysis, except stretches that were touched or not analysed yet."""
        rule = window_of(self._engine.settings).rule
        rows = self._reader.turn_marks(self._view.state.id, rule) if self._confirm_unseen else []
        marks = [mark for mark in rows if not mark.gone]
        if not marks:
            return self.read(None, None)
        dirty = self._touched_places(rows)
        ends = [*(mark.position for mark in marks[1:]), None]
        bad = [
            not mark.key or end is None or _within(dirty, mark.position, end)
            for mark, end in zip(marks, ends, strict=True)
        ]
        # A turn without its first message belongs to the turn before.
        again = [bad[n] or bad[min(n + 1, len(bad) - 1)] for n in range(len(bad))]
        found: list[list[LiveTurn]] = []  # the newest first: a waiting caller's allowance runs out
        number, end = len(marks) - 1, None
        while number >= 0:
            mark = marks[number]
            if not again[number]:
                found.append([LiveTurn(mark.opening, mark.position, mark.key, mark.sources)])
                number, end = number - 1, mark.position
                continue
            while number > 0 and again[number - 1]:
                number -= 1
            low = marks[number].position if number else None
            found.append(self.read(low, end))
            number, end = number - 1, low
        return [turn for some in reversed(found) for turn in some]

    def _touched_places(self, marks: Sequence[TurnMark]) -> list[bytes]:
        """Return every current and former position of messages that were changed after they were added."""
        out: set[bytes] = set()
        for message in dict.fromkeys(touched_by(iter(self._view.others()))):
            out.add(at_end(message.seq))
            entry = self._view.entry(message)
            if entry is not None:
                out.add(entry.position)
            for event in self._reader.events_about(message):
                place = event.head.get("position")
                if isinstance(place, str):
                    out.add(bytes.fromhex(place))
        out.update(mark.position for mark in marks if mark.gone)
        return sorted(out)

    def read(self, low: bytes | None, high: bytes | None) -> list[LiveTurn]:
        """Return the turns between two positions, read from their messages: the newest, as many as the allowance permits."""
        rows: list[Message] = []
        before, after = high, just_before(low) or None if low else None
        whole = False
        while self._reading.messages_left() and not whole:
            page = self._view.page(_PAGE, after=after, before=before, newest_first=True)
            if self._reading.messages is not None:
                self._reading.messages -= len(page)
            rows += [
                message_of(entry, spoken)
                for entry, spoken in page
                if spoken.body is not None and not entry.flags & FORGOTTEN
            ]
            whole = len(page) < _PAGE
            before = page[-1][0].position if page else before
        self._unread = self._unread or not whole
        return self._cut(rows[::-1], low, whole=whole)

    def _cut(self, messages: Sequence[Message], low: bytes | None, *, whole: bool) -> list[LiveTurn]:
        turns: list[list[Message]] = []
        for message in messages:
            if message.role == "user" or not turns:
                turns.append([])
            turns[-1].append(message)
        out: list[LiveTurn] = []
        for turn in turns:
            opens = turn[0].role == "user" or bool(low)
            if not opens and not whole:
                continue  # its beginning was not read
            said = [m for m in turn if m.role != "system" and not m.hidden]
            opening = turn[0].id if opens else Ref(self._view.state.id, 0)
            if said:
                self._texts[opening] = said
                place = turn[0].position if opens else b""
                out.append(LiveTurn(opening, place, rule_key(said), tuple(m.revision for m in said)))
        return out

    # -- finding claims --------------------------------------------------------------------------------------

    def extend_turns(self, known: ThreadTurns) -> ThreadTurns:
        """Return the turns of a thread that only grew: the last one is read again, and what follows it."""
        last = known.turns[-1] if known.turns else None
        tail = self.read(None if last is None else last.position, None)
        spoke = last is not None and last.opening in known.times
        if tail[:1] == [last]:
            kept, order, tail = known.turns, known.order, tail[1:]
        else:
            kept, order = known.turns[:-1], known.order[:-1] if spoke else known.order
        said = self._claims(tail)
        heard = [one for turn in tail if (one := said.get(turn.opening)) is not None and one.claims]
        return ThreadTurns(
            self._view.state.head,
            self._confirm_unseen,
            self._models,
            known.touched,
            (*kept, *(turn for turn in tail if turn.opening in said)),
            (*order, *heard),
            {**known.times, **{one.opening: self._time(one.opening, one.claims[0].source) for one in heard}},
            known.unread or self._unread,
            any(turn.opening not in said for turn in tail),
        )

    def complete_turns(
        self, found: Sequence[LiveTurn], touched: int, known: ThreadTurns | None
    ) -> ThreadTurns:
        """Return the turns with their claims; known claims of unchanged turns are reused."""
        old = {} if known is None else {turn.opening: turn for turn in known.turns}
        heard = {} if known is None else {one.opening: one for one in known.order}
        news = [turn for turn in found if old.get(turn.opening) != turn]
        said = self._claims(news)
        fresh = {turn.opening for turn in news}
        order: list[TurnClaims] = []
        times: dict[Ref, int] = {}
        for turn in found:
            if turn.opening not in fresh:
                one = heard.get(turn.opening)
                if one is not None and known is not None:
                    order.append(one)
                    times[turn.opening] = known.times[turn.opening]
            elif (one := said.get(turn.opening)) is not None and one.claims:
                order.append(one)
                times[turn.opening] = self._time(turn.opening, turn.sources[0])
        return ThreadTurns(
            self._view.state.head,
            self._confirm_unseen,
            self._models,
            touched,
            tuple(turn for turn in found if turn.opening not in fresh or turn.opening in said),
            tuple(order),
            times,
            self._unread,
            any(turn.opening not in said for turn in news),
        )

    def _claims(self, turns: Sequence[LiveTurn]) -> dict[Ref, TurnClaims]:
        marks = [_mark(self._view.state.id, turn) for turn in turns]
        found = claims_of(self._reader, marks)
        for turn in reversed(turns):  # the newest first
            if turn.opening in found:
                continue
            messages = self._texts.get(turn.opening) or self._messages(turn)
            if not messages or not self._reading.take_turn():
                continue
            said = extract(messages)
            body = to_body(said, messages)
            home, now = self._view.state.id, self._engine.means.now()
            self._engine.memo.shelf(FOUND)[turn.key] = body
            self._reading.fresh.append(Artefact(turn.key, RECIPE.name, home, body, turn.sources, now))
            found[turn.opening] = TurnClaims(turn.opening, turn.position, said)
        return found

    def _messages(self, turn: LiveTurn) -> list[Message]:
        """Return the messages of a turn whose artefact was deleted because others shared it and were forgotten."""
        out: list[Message] = []
        spoken = self._reader.read_spoken(turn.sources)
        for source in turn.sources:
            event = self._reader.event(source)
            entry = None if event is None or event.message is None else self._view.entry(event.message)
            words = spoken.get(source)
            if entry is None or words is None or words.body is None:
                return []
            out.append(message_of(entry, words))
        return out if rule_key(out) == turn.key else []

    def _time(self, opening: Ref, first: Ref | None) -> int:
        """Return when a turn was written."""
        name = opening if opening.seq else first
        event = None if name is None else self._reader.event(name)
        return 0 if event is None else microseconds(str(event.head.get("said", event.at)))


def _mark(thread: str, turn: LiveTurn) -> TurnMark:
    """Return a turn as a mark, the form in which claims are looked up."""
    return TurnMark(thread, "", turn.opening, turn.position, key=turn.key, sources=turn.sources)


def _within(places: Sequence[bytes], low: bytes, high: bytes) -> bool:
    at = bisect_left(places, low)
    return at < len(places) and places[at] < high
