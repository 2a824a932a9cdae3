"""Whether a store holds together, worked out from its logs alone and compared with everything that it keeps beside them.

Independent of `Engine.verify` and of the way the engine reads along forks: this folds each log from nothing, in plain
dictionaries, so that a mistake in either is seen. `assert_sound` is what a test calls when it is done with a store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import backscroll
from backscroll.recall.text.words import index_words
from backscroll.record.chain import flaws, genesis
from backscroll.record.content import blobs_of, digest, original, searchable
from backscroll.record.history import FORGOTTEN, Entry, EntrySpan, replay
from backscroll.record.ports import Reader, ThreadState
from backscroll.record.thread_info import ThreadDescription, fold_about
from backscroll.vocab.event import SPEAKING, Event
from backscroll.vocab.ids import Ref


def assert_sound(engine: backscroll.Engine) -> None:
    """Everything in the store follows from its logs, and the program's own verification agrees."""
    found = engine.store.read(lambda reader: [*problems(reader), *reader.integrity()])
    assert not found, "\n".join(found)
    for info in engine.threads():
        _assert_readable(engine, info)
    verdict = engine.verify()
    assert verdict.ok, verdict.flaws


def _assert_readable(engine: backscroll.Engine, info: backscroll.ThreadInfo) -> None:
    """What the row of a thread says is what reading it gives."""
    thread = engine.thread(info.id)
    messages = list(thread)
    assert len(messages) == info.messages == len(thread)
    assert sum(m.role == "user" for m in messages) == info.turns
    assert list(thread.messages(newest_first=True)) == messages[::-1]
    assert [m for turn in thread.turns() for m in turn.messages] == messages
    for place, message in enumerate(messages):
        assert thread.place(message.id) == place


class Folded:
    """One thread, folded from its own log on top of what it inherited."""

    def __init__(self, state: ThreadState, events: list[Event], parent: Folded | None) -> None:
        self.state = state
        self.events = events
        self.parent = parent
        self.spans = replay(events, self.inherited)

    def inherited(self, message: Ref) -> Entry | None:
        """The entry that a fork found when it began."""
        if self.parent is None:
            return None
        entry = self.parent.entry(message, self.state.fork_seq)
        limit = self.state.fork_position
        return None if entry is None or (limit is not None and entry.position > limit) else entry

    def entry(self, message: Ref, as_of: int) -> Entry | None:
        """The entry of a message at a moment, wherever along the line it was written."""
        for span in self.spans:
            alive = span.entry.since <= as_of and (span.until is None or as_of < span.until)
            if span.entry.message == message and alive:
                return span.entry
        return self.inherited(message)

    def everything(self) -> dict[Ref, Entry]:
        """The newest entry of each message that this thread knows."""
        names = {span.entry.message for span in self.spans}
        parent = self.parent
        while parent is not None:
            names |= {span.entry.message for span in parent.spans}
            parent = parent.parent
        found = {name: self.entry(name, self.state.head) for name in names}
        return {name: entry for name, entry in found.items() if entry is not None}


def folded(reader: Reader) -> dict[str, Folded]:
    """Every thread of a store, parents before their forks."""
    states = {state.id: state for state in _states(reader)}
    out: dict[str, Folded] = {}

    def fold(name: str) -> Folded:
        if name not in out:
            state = states[name]
            parent = fold(state.parent) if state.parent is not None else None
            out[name] = Folded(state, reader.events(name), parent)
        return out[name]

    for name in states:
        fold(name)
    return out


def _states(reader: Reader) -> Iterator[ThreadState]:
    after: tuple[str, str] | None = None
    while page := reader.threads(after=after, limit=50):
        yield from page
        after = (page[-1].updated_at, page[-1].id)


def problems(reader: Reader) -> Iterator[str]:
    """Everything that does not follow from the logs, in plain words."""
    threads = folded(reader)
    for thread in threads.values():
        yield from _chain(thread)
        yield from _entries(reader, thread)
        yield from _row(thread)
    yield from _words(reader, threads)


def _chain(thread: Folded) -> Iterator[str]:
    state = thread.state
    previous, number = genesis(state.id), 0
    if thread.parent is not None:
        previous, number = thread.parent.events[-1].hash, state.fork_seq
        for event in thread.parent.events:
            if event.seq == state.fork_seq:
                previous = event.hash
    for event in thread.events:
        number += 1
        if event.seq != number:
            yield f"{state.id}: event {event.seq} where {number} was expected"
        for flaw in flaws(event, previous):
            yield f"{event.id}: {flaw}"
        previous = event.hash
    if (state.head, state.hash) != (number, previous):
        yield f"{state.id}: its row ends at {state.head}, its log at {number}"


def _entries(reader: Reader, thread: Folded) -> Iterator[str]:
    def name(span: EntrySpan) -> tuple[Ref, int]:
        return span.entry.message, span.entry.since

    stored = sorted(reader.spans(thread.state.id), key=name)
    expected = sorted(thread.spans, key=name)
    if stored != expected:
        yield f"{thread.state.id}: the entries are {stored}, the log gives {expected}"


def _row(thread: Folded) -> Iterator[str]:
    state = thread.state
    live = [entry for entry in thread.everything().values() if entry.live]
    counts = len(live), sum(entry.role == "user" for entry in live)
    if counts != (state.messages, state.turns):
        yield f"{state.id}: its row counts {(state.messages, state.turns)}, the log gives {counts}"
    about = fold_about(ThreadDescription(), thread.events)
    if about.to_json() != state.about.to_json():
        yield f"{state.id}: its row says {state.about}, the log gives {about}"


def _words(reader: Reader, threads: dict[str, Folded]) -> Iterator[str]:
    known = {name: thread.everything() for name, thread in threads.items()}
    for thread in threads.values():
        for event in thread.events:
            if event.kind in SPEAKING:
                yield from _speech(
                    reader, event, [entries.get(event.message or event.id) for entries in known.values()]
                )


def _speech(reader: Reader, event: Event, entries: list[Entry | None]) -> Iterator[str]:
    standing = [entry for entry in entries if entry is not None]
    shown = any(entry.live and entry.revision == event.id for entry in standing)
    indexed = reader.read_index_tokens(event.id)
    spoken = reader.read_spoken([event.id])[event.id]
    if event.body is None:
        if shown or indexed is not None or spoken.digest is not None or spoken.body is not None:
            yield f"{event.id}: forgotten, and yet shown, indexed or hashed"
        return
    content = original(event.body)
    roles = {entry.role for entry in standing}
    if spoken.body != event.body or {spoken.digest} != {digest(role, content) for role in roles}:
        yield f"{event.id}: its words do not have the hash that is stored"
    words = index_words(searchable(content))
    if (indexed or None) != ((words or None) if shown else None):
        yield f"{event.id}: indexed as {indexed!r}; shown: {shown}; words: {words!r}"
    if standing and all(entry.flags & FORGOTTEN for entry in standing):
        yield f"{event.id}: the message is forgotten, its words are not"
    for blob in blobs_of(content):
        if event.id not in reader.blob_users(blob) and reader.blob(blob) is not None:
            yield f"{event.id}: the store does not know that it uses {blob}"


def each_thread(engine: backscroll.Engine, work: Callable[[backscroll.Thread], None]) -> None:
    """Do something with every thread of a store."""
    for info in list(engine.threads()):
        work(engine.thread(info.id))
