"""Analyse turns once they are due: marks, rule-made assertions and turn states, updated together.

`catch_up` reads the events since its last run, folds them into the marks of the thread (`derive/window`), rereads the turns
they touched, and stores their assertions under a key over their sources. A step is written in one transaction with its
progress, so it can stop at any moment, several processes may try, and marks and assertions always equal a rebuild. Models
are asked elsewhere: `engine/models/extraction`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, cast

from backscroll.derive.extract.assertions import RECIPE, extract, rule_key, to_body
from backscroll.derive.summaries.tree import just_before
from backscroll.derive.window import TurnMarks, Window, window_of
from backscroll.engine.core.history import message_of
from backscroll.engine.core.lineage import View, log_of
from backscroll.engine.core.pacing import in_strides
from backscroll.engine.knowledge.analysis_marks import marks_around, newest_marks
from backscroll.engine.knowledge.graph_cache import moved_on
from backscroll.errors import NotFound
from backscroll.record.derived import Artefact, TurnMark
from backscroll.record.history import DELETED, FORGOTTEN, Entry
from backscroll.record.order import at_end
from backscroll.record.ports import Reader, ThreadState, Writer
from backscroll.record.turns import version
from backscroll.vocab.event import PLENTY, Event, Kind
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

#: The cache of what prompts found in turns too new to be analysed, by their keys.
FOUND, _FOUND = "found-claims", 64
_STEP = 1000  # events processed in one transaction
_PAGE = 256
_TRIES = 3
#: Events that add, remove or move messages.
_MOVING = frozenset(
    {Kind.INSERTED, Kind.DELETED, Kind.RESTORED, Kind.MOVED, Kind.UNDONE, Kind.REDONE, Kind.FORGOTTEN}
)


def progress_name(window: Window) -> str:
    """Return the name under which the store keeps the progress of the analysis with these settings."""
    return f"turns:{window.rule}:{RECIPE.version}"


def catch_up(engine: EngineScope, thread: str, limit: int | None = None) -> int:
    """Update marks and assertions of a thread, for at most `limit` events; return how many were processed."""
    return in_strides(lambda most: _step(engine, thread, most), _STEP, limit)


def rebuild(engine: EngineScope, thread: str) -> int:
    """Rebuild the marks of a thread from its log; return how many events that took."""
    window = window_of(engine.settings)

    def clear(tx: Writer) -> None:
        tx.drop_turn_marks(thread, window.rule)
        tx.set_progress(thread, progress_name(window), 0)

    engine.store.write(clear)
    return catch_up(engine, thread)


def _step(engine: EngineScope, thread: str, limit: int) -> int:
    window = window_of(engine.settings)
    for _ in range(_TRIES):
        # 1. Fold the events into the marks, read the turns they touched, extract their assertions by rules.
        work = engine.store.read(
            lambda reader: plan_analysis(engine, reader, thread, window, limit, analyse=True)
        )
        if work is None:
            return 0
        # 2. Write all of it together. 3. Update graphs in memory that were up to date before.
        if engine.store.write(work.write):
            changed = {opening: work.marks.get(opening) for opening in work.marks.changed}
            moved_on(engine, thread, window.rule, work.seen, work.upto, changed)
            return work.upto - work.seen
    return 0  # another process is faster; what it leaves is due the next time


def plan_analysis(
    engine: EngineScope,
    reader: Reader,
    thread: str,
    window: Window,
    limit: int | None = None,
    *,
    analyse: bool = False,
) -> AnalysisPass | None:
    """Return what there is to do (with `analyse`, analyse it); None if there is nothing. Writes nothing."""
    state = reader.thread(thread)
    if state is None:
        raise NotFound(f"thread {thread} not found", hint="run `backscroll threads` to list threads")
    seen = reader.progress(thread, progress_name(window))
    if seen >= state.head:
        return None
    upto = state.head if limit is None else _whole_stroke(reader, state, min(state.head, seen + limit))
    step = AnalysisPass(reader, state, window, seen, upto, engine.means.now())
    step.plan()
    if analyse:
        step.analyse(engine.memo.shelf(FOUND, _FOUND))
    return step


class AnalysisPass:
    """The work between two events of a log."""

    def __init__(
        self, reader: Reader, state: ThreadState, window: Window, seen: int, upto: int, now: str
    ) -> None:
        self.thread, self.window = state.id, window
        self.seen, self.upto = seen, upto
        self._reader, self._state, self._at = reader, state, now
        self._now = View(reader, state, upto)
        self._events = list(self._log())
        self._rare = [e for e in self._events if e.kind not in _NOTHING]
        self.marks = TurnMarks(window, self.thread, self._read_marks())
        self._touched: set[bytes] = set()  # positions at which something changed, as of every moment
        self._texts: dict[Ref, list[Message]] = {}  # messages of turns to analyse
        self._made: list[Artefact] = []
        self.analysed: list[TurnMark] = []
        self._later: list[tuple[int, frozenset[bytes]]] | None = None

    # -- events ----------------------------------------------------------------------------------------------

    def _log(self) -> Iterator[Event]:
        """Yield the events along the lineage, except those about messages that a fork does not share."""
        low = self.seen + 1
        while low <= self.upto:
            high = min(self.upto, low + _PAGE - 1)
            yield from log_of(self._now, low, high)
            low = high + 1

    def _read_marks(self) -> list[TurnMark]:
        """Return the marks that the fold needs: the newest ones, and those around changes further back."""
        if self.seen == 0:
            return []
        if all(e.kind in _PLAIN for e in self._rare) and (self.window.freezes or not self._rare):
            return newest_marks(self._reader, self.thread, self.window.rule, self.window.size + 2)
        messages = list(dict.fromkeys(m for e in self._rare for m in _about(e)))
        then = View(self._reader, self._state, self.seen)
        entries = [entry for m in messages for entry in (then.entry(m), self._now.entry(m))]
        places = {entry.position for entry in entries if entry is not None}
        places.update(place for m in messages for place in self._places(m))
        return marks_around(self._reader, self.thread, self.window, places, len(messages))

    def plan(self) -> None:
        """Fold the events into the marks, and read the turns whose analysis now rests on something else.

        The events of one stroke count as one: a state between two of them was never visible.
        """
        moved = flushed = False
        for event, following in zip(self._events, [*self._events[1:], None], strict=True):
            flushed |= event.kind is Kind.FLUSHED
            moved |= event.kind in _MOVING
            if event.kind is Kind.APPENDED:
                self._add_appended(event)
            elif event.kind not in _NOTHING:
                self._add_rare(event)
            if following is not None and _stroke(following) == _stroke(event):
                continue
            if moved:
                self._beginning(View(self._reader, self._state, event.seq))
            if moved or event.kind is Kind.APPENDED:
                self.marks.settle(event.seq)
            if flushed:
                self.marks.flush(event.seq)
            moved = flushed = False
        self._read()

    def _add_appended(self, event: Event) -> None:
        place = event.head.get("position")
        position = bytes.fromhex(place) if isinstance(place, str) else at_end(event.seq)
        limit = self._now.limit(event.thread)
        if limit is not None and position > limit:
            return
        if event.head.get("flags", 0) & DELETED:
            return
        if event.head.get("role") == "user":
            self.marks.add(event.id, position)
        elif not len(self.marks):
            self.marks.add(Ref(self.thread, 0), b"")
        self._touched.add(position)

    def _add_rare(self, event: Event) -> None:
        """Process a rare event: what it did to first messages of turns, and where it changed anything."""
        messages = list(dict.fromkeys(_about(event)))
        if not messages:
            return
        before = View(self._reader, self._state, event.seq - 1)
        after = View(self._reader, self._state, event.seq)
        for message in messages:
            was, is_ = before.entry(message), after.entry(message)
            for entry in (was, is_):
                if entry is not None:
                    self._touched.add(entry.position)
            opened, opens = was is not None and was.opens_turn, is_ is not None and is_.opens_turn
            if opens and (not opened or was is None or was.position != (is_.position if is_ else b"")):
                assert is_ is not None
                self.marks.add(message, is_.position)
            elif opened and not opens:
                self.marks.remove(message)
            if event.kind in _MOVING:
                self._touched.update(self._places(message))

    def _places(self, message: Ref) -> Iterator[bytes]:
        """Yield every position that a message ever had: settled turns know it by an old one."""
        yield at_end(message.seq)
        for event in self._reader.events_about(message):
            place = event.head.get("position")
            if isinstance(place, str):
                yield bytes.fromhex(place)

    def _beginning(self, view: View) -> None:
        """Determine whether anything precedes the first user message."""
        first = _first(view)
        there = first is not None and first.role != "user"
        opening = Ref(self.thread, 0)
        mark = self.marks.get(opening)
        if there and (mark is None or mark.gone):
            self.marks.add(opening, b"")
        elif not there and mark is not None:
            self.marks.remove(opening)

    # -- sources ---------------------------------------------------------------------------------------------

    def _read(self) -> None:
        """Read the turns that are due and were touched, added or removed, and record what their analysis rests on."""
        openings = dict.fromkeys(self.marks.changed)
        for position in self._touched:
            for mark in (*self.marks.around(position), *self.marks.pinned_over(position)):
                openings[mark.opening] = None
        for opening in sorted(openings):
            mark = self.marks.get(opening)
            if mark is None or not mark.due:
                continue
            messages = self._content(mark)
            if not messages:
                self.marks.content(opening, "", b"", ())
                continue
            key, sources = rule_key(messages), tuple(m.revision for m in messages)
            before = (mark.key, mark.sources)
            self.marks.content(opening, version(messages), key, sources)
            if before != (key, sources):
                self._texts[opening] = messages

    def _content(self, mark: TurnMark) -> list[Message]:
        """Return the messages from which a turn's assertions are made: its own, or those it had when it settled."""
        return [m for m in self._standing(mark) if m.role != "system" and not m.hidden]

    def _standing(self, mark: TurnMark) -> list[Message]:
        live = [] if mark.gone else self._live(mark)
        if not mark.pinned or (not self.window.freezes and self.window.settled_deletes == "retract"):
            return live
        if self._is_untouched(mark) and live:
            return live  # it has not changed since
        then = self._then(mark)
        if self.window.freezes:
            return then if self.window.settled_deletes == "ignore" else [m for m in then if self._alive(m.id)]
        lost = [m for m in then if not self._alive(m.id)]
        return sorted([*live, *lost], key=lambda m: m.position)

    def _is_untouched(self, mark: TurnMark) -> bool:
        """Return True if a turn that settled in this step is unchanged since."""
        if mark.pinned <= self.seen or mark.gone or self.marks.after(mark.opening) != mark.ends:
            return False
        if self._later is None:
            self._later = [
                (e.seq, frozenset(p for m in _about(e) for p in self._places(m))) for e in self._rare
            ]
        return not any(
            seq > mark.pinned and mark.position <= place < mark.ends
            for seq, places in self._later
            for place in places
        )

    def _live(self, mark: TurnMark) -> list[Message]:
        return self._turn(self._now, mark.position, self.marks.after(mark.opening))

    def _then(self, mark: TurnMark) -> list[Message]:
        view = View(self._reader, self._state, mark.pinned)
        return self._turn(view, mark.position, mark.ends)

    def _turn(self, view: View, low: bytes, high: bytes | None) -> list[Message]:
        out: list[Message] = []
        after = just_before(low) or None
        while True:
            rows = view.page(_PAGE, after=after, before=high)
            out += [
                message_of(*row)
                for row in rows
                if row[0].position >= low and row[1].body is not None and not row[0].flags & FORGOTTEN
            ]
            if len(rows) < _PAGE:
                return out
            after = rows[-1][0].position

    def _alive(self, message: Ref) -> bool:
        entry = self._now.entry(message)
        return entry is not None and entry.live

    # -- analysing -------------------------------------------------------------------------------------------

    def analyse(self, found: MutableMapping[bytes, bytes]) -> None:
        """Extract the assertions of the turns that were read, by rules, unless already in `found`, which a prompt keeps in memory."""
        keys = {rule_key(messages): messages for messages in self._texts.values()}
        known = self._reader.read_artefacts(list(keys))
        for key, messages in keys.items():
            if key not in known:
                body = found.get(key) or to_body(extract(messages), messages)
                sources = tuple(m.revision for m in messages)
                self._made.append(Artefact(key, RECIPE.name, self.thread, body, sources, self._at))
        self.analysed = [mark for opening in self._texts if (mark := self.marks.get(opening)) is not None]

    def write(self, tx: Writer) -> bool:
        """Write everything in one transaction; False if another process was faster, or text was forgotten meanwhile."""
        name = progress_name(self.window)
        if tx.progress(self.thread, name) != self.seen:
            return False
        if self.seen == 0:
            tx.drop_turn_marks(self.thread, self.window.rule)
        tx.make(self._made)
        gone = [opening for opening in self.marks.changed if self.marks.get(opening) is None]
        tx.drop_turn_marks(self.thread, self.window.rule, gone)
        tx.set_turn_marks(m for o in self.marks.changed if (m := self.marks.get(o)) is not None)
        for mark in self.analysed:
            tx.set_turn_state(self.thread, mark.opening, mark.version, self._at)
        tx.set_progress(self.thread, name, self.upto)
        return True


