"""The pen: the only writer of events.

A pen is held for one thread within one transaction. Each stroke seals an event, links it to the chain, folds it into the
entries, and updates the search index and the counters, so log, history and index always agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from backscroll.engine.core.clock import ClockAndIds
from backscroll.engine.core.lineage import ERASED, View, kin_of
from backscroll.errors import InvalidInput, NotFound
from backscroll.record.chain import SALT, commitment, hash_link, seal_event, to_bytes
from backscroll.record.content import blobs_of, digest, encode_content, original, searchable, tools_of
from backscroll.record.history import Entry, changes
from backscroll.record.ports import EventRow, RevisionBody, ThreadState, Writer
from backscroll.record.thread_info import after, last_change
from backscroll.vocab.event import DELIBERATE, SPEAKING, Event, Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content
from backscroll.vocab.part import Json, Media, Part, ToolCall, ToolResult
from backscroll.vocab.values.moment import microseconds

#: Batches of this size are indexed later if the store allows it: indexing takes longer than writing.
_WAIT_FROM = 256
_UNDOABLE = DELIBERATE | {Kind.UNDONE, Kind.REDONE}


@dataclass(frozen=True, slots=True)
class MessageDraft:
    """Content on its way into an event."""

    role: str
    content: Content
    digest: bytes = b""  # the content hash; with it come the fields below
    body: bytes = b""
    words: str | None = None  # index text, if already computed
    media: tuple[tuple[str, bytes], ...] = ()  # blobs to be stored with it, by their hashes


class Pen:
    """Writes to one thread inside one transaction."""

    def __init__(self, tx: Writer, thread: str, means: ClockAndIds, actor: str) -> None:
        state = tx.lock_thread(thread)
        if state is None:
            raise NotFound(f"thread {thread} not found", hint="run `backscroll threads` to list threads")
        self.tx = tx
        self.means = means
        self.actor = checked_actor(actor)
        self.state = state
        self._about_changed = False
        self._kin: list[ThreadState] | None = None
        self.said: Content | None = None  # the content of the last stroke, as stored
        self.digest = b""  # and their hash
        self.spoken: dict[Ref, RevisionBody] = {}  # and the same as readers get it
        self._entries: dict[Ref, Entry | None] = {}

    # -- strokes ---------------------------------------------------------------------------------------------

    def write(
        self,
        kind: Kind,
        *,
        target: Ref | None = None,
        head: Mapping[str, Json] | None = None,
        speech: MessageDraft | None = None,
        body: Json = None,
        at: str | None = None,
    ) -> Event:
        """Append one event to the log and apply everything that follows from it."""
        if speech is not None:
            speech = speech if speech.digest else ready(speech)
            for name, data in speech.media:
                self.tx.put_blob(name, data)
            sealed_body: bytes | None = speech.body
        else:
            sealed_body = None if body is None else to_bytes(body)
        salt = None if sealed_body is None else self.means.random(SALT)
        commit = b"" if salt is None or sealed_body is None else commitment(salt, sealed_body)
        state, seq, facts, when = self.state, self.state.head + 1, head or {}, at or self.means.now()
        written = to_bytes(facts)
        line = f"{state.id}.{seq}\n{kind.value}\n{when}\n{target or ''}\n{self.actor}\n"
        hash_ = hash_link(state.hash, line, commit, written)
        event = Event(state.id, seq, kind, self.actor, when, target, facts, sealed_body, salt, commit, hash_)
        return self.adopt(event, speech, written)

    def rewrite(self, event: Event) -> Event:
        """Append an event of another log as the next one of this log, sealed and linked again."""
        salt = self.means.random(SALT) if event.body is not None else b""
        return self.adopt(seal_event(replace(event, commit=b"", salt=None), self.state.hash, salt))

    def adopt(self, event: Event, speech: MessageDraft | None = None, head: bytes | None = None) -> Event:
        """Append an event that is already sealed and linked (just written, or read from an export)."""
        if speech is None and event.kind in SPEAKING and event.body is not None:
            speech = MessageDraft("", original(event.body))
        opened = changes(event, self.entry)
        stood = [self._find_previous_entries(entry, event) for entry in opened]
        for entry, (_, before) in zip(opened, stood, strict=True):
            # Old text leaves the index before new text enters: FTS5 would have to write in between otherwise.
            if before is not None and before.live and not (entry.live and entry.revision == before.revision):
                self._unindex(before)
        self._log(event, speech, opened, head)
        about = after(self.state.about, event)
        if about is not self.state.about:
            self._about_changed = True
        wiped = event.kind is Kind.FORGOTTEN and bool(event.head.get("thread"))
        self._about_changed |= wiped
        messages, turns = self.state.messages, self.state.turns
        for entry, (own, before) in zip(opened, stood, strict=True):
            self._open(entry, event, own, before)
            messages += entry.live - (before is not None and before.live)
            turns += entry.opens_turn - (before is not None and before.opens_turn)
        self.state = replace(
            self.state,
            head=event.seq,
            hash=event.hash,
            about=about,
            updated_at=last_change(self.state.updated_at, event),
            messages=messages,
            turns=turns,
            forgotten=self.state.forgotten or wiped,
        )
        if event.kind is Kind.FORGOTTEN:
            self.tx.set_meta(ERASED, "yes")
        return event

    def append_all(
        self, speeches: Sequence[tuple[MessageDraft, Mapping[str, Json]]], *, wait: bool = True
    ) -> list[tuple[Event, MessageDraft]]:
        """Append many messages, each with its head: the same log as one stroke after another, in fewer steps.

        With `wait`, large batches are indexed later if the store allows it; searches find them anyway.
        """
        state, when, salts = self.state, self.means.now(), self.means.random(SALT * len(speeches))
        seq, hash_, updated = state.head, state.hash, state.updated_at
        messages, turns = state.messages, state.turns
        wait = wait and len(speeches) >= _WAIT_FROM and self.tx.words_may_wait
        written: list[tuple[Event, MessageDraft]] = []
        logged: list[EventRow] = []
        entries: list[Entry] = []
        for number, (given, facts) in enumerate(speeches):
            speech = given if given.digest else ready(given, words=not wait)
            salt, seq = salts[number * SALT : (number + 1) * SALT], seq + 1
            commit = commitment(salt, speech.body)
            head = (
                _role_head(speech.role)
                if len(facts) == 1 and facts.get("role") == speech.role
                else to_bytes(facts)
            )
            line = f"{state.id}.{seq}\n{Kind.APPENDED.value}\n{when}\n\n{self.actor}\n"
            hash_ = hash_link(hash_, line, commit, head)
            event = Event(
                state.id, seq, Kind.APPENDED, self.actor, when, None, facts, speech.body, salt, commit, hash_
            )
            (entry,) = changes(event, self.entry)
            said = facts.get("said", when)
            logged.append(
                EventRow(
                    event,
                    said,
                    microseconds(said),
                    speech.role,
                    speech.digest,
                    tools_of(speech.content),
                    (speech.words or "") if entry.live else "",
                    head=head,
                    waits=wait and entry.live and speech.words is None,
                )
            )
            messages, turns = messages + entry.live, turns + entry.opens_turn
            updated = last_change(updated, event)
            written.append((event, speech))
            entries.append(entry)
            for name, data in speech.media:
                self.tx.put_blob(name, data)
        self.tx.log_all(state.id, logged, entries)
        for event, speech in written:
            for blob in blobs_of(speech.content):
                self.tx.link_blob(blob, event.id)
        self.state = replace(state, head=seq, hash=hash_, updated_at=updated, messages=messages, turns=turns)
        return written

    def save(self) -> ThreadState:
        """Write the row of the thread; the last thing a pen does."""
        self.tx.save_thread(self.state, about_changed=self._about_changed)
        return self.state

    # -- reading ---------------------------------------------------------------------------------------------

    @property
    def view(self) -> View:
        """The thread as of the strokes so far."""
        return View(self.tx, self.state)

    def entry(self, message: Ref) -> Entry | None:
        """Return the entry of a message; of a fork, also from the shared history."""
        if self.state.parent is not None:
            return self.view.entry(message)
        if message not in self._entries:
            self._entries[message] = self.tx.entry(self.state.id, message)
        return self._entries[message]

    # -- effects of an event ---------------------------------------------------------------------------------

    def _log(
        self, event: Event, speech: MessageDraft | None, opened: list[Entry], head: bytes | None
    ) -> None:
        said = event.head.get("said", event.at)
        if speech is None:
            role = opened[0].role if opened and event.kind in SPEAKING else ""  # said, and forgotten since
            self.tx.log(EventRow(event, said, microseconds(said), role, undoable=event.kind in _UNDOABLE))
            return
        role = speech.role or (opened[0].role if opened else "")
        self.said, self.digest = speech.content, speech.digest or digest(role, speech.content)
        live = bool(opened) and opened[0].live and opened[0].revision == event.id
        self.spoken = {event.id: RevisionBody(event.body, self.digest, said, event.actor)}
        words = speech.words if speech.words is not None else index_entry(speech.content) if live else ""
        self.tx.log(
            EventRow(
                event,
                said,
                microseconds(said),
                role,
                self.digest,
                tools_of(speech.content),
                words if live else "",
                undoable=event.kind in _UNDOABLE,
                head=head,
            )
        )
        for blob in blobs_of(speech.content):
            self.tx.link_blob(blob, event.id)

    def _find_previous_entries(self, entry: Entry, event: Event) -> tuple[Entry | None, Entry | None]:
        """Return the entries before this one opens: the thread's own, and the one that readers see."""
        if event.target is None and entry.message == event.id:
            return None, None
        if self.state.parent is None:
            return (own := self.entry(entry.message)), own
        own = self.tx.entry(self.state.id, entry.message)
        seen = own if own is not None else self.entry(entry.message)
        return own, seen

    def _open(self, entry: Entry, event: Event, own: Entry | None, before: Entry | None) -> None:
        """Open an entry, and index its text."""
        self.tx.open_entry(self.state.id, entry, own)
        if entry.message in self._entries:
            self._entries[entry.message] = entry
        new = entry.revision != event.id  # otherwise it was indexed with the event itself
        if (
            before is not None
            and entry.live
            and new
            and not (before.live and entry.revision == before.revision)
        ):
            self._index(entry.revision)

    def _index(self, revision: Ref) -> None:
        spoken = self.tx.read_spoken([revision]).get(revision)
        if spoken is not None and spoken.body is not None:
            self.tx.index(revision, index_entry(original(spoken.body)))

    def _unindex(self, entry: Entry) -> None:
        """Remove a revision from the index, unless another thread of the family still shows it."""
        if self._kin is None:
            self._kin = [t for t in kin_of(self.tx, self.state.root) if t.id != self.state.id]
        if not any(View(self.tx, kin).sees(entry) for kin in self._kin):
            self.tx.unindex(entry.revision)


