"""Decide how far each thread of a native file can be trusted.

Owns: what is known about a thread during the survey, what its line must share with its first event, and, once all threads
are known, up to which event each is imported: text may be absent only if an event records that it was forgotten, a fork
needs its parent, and what the store has under the same id must have begun the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from backscroll.engine.core.lineage import View, reach
from backscroll.engine.exchange.reports import ImportReport
from backscroll.engine.folder.change_log import recorded_of
from backscroll.engine.knowledge.graph_acts import override_of, world_in
from backscroll.engine.prompts.composition.placement import placement_of
from backscroll.engine.prompts.composition.stored_compaction import frozen_of
from backscroll.errors import BackscrollError, StoreCorrupt
from backscroll.formats.native import ThreadLine
from backscroll.record.chain import DAMAGE
from backscroll.record.history import Entry
from backscroll.record.ports import Reader
from backscroll.record.rehearsal import LogReplay, MissingBody
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.foreign import Problem
from backscroll.vocab.ids import Ref

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

_HASH = 32
REST = "the rest of this thread was left out"


@dataclass(slots=True)
class ThreadSurvey:
    """One thread of a file."""

    line: ThreadLine
    number: int  # the number of its line in the file
    report: ImportReport
    rehearsal: LogReplay
    upto: int  # the last event that is imported
    shared: int | None = None  # the last event that the store has too; None: the store has no such thread
    link: bytes = b""  # the hash that its first event builds on
    hashes: bytearray = field(default_factory=bytearray)  # hashes of its events, one after the other
    stopped: bool = False
    buried: set[Ref] = field(
        default_factory=set[Ref]
    )  # messages whose text is missing without a record in this log

    def stop(self, what: str, number: int | None) -> None:
        """Stop checking: nothing after this line can be verified."""
        self.stopped = True
        self.report.problems.append(Problem(what, number))

    def hash_at(self, seq: int) -> bytes:
        """Return the hash of an event, or the one that the first event builds on."""
        at = (seq - self.line.fork_seq) * _HASH
        return bytes(self.hashes[at - _HASH : at]) if at > 0 else self.link

    @property
    def sound(self) -> bool:
        """True if at least the beginning is imported."""
        return self.upto > self.line.fork_seq


@dataclass(slots=True)
class NativeSurvey:
    """The contents of a file."""

    reports: list[ImportReport] = field(default_factory=list[ImportReport])
    threads: dict[str, ThreadSurvey] = field(default_factory=dict[str, ThreadSurvey])
    whole: bool = True  # the file contains a whole store, so no log in it is truncated
    problems: list[Problem] = field(default_factory=list[Problem])  # problems of the file, not of one thread


def misbegun(line: ThreadLine, event: Event) -> str | None:
    """Return what in the line about a thread contradicts its first event."""
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


def misread(event: Event) -> str | None:
    """Return why an event could not be read by the rest of the program."""
    if event.body is None:
        return None

    try:
        if event.kind is Kind.COMPACTED:
            frozen_of(event)
        elif event.kind is Kind.PLACED:
            placement_of(event)
        elif event.kind is Kind.OVERRIDDEN:
            override_of(event)
        elif event.kind is Kind.WORLD_TOLD:
            world_in([event])
        elif event.kind is Kind.CODE_CHANGED:
            recorded_of(event)
    except (*DAMAGE, BackscrollError) as error:
        return f"what it says cannot be read: {error}"
    return None


def past_here(reader: Reader, line: ThreadLine) -> tuple[bytes, str, dict[str, int]] | None:
    """Return what a fork builds on in the store: a hash, the family, and how far it reaches into each ancestor's log."""
    state = reader.thread(line.parent or "")
    if state is None or state.head < line.fork_seq:
        return None
    link = View(reader, state).event(line.fork_seq)
    if link is None:
        return None
    reached = {name: min(last, line.fork_seq) for name, last in reach(reader, state)}
    return link.hash, state.root, reached


