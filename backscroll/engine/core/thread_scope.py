"""What the modules of the engine may use of an engine and of a thread.

`EngineScope` holds the store, the settings, the clock and the caches of the process; `ThreadScope` reads one thread and
writes to it in one transaction. The classes that users hold, `engine/engine` and `engine/thread`, extend them and pass
themselves down, so that nothing below imports either. Operations are in the folders above this one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, Protocol, Self, TypeVar, cast

from backscroll.config import Settings
from backscroll.engine.core.clock import ClockAndIds
from backscroll.engine.core.history import History, info_of
from backscroll.engine.core.memo import Memo
from backscroll.engine.core.pacing import Callers
from backscroll.engine.core.pen import Pen, checked_actor
from backscroll.engine.core.signatures import doors
from backscroll.errors import Ambiguous, InvalidInput, NotFound
from backscroll.record.chain import genesis
from backscroll.record.ports import Store, ThreadState, Writer
from backscroll.record.thread_info import ThreadDescription
from backscroll.vocab.event import Kind
from backscroll.vocab.ids import THREAD_ID, Ref
from backscroll.vocab.part import Json
from backscroll.vocab.thread import ThreadInfo
from backscroll.vocab.values.unicode import valid_text

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Background(Protocol):
    """The interface of the background worker that the rest of the engine needs."""

    def warm(self, thread: str) -> None:
        """Keep the graph of a thread up to date from now on."""
        ...


@doors
class EngineScope(ABC):
    """A store with its settings, its clock and the caches of this process."""

    def __init__(self, store: Store, settings: Settings, means: ClockAndIds | None = None) -> None:
        self.store = store
        self.settings = settings
        self.means = means or ClockAndIds()
        self.memo = Memo()
        self.callers = Callers()
        # Callbacks of modules that keep text in files; run to finish an interrupted forget.
        self.rewriters: list[Callable[[], None]] = []
        self._closing: list[Callable[[], bool]] = []
        self._watchers: list[Callable[[ThreadScope], None]] = []
        checked_actor(settings.actor)

    # -- lifecycle -------------------------------------------------------------------------------------------

    def on_close(self, work: Callable[[], bool]) -> None:
        """Register a callback for when the engine closes; returning False keeps the store open for its other users."""
        self._closing.append(work)

    def on_change(self, work: Callable[[ThreadScope], None]) -> None:
        """Register a callback that runs after every write to a thread through this engine."""
        self._watchers.append(work)

    def notify_change(self, thread: ThreadScope) -> None:
        """Run the `on_change` callbacks: a thread was written to."""
        for work in self._watchers:
            work(thread)

    @abstractmethod
    def worker(self) -> Background:
        """Return the background worker, and start it if the settings enable it."""

    @property
    @abstractmethod
    def at_work(self) -> Background | None:
        """The running background worker; None if none was started. Does not start one."""

    # -- threads ---------------------------------------------------------------------------------------------

    @abstractmethod
    def thread(self, name: str, *, actor: str | None = None, user: str | None = None) -> ThreadScope:
        """Return a thread by its id or id prefix; with `user`, only one that belongs to this user."""

    def begin(
        self,
        tx: Writer,
        about: ThreadDescription,
        actor: str | None = None,
        *,
        name: str | None = None,
        said: str | None = None,
    ) -> Pen:
        """Create a thread inside a transaction; return its pen. `said` is when the conversation really began."""
        name, now = name or self.means.new_thread(), self.means.now()
        began = said or now
        tx.add_thread(ThreadState(name, name, 0, genesis(name), ThreadDescription(), began, began))
        pen = Pen(tx, name, self.means, actor or self.settings.actor)
        head = {"said": said} if said else {}
        pen.write(Kind.CREATED, head=head, body={"about": about.to_json()}, at=now)
        pen.save()
        return pen

    def begin_once(
        self,
        key: str,
        about: Callable[[], ThreadDescription],
        actor: str | None = None,
        *,
        user: str | None = None,
    ) -> ThreadState:
        """Return the thread with a key; create it with `about` if there is none, once even with concurrent callers."""
        if not key or valid_text(key).strip() != key:
            raise InvalidInput(f"invalid thread key: {key!r}", hint="use text without spaces around it")
        found = self.store.read(lambda reader: reader.find_by_key(key))
        if found is None:
            new = replace(about(), key=key)

            def work(tx: Writer) -> tuple[ThreadState, bool]:
                tx.lock_key(key)
                there = tx.find_by_key(key)
                return (there, False) if there is not None else (self.begin(tx, new, actor).state, True)

            found, begun = self.store.write(work)
            if begun:
                self.notify_change(ThreadScope(self, found.id, actor))
                return found
        if user is not None and found.about.user != user:
            raise NotFound(
                f"the thread {key!r} belongs to another user", hint="use a key of its own for each user"
            )
        return found

    def resolve(self, name: str) -> str:
        """Return the full id of a thread, given an id prefix."""
        wanted = name.strip().lower()
        if THREAD_ID.fullmatch(wanted):
            if self.store.read(lambda reader: reader.thread(wanted)) is None:
                raise NotFound(f"thread {name} not found", hint="run `backscroll threads` to list threads")
            return wanted
        if len(wanted) < 2 or not all(c in "0123456789abcdef" for c in wanted):
            raise NotFound(
                f"invalid thread id: {name!r}",
                hint="ids are hex digits; `backscroll threads` lists them",
            )
        found = self.store.read(lambda reader: reader.threads_like(wanted, 5))
        if not found:
            raise NotFound(f"thread {name} not found", hint="run `backscroll threads` to list threads")
        if len(found) > 1:
            shown = ", ".join(f[:12] for f in found)
            raise Ambiguous(f"{name} matches several threads: {shown}", hint="give more digits")
        return found[0]

    def threads(
        self,
        *,
        project: str | None = None,
        user: str | None = None,
        kind: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        limit: int | None = None,
    ) -> Iterator[ThreadInfo]:
        """List threads, the most recently changed first; `metadata` filters by names and values."""
        wanted = dict(metadata or {})
        after: tuple[str, str] | None = None
        left = limit
        while left is None or left > 0:
            size = 100 if left is None or wanted else min(100, left)
            page = self.store.read(
                lambda reader, after=after, size=size: reader.threads(
                    project=project, user=user, kind=kind, after=after, limit=size
                )
            )
            fit = [state for state in page if _has(state.about.metadata, wanted)]
            yield from map(info_of, fit[:left])
            left = None if left is None else left - len(fit)
            if len(page) < size:
                return
            after = (page[-1].updated_at, page[-1].id)

    def stats(self) -> dict[str, int]:
        """Return the size of the store: how many rows of each kind."""
        return dict(self.store.read(lambda reader: reader.stats()))

    # -- cached token counts ---------------------------------------------------------------------------------

    def tokens(self, revisions: Sequence[Ref], tokenizer: str) -> dict[Ref, int]:
        """Return the stored token counts of revisions; those never counted are missing."""
        return self.store.read(lambda reader: reader.tokens(revisions, tokenizer))

    def set_tokens(self, counts: Mapping[Ref, int], tokenizer: str) -> None:
        """Store token counts; a count belongs to its revision and is erased with it."""
        rows = [(revision, tokenizer, count) for revision, count in counts.items()]
        self.store.write(lambda tx: tx.set_tokens(rows))

    # -- blobs -----------------------------------------------------------------------------------------------

    def blob(self, digest: str) -> bytes | None:
        """Return a blob by its hash; None once forgotten."""
        return self.store.read(lambda reader: reader.blob(digest))


@doors
class ThreadScope(History):
    """One thread: read it, and write to it in one transaction."""

    def __init__(self, engine: EngineScope, thread: str, actor: str | None = None) -> None:
        super().__init__(engine.store, thread)
        self._engine = engine
        self.actor = actor or engine.settings.actor

    @property
    def engine(self) -> EngineScope:
        """The engine that holds the thread's store."""
        return self._engine

    def as_actor(self, actor: str) -> Self:
        """Return the same thread with another actor."""
        return type(self)(self.engine, self.id, actor)

    def at(self, event: int) -> History:
        """Return the history as of an event of the log (time travel, read-only)."""
        if event < 0:
            raise InvalidInput(f"no event {event}", hint="events count from 1; 0 is before everything")
        return History(self.store, self.id, event)

    def stroke(self, work: Callable[[Pen], T]) -> T:
        """Write to the thread in one transaction; for modules of the engine that add operations."""

        def run(tx: Writer) -> T:
            pen = Pen(tx, self.id, self.engine.means, self.actor)
            result = work(pen)
            pen.save()
            return result

        result = self.store.write(run)
        self.engine.notify_change(self)
        return result


def announce_caller(work: F) -> F:
    """Decorate a method of a thread so that a background worker yields to it."""

    @wraps(work)
    def run(self: ThreadScope, *args: Any, **named: Any) -> Any:
        with self.engine.callers.inside():
            return work(self, *args, **named)

    return cast("F", run)


def _has(metadata: Mapping[str, Json], wanted: Mapping[str, Json]) -> bool:
    return all(name in metadata and metadata[name] == value for name, value in wanted.items())
