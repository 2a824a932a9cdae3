"""Interfaces of a store; SQLite and PostgreSQL implement them and pass one contract kit.

A store knows rows, not policy: which rows to write is decided by the engine with the pure functions of this room. All reads of
one `Reader` see one moment; all writes of one `Writer` happen together or not at all, and are durable when `Store.write`
returns. Sequence numbers, positions and hashes are passed in, never invented by a store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from backscroll.record.derived import (
    Artefact,
    Charge,
    Lesson,
    RecipeReply,
    SpendingTotal,
    SummaryNode,
    TurnMark,
)
from backscroll.record.history import Entry, EntrySpan
from backscroll.record.quarantine import RepairWriter
from backscroll.record.queries import Bounds, EventRow, RawHit, RevisionBody, SearchFilter, ThreadState
from backscroll.vocab.event import Event
from backscroll.vocab.ids import Ref

__all__ = [
    "Bounds",
    "EventRow",
    "RawHit",
    "Reader",
    "RevisionBody",
    "SearchFilter",
    "Store",
    "ThreadState",
    "Writer",
]

T = TypeVar("T")


class Reader(Protocol):
    """Reading at one moment."""

    def thread(self, thread: str) -> ThreadState | None: ...
    def threads(
        self,
        *,
        project: str | None = None,
        user: str | None = None,
        kind: str | None = None,
        after: tuple[str, str] | None = None,
        limit: int = 100,
    ) -> list[ThreadState]:
        """Return threads, newest change first; `after` is (updated_at, id) of the last one seen. Unreadable rows are skipped.

        An empty `user` asks for threads without a user.
        """
        ...

    def heads(
        self, *, project: str | None = None, user: str | None = None, limit: int = 100
    ) -> list[tuple[str, int]]:
        """Return the ids of the same threads, each with its newest event, so that a caller knows which to reread."""
        ...

    def find_by_key(self, key: str) -> ThreadState | None:
        """Return the oldest thread that a caller gave this key."""
        ...

    def threads_like(self, prefix: str, limit: int = 10) -> list[str]:
        """Return ids that begin with these hex digits."""
        ...

    def unreadable(self) -> list[str]:
        """Return threads with unreadable rows."""
        ...

    def family(self, root: str) -> list[ThreadState]:
        """Return every thread that shares this root, the root included, oldest first; unreadable rows are skipped."""
        ...

    def entry(self, thread: str, message: Ref, as_of: int | None = None) -> Entry | None:
        """Return the thread's own entry for a message, now or as of an event; deleted ones included."""
        ...

    def page(
        self, thread: str, bounds: Bounds, limit: int, *, newest_first: bool = False, gone: bool = False
    ) -> list[tuple[Entry, RevisionBody]]:
        """Return a thread's own entries in order of position, with their text; deleted and forgotten ones only with `gone`."""
        ...

    def count(self, thread: str, bounds: Bounds, *, role: str | None = None, hidden: bool = False) -> int:
        """Return the number of own live entries in these bounds; with `hidden`, of those hidden from prompts."""
        ...

    def list_adopted_messages(self, thread: str) -> list[tuple[Ref, int]]:
        """Return messages of the shared past for which a fork has its own entries, with the event of the first."""
        ...

    def spans(self, thread: str) -> Iterable[EntrySpan]:
        """Return every own entry a thread ever had, for verification."""
        ...

    def event(self, event: Ref) -> Event | None: ...
    def events(
        self,
        thread: str,
        first: int = 1,
        last: int | None = None,
        limit: int | None = None,
        *,
        newest_first: bool = False,
    ) -> list[Event]:
        """Return own events of a thread."""
        ...

    def events_about(self, message: Ref) -> list[Event]:
        """Return every event, in any fork, about a message: its own first one, then the others by thread and number."""
        ...

    def undoable(self, thread: str, actor: str, before: int | None = None, limit: int = 100) -> list[Event]:
        """Return an actor's deliberate, undo and redo events, newest first."""
        ...

    def read_spoken(self, revisions: Sequence[Ref]) -> dict[Ref, RevisionBody]: ...
    def search(self, query: str, wanted: SearchFilter, limit: int) -> list[RawHit]:
        """Search entries; `query` is in the store's own language (`Store.dialect`)."""
        ...

    def read_index_tokens(self, revision: Ref) -> str | None:
        """Return the index tokens of a revision; None if it is not in the index."""
        ...

    def blob(self, digest: str) -> bytes | None: ...
    def blobs(self) -> Iterable[str]: ...
    def blob_users(self, digest: str) -> list[Ref]: ...
    def origin(self, key: bytes) -> str | None:
        """Return the thread that an import made for this origin."""
        ...

    def tokens(self, revisions: Sequence[Ref], tokenizer: str) -> dict[Ref, int]: ...
    def turn_state(self, thread: str, openings: Sequence[Ref]) -> dict[Ref, tuple[str, str]]:
        """Return, for each analysed turn, the analysed version and the time."""
        ...

    def others(self, thread: str, first: int = 1, last: int | None = None) -> list[Event]:
        """Return own events of a thread that are neither `PLENTY` nor placements, found without reading the others."""
        ...

    def list_placed_events(self, thread: str, first: int = 1, last: int | None = None) -> list[Event]:
        """Return own events of a thread that add our text to prompts, found in the same way."""
        ...

    def list_marked_entries(self, thread: str, bounds: Bounds) -> list[tuple[Entry, RevisionBody]]:
        """Return own live entries that are system messages or pinned, in order of position, found without reading the others."""
        ...

    def read_artefacts(self, keys: Sequence[bytes]) -> dict[bytes, Artefact]: ...
    def reply(self, key: bytes) -> RecipeReply | None: ...
    def replies(self, thread: str) -> list[RecipeReply]:
        """Return the replies that were kept for a thread, oldest first."""
        ...

    def vectors(self, revisions: Sequence[Ref], encoder: str) -> dict[Ref, bytes]:
        """Return vectors as little-endian 16-bit floats."""
        ...

    def nearest(
        self, vector: bytes, encoder: str, wanted: SearchFilter, limit: int
    ) -> list[tuple[Ref, float]]:
        """Return revisions with the nearest vectors (cosine; `vector` is 16-bit floats), nearest first, then newest.

        Only revisions that some history shows now; a zero vector matches nothing. Scores have five digits, so that both
        stores agree.
        """
        ...

    def nodes(
        self,
        thread: str,
        level: int,
        *,
        after: bytes | None = None,
        before: bytes | None = None,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> list[SummaryNode]:
        """Return nodes of one level whose first position lies strictly between, in order of position."""
        ...

    def turn_marks(
        self,
        thread: str,
        rule: str,
        *,
        after: bytes | None = None,
        before: bytes | None = None,
        newest_first: bool = False,
        limit: int | None = None,
        over: bytes | None = None,
    ) -> list[TurnMark]:
        """Return turns under analysis whose position lies strictly between, in order of position (then of opening).

        With `over` only settled ones that held this position when they left the window.
        """
        ...

    def progress(self, thread: str, recipe: str) -> int:
        """Return the number of the last event that a background recipe has seen; 0 if it never ran."""
        ...

    def behind(self, recipe: str, limit: int) -> list[tuple[str, int]]:
        """Return threads with events that a recipe has not seen, with the last number it has."""
        ...

    def charges(
        self,
        *,
        thread: str | None = None,
        since_us: int | None = None,
        until_us: int | None = None,
        limit: int = 100,
    ) -> list[Charge]:
        """Return newest first."""
        ...

    def sum_spending(
        self,
        by: Sequence[str] = (),
        *,
        thread: str | None = None,
        since_us: int | None = None,
        until_us: int | None = None,
        day: str | None = None,
    ) -> list[SpendingTotal]:
        """Return sums over the ledger, grouped by any of model, provider, purpose, thread, task, turn, day; in their order.

        Without grouping there is always one sum, empty if nothing was charged.
        """
        ...

    def lessons(self, thread: str | None = None, limit: int = 10_000) -> list[Lesson]:
        """Return newest first."""
        ...

    def receipts(self, thread: str, limit: int = 1) -> list[bytes]:
        """Return the receipts of the last prompts, newest first; they contain no text."""
        ...

    def meta(self, key: str) -> str | None: ...
    def scrub_due(self) -> bool:
        """Return True if text was erased (by any tenant) from pages that are not rewritten yet."""
        ...

    def stats(self) -> Mapping[str, int]: ...
    def integrity(self) -> list[str]:
        """Return the database's own integrity errors; empty if there are none."""
        ...


class Writer(Reader, RepairWriter, Protocol):
    """Writing, together or not at all."""

    def lock_thread(self, thread: str) -> ThreadState | None:
        """Return the row of a thread, held until the end of the transaction."""
        ...

    def lock_key(self, key: str) -> None:
        """Block other writers from starting a thread under this key until the end of the transaction."""
        ...

    def add_thread(self, state: ThreadState) -> None: ...
    def save_thread(self, state: ThreadState, *, about_changed: bool) -> None: ...
    def log(self, logged: EventRow) -> None: ...
    @property
    def words_may_wait(self) -> bool:
        """True if the store computes index words itself at the first search."""
        ...

    def log_all(self, thread: str, logged: Sequence[EventRow], entries: Sequence[Entry]) -> None:
        """Log consecutive appended messages: their events and the entries they open."""
        ...

    def open_entry(self, thread: str, entry: Entry, before: Entry | None) -> None:
        """Open an entry and close the thread's own entry before it."""
        ...

    def index(self, revision: Ref, words: str) -> None: ...
    def unindex(self, revision: Ref) -> None: ...
    def put_blob(self, digest: str, data: bytes) -> None: ...
    def link_blob(self, digest: str, revision: Ref) -> None: ...
    def set_origin(self, key: bytes, thread: str) -> None: ...
    def set_tokens(self, counts: Iterable[tuple[Ref, str, int]]) -> None: ...
    def set_turn_state(self, thread: str, opening: Ref, version: str, at: str | None) -> None: ...
    def make(self, artefacts: Iterable[Artefact]) -> None:
        """Store artefacts; existing ones stay. One made from text that has since been forgotten is not stored."""
        ...

    def keep_reply(self, reply: RecipeReply) -> None:
        """Store a reply; the first one under a key stays. One whose sources have been forgotten is not stored."""
        ...

    def set_vectors(self, encoder: str, vectors: Iterable[tuple[Ref, bytes]]) -> None:
        """Store vectors, all of one length per encoder; those of forgotten text are not stored."""
        ...

    def set_node(self, node: SummaryNode) -> None: ...
    def drop_node(self, thread: str, level: int, opening: Ref) -> None: ...
    def set_turn_marks(self, marks: Iterable[TurnMark]) -> None:
        """Store marks, replacing those of the same thread, rule and opening."""
        ...

    def drop_turn_marks(self, thread: str, rule: str, openings: Sequence[Ref] | None = None) -> None:
        """Drop some marks of a thread, or all of them under a rule."""
        ...

    def claim(self, recipe: str, worker: str, now_us: int, until_us: int) -> tuple[str, int] | None:
        """Claim one thread with events that a recipe has not seen, for this worker until then; None if there is none.

        Several workers, in several processes, never hold the same thread for the same recipe.
        """
        ...

    def set_progress(self, thread: str, recipe: str, seen: int) -> None:
        """Record what a recipe has seen, and release the thread.

        If something was forgotten since the thread was claimed, progress stays at 0: the recipe starts over.
        """
        ...

    def charge(self, charge: Charge) -> None:
        """Add a call to the ledger; a second time under the same id adds nothing."""
        ...

    def settle(self, charge: Charge) -> None:
        """Replace the ledger's row of a call with its actual cost; add it if there is none."""
        ...

    def learn(self, lesson: Lesson) -> None:
        """Store a lesson, replacing one of the same thread, time and feature."""
        ...

    def unlearn(self, thread: str | None = None) -> int:
        """Delete lessons (of one thread); return how many."""
        ...

    def keep_receipt(self, thread: str, at: str, body: bytes, keep: int) -> None:
        """Store the receipt of a prompt, and keep only the last `keep` of them."""
        ...

    def unmake(self, revisions: Sequence[Ref], threads: Sequence[str]) -> int:
        """Delete everything derived from these revisions, and what is made from other artefacts in these threads.

        The threads lose their summary tree and receipts too, and every recipe starts over in them. Returns the number of
        deleted artefacts, replies, vectors, token counts, nodes and receipts.
        """
        ...

    def set_meta(self, key: str, value: str) -> None: ...
    def erase_event(self, event: Ref) -> None:
        """Destroy salt, body, content hash and index entry of an event, and everything derived from it."""
        ...

    def erase_blob(self, digest: str) -> None: ...


class Store(Protocol):
    """A durable place for logs."""

    dialect: str  # `fts5` or `tsquery`
    location: str  # for display; never contains a password

    def read(self, work: Callable[[Reader], T]) -> T: ...
    def write(self, work: Callable[[Writer], T]) -> T:
        """Run in one transaction; durable on return. `work` may run again and must have no other side effects."""
        ...

    def scrub(self) -> list[str]:
        """Rewrite index and file after a forget, so that no page keeps erased text. Return what it cannot reach."""
        ...

    def resume_scrub(self) -> bool:
        """Finish the scrub of an interrupted forget, without waiting for others; False if it is still due."""
        ...

    def index_rest(self) -> None:
        """Index the text that a large append deferred; a search does so by itself."""
        ...

    def backup(self, target: str) -> None: ...
    def facts(self) -> Mapping[str, str]:
        """Return versions, size, journal mode and so on, for `doctor`."""
        ...

    def close(self) -> None: ...
