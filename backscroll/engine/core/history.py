"""Read a history: lazily, from either end, as of any event. `engine/thread` adds the writing half.

No transaction stays open: pages are read one by one, all as of the same event, so a long iteration sees one moment even
while other processes write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar, cast

from backscroll.engine.core.lineage import View, ancestors, log_of, visible_revisions
from backscroll.engine.core.signatures import doors
from backscroll.errors import Forgotten, InvalidInput, NotFound
from backscroll.record.chain import DAMAGE, from_bytes, make_corrupt_error
from backscroll.record.content import decode, encode, original
from backscroll.record.history import DELETED, FORGOTTEN, HIDDEN, PINNED, Entry
from backscroll.record.order import at_end
from backscroll.record.ports import Reader, RevisionBody, Store, ThreadState
from backscroll.record.turns import into_turns
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref, parse_ref, turn_uuid
from backscroll.vocab.message import Content, Message, Revision
from backscroll.vocab.thread import ThreadInfo, Turn
from backscroll.vocab.values.unicode import valid_text

T = TypeVar("T")
Read: TypeAlias = Callable[[bytes], Content]
_PAGE = 256


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """A code change as it was logged."""

    id: Ref
    description: str
    file_path: str
    at: str


@doors
class History:
    """The history of one thread, now (`as_of` None) or as of an event: verbatim, or in valid Unicode (`legible`)."""

    def __init__(self, store: Store, thread: str, as_of: int | None = None, *, read: Read = original) -> None:
        self.store = store
        self.id = thread
        self.as_of = as_of
        self._read = read

    @property
    def legible(self) -> History:
        """The same history in valid Unicode, as analysis and prompts read it; callers and exports get the text verbatim."""
        return History(self.store, self.id, self.as_of, read=decode)

    def _message(self, entry: Entry, spoken: RevisionBody) -> Message:
        return message_of(entry, spoken, None if spoken.body is None else self._read(spoken.body))

    # -- metadata --------------------------------------------------------------------------------------------

    def _state(self, reader: Reader) -> ThreadState:
        state = reader.thread(self.id)
        if state is None:
            raise NotFound(f"thread {self.id} not found", hint="run `backscroll threads` to list threads")
        return state

    def _view(self, work: Callable[[View], T], as_of: int | None = None) -> T:
        when = self.as_of if as_of is None else as_of
        return self.store.read(lambda reader: work(View(reader, self._state(reader), when)))

    def reading(self, work: Callable[[View], T]) -> T:
        """Run a function on this history in one read transaction."""
        return self._view(work)

    @property
    def info(self) -> ThreadInfo:
        """The thread's metadata, read without its messages."""
        info = info_of(self.store.read(self._state))
        if self._read is original:
            return info
        return replace(info, title=valid_text(info.title), language=valid_text(info.language))

    @property
    def head(self) -> int:
        """The number of the newest event that this history sees."""
        return self._view(lambda view: view.as_of)

    def __len__(self) -> int:
        """Return the number of live messages."""
        if self.as_of is None:
            return self.store.read(lambda reader: self._state(reader).messages)
        return self._view(lambda view: view.count())

    # -- messages --------------------------------------------------------------------------------------------

    def recent(self, n: int = 5) -> list[Message]:
        """Return the last `n` live messages, oldest of them first."""
        if n < 0:
            raise InvalidInput(f"cannot read {n} messages", hint="give a number of 0 or more")
        # A thread has fewer messages than events; larger numbers would overflow the database.
        rows = self._view(lambda view: view.page(min(n, view.as_of), newest_first=True))
        return [self._message(*row) for row in reversed(rows)]

    def messages(
        self,
        start: int | None = None,
        stop: int | None = None,
        *,
        after: Ref | str | None = None,
        before: Ref | str | None = None,
        newest_first: bool = False,
        deleted: bool = False,
    ) -> Iterator[Message]:
        """Iterate over live messages, reading a page at a time.

        `after` and `before` are message ids; `start` and `stop` slice the messages between them, in iteration order,
        counted from 0 (no negative numbers). With `deleted`, deleted messages appear in their places.
        """
        if (start or 0) < 0 or (stop or 0) < 0:
            raise InvalidInput("start and stop count from 0", hint="use recent(n) for the end of a history")
        moment = self.head
        low = self._position(after, moment) if after is not None else None
        high = self._position(before, moment) if before is not None else None
        skip = start or 0
        if skip and low is None and not (newest_first or deleted):
            low, skip = self._locate(skip, moment)
        left = None if stop is None else max(0, stop - (start or 0))
        while left is None or left > 0:
            page = min(_PAGE, _PAGE if left is None else left + skip)
            rows = self._view(
                lambda view, low=low, high=high, page=page: view.page(
                    page, after=low, before=high, newest_first=newest_first, gone=deleted
                ),
                moment,
            )
            for entry, spoken in rows:
                if spoken.body is None or entry.flags & FORGOTTEN:
                    continue
                if skip:
                    skip -= 1
                    continue
                yield self._message(entry, spoken)
                if left is not None:
                    left -= 1
            if len(rows) < page:
                return
            edge = rows[-1][0].position
            low, high = (low, edge) if newest_first else (edge, high)

    def __iter__(self) -> Iterator[Message]:
        """Yield all live messages in order."""
        return self.messages()

    def _position(self, message: Ref | str, moment: int) -> bytes:
        ref = parse_ref(message)
        entry = self._view(lambda view: view.entry(ref), moment)
        if entry is None:
            raise NotFound(f"message {ref.short} not found in thread {self.id[:8]}")
        return entry.position

    def _locate(self, ordinal: int, moment: int, role: str | None = None) -> tuple[bytes, int]:
        """Return a position with at most `ordinal` live messages before or at it, and how many more to skip."""

        def search(view: View) -> tuple[bytes, int]:
            low, high, found = 0, moment, 0
            while low < high:
                middle = (low + high + 1) // 2
                more = view.count(role=role, after=at_end(low), upto=at_end(middle))
                if found + more <= ordinal:
                    low, found = middle, found + more
                else:
                    high = middle - 1
            return at_end(low), ordinal - found

        return self._view(search, moment)

    def message(self, message: Ref | str | int) -> Message:
        """Return one message by id or index (0 is the first, -1 the last)."""
        if isinstance(message, int):
            start = message if message >= 0 else -1 - message
            found = list(self.messages(start, start + 1, newest_first=message < 0))
            if not found:
                raise NotFound(f"the history has no message number {message}", hint=f"it has {len(self)}")
            return found[0]
        ref = parse_ref(message)

        def look(view: View) -> Message:
            entry = view.entry(ref)
            if entry is None:
                raise NotFound(
                    f"message {ref.short} not found in thread {self.id[:8]}",
                    hint="run `backscroll show` to list messages",
                )
            spoken = view.reader.read_spoken([entry.revision])[entry.revision]
            if spoken.body is None or entry.flags & FORGOTTEN:
                raise Forgotten(f"message {ref.short} was forgotten", hint="its content cannot be restored")
            return self._message(entry, spoken)

        return self._view(look)

    def place(self, message: Ref | str) -> int:
        """Return the index of a live message, counted from 0."""
        ref = parse_ref(message)

        def look(view: View) -> int:
            entry = view.entry(ref)
            if entry is None or not entry.live:
                raise NotFound(f"message {ref.short} is not in the history of {self.id[:8]}")
            return view.count(upto=entry.position) - 1

        return self._view(look)

    def revisions(self, message: Ref | str) -> list[Revision]:
        """Return every revision of a message visible to this thread, oldest first: edits and alternatives."""
        ref = parse_ref(message)

        def look(view: View) -> list[Revision]:
            past = ancestors(view.reader, view.state)
            lineage = [(parent.id, min(fork.fork_seq, view.as_of)) for fork, parent in past]
            lineage.append((view.state.id, view.as_of))
            if view.entry(ref) is None:
                raise NotFound(f"message {ref.short} not found in thread {self.id[:8]}")
            events = visible_revisions(view.reader.events_about(ref), lineage)
            spoken = view.reader.read_spoken([e.id for e in events])
            return [_revision(e, ref, spoken[e.id]) for e in events]

        return self._view(look)

    # -- turns -----------------------------------------------------------------------------------------------

    def turns(self, first: int = 0, last: int | None = None) -> Iterator[Turn]:
        """Yield turns in order, by number; turn 0 is what precedes the first user message."""
        moment = self.head
        low, opened = None, 0
        if first > 1:
            low, skip = self._locate(first - 1, moment, role="user")
            opened = first - 1 - skip
            # The grid may lie inside an earlier turn: what precedes the requested turn is dropped below.
        history = History(self.store, self.id, moment, read=self._read)
        walk = history.messages_from(low)
        for turn in into_turns(self.id, walk, opened):
            if turn.sequence < first:
                continue
            if last is not None and turn.sequence > last:
                return
            yield self._with_state(turn)

    def messages_from(self, low: bytes | None) -> Iterator[Message]:
        """Yield live messages after a position."""
        moment = self.head
        while True:
            rows = self._view(lambda view, low=low: view.page(_PAGE, after=low), moment)
            yield from (self._message(*row) for row in rows)
            if len(rows) < _PAGE:
                return
            low = rows[-1][0].position

    def turn(self, which: int | str) -> Turn:
        """Return one turn by number or id."""
        number = which if isinstance(which, int) else self._view(lambda view: _turn_number(view, which))
        found = None if number is None or number < 0 else next(self.turns(number, number), None)
        if found is None:
            raise NotFound(f"thread {self.id[:8]} has no turn {which}", hint=f"it has {self.info.turns}")
        return found

    def recent_turns(self, n: int = 5) -> list[Turn]:
        """Return the last `n` turns, oldest of them first."""
        moment = self.head
        total = self._view(lambda view: view.count(role="user"), moment)
        return list(History(self.store, self.id, moment, read=self._read).turns(max(0, total - n + 1)))

    def _with_state(self, turn: Turn) -> Turn:
        opening = turn.messages[0].id if turn.sequence else Ref(self.id, 0)
        known = self.store.read(lambda reader: reader.turn_state(self.id, [opening])).get(opening)
        if known is None:
            return turn
        return replace(turn, processed=known[0] == turn.version, processed_at=known[1])

    # -- the log ---------------------------------------------------------------------------------------------

    def events(
        self, first: int = 1, last: int | None = None, *, newest_first: bool = False
    ) -> Iterator[Event]:
        """Yield the events of the log, including the history that a fork shares."""
        moment = self.head
        last = moment if last is None else min(last, moment)
        while first <= last:
            low, high = (
                (max(first, last - _PAGE + 1), last)
                if newest_first
                else (first, min(last, first + _PAGE - 1))
            )
            found = self._view(lambda view, low=low, high=high: log_of(view, low, high), moment)
            yield from reversed(found) if newest_first else found
            first, last = (first, low - 1) if newest_first else (high + 1, last)

    def code_changes(self) -> Iterator[LoggedChange]:
        """Yield the code changes recorded in the log."""
        for event in self.events():
            if event.kind is Kind.CODE_CHANGED and event.body is not None:
                yield _change(event)


