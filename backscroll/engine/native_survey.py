"""Looking a native file over before anything of it is written: which threads it holds, and how far each can be believed.

Owns: reading every line once with the distrust that foreign files get, checking every field, seal and link, folding each log in
memory, and deciding for each thread up to which event it is taken in. One bad thread does not stop the others. Writes
nothing. Before: `formats/native` (one line), `record/rehearsal` (one log). After: `engine/native`, which writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from backscroll.engine.files import FileSource
from backscroll.engine.importing import ImportReport
from backscroll.engine.journal import reply_from
from backscroll.engine.learning_lines import lesson_from
from backscroll.engine.lineage import View, reach
from backscroll.errors import BackscrollError, FormatError, StoreCorrupt
from backscroll.formats.json_text import NotJson, parsed
from backscroll.formats.native import LINES, ThreadLine, blob_from, checked_header, event_from, thread_from
from backscroll.record.chain import DAMAGE, flaws, genesis
from backscroll.record.content import blobs_in
from backscroll.record.history import Entry
from backscroll.record.ports import Reader
from backscroll.record.rehearsal import Missing, Past, Rehearsal
from backscroll.record.wellformed import misshapen
from backscroll.vocab.event import SPEAKING, Event, Kind
from backscroll.vocab.fields import is_ref
from backscroll.vocab.foreign import Problem
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from backscroll.engine.engine import Engine

_HASH = 32
_REST = "the rest of this thread was left out"


@dataclass(slots=True)
class Surveyed:
    """One thread of a file."""

    line: ThreadLine
    number: int  # of its line in the file
    report: ImportReport
    rehearsal: Rehearsal
    upto: int  # the last event that is taken in
    shared: int | None = None  # the last event that the store has too; None: the store has nothing else
    link: bytes = b""  # the hash that its first event builds on
    hashes: bytearray = field(default_factory=bytearray)  # of its events, one after the other
    stopped: bool = False
    buried: set[Ref] = field(
        default_factory=set[Ref]
    )  # messages whose words are gone without this log saying so

    def stop(self, what: str, number: int | None) -> None:
        """Nothing after this line can be checked."""
        self.stopped = True
        self.report.problems.append(Problem(what, number))

    def hash_at(self, seq: int) -> bytes:
        """The hash of an event, or what the first one builds on."""
        at = (seq - self.line.fork_seq) * _HASH
        return bytes(self.hashes[at - _HASH : at]) if at > 0 else self.link

    @property
    def sound(self) -> bool:
        """True where at least the beginning is taken in."""
        return self.upto > self.line.fork_seq


@dataclass(slots=True)
class Survey:
    """What is in a file."""

    reports: list[ImportReport] = field(default_factory=list[ImportReport])
    threads: dict[str, Surveyed] = field(default_factory=dict[str, Surveyed])
    whole: bool = True  # the file holds a whole store, so that no log in it is cut short
    problems: list[Problem] = field(default_factory=list[Problem])  # of the file, not of one thread


def survey(engine: Engine, source: FileSource, *, dry_run: bool) -> Survey:
    """Read a file through; nothing is written."""
    out = Survey()
    reading = _Reading(engine, source, out, dry_run=dry_run)
    promised: Json = None
    for number, row in rows(source, reading.note):
        if number == 1:
            wrong = checked_header(row)
            out.whole = row.get("kind") != "thread"
            promised = row.get("threads") if wrong is None else None
            if wrong is not None:
                out.problems.append(Problem(wrong, 1))
        else:
            reading.take(number, row)
    reading.close()
    if isinstance(promised, int) and promised != reading.lines:
        what = f"the first line promises {promised} threads, the file holds {reading.lines}: it was cut or damaged"
        out.problems.append(Problem(what, 1))
    _decide(engine, out)
    if out.problems and not out.reports:
        out.reports.append(ImportReport("native", source.path, dry_run=dry_run))
    if out.problems:
        out.reports[0].problems[:0] = out.problems
    return out


def rows(source: FileSource, note: Callable[[str, int], None]) -> Iterator[tuple[int, dict[str, Json]]]:
    """The objects of a file, line by line; the first must be ours, and a damaged one is noted."""
    for number, line in source.lines(ample='{"blob":'):
        if not line.strip():
            continue
        data = parsed(line)
        if not isinstance(data, NotJson) and isinstance(data, dict):
            yield number, cast("dict[str, Json]", data)
            continue
        why = data.what if isinstance(data, NotJson) else "it is not a JSON object"
        if number == 1:
            raise FormatError(
                f"{source.name} is not a native Backscroll file: {why}",
                hint="its first line must be a JSON object with the key `backscroll`",
            )
        note(f"the line is damaged and was left out: {why}", number)


class _Reading:
    """Goes through the lines of a file once."""

    def __init__(self, engine: Engine, source: FileSource, out: Survey, *, dry_run: bool) -> None:
        self.engine = engine
        self.source = source
        self.out = out
        self.dry_run = dry_run
        self.lines = 0  # about threads
        self._now: Surveyed | None = None
        self._astray: set[str] = set()  # threads whose events came without the line about them
        self._bytes: dict[str, int] = {}  # that came and were not referred to yet, with their lines

    def take(self, number: int, row: dict[str, Json]) -> None:
        """One line after the first."""
        kinds = [name for name in LINES if name in row]
        if len(kinds) != 1:
            self.note("the line is none that this program knows and was left out", number)
        elif kinds[0] == "thread":
            self.close()
            self._begin(number, row)
        elif kinds[0] == "blob":
            self._take_bytes(number, row)
        elif kinds[0] == "event":
            self._take_event(number, row)
        else:
            self.close()
            self._look_beside(number, row)

    def _look_beside(self, number: int, row: dict[str, Json]) -> None:
        """Replies of models and lessons come after all logs."""
        try:
            if "reply" in row:
                reply_from(row)
            else:
                lesson_from(row)
        except ValueError as error:
            what = "a reply of a model" if "reply" in row else "something that was learned"
            self.note(f"{what} is damaged and was left out: {error}", number)

    def note(self, what: str, number: int) -> None:
        """Note a problem, with the thread whose lines are being read."""
        (self.out.problems if self._now is None else self._now.report.problems).append(Problem(what, number))

    # -- threads ---------------------------------------------------------------------------------------------

    def _begin(self, number: int, row: dict[str, Json]) -> None:
        self.lines += 1
        report = ImportReport("native", self.source.path, dry_run=self.dry_run)
        self.out.reports.append(report)
        name: Json = row["thread"]
        try:
            line = thread_from(row)
        except ValueError as error:
            report.problems.append(
                Problem(f"the line about a thread is damaged, the thread was left out: {error}", number)
            )
            self._astray.add(str(name))
            return
        report.thread = line.id
        if line.id in self.out.threads:
            report.thread = None
            what = f"thread {line.id[:8]} is in the file twice, the second was left out"
            report.problems.append(Problem(what, number))
            return
        found = Surveyed(line, number, report, Rehearsal(line.id, line.fork_seq, Past()), line.fork_seq)
        self.out.threads[line.id] = self._now = found
        wrong = self._link(found)
        if wrong is not None:
            found.stop(f"{wrong}, the thread was left out", number)

    def _link(self, found: Surveyed) -> str | None:
        """Find what a thread builds on; gives why there is nothing."""
        line = found.line
        if line.parent is None:
            found.link = genesis(line.id)
            return None
        parent = self.out.threads.get(line.parent)
        if parent is None or not parent.line.fork_seq < line.fork_seq <= parent.upto:
            return self._link_here(found)
        found.link = parent.hash_at(line.fork_seq)
        found.rehearsal.past = parent.rehearsal.fork(line.fork_seq, line.fork_position)
        if line.root != parent.line.root:
            return "it is not of the family of the thread it forked from"
        return None

    def _link_here(self, found: Surveyed) -> str | None:
        """The same where the thread that it forked from is in the store and not, or not as far, in the file."""
        line = found.line
        try:
            past = self.engine.store.read(lambda reader: _past_here(reader, line))
        except (*DAMAGE, StoreCorrupt):
            past = None
        if past is None:
            return "the thread it forked from is not in the store or the file, or not that far"
        found.link, root, reached = past
        if root != line.root:
            return "it is not of the family of the thread it forked from"
        found.rehearsal.past = Past(self._entry_here(line), self._speaks_here, reached)
        return None

    def _entry_here(self, line: ThreadLine):
        def entry(message: Ref) -> Entry | None:
            return self.engine.store.read(lambda reader: _entry_at(reader, line, message))

        return entry

    def _speaks_here(self, revision: Ref) -> Ref | None:
        event = self.engine.store.read(lambda reader: reader.event(revision))
        return None if event is None or event.kind not in SPEAKING else event.message

    def close(self) -> None:
        """The lines of a thread are over."""
        found, self._now = self._now, None
        self._left_bytes(found)
        if found is None or found.stopped:
            return
        held = (found.upto, found.hash_at(found.upto))
        if held != (found.line.head, found.line.hash):
            what = f"the log ends at event {found.upto} and not, as its line says, at {found.line.head}"
            found.report.problems.append(Problem(what, found.number))

    # -- events ----------------------------------------------------------------------------------------------

    def _take_event(self, number: int, row: dict[str, Json]) -> None:
        found = self._now
        name: Json = row["event"]
        if found is None or (is_ref(name) and parse_ref(name).thread != found.line.id):
            home = str(name).partition(".")[0]
            if home not in self._astray:
                self._astray.add(home)
                self.note("events came without the line about their thread and were left out", number)
            return
        if found.stopped:
            return
        try:
            event = event_from(row)
            wrong = flaws(event, found.hash_at(found.upto)) if event.seq == found.upto + 1 else []
        except (ValueError, BackscrollError) as error:
            found.stop(f"the line is damaged, {_REST}: {error}", number)
            return
        what = self._misfit(found, event, wrong)
        if what is None:
            what = found.rehearsal.take(event, number, declared=row.get("forgotten") is True)
        if what is not None:
            found.stop(f"event {event.seq} does not verify, {_REST}: {what}", number)
            return
        found.hashes += event.hash
        found.upto = event.seq
        for blob in blobs_in(event):
            self._bytes.pop(blob, None)
        self._left_bytes(found)

    def _misfit(self, found: Surveyed, event: Event, wrong: list[str]) -> str | None:
        if event.seq != found.upto + 1:
            return f"it does not follow event {found.upto}"
        return wrong[0] if wrong else misshapen(event) or _misread(event) or _misbegun(found.line, event)

    # -- bytes -----------------------------------------------------------------------------------------------

    def _take_bytes(self, number: int, row: dict[str, Json]) -> None:
        try:
            name, _ = blob_from(row)
        except ValueError as error:
            self.note(f"attached bytes were left out: {error}", number)
            return
        self._bytes[name] = number

    def _left_bytes(self, found: Surveyed | None) -> None:
        """Bytes come right before the event that refers to them; others would never be found, or forgotten, again."""
        for number in self._bytes.values():
            what = Problem("attached bytes to which no message refers were left out", number)
            (self.out.problems if found is None else found.report.problems).append(what)
        self._bytes.clear()


def _misbegun(line: ThreadLine, event: Event) -> str | None:
    """What of the line about a thread does not follow from its first event."""
    if event.seq != line.fork_seq + 1:
        return None
    if event.kind is not (Kind.CREATED if line.parent is None else Kind.FORKED):
        return "a log begins with another kind of event"
    if line.created_at not in (event.at, event.head.get("said")):
        return "the line about the thread gives another time of its beginning"
    if line.parent is None:
        return None
    head = event.head
    said = (head["parent"], head["at"], head.get("position"), head.get("message"))
    position = None if line.fork_position is None else line.fork_position.hex()
    message = None if line.fork_message is None else str(line.fork_message)
    same = said == (line.parent, line.fork_seq, position, message)
    return None if same else "the line about the thread gives another place at which it forked"


def _misread(event: Event) -> str | None:
    """What those who will read an event have against it."""
    if event.body is None:
        return None
    from backscroll.engine.changing_log import recorded_of
    from backscroll.engine.composing import frozen_of
    from backscroll.engine.graph_acts import override_of, world_in

    try:
        if event.kind is Kind.COMPACTED:
            frozen_of(event)
        elif event.kind is Kind.OVERRIDDEN:
            override_of(event)
        elif event.kind is Kind.WORLD_TOLD:
            world_in([event])
        elif event.kind is Kind.CODE_CHANGED:
            recorded_of(event)
    except (*DAMAGE, BackscrollError) as error:
        return f"what it says cannot be read: {error}"
    return None


def _past_here(reader: Reader, line: ThreadLine) -> tuple[bytes, str, dict[str, int]] | None:
    state = reader.thread(line.parent or "")
    if state is None or state.head < line.fork_seq:
        return None
    link = View(reader, state).event(line.fork_seq)
    if link is None:
        return None
    reached = {name: min(last, line.fork_seq) for name, last in reach(reader, state)}
    return link.hash, state.root, reached


def _entry_at(reader: Reader, line: ThreadLine, message: Ref) -> Entry | None:
    state = reader.thread(line.parent or "")
    if state is None:
        return None
    found = View(reader, state, line.fork_seq).entry(message)
    limit = line.fork_position
    return None if found is None or (limit is not None and found.position > limit) else found


# -- what is taken in --------------------------------------------------------------------------------------------


def _decide(engine: Engine, out: Survey) -> None:
    """How far each thread can be believed once all of them are known."""
    for found in out.threads.values():
        _compare(engine, found)
    before: list[int] = []
    while before != (now := [found.upto for found in out.threads.values()]):
        before = now
        for found in out.threads.values():
            _check_missing(out, found)
            _check_parent(engine, out, found)


def _compare(engine: Engine, found: Surveyed) -> None:
    """What is in the store under the same names must have begun in the same way."""
    line = found.line
    if not found.sound:
        return

    try:
        held, shared = engine.store.read(lambda reader: (reader.thread(line.id), _shared(reader, found)))
    except (*DAMAGE, StoreCorrupt) as error:
        what = f"the thread is damaged in the store, nothing was added to it: {error}"
        _cut(found, line.fork_seq, what, found.number)
        return
    found.report.new = held is None
    if held is None:
        return
    if held.parent != line.parent or shared == line.fork_seq:
        what = "the store has another thread under this id, this one was left out"
        _cut(found, line.fork_seq, what, found.number)
    elif shared < min(held.head, found.upto):
        found.shared = shared


def _shared(reader: Reader, found: Surveyed) -> int:
    """The last event that file and store have in common: hashes cover everything before them, so halving finds it."""
    low, high = found.line.fork_seq, found.upto
    while low < high:
        middle = (low + high + 1) // 2
        event = reader.event(Ref(found.line.id, middle))
        if event is not None and event.hash == found.hash_at(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _cut(found: Surveyed, upto: int, what: str, number: int | None) -> None:
    found.upto = min(found.upto, upto)
    found.report.problems.append(Problem(what, number))


def _check_missing(out: Survey, found: Surveyed) -> None:
    """Words may be absent only where something says that they were forgotten."""
    for each in found.rehearsal.unexplained(found.upto):
        if not _said_elsewhere(out, found, each):
            what = (
                f"event {each.seq} lacks its words, and nothing says that they were forgotten: it and {_REST}"
            )
            _cut(found, each.seq - 1, what, each.line)
            return
        if each.message is not None:
            found.buried.add(each.message)


def _said_elsewhere(out: Survey, found: Surveyed, each: Missing) -> bool:
    if each.declared:
        return True
    kin = [k for k in out.threads.values() if k.line.root == found.line.root and k is not found and k.sound]
    message = each.message
    if message is None:
        told = any(0 < k.rehearsal.forgets <= k.upto for k in kin)
        return told or (not out.whole and not each.listed and each.kind in (Kind.CROPPED, Kind.COMPACTED))
    if any(k.rehearsal.has_forgotten(message, k.upto) for k in kin):
        return True
    # An older program cut an ancestor where its fork begins, and with it the event that says so. Of such a message only
    # the ancestor itself knows.
    heirs = [k for k in kin if k.line.parent == found.line.id and k.line.fork_seq == found.line.head]
    return not out.whole and bool(heirs) and all(h.rehearsal.entry(message) is None for h in heirs)


def _check_parent(engine: Engine, out: Survey, found: Surveyed) -> None:
    """A fork whose parent is not taken in that far has nothing to stand on."""
    line = found.line
    parent = out.threads.get(line.parent or "")
    if line.parent is None or not found.sound:
        return
    whole = parent is not None and parent.upto >= line.fork_seq
    here = engine.store.read(lambda reader: _past_here(reader, line))
    parted = parent is not None and parent.shared is not None and line.fork_seq > parent.shared
    if parted or (here is not None and here[0] != found.link):
        what = "the thread it forked from went another way in the store, this one was left out"
    elif here is None and not whole:
        what = "the thread it forked from is damaged before the fork, this one was left out"
    else:
        return
    _cut(found, line.fork_seq, what, found.number)