def entry_at(reader: Reader, line: ThreadLine, message: Ref) -> Entry | None:
    """Return the entry in the store for a message of a fork's shared history."""
    state = reader.thread(line.parent or "")
    if state is None:
        return None
    found = View(reader, state, line.fork_seq).entry(message)
    limit = line.fork_position
    return None if found is None or (limit is not None and found.position > limit) else found


def decide(engine: EngineScope, out: NativeSurvey) -> None:
    """Decide how far each thread is imported once all of them are known."""
    for found in out.threads.values():
        _compare(engine, found)
    before: list[int] = []
    while before != (now := [found.upto for found in out.threads.values()]):
        before = now
        for found in out.threads.values():
            _check_missing(out, found)
            _check_parent(engine, out, found)


def _compare(engine: EngineScope, found: ThreadSurvey) -> None:
    """Check that threads in the store with the same ids began the same way."""
    line = found.line
    if not found.sound:
        return

    try:
        held, shared = engine.store.read(lambda reader: (reader.thread(line.id), _find_shared(reader, found)))
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


def _find_shared(reader: Reader, found: ThreadSurvey) -> int:
    """Return the last event that file and store share: hashes cover everything before them, so a binary search finds it."""
    low, high = found.line.fork_seq, found.upto
    while low < high:
        middle = (low + high + 1) // 2
        event = reader.event(Ref(found.line.id, middle))
        if event is not None and event.hash == found.hash_at(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _cut(found: ThreadSurvey, upto: int, what: str, number: int | None) -> None:
    found.upto = min(found.upto, upto)
    found.report.problems.append(Problem(what, number))


def _check_missing(out: NativeSurvey, found: ThreadSurvey) -> None:
    """Check that text is absent only where an event records that it was forgotten."""
    for each in found.rehearsal.find_unexplained_gaps(found.upto):
        if not _said_elsewhere(out, found, each):
            what = (
                f"event {each.seq} lacks its words, and nothing says that they were forgotten: it and {REST}"
            )
            _cut(found, each.seq - 1, what, each.line)
            return
        if each.message is not None:
            found.buried.add(each.message)


def _said_elsewhere(out: NativeSurvey, found: ThreadSurvey, each: MissingBody) -> bool:
    if each.declared:
        return True
    kin = [k for k in out.threads.values() if k.line.root == found.line.root and k is not found and k.sound]
    message = each.message
    if message is None:
        told = any(0 < k.rehearsal.forgets <= k.upto for k in kin)
        return told or (
            not out.whole and not each.listed and each.kind in (Kind.CROPPED, Kind.COMPACTED, Kind.PLACED)
        )
    if any(k.rehearsal.has_forgotten(message, k.upto) for k in kin):
        return True
    # An older version cut an ancestor where its fork begins, and with it the event that records this. Only the ancestor
    # itself knows of such a message.
    heirs = [k for k in kin if k.line.parent == found.line.id and k.line.fork_seq == found.line.head]
    return not out.whole and bool(heirs) and all(h.rehearsal.entry(message) is None for h in heirs)


def _check_parent(engine: EngineScope, out: NativeSurvey, found: ThreadSurvey) -> None:
    """Reject a fork if its parent is not imported as far as the fork."""
    line = found.line
    parent = out.threads.get(line.parent or "")
    if line.parent is None or not found.sound:
        return
    whole = parent is not None and parent.upto >= line.fork_seq
    try:
        here = engine.store.read(lambda reader: past_here(reader, line))
    except (*DAMAGE, StoreCorrupt):
        here = None
    parted = parent is not None and parent.shared is not None and line.fork_seq > parent.shared
    if parted or (here is not None and here[0] != found.link):
        what = "the thread it forked from went another way in the store, this one was left out"
    elif here is None and not whole:
        what = "the thread it forked from is damaged before the fork, this one was left out"
    else:
        return
    _cut(found, line.fork_seq, what, found.number)
