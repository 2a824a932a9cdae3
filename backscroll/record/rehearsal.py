"""Replay a foreign log without writing it, and find the event that does not fit.

Owns: the history of one thread of a file while its events are read, and what an event may refer to given those before it:
messages, revisions and positions. An unchanged message costs one byte, so a file of any size can be replayed. Elsewhere:
hashes (`record/chain`), the schema of single events (`record/event_schema`), and storage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, cast

from backscroll.errors import StoreCorrupt
from backscroll.record.chain import DAMAGE
from backscroll.record.history import FORGOTTEN, Entry, Lookup, changes
from backscroll.record.order import at_end
from backscroll.record.thread_info import ThreadDescription, after
from backscroll.vocab.event import SPEAKING, Event, Kind
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.message import ROLES
from backscroll.vocab.part import Json


class MissingBody(NamedTuple):
    """An event with a seal but without its body."""

    seq: int
    message: Ref | None
    kind: Kind
    line: int
    declared: bool  # the file says that it was forgotten
    listed: bool  # its head names the messages it is based on


class ForkPast:
    """The past that a fork shares with its parent; nothing for a thread that is not a fork."""

    def __init__(
        self,
        entry: Lookup | None = None,
        speaks: Callable[[Ref], Ref | None] | None = None,
        reach: Mapping[str, int] | None = None,
    ) -> None:
        self.entry: Lookup = entry or _nothing
        self.speaks = speaks or _nobody  # the message to which a revision belongs
        self.reach = dict(reach or {})  # threads of the past, with the last event of each that is shared


def _nothing(message: Ref) -> Entry | None:
    """Return no entry."""


def _nobody(revision: Ref) -> Ref | None:
    """Return no message."""


class LogReplay:
    """The history of one thread up to the last event read."""

    def __init__(self, thread: str, start: int, past: ForkPast) -> None:
        self.thread = thread
        self.start = start
        self.head = start
        self.past = past
        self.wiped = 0  # the event that forgot the whole thread
        self.forgets = 0  # the first event that forgot anything
        self.missing: list[MissingBody] = []
        self.messages = 0
        self.about = ThreadDescription()
        self._roles = bytearray()  # of each event: 0, or one more than the number of the role of its message
        self._record_change: dict[Ref, list[Entry]] = {}
        self._revisions: dict[int, Ref] = {}
        self._places: dict[bytes, Ref] = {}

    # -- reading ---------------------------------------------------------------------------------------------

    def entry(self, message: Ref, as_of: int | None = None) -> Entry | None:
        """Return the entry of a message now, or as of an event."""
        own = self._own(message, self.head if as_of is None else as_of)
        if own is not None:
            return own
        return self.past.entry(message)

    def _own(self, message: Ref, as_of: int) -> Entry | None:
        for entry in reversed(self._record_change.get(message, ())):
            if entry.since <= as_of:
                return entry
        role = self._role(message)
        if not role or message.seq > as_of or message in self._record_change:
            return None
        return Entry(message, at_end(message.seq), ROLES[role - 1], message, since=message.seq)

    def _role(self, message: Ref) -> int:
        at = message.seq - self.start - 1
        return self._roles[at] if message.thread == self.thread and 0 <= at < len(self._roles) else 0

    def speaks(self, revision: Ref, as_of: int | None = None) -> Ref | None:
        """Return the message to which a revision belongs; None if it is not one, or out of reach."""
        if revision.thread != self.thread:
            return self.past.speaks(revision)
        if revision.seq > (self.head if as_of is None else as_of):
            return None
        return revision if self._role(revision) else self._revisions.get(revision.seq)

    def fork(self, at: int, position: bytes | None) -> ForkPast:
        """Return the past that a fork of this thread shares with it."""

        def entry(message: Ref) -> Entry | None:
            found = self.entry(message, at)
            return None if found is None or (position is not None and found.position > position) else found

        reach = {**self.past.reach, self.thread: at}
        return ForkPast(entry, lambda revision: self.speaks(revision, at), reach)

    def reaches(self, ref: Ref) -> bool:
        """Return True for an event of this thread or its past."""
        last = self.head if ref.thread == self.thread else self.past.reach.get(ref.thread, 0)
        return 0 < ref.seq <= last

    # -- one event -------------------------------------------------------------------------------------------

    def take(self, event: Event, line: int, *, declared: bool = False) -> str | None:
        """Apply one event; if it does not fit, return the problem and change nothing."""
        try:
            wrong = self._misfit(event)
            opened = [] if wrong else changes(event, self.entry)
            about = self.about if wrong else after(self.about, event)
        except (*DAMAGE, StoreCorrupt) as error:
            return f"it cannot be folded: {error}"
        if wrong is None:
            wrong = self._find_crowding(opened)
        if wrong is not None:
            return wrong
        self._fold(event, opened, line, declared=declared)
        self.about = about
        return None

    def _misfit(self, event: Event) -> str | None:
        """Return what an event refers to that the log before it lacks."""
        if event.kind in (Kind.CREATED, Kind.FORKED) and event.seq != self.start + 1:
            return "a log begins only once"
        if event.target is not None:
            if not self.reaches(event.target):
                return f"it is about {event.target.short}, which this log does not have"
            if event.kind in SPEAKING and self.entry(event.target) is None:
                return f"it is about {event.target.short}, which is not a message of this history"
        if event.kind is Kind.CHOSEN and event.target is not None:
            return self._unfit(event.target, event.head)
        for was in _rows(event, "entries"):
            message = parse_ref(was["message"])
            if self.entry(message) is None:
                return f"it resets {message.short}, which is not a message of this history"
            wrong = self._unfit(message, was)
            if wrong is not None:
                return wrong
        for hole in _rows(event, "messages") if event.kind is Kind.FORGOTTEN else ():
            message = parse_ref(hole["message"])
            if not self.reaches(message):
                return f"it forgets {message.short}, which this log does not have"
        if any(number > event.seq for number in _numbers(event)):
            return "it names an event that comes after it"
        runs = cast("list[list[int]]", event.head.get("runs") or [])
        return (
            None
            if all(low <= high for low, high in runs)
            else "it names a stretch that ends before it begins"
        )

    def _unfit(self, message: Ref, facts: Mapping[str, Json]) -> str | None:
        entry, revision = self.entry(message), parse_ref(facts["revision"])
        if entry is None:
            return None  # the message was forgotten on the way into a fork: nothing is changed
        if self.speaks(revision) != message:
            return f"it chooses {revision.short}, which is not a revision of {message.short}"
        if facts["alternative"] >= entry.alternatives:
            return f"message {message.short} has no alternative {facts['alternative']}"
        return None

    def _find_crowding(self, opened: list[Entry]) -> str | None:
        """Find two messages at one position, one of which would never be shown."""
        places: dict[bytes, Ref] = {}
        for entry in opened:
            holder = places.setdefault(entry.position, entry.message)
            there = self._places.get(entry.position)
            if there is not None and there != entry.message and self._at(there) == entry.position:
                holder = there
            if holder != entry.message or self._is_place_taken(entry):
                return f"the place of {entry.message.short} is taken by another message"
        return None

    def _at(self, message: Ref) -> bytes | None:
        entry = self._own(message, self.head)
        return None if entry is None else entry.position

    def _is_place_taken(self, entry: Entry) -> bool:
        """Return True if a message that was never moved has the position of an entry."""
        if len(entry.position) != len(at_end(1)) or entry.position == at_end(entry.message.seq):
            return False
        number = int.from_bytes(entry.position, "big")
        for thread in (self.thread, *self.past.reach):
            ref = Ref(thread, number)
            found = self.entry(ref) if ref != entry.message else None
            if found is not None and found.position == entry.position:
                return True
        return False

    def _fold(self, event: Event, opened: list[Entry], line: int, *, declared: bool) -> None:
        first = event.kind in (Kind.APPENDED, Kind.INSERTED)
        self.messages += first
        self._roles.append(1 + ROLES.index(opened[0].role) if first else 0)
        if event.kind in SPEAKING and event.target is not None:
            self._revisions[event.seq] = event.target
        for entry in opened:
            plain = first and not entry.flags and entry.position == at_end(event.seq)
            if not plain:
                self._remember(entry)
        if event.forgotten:
            listed = isinstance(event.head.get("sources"), list)
            self.missing.append(MissingBody(event.seq, event.message, event.kind, line, declared, listed))
        if event.kind is Kind.FORGOTTEN:
            self.forgets = self.forgets or event.seq
            if event.head.get("thread"):
                self.wiped = self.wiped or event.seq
        self.head = event.seq

    def _remember(self, entry: Entry) -> None:
        known = self._record_change.get(entry.message)
        if known is None:
            base = self._own(entry.message, self.head)
            known = self._record_change[entry.message] = [] if base is None else [base]
        known.append(entry)
        if entry.position != at_end(entry.message.seq):
            self._places[entry.position] = entry.message

    # -- at the end ------------------------------------------------------------------------------------------

    def find_unexplained_gaps(self, upto: int) -> Iterator[MissingBody]:
        """Yield events up to a number whose bodies are missing without a reason in the log so far."""
        if 0 < self.wiped <= upto:
            return
        for each in self.missing:
            if each.seq > upto:
                return
            known = (
                0 < self.forgets <= upto if each.message is None else self.has_forgotten(each.message, upto)
            )
            if not known:
                yield each

    def list_forgotten_messages(self, upto: int) -> Iterator[Ref]:
        """Yield the messages that the log up to a number says were forgotten."""
        for message in self._record_change:
            if self.has_forgotten(message, upto):
                yield message

    def has_forgotten(self, message: Ref, upto: int) -> bool:
        """Return True if the log up to a number says that a message was forgotten."""
        entry = self.entry(message, upto)
        return entry is not None and bool(entry.flags & FORGOTTEN)


def _rows(event: Event, name: str) -> list[Mapping[str, Json]]:
    return cast("list[Mapping[str, Json]]", event.head.get(name) or [])


def _numbers(event: Event) -> Iterator[int]:
    for name in ("of", "acts"):
        found: Json = event.head.get(name)
        if isinstance(found, list):
            yield from cast("list[int]", found)
    for run in cast("list[list[int]]", event.head.get("runs") or []):
        yield from run
    group: Json = event.head.get("group")
    if isinstance(group, int):
        yield group