def _stroke(event: Event) -> object:
    """Return the number that all events of one stroke share: that of the first one."""
    return event.head.get("group", event.seq)


def _whole_stroke(reader: Reader, state: ThreadState, upto: int) -> int:
    """Return the last event of the stroke that an event belongs to."""
    view = View(reader, state)
    event = view.event(upto)
    while event is not None and upto < state.head:
        following = view.event(upto + 1)
        if following is None or _stroke(following) != _stroke(event):
            break
        upto, event = upto + 1, following
    return upto


def _first(view: View) -> Entry | None:
    """Return the first message as of a moment, even if its text was forgotten since."""
    after: bytes | None = None
    while rows := view.page(_PAGE, after=after, gone=True):
        for entry, _ in rows:
            if entry.live:
                return entry
        after = rows[-1][0].position
    return None


#: Events that affect no message.
_NOTHING = PLENTY | {Kind.PLACED}
#: Rare events that leave every message in its place and all earlier ones unchanged, or change only texts.
_PLAIN = frozenset(Kind) - _MOVING


def _about(event: Event) -> Iterable[Ref]:
    """Yield the messages whose entries an event changed."""
    if event.message is not None:
        yield event.message
    for hole in _list(event, "messages"):
        yield parse_ref(hole["message"])
    for was in _list(event, "entries"):
        yield parse_ref(was["message"])


def _list(event: Event, name: str) -> Sequence[Mapping[str, str]]:
    found: Json = event.head.get(name, ())
    return cast("list[Mapping[str, str]]", found) if isinstance(found, list) else ()