def ready(speech: MessageDraft, *, words: bool = False) -> MessageDraft:
    """Return a draft with everything precomputed that does not need the store."""
    media: dict[str, bytes] = {}
    content = speech.content
    if _holds_bytes(content):
        content = replace(content, parts=tuple(_store_media(p, media) for p in content.parts))
    body, said = encode_content(speech.role, content)
    found = index_entry(content) if words else None
    return MessageDraft(speech.role, content, said, body, found, tuple(media.items()))


@cache
def _role_head(role: str) -> bytes:
    """Return the head of an ordinary message."""
    return to_bytes({"role": role})


def _holds_bytes(content: Content) -> bool:
    return any(isinstance(p, Media | ToolResult) for p in content.parts)


def _store_media(part: Part, media: dict[str, bytes]) -> Part:
    if isinstance(part, ToolResult):
        inner = tuple(_stored_media(p, media) if isinstance(p, Media) else p for p in part.content)
        return replace(part, content=inner)
    return _stored_media(part, media) if isinstance(part, Media) else part


def _stored_media(part: Media, media: dict[str, bytes]) -> Media:
    if part.data is None:
        return part
    name = hashlib.sha256(part.data).hexdigest()
    media[name] = part.data
    return replace(part, blob=name, data=None)


def checked_actor(actor: str) -> str:
    """Return the actor's name: one line, not empty."""
    if not actor or "\n" in actor or "\0" in actor or not actor.isprintable():
        raise InvalidInput(
            f"invalid actor name: {actor!r}", hint="use one line of printable text, such as user:ann"
        )
    return actor


def index_entry(content: Content) -> str:
    """Return the text under which a content is indexed."""
    from backscroll.recall.text.words import index_words  # start-up: reading does without its patterns

    if any(isinstance(p, ToolCall) for p in content.parts):
        content = original(encode_content("", content)[0])  # arguments as a reader of the log would find them
    return index_words(searchable(content))
