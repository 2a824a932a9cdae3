"""The threads of a store: begun, found and listed, by id, by the caller's own key, by project and by user.

Owns how a thread begins and how one is named. Refuses to know what threads say. Before: `engine/thread`, `engine/log/forks`.
After: `engine/engine`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from backscroll.config import Settings
from backscroll.engine.core.doors import doors
from backscroll.engine.core.history import info_of
from backscroll.engine.core.lineage import View
from backscroll.engine.core.means import Means
from backscroll.engine.core.pen import Pen
from backscroll.engine.log.forks import begin_fork
from backscroll.engine.thread import Thread
from backscroll.errors import Ambiguous, InvalidInput, NotFound
from backscroll.record.about import About
from backscroll.record.chain import genesis
from backscroll.record.ports import Store, ThreadState, Writer
from backscroll.vocab.event import Kind
from backscroll.vocab.ids import THREAD_ID, Ref, parse_ref
from backscroll.vocab.part import Json
from backscroll.vocab.thread import ThreadInfo
from backscroll.vocab.values.unicode import valid_text

if TYPE_CHECKING:
    from backscroll.engine.engine import Engine
    from backscroll.engine.knowledge.people.graph import ScopeGraph
    from backscroll.engine.knowledge.people.user import User


@doors
class Directory:
    """The part of an engine that knows which threads there are."""

    store: Store
    settings: Settings
    means: Means

    def changed(self, thread: Thread) -> None:
        """Tell whoever wants to know that a thread was written to."""
        raise NotImplementedError

    def create(
        self,
        title: str = "",
        *,
        project: str = "",
        user: str | None = None,
        kind: str = "chat",
        language: str = "",
        tags: Sequence[str] = (),
        metadata: dict[str, Json] | None = None,
        actor: str | None = None,
    ) -> Thread:
        """Begin a conversation; of the user that the settings name where none is given."""
        about = self._about(title, project, user, kind, language, tags, metadata)
        made = self.store.write(lambda tx: self.begin(tx, about, actor).state.id)
        return self._begun(made, actor)

    def thread_for(
        self,
        key: str,
        title: str = "",
        *,
        project: str = "",
        user: str | None = None,
        kind: str = "chat",
        language: str = "",
        tags: Sequence[str] = (),
        metadata: dict[str, Json] | None = None,
        actor: str | None = None,
    ) -> Thread:
        """The thread that you call `key`: a chat id, a ticket. It is begun, with the rest, where there is none.

        Callers that ask at the same time, in any process, get the same thread.
        """
        name = valid_text(key).strip()
        if not name or name != key:
            raise InvalidInput(f"not a key for a thread: {key!r}", hint="use text without spaces around it")
        found = self.store.read(lambda reader: reader.keyed(name))
        if found is None:
            about = replace(self._about(title, project, user, kind, language, tags, metadata), key=name)
            found, made = self.store.write(lambda tx: self._found_or_begun(tx, about, actor))
            if made:
                return self._begun(found.id, actor)
        if user is not None and found.about.user != user:
            raise NotFound(
                f"the thread {key!r} belongs to another user", hint="use a key of its own for each user"
            )
        return Thread(self._engine, found.id, actor)

    def _found_or_begun(self, tx: Writer, about: About, actor: str | None) -> tuple[ThreadState, bool]:
        tx.lock_key(about.key)
        found = tx.keyed(about.key)
        return (found, False) if found is not None else (self.begin(tx, about, actor).state, True)

    def _about(
        self,
        title: str,
        project: str,
        user: str | None,
        kind: str,
        language: str,
        tags: Sequence[str],
        metadata: dict[str, Json] | None,
    ) -> About:
        if isinstance(tags, str):
            raise InvalidInput(f"not a list of tags: {tags!r}", hint=f"give them one by one: tags=[{tags!r}]")
        whose = self.settings.user if user is None else user
        return About(title, project, kind, language, tuple(tags), metadata or {}, whose)

    def _begun(self, made: str, actor: str | None) -> Thread:
        thread = Thread(self._engine, made, actor)
        self.changed(thread)
        return thread

    @property
    def _engine(self) -> Engine:
        return cast("Engine", self)

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
            state = tx.lock_thread(parent) if THREAD_ID.fullmatch(parent) else None
            if state is None:
                raise NotFound(f"no thread {parent}")
            entry = None if at is None else View(tx, state).entry(at)
            if at is not None and (entry is None or not entry.live):
                where = f"message {at.short} does not stand in thread {parent[:8]}"
                raise NotFound(where, hint="fork at a live message")
            position = None if entry is None else entry.position
            return self.begin_fork(tx, state, position, at, title, actor).state.id

        made = self.store.write(work)
        self.changed(Thread(self._engine, made, actor))
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
        return begin_fork(tx, self.means, parent, position, at, title, actor)

    def thread(self, name: str, *, actor: str | None = None, user: str | None = None) -> Thread:
        """A thread by its id, or by the first digits of it; with `user` only one that belongs to this user."""
        found = Thread(self._engine, self.resolve(name), actor)
        if user is not None and found.info.user != user:
            raise NotFound(
                f"no thread {name} of user {user!r}",
                hint="`store.user(name).threads()` lists a user's threads",
            )
        return found

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
        self,
        *,
        project: str | None = None,
        user: str | None = None,
        kind: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        limit: int | None = None,
    ) -> Iterator[ThreadInfo]:
        """Threads, the most recently changed first; `metadata` are names that they must have, with these values."""
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

    # -- users and projects ----------------------------------------------------------------------------------

    def user(self, name: str) -> User:
        """Somebody whose threads these are: what is known of them over all of their conversations."""
        from backscroll.engine.knowledge.people.user import User

        return User(self._engine, name)

    def users(self) -> list[str]:
        """Everybody to whom a thread belongs, in order of their names."""
        return sorted({info.user for info in self.threads() if info.user})

    def graph(self, *, project: str | None = None, user: str | None = None) -> ScopeGraph:
        """The knowledge graph over all threads of a project, or of a user."""
        from backscroll.engine.knowledge.people.graph import ScopeGraph
        from backscroll.engine.knowledge.people.scope import Scope

        if (project is None) == (user is None):
            raise InvalidInput("name a project or a user", hint='one of the two: store.graph(user="ann")')
        return ScopeGraph(
            self._engine, Scope.of_user(user) if user is not None else Scope.of_project(project or "")
        )


def _has(metadata: Mapping[str, Json], wanted: Mapping[str, Json]) -> bool:
    return all(name in metadata and metadata[name] == value for name, value in wanted.items())
