"""The engine: one per store and process, shared and safe for OS threads. Opens the store and hands out threads."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from backscroll.config import Settings, default_store, load
from backscroll.engine import forgetting
from backscroll.engine.lineage import View
from backscroll.engine.means import Means
from backscroll.engine.pen import Pen, checked_actor
from backscroll.engine.reading import info_of
from backscroll.engine.thread import Thread
from backscroll.errors import Ambiguous, InvalidInput, NotFound
from backscroll.record.about import About
from backscroll.record.chain import genesis
from backscroll.record.ports import Store, ThreadState, Writer
from backscroll.vocab.event import Kind
from backscroll.vocab.ids import THREAD_ID, Ref, parse_ref
from backscroll.vocab.part import Json
from backscroll.vocab.thread import ThreadInfo

_open: dict[tuple[int, str, str], Engine] = {}
_lock = threading.Lock()


def open(store: str | os.PathLike[str] | None = None, **settings: Any) -> Engine:
    """Open a store: a file, a `postgresql://` address, or (by default) the one in the user's data folder.

    Within one process, opening the same store again gives the same engine.
    """
    chosen = load({"store": None if store is None else os.fspath(store), **settings})
    where = chosen.store or str(default_store())
    remote = where.startswith(("postgresql://", "postgres://"))
    if not remote and "://" in where:
        raise InvalidInput(
            f"not a store: {where}", hint="use a file path, or postgresql://user@host/database"
        )
    place = where if remote else str(Path(where).expanduser().absolute())
    key = (os.getpid(), place, chosen.tenant)
    with _lock:
        engine = _open.get(key)
        if engine is None:
            engine = Engine(_store_at(place, chosen, remote=remote), chosen)
            engine.on_close(lambda: _open.pop(key, None))
            _open[key] = engine
        engine.users += 1
        return engine


def _store_at(place: str, settings: Settings, *, remote: bool) -> Store:
    if remote:
        from backscroll.stores.postgres.store import PostgresStore

        return PostgresStore(place, tenant=settings.tenant, patience=settings.patience)
    from backscroll.stores.sqlite.store import SqliteStore

    return SqliteStore(Path(place), patience=settings.patience)


class Engine:
    """Everything in one store."""

    def __init__(self, store: Store, settings: Settings, means: Means | None = None) -> None:
        self.store = store
        self.settings = settings
        self.means = means or Means()
        self.users = 0
        self._closing: list[Callable[[], object]] = []
        self._watchers: list[Callable[[Thread], None]] = []
        checked_actor(settings.actor)

    # -- life ------------------------------------------------------------------------------------------------

    def on_close(self, work: Callable[[], object]) -> None:
        """Run something when the last user closes the engine."""
        self._closing.append(work)

    def on_change(self, work: Callable[[Thread], None]) -> None:
        """Run something after every write to a thread through this engine."""
        self._watchers.append(work)

    def changed(self, thread: Thread) -> None:
        """Tell whoever wants to know that a thread was written to."""
        for work in self._watchers:
            work(thread)

    def close(self) -> None:
        """Let go of the store; the last one to do so closes it."""
        with _lock:
            self.users -= 1
            if self.users > 0:
                return
            for work in self._closing:
                work()
        self.store.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- threads ---------------------------------------------------------------------------------------------

    def create(
        self,
        title: str = "",
        *,
        project: str = "",
        kind: str = "chat",
        language: str = "",
        tags: Sequence[str] = (),
        metadata: dict[str, Json] | None = None,
        actor: str | None = None,
    ) -> Thread:
        """Begin a conversation."""
        about = About(title, project, kind, language, tuple(tags), metadata or {})
        made = self.store.write(lambda tx: self.begin(tx, about, actor).state.id)
        thread = Thread(self, made, actor)
        self.changed(thread)
        return thread

    def begin(
        self,
        tx: Writer,
        about: About,
        actor: str | None = None,
        *,
        name: str | None = None,
        said: str | None = None,
    ) -> Pen:
        """A new thread inside a transaction; gives the pen that holds it. `said` is when it really began."""
        name, now = name or self.means.new_thread(), self.means.now()
        began = said or now
        tx.add_thread(ThreadState(name, name, 0, genesis(name), About(), began, began))
        pen = Pen(tx, name, self.means, actor or self.settings.actor)
        head = {"said": said} if said else {}
        pen.write(Kind.CREATED, head=head, body={"about": about.to_json()}, at=now)
        pen.save()
        return pen

    def fork(self, parent: str, at: Ref | None, *, title: str | None, actor: str) -> str:
        """A thread that shares another one's past up to and including a message; gives its id."""

        def work(tx: Writer) -> str:
            state = tx.lock_thread(parent)
            if state is None:
                raise NotFound(f"no thread {parent}")
            view = View(tx, state)
            position: bytes | None = None
            if at is not None:
                entry = view.entry(at)
                if entry is None or not entry.live:
                    raise NotFound(
                        f"message {at.short} does not stand in thread {parent[:8]}",
                        hint="fork at a live message",
                    )
                position = entry.position
            return self.begin_fork(tx, state, position, at, title, actor).state.id

        made = self.store.write(work)
        self.changed(Thread(self, made, actor))
        return made

    def begin_fork(
        self,
        tx: Writer,
        parent: ThreadState,
        position: bytes | None,
        at: Ref | None,
        title: str | None,
        actor: str,
    ) -> Pen:
        """A fork inside a transaction; gives the pen that holds it."""
        name, now = self.means.new_thread(), self.means.now()
        view = View(tx, parent)
        state = ThreadState(
            name,
            parent.root,
            parent.head,
            parent.hash,
            About(),
            now,
            now,
            view.count(upto=position),
            view.count(role="user", upto=position),
            parent.id,
            parent.head,
            position,
            at,
        )
        tx.add_thread(state)
        pen = Pen(tx, name, self.means, actor)
        about = {**parent.about.to_json(), **({} if title is None else {"title": title})}
        head = {
            "parent": parent.id,
            "at": parent.head,
            "message": None if at is None else str(at),
            "position": None if position is None else position.hex(),
        }
        pen.write(Kind.FORKED, head=head, body={"about": about}, at=now)
        pen.save()
        return pen

    def thread(self, name: str, *, actor: str | None = None) -> Thread:
        """A thread by its id, or by the first digits of it."""
        return Thread(self, self.resolve(name), actor)

    def resolve(self, name: str) -> str:
        """The full id of a thread, given its first digits."""
        wanted = name.strip().lower()
        if THREAD_ID.fullmatch(wanted):
            if self.store.read(lambda reader: reader.thread(wanted)) is None:
                raise NotFound(f"no thread {name}", hint="`backscroll threads` lists what is in the store")
            return wanted
        if len(wanted) < 2 or not all(c in "0123456789abcdef" for c in wanted):
            raise NotFound(
                f"not the id of a thread: {name!r}",
                hint="ids are hex digits; `backscroll threads` lists them",
            )
        found = self.store.read(lambda reader: reader.threads_like(wanted, 5))
        if not found:
            raise NotFound(
                f"no thread begins with {name}", hint="`backscroll threads` lists what is in the store"
            )
        if len(found) > 1:
            shown = ", ".join(f[:12] for f in found)
            raise Ambiguous(f"several threads begin with {name}: {shown}", hint="give more digits")
        return found[0]

    def resolve_ref(self, name: str) -> Ref:
        """A message, revision or event by its full or short name (`3f2a9c1e.17`)."""
        thread, dot, seq = name.strip().rpartition(".")
        if not dot or not seq.isdecimal() or not seq.isascii() or int(seq) < 1:
            raise NotFound(f"not the id of a message: {name!r}", hint="ids look like 3f2a9c1e.17")
        return parse_ref(f"{self.resolve(thread)}.{int(seq)}")

    def threads(
        self, *, project: str | None = None, kind: str | None = None, limit: int | None = None
    ) -> Iterator[ThreadInfo]:
        """Threads, the most recently changed first."""
        after: tuple[str, str] | None = None
        left = limit
        while left is None or left > 0:
            size = 100 if left is None else min(100, left)
            page = self.store.read(
                lambda reader, after=after, size=size: reader.threads(
                    project=project, kind=kind, after=after, limit=size
                )
            )
            yield from map(info_of, page)
            left = None if left is None else left - len(page)
            if len(page) < size:
                return
            after = (page[-1].updated_at, page[-1].id)

    # -- erasing ---------------------------------------------------------------------------------------------

    def forget(
        self, thread: str, messages: Sequence[Ref], *, actor: str, keep_shared: bool = False
    ) -> forgetting.Erasure:
        """Erase messages, or a whole thread, for good; then rewrite the file so that no page keeps them."""

        def work(tx: Writer) -> forgetting.Erasure:
            if messages:
                return forgetting.forget_messages(
                    tx, self.means, thread, messages, actor, keep_shared=keep_shared
                )
            return forgetting.forget_thread(tx, self.means, thread, actor, keep_shared=keep_shared)

        done = self.store.write(work)
        left = self.store.scrub()
        self.changed(Thread(self, thread, actor))
        return forgetting.Erasure(
            done.messages, done.revisions, done.blobs, done.threads, done.shared_with, tuple(left)
        )

    # -- bytes -----------------------------------------------------------------------------------------------

    def blob(self, digest: str) -> bytes | None:
        """Stored bytes by their hash; None once forgotten."""
        return self.store.read(lambda reader: reader.blob(digest))

    def put_blob(self, data: bytes) -> str:
        """Store bytes once; gives their hash."""
        name = hashlib.sha256(data).hexdigest()
        self.store.write(lambda tx: tx.put_blob(name, data))
        return name
