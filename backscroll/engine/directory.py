"""The threads of a store: create, find and list them, by id, by the caller's own key, by project and by user.

Owns how a thread is created and named. Does not read messages.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial

from backscroll.engine.core.lineage import View
from backscroll.engine.core.signatures import doors
from backscroll.engine.core.thread_scope import EngineScope
from backscroll.engine.log.forks import begin_fork
from backscroll.engine.thread import Thread
from backscroll.errors import InvalidInput, NotFound
from backscroll.record.ports import Writer
from backscroll.record.thread_info import ThreadDescription
from backscroll.vocab.ids import THREAD_ID, Ref, parse_ref
from backscroll.vocab.part import Json


@doors
class ThreadDirectory(EngineScope):
    """The part of an engine that creates and finds threads."""

    @abstractmethod
    def _open(self, thread: str, actor: str | None) -> Thread:
        """Return the thread with this full id, as users hold it."""

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
        """Create a thread; `user` defaults to the one in the settings."""
        about = self._about(title, project, user, kind, language, tags, metadata)
        made = self.store.write(lambda tx: self.begin(tx, about, actor).state.id)
        thread = self._open(made, actor)
        self.notify_change(thread)
        return thread

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
        """Return the thread that you call `key`, such as a chat id or a ticket; create it if there is none.

        Concurrent callers, in any process, get the same thread.
        """
        about = partial(self._about, title, project, user, kind, language, tags, metadata)
        return self._open(self.begin_once(key, about, actor, user=user).id, actor)

    def _about(
        self,
        title: str,
        project: str,
        user: str | None,
        kind: str,
        language: str,
        tags: Sequence[str],
        metadata: dict[str, Json] | None,
    ) -> ThreadDescription:
        if isinstance(tags, str):
            raise InvalidInput(f"not a list of tags: {tags!r}", hint=f"give them one by one: tags=[{tags!r}]")
        whose = self.settings.user if user is None else user
        return ThreadDescription(title, project, kind, language, tuple(tags), metadata or {}, whose)

    def fork(self, parent: str, at: Ref | None, *, title: str | None, actor: str) -> str:
        """Create a thread that shares another one's history up to and including a message; return its id."""

        def work(tx: Writer) -> str:
            state = tx.lock_thread(parent) if THREAD_ID.fullmatch(parent) else None
            if state is None:
                raise NotFound(f"thread {parent} not found")
            entry = None if at is None else View(tx, state).entry(at)
            if at is not None and (entry is None or not entry.live):
                where = f"message {at.short} is not in thread {parent[:8]}"
                raise NotFound(where, hint="fork at a live message")
            position = None if entry is None else entry.position
            return begin_fork(tx, self.means, state, position, at, title, actor).state.id

        made = self.store.write(work)
        self.notify_change(self._open(made, actor))
        return made

    def thread(self, name: str, *, actor: str | None = None, user: str | None = None) -> Thread:
        """Return a thread by its id or id prefix; with `user`, only one that belongs to this user."""
        found = self._open(self.resolve(name), actor)
        if user is not None and found.info.user != user:
            raise NotFound(
                f"no thread {name} of user {user!r}",
                hint="`store.user(name).threads()` lists a user's threads",
            )
        return found

    def resolve_ref(self, name: str) -> Ref:
        """Return the message, revision or event with this full or short id (`3f2a9c1e.17`)."""
        thread, dot, seq = name.strip().rpartition(".")
        if not dot or not seq.isdecimal() or not seq.isascii() or int(seq) < 1:
            raise NotFound(f"invalid message id: {name!r}", hint="ids look like 3f2a9c1e.17")
        return parse_ref(f"{self.resolve(thread)}.{int(seq)}")
