"""Verify a store: rehash everything, refold everything, and report every mismatch.

The chain proves the log, the fold proves the history, the tokenizer proves the index, the hashes prove the blobs.
Read-only: nothing is repaired unasked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from backscroll.engine.core.lineage import View, kin_of
from backscroll.engine.core.pen import index_entry
from backscroll.engine.log.verification_rows import lost_words, wrong_in_row
from backscroll.errors import BackscrollError
from backscroll.record.chain import flaws, genesis
from backscroll.record.content import blobs_in, blobs_of, digest, original
from backscroll.record.history import FORGOTTEN, Entry, EntrySpan, changes, replay
from backscroll.record.ports import Reader, ThreadState
from backscroll.record.thread_info import ThreadDescription, after
from backscroll.vocab.event import SPEAKING, Event
from backscroll.vocab.ids import Ref

#: What reading a damaged row can raise.
DAMAGE = (BackscrollError, ValueError, LookupError, TypeError, AttributeError)
_PAGE = 512
_EVERY = 1 << 40


@dataclass(frozen=True, slots=True)
class StoreFlaw:
    """One problem, and where it is."""

    thread: str
    event: Ref | None
    what: str


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """The outcome of a verification."""

    threads: int
    events: int
    flaws: list[StoreFlaw]
    scrub_due: bool = False  # text was forgotten and old pages still contain it: not an error, but unfinished

    @property
    def ok(self) -> bool:
        """True if nothing is wrong."""
        return not self.flaws


def verify_store(
    reader: Reader, wanted: str | None, progress: Callable[[int, int], None] | None = None
) -> VerificationReport:
    """Check one thread, or everything."""
    found: list[StoreFlaw] = []
    found += [StoreFlaw("", None, f"the database says: {what}") for what in reader.integrity()]
    names = [wanted] if wanted else _all_threads(reader, found)
    events = 0
    for number, name in enumerate(names):
        try:
            state = reader.thread(name)
            if state is not None:
                events += _verify_thread(reader, state, found)
        except DAMAGE as error:
            found.append(StoreFlaw(name, None, f"cannot be read: {_say(error)}"))
        if progress is not None:
            progress(number + 1, len(names))
    if not wanted:
        found += _verify_blobs(reader)
    return VerificationReport(len(names), events, found, _scrub_due(reader))


def _scrub_due(reader: Reader) -> bool:
    try:
        return reader.scrub_due()
    except DAMAGE:
        return False  # the flaws list what is wrong with the table


def _say(error: BaseException) -> str:
    return error.message if isinstance(error, BackscrollError) else f"{type(error).__name__}: {error}"


def _all_threads(reader: Reader, found: list[StoreFlaw]) -> list[str]:
    """Return the ids of all threads: a row that cannot be read must not hide the others."""
    try:
        return reader.threads_like("", _EVERY)
    except DAMAGE as error:
        found.append(StoreFlaw("", None, f"the list of threads cannot be read: {_say(error)}"))
        return []


def _verify_thread(reader: Reader, state: ThreadState, found: list[StoreFlaw]) -> int:
    previous = genesis(state.id)
    if state.parent is not None:
        if _in_circle(reader, state):
            found.append(StoreFlaw(state.id, None, "the line of its forks runs in a circle"))
            return 0
        link = reader.event(Ref(state.parent, state.fork_seq)) or _inherited_event(reader, state)
        if link is None:
            found.append(
                StoreFlaw(
                    state.id,
                    None,
                    f"the event it forked from is missing: {state.parent[:8]}.{state.fork_seq}",
                )
            )
            return 0
        previous = link.hash
    log = _check_chain(reader, state, previous, found)
    if log is None:
        return 0
    if (state.head, state.hash) != ((log[-1].seq, log[-1].hash) if log else (state.fork_seq, previous)):
        found.append(
            StoreFlaw(
                state.id, None, f"its row says the log ends at {state.head}, the log itself at {len(log)}"
            )
        )
    found += [StoreFlaw(state.id, None, what) for what in wrong_in_row(reader, state, log)]
    _check_about(state, log, found)
    _check_entries(reader, state, log, found)
    _check_words(reader, state, found)
    views = [View(reader, kin) for kin in kin_of(reader, state.root)]
    for event in lost_words(log, views):
        what = "its words are gone, and nothing says that they were forgotten"
        found.append(StoreFlaw(state.id, event.id, what))
    return len(log)


def _in_circle(reader: Reader, state: ThreadState) -> bool:
    seen = {state.id}
    while state.parent is not None:
        if state.parent in seen:
            return True
        seen.add(state.parent)
        parent = reader.thread(state.parent)
        if parent is None:
            return False
        state = parent
    return False


def _inherited_event(reader: Reader, state: ThreadState) -> Event | None:
    """Return the event at the fork if the parent itself inherited it."""
    parent = reader.thread(state.parent or "")
    while parent is not None and parent.parent is not None and state.fork_seq <= parent.fork_seq:
        event = reader.event(Ref(parent.parent, state.fork_seq))
        if event is not None:
            return event
        parent = reader.thread(parent.parent)
    return None


def _check_chain(
    reader: Reader, state: ThreadState, previous: bytes, found: list[StoreFlaw]
) -> list[Event] | None:
    out: list[Event] = []
    seq = state.fork_seq
    unreadable = False
    while True:
        page = _events(reader, state.id, seq + 1, found)
        unreadable |= page is None
        for event in page or ():
            if event.seq != seq + 1:
                found.append(
                    StoreFlaw(
                        state.id, Ref(state.id, seq + 1), f"the log has a gap: {event.seq} follows {seq}"
                    )
                )
            found += [StoreFlaw(state.id, event.id, what) for what in flaws(event, previous)]
            previous, seq = event.hash, event.seq
            out.append(event)
        if page is None or len(page) < _PAGE:
            return None if unreadable else out


def _events(reader: Reader, thread: str, first: int, found: list[StoreFlaw]) -> list[Event] | None:
    """Return a page of the log; if it cannot be read, report every damaged event."""
    try:
        return reader.events(thread, first, limit=_PAGE)
    except DAMAGE:
        state = reader.thread(thread)
        for seq in range(first, (state.head if state else first) + 1):
            try:
                reader.event(Ref(thread, seq))
            except DAMAGE as error:
                found.append(StoreFlaw(thread, Ref(thread, seq), f"the event cannot be read: {_say(error)}"))
        return None


def _check_about(state: ThreadState, log: list[Event], found: list[StoreFlaw]) -> None:
    about = ThreadDescription()
    for event in log:
        try:
            about = after(about, event)
        except DAMAGE as error:
            found.append(
                StoreFlaw(state.id, event.id, f"what it says about the thread cannot be read: {_say(error)}")
            )
            return
    if about.to_json() != state.about.to_json():
        found.append(
            StoreFlaw(state.id, None, "title, project, tags or metadata differ from what the log says")
        )


def _check_entries(reader: Reader, state: ThreadState, log: list[Event], found: list[StoreFlaw]) -> None:
    shared = View(reader, state, state.fork_seq) if state.parent is not None else None
    try:
        wanted = {_name(s): s for s in replay(log, shared.entry if shared else _nothing)}
    except DAMAGE as error:
        found.append(StoreFlaw(state.id, _culprit(log, shared), f"the log cannot be folded: {_say(error)}"))
        return
    held = {_name(s): s for s in reader.spans(state.id)}
    for name in sorted(wanted.keys() | held.keys()):
        message, since = name
        if name not in held:
            what = f"the history lacks what event {since} did to it"
        elif name not in wanted:
            what = f"the history holds a state from event {since} that the log does not give"
        elif wanted[name] != held[name]:
            what = (
                f"the history differs from the log since event {since}: {_unlike(wanted[name], held[name])}"
            )
        else:
            continue
        found.append(StoreFlaw(state.id, message, what))
    view = View(reader, state)
    counts = (view.count(), view.count(role="user"))
    if counts != (state.messages, state.turns):
        row = f"its row counts {state.messages} messages and {state.turns} turns"
        found.append(StoreFlaw(state.id, None, f"{row}, the history {counts[0]} and {counts[1]}"))


def _nothing(message: Ref) -> Entry | None:
    """Return nothing: a thread that is not a fork inherits no entry."""


def _culprit(log: list[Event], shared: View | None) -> Ref | None:
    """Return the first event that cannot be folded."""
    known: dict[Ref, Entry] = {}
    for event in log:
        try:
            for entry in changes(event, lambda m: known.get(m) or (shared.entry(m) if shared else None)):
                known[entry.message] = entry
        except DAMAGE:
            return event.id
    return None


def _name(span: EntrySpan) -> tuple[Ref, int]:
    return span.entry.message, span.entry.since


def _unlike(wanted: EntrySpan, held: EntrySpan) -> str:
    names = [f for f in Entry.__slots__ if getattr(wanted.entry, f) != getattr(held.entry, f)]
    if wanted.until != held.until:
        names.append("until")
    return ", ".join(names)


def _check_words(reader: Reader, state: ThreadState, found: list[StoreFlaw]) -> None:
    """Check that every body reads, matches its content hash, and is indexed exactly while a thread shows it."""
    views = [View(reader, kin) for kin in kin_of(reader, state.root)]
    seq = state.fork_seq
    while page := reader.events(state.id, seq + 1, limit=_PAGE):
        seq = page[-1].seq
        for event in page:
            if event.kind in SPEAKING:
                _check_speech(reader, state, event, views, found)


def _check_speech(
    reader: Reader, state: ThreadState, event: Event, views: list[View], found: list[StoreFlaw]
) -> None:
    message = event.message or event.id
    entries = [e for view in views if (e := view.entry(message)) is not None]
    shown = any(e.live and e.revision == event.id for e in entries)
    held = reader.read_index_tokens(event.id)
    if event.body is None:
        if shown:
            found.append(StoreFlaw(state.id, event.id, "the text was erased but the message is still there"))
        if held is not None:
            found.append(StoreFlaw(state.id, event.id, "forgotten words are still in the index"))
        return
    home = next((v.entry(message) for v in views if v.state.id == state.id), None)
    if home is not None and home.flags & FORGOTTEN:
        found.append(StoreFlaw(state.id, event.id, "the message was forgotten but its words are still there"))
    try:
        content = original(event.body)
        role = entries[0].role if entries else str(event.head.get("role", ""))
        right = digest(role, content)
        words = index_entry(content)
    except DAMAGE as error:
        found.append(StoreFlaw(state.id, event.id, f"the words cannot be read: {_say(error)}"))
        return
    found += [
        StoreFlaw(state.id, event.id, "the store does not know that it refers to stored bytes")
        for blob in dict.fromkeys(blobs_of(content))
        if event.id not in reader.blob_users(blob) and reader.blob(blob) is not None
    ]
    spoken = reader.read_spoken([event.id])[event.id]
    if spoken.digest != right:
        found.append(StoreFlaw(state.id, event.id, "the content hash does not fit the words"))
    if shown and (held or "") != words:
        found.append(StoreFlaw(state.id, event.id, "the index does not hold its words"))
    if not shown and held is not None:
        found.append(StoreFlaw(state.id, event.id, "the index still holds words that no history shows"))


def _verify_blobs(reader: Reader) -> list[StoreFlaw]:
    out: list[StoreFlaw] = []
    for name in reader.blobs():
        data = reader.blob(name)
        if data is None or hashlib.sha256(data).hexdigest() != name:
            users = reader.blob_users(name)
            where = (
                replace(StoreFlaw("", None, ""), thread=users[0].thread, event=users[0])
                if users
                else StoreFlaw("", None, "")
            )
            out.append(replace(where, what=f"the stored bytes {name[:12]} do not fit their hash"))
        out += [
            StoreFlaw(ref.thread, ref, "the store says that it refers to stored bytes, and it does not")
            for ref in reader.blob_users(name)
            if not _refers(reader, ref, name)
        ]
    return out


def _refers(reader: Reader, ref: Ref, name: str) -> bool:
    try:
        event = reader.event(ref)
        return event is not None and name in blobs_in(event)
    except DAMAGE:
        return True  # problems of the event itself are reported where it is checked
