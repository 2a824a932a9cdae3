"""Scopes: which threads belong to a user or a project, and which threads may see each other's text.

Owns the privacy rule. What is said in a user's thread is visible in that user's threads and nowhere else. What is said in a
thread without a user is visible in the threads of its project. A thread with neither sees only itself.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from backscroll.errors import InvalidInput
from backscroll.record.ports import Reader, SearchFilter, ThreadState
from backscroll.record.thread_info import ThreadDescription
from backscroll.vocab.thread import ThreadInfo

STATES = "scope-states"  # the cache of thread rows by scope
_FEW = 4  # rows that are read one by one
THREADS = 200  # of a scope, the most recently changed
#: The kind of the thread that holds what people changed about a user or a project as a whole.
PROFILE = "profile"
#: What a caller may search: this thread, or the others of its user, of its project, of the store.
SCOPES = ("thread", "user", "project", "all")


class ScopeOwner(TypedDict):
    """The project and the user for which a store is queried."""

    project: str | None
    user: str | None


@dataclass(frozen=True, slots=True)
class ScopeThreads:
    """The threads of a user, or of a project."""

    kind: str  # user or project
    name: str
    everybody: bool = False  # of a project: the threads of its users too

    @classmethod
    def of_user(cls, name: str) -> ScopeThreads:
        """Return all threads of a user, in any project."""
        return cls("user", name)

    @classmethod
    def of_project(cls, name: str, *, everybody: bool = True) -> ScopeThreads:
        """Return all threads of a project; without `everybody`, only those without a user."""
        return cls("project", name, everybody)

    @property
    def key(self) -> str:
        """The key of the profile thread, which holds overrides for the whole scope."""
        return f"backscroll profile: {self.kind} {self.name}"

    @property
    def wanted(self) -> ScopeOwner:
        """The filter by which a store finds its threads."""
        if self.kind == "user":
            return {"project": None, "user": self.name}
        return {"project": self.name, "user": None if self.everybody else ""}

    def holds(self, about: ThreadDescription) -> bool:
        """Return True for a thread in the scope."""
        if self.kind == "user":
            return bool(self.name) and about.user == self.name
        return bool(self.name) and about.project == self.name and (self.everybody or not about.user)

    def threads(
        self, reader: Reader, limit: int = THREADS, memo: MutableMapping[Any, Any] | None = None
    ) -> list[ThreadState]:
        """Return the threads in the scope, the oldest first; if there are too many, the most recently changed.

        `memo` holds rows read before: those of unchanged threads are not read again.
        """
        if not self.name:
            return []
        known: tuple[list[tuple[str, int]], list[ThreadState]] | None = None
        heads: list[tuple[str, int]] = []
        if memo is not None:
            heads = reader.heads(**self.wanted, limit=limit)
            known = memo.get((self, limit))
            if known is not None and known[0] == heads:
                return list(known[1])
        rows = None if known is None else _caught_up(reader, known[1], dict(heads))
        rows = reader.threads(**self.wanted, limit=limit) if rows is None else rows
        # Columns hold less than text does: two names may look equal there.
        some = [state for state in rows if not state.forgotten and self.holds(state.about)]
        found = sorted(some, key=lambda state: (state.created_at, state.id))
        if memo is not None:
            memo[self, limit] = (heads, found)
        return list(found)


def _caught_up(
    reader: Reader, known: Sequence[ThreadState], heads: Mapping[str, int]
) -> list[ThreadState] | None:
    """Return the same threads with the few changed rows read again; None if other threads belong now, or many changed."""
    if {state.id for state in known} != set(heads):
        return None
    late = [state.id for state in known if state.head != heads[state.id]]
    if len(late) > _FEW:
        return None
    fresh = {name: reader.thread(name) for name in late}
    rows = [fresh.get(state.id, state) for state in known]
    return [state for state in rows if state is not None]


def scopes_of(about: ThreadDescription) -> tuple[ScopeThreads, ...]:
    """Return the scopes of a thread: its user, then the part of its project without users."""
    user = (ScopeThreads.of_user(about.user),) if about.user else ()
    project = (ScopeThreads.of_project(about.project, everybody=False),) if about.project else ()
    return (*user, *project)


def near(
    reader: Reader, state: ThreadState, limit: int = THREADS, memo: MutableMapping[Any, Any] | None = None
) -> list[ThreadState]:
    """Return the other threads that a thread sees by itself: those of its user and its project, the oldest first."""
    found = {one.id: one for scope in scopes_of(state.about) for one in scope.threads(reader, limit, memo)}
    found.pop(state.id, None)
    return sorted(found.values(), key=lambda one: (one.created_at, one.id))


def heads_near(reader: Reader, state: ThreadState, limit: int = THREADS) -> dict[str, int]:
    """Return the newest events of the threads that a thread sees, itself excluded, without reading their rows."""
    found = [head for scope in scopes_of(state.about) for head in reader.heads(**scope.wanted, limit=limit)]
    return {name: head for name, head in found if name != state.id}


def is_near(about: ThreadDescription, other: ThreadDescription) -> bool:
    """Return True if one thread sees the text of another by itself."""
    return any(scope.holds(other) for scope in scopes_of(about))


def wanted_from(info: ThreadInfo, scope: str) -> SearchFilter | None:
    """Return the filter for threads that are searched from one on request; None: only itself. Never those of another user."""
    if scope == "user":
        return SearchFilter(users=(info.user,)) if info.user else None
    if scope == "thread" or (scope == "project" and not info.project):
        return None  # a thread without a project has only itself
    users = ("", info.user) if info.user else ("",)
    return SearchFilter(project=info.project if scope == "project" else None, users=users)


def may_see(about: ThreadDescription, other: ThreadDescription) -> bool:
    """Return True if text of another thread may be shown in this one on request."""
    return not other.user or other.user == about.user


def checked_scope(scope: str) -> str:
    """Return a valid scope, or raise InvalidInput."""
    if scope not in SCOPES:
        raise InvalidInput(f"unknown scope: {scope!r}", hint=f"use one of {', '.join(SCOPES)}")
    return scope