def _change(event: Event) -> LoggedChange:
    body = cast("dict[str, str]", from_bytes(event.body or b"{}"))
    try:
        return LoggedChange(event.id, body["description"], body["file"], event.head.get("said", event.at))
    except DAMAGE as error:
        raise make_corrupt_error(f"code change {event.id.short}", error) from error


def _turn_number(view: View, uuid: str) -> int | None:
    """Return the current number of the turn with this id; None if its first message is deleted."""
    tail = uuid.rpartition("-")[2][-8:]
    seq = int(tail, 16) if len(tail) == 8 and all(c in "0123456789abcdef" for c in tail) else -1
    names = [view.state.id, *(parent.id for _, parent in ancestors(view.reader, view.state))]
    for thread in names:
        opening = Ref(thread, seq)
        if seq >= 0 and turn_uuid(opening) == uuid:
            entry = view.entry(opening) if seq else None
            if seq == 0:
                return 0
            return (
                view.count(role="user", upto=entry.position)
                if entry is not None and entry.opens_turn
                else None
            )
    return None


def message_of(entry: Entry, spoken: RevisionBody, content: Content | None = None) -> Message:
    """Build the message for an entry and its text, in valid Unicode; `content` if it was decoded before."""
    if spoken.body is None:
        raise Forgotten(f"message {entry.message.short} was forgotten")
    return Message(
        entry.message,
        entry.role,
        entry.revision,
        decode(spoken.body) if content is None else content,
        spoken.said,
        entry.alternative,
        entry.alternatives,
        bool(entry.flags & HIDDEN),
        bool(entry.flags & PINNED),
        bool(entry.flags & DELETED),
        spoken.digest.hex() if spoken.digest else "",
        entry.position,
    )


def legible_message(message: Message) -> Message:
    """Return a verbatim message in valid Unicode."""
    return replace(message, content=decode(encode(message.content)))


def _revision(event: Event, message: Ref, spoken: RevisionBody) -> Revision:
    content = None if event.body is None else original(event.body)
    number: int = event.head.get("alternative", 0)
    return Revision(
        event.id,
        message,
        number,
        content,
        event.at,
        event.actor,
        spoken.digest.hex() if spoken.digest else None,
        spoken.said,
    )


def info_of(state: ThreadState) -> ThreadInfo:
    """Return a thread's row as a ThreadInfo."""
    about = state.about
    return ThreadInfo(
        state.id,
        about.title,
        about.project,
        about.kind,
        about.language,
        about.tags,
        deepcopy(about.metadata),  # rows are shared; a caller's changes must not reach them
        state.created_at,
        state.updated_at,
        state.head,
        state.messages,
        state.turns,
        state.parent,
        state.fork_message,
        state.forgotten,
        about.user,
        about.key,
    )
