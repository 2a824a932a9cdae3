"""Our side of a comparison: a history in the form that the planner of `reconcile/plan` requires.

For a sync that is the current history. For a repeated import it is the history as *earlier imports of the same file* left
it: what the user changed here since stays, so only changes in the file count.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from backscroll.engine.core.lineage import View, reach, visible_revisions
from backscroll.engine.log.echoes import tag
from backscroll.engine.log.erasure import mark
from backscroll.reconcile.operations import KnownRevision, OurEntry
from backscroll.record.content import digest, original
from backscroll.record.history import DELETED, FORGOTTEN, HIDDEN, Entry, replay
from backscroll.record.ports import Reader, RevisionBody, ThreadState
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content
from backscroll.vocab.part import Json, Media, Part, ToolResult

_PAGE = 512
_NOTHING = Content(())


@dataclass(slots=True)
class ErasureFingerprints:
    """Fingerprints of forgotten text: for each message, the salt and the marks in its tombstones."""

    lines: list[tuple[bytes, frozenset[str]]] = field(default_factory=list[tuple[bytes, frozenset[str]]])
    marks: dict[Ref, list[tuple[bytes, frozenset[str]]]] = field(
        default_factory=dict[Ref, list[tuple[bytes, frozenset[str]]]]
    )

    def add(self, event: Event) -> None:
        """Read the tombstones of one `forget` event."""
        beside = event.head.get("beside")
        if beside is not None:
            self.lines.append((bytes.fromhex(beside["salt"]), frozenset[str](beside["tags"])))
        for hole in event.head.get("messages", ()):
            facts = (bytes.fromhex(hole["salt"]), frozenset[str](hole["marks"]))
            thread, _, seq = hole["message"].rpartition(".")
            self.marks.setdefault(Ref(thread, int(seq)), []).append(facts)

    def is_forgotten_line(self, body: bytes) -> bool:
        """Return True if this very line was erased because it repeated forgotten text."""
        return any(tag(salt, body) in tags for salt, tags in self.lines)

    def check(self, message: Ref) -> Callable[[ForeignMessage], bool] | None:
        """Return a function that tests whether a message may be the forgotten text; None if nothing of this message was forgotten."""
        known = self.marks.get(message)
        if not known:
            return None

        def fits(foreign: ForeignMessage) -> bool:
            hashes = [digest(foreign.role, hash_media(c)) for c in (foreign.content, *foreign.alternatives)]
            return any(mark(salt, h) in marks for salt, marks in known for h in hashes)

        return fits


def hash_media(content: Content) -> Content:
    """Return the content as it would be stored: bytes replaced by their hash."""
    if not any(isinstance(p, Media | ToolResult) for p in content.parts):
        return content
    return replace(content, parts=tuple(_hash_part(p) for p in content.parts))


def _hash_part(part: Part) -> Part:
    if isinstance(part, ToolResult):
        return replace(part, content=tuple(_media(p) if isinstance(p, Media) else p for p in part.content))
    return _media(part) if isinstance(part, Media) else part


def _media(part: Media) -> Media:
    if part.data is None:
        return part
    return replace(part, blob=hashlib.sha256(part.data).hexdigest(), data=None)


def live_side(view: View) -> list[OurEntry]:
    """Return the current history of a thread, with deleted and forgotten entries in their places."""
    rows: list[tuple[Entry, RevisionBody]] = []
    low: bytes | None = None
    while page := view.page(_PAGE, after=low, gone=True):
        rows += page
        low = page[-1][0].position
        if len(page) < _PAGE:
            break
    holes = ErasureFingerprints()
    for event in _iterate_tombstones(view.reader, view.state):
        holes.add(event)
    lineage = reach(view.reader, view.state)
    return [ours_of(view.reader, entry, spoken, lineage, holes) for entry, spoken in rows]


def _iterate_tombstones(reader: Reader, state: ThreadState) -> Iterator[Event]:
    for thread, last in reach(reader, state):
        for event in _walk(reader, thread, last):
            if event.kind is Kind.FORGOTTEN:
                yield event


def _walk(reader: Reader, thread: str, last: int | None = None) -> Iterator[Event]:
    seq = 0
    while page := reader.events(thread, seq + 1, last, limit=_PAGE):
        yield from page
        seq = page[-1].seq


def ours_of(
    reader: Reader,
    entry: Entry,
    spoken: RevisionBody,
    lineage: list[tuple[str, int]],
    holes: ErasureFingerprints,
) -> OurEntry:
    """Return one entry with everything the planner may ask about it."""
    about = reader.events_about(entry.message)
    first = about[0] if about and about[0].id == entry.message else None
    source: Json = first.head.get("src") if first is not None else None
    known = [
        KnownRevision(e.id, original(e.body))
        for e in visible_revisions(about, lineage)
        if e.id != entry.revision and e.body is not None
    ]
    gone = bool(entry.flags & FORGOTTEN) or spoken.body is None
    return OurEntry(
        entry.message,
        entry.role,
        _NOTHING if spoken.body is None or gone else original(spoken.body),
        spoken.said,
        () if source is None else (source,),
        () if gone else tuple(known),
        bool(entry.flags & HIDDEN),
        bool(entry.flags & DELETED),
        gone,
        holes.check(entry.message),
    )


@dataclass(slots=True)
class EarlierImport:
    """What earlier imports of the same file left: entries in order, and what else they logged."""

    entries: list[Entry]
    asides: Counter[bytes]
    holes: ErasureFingerprints
    lineage: list[tuple[str, int]]
    head: int  # of the log that this was read from


def imported_side(reader: Reader, state: ThreadState, actor: str, *, whole: bool) -> EarlierImport:
    """Fold only the events of imports, and what was forgotten since.

    With `whole`, the history that a fork shares counts too: the file holds the conversation from its beginning.
    """
    holes, asides = ErasureFingerprints(), Counter[bytes]()

    def theirs() -> Iterator[Event]:
        for event in _walk(reader, state.id):
            if event.kind is Kind.FORGOTTEN:
                holes.add(event)
                yield event
            elif event.actor == actor:
                if event.kind in (Kind.ASIDE, Kind.CODE_CHANGED) and event.body is not None:
                    asides[hashlib.sha256(event.body).digest()] += 1
                yield event

    past = View(reader, state, state.fork_seq) if state.parent is not None else None
    spans = replay(theirs(), past.entry if past else _nothing)
    entries = {entry.message: entry for entry in _all(past)} if past and whole else {}
    for span in spans:
        if span.until is None and (whole or span.entry.message.thread == state.id):
            entries[span.entry.message] = span.entry
    return EarlierImport(
        sorted(entries.values(), key=lambda e: e.position), asides, holes, reach(reader, state), state.head
    )


def _all(view: View) -> Iterator[Entry]:
    low: bytes | None = None
    while page := view.page(_PAGE, after=low):
        yield from (entry for entry, _ in page)
        low = page[-1][0].position


def _nothing(message: Ref) -> Entry | None:
    """Return nothing: a thread that is not a fork inherits no entry."""


def same_words(reader: Reader, entry: Entry, spoken: RevisionBody | None, foreign: ForeignMessage) -> bool:
    """Return True if a foreign message equals what an import left, including alternatives."""
    if spoken is None or entry.role != foreign.role or bool(entry.flags & HIDDEN) is not foreign.hidden:
        return False
    if entry.flags & DELETED or spoken.digest != digest(foreign.role, hash_media(foreign.content)):
        return False
    if len(foreign.alternatives) < 2 and entry.alternatives < 2:
        return True
    if entry.alternative != foreign.chosen:
        return False
    newest: dict[int, bytes | None] = {}
    for event in reader.events_about(entry.message):
        if event.kind in (Kind.APPENDED, Kind.INSERTED, Kind.EDITED, Kind.REGENERATED):
            held = reader.read_spoken([event.id])[event.id]
            newest[event.head.get("alternative", 0)] = held.digest
    newest[entry.alternative] = spoken.digest
    wanted = dict(enumerate(digest(foreign.role, hash_media(c)) for c in foreign.alternatives))
    return newest == wanted
