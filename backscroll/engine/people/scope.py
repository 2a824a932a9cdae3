"""Scopes: which threads speak for a user or a project, and whose words a thread may be told.

Owns the rule of privacy. What is said in a thread of a user is known in the threads of this user and nowhere else. What is said in a
thread that belongs to nobody is known in the threads of its project. A thread with neither has only itself. Before: `record/ports`.
After: `engine/people/held`, `engine/remembering_reading`, `engine/recalling`, `engine/placement`.
"""

from __future__ import annotations

from dataclasses import dataclass

from backscroll.record.about import About
from backscroll.record.ports import Reader, ThreadState, Wanted
from backscroll.vocab.thread import ThreadInfo

THREADS = 200  # of a scope, the most recently changed
#: The kind of the thread that holds what people changed about a user or a project as a whole.
PROFILE = "profile"


@dataclass(frozen=True, slots=True)
class Scope:
    """The threads of a user, or of a project."""

    kind: str  # user or project
    name: str
    everybody: bool = False  # of a project: the threads of its users too

    @classmethod
    def of_user(cls, name: str) -> Scope:
        """All threads of a user, in whatever project."""
        return cls("user", name)

    @classmethod
    def of_project(cls, name: str, *, everybody: bool = True) -> Scope:
        """All threads of a project; without `everybody` only those that belong to no user."""
        return cls("project", name, everybody)

    @property
    def key(self) -> str:
        """The key of the thread that holds what people changed about the whole."""
        return f"backscroll profile: {self.kind} {self.name}"

    def holds(self, about: About) -> bool:
        """True for a thread that speaks for it."""
        if self.kind == "user":
            return bool(self.name) and about.user == self.name
        return bool(self.name) and about.project == self.name and (self.everybody or not about.user)

    def threads(self, reader: Reader, limit: int = THREADS) -> list[ThreadState]:
        """The threads that speak for it, the oldest first; of very many the most recently changed."""
        if not self.name:
            return []
        if self.kind == "user":
            found = reader.threads(user=self.name, limit=limit)
        else:
            found = reader.threads(project=self.name, user=None if self.everybody else "", limit=limit)
        # Columns hold less than text does: two names may look alike there.
        some = [state for state in found if not state.forgotten and self.holds(state.about)]
        return sorted(some, key=lambda state: (state.created_at, state.id))


def scopes_of(about: About) -> tuple[Scope, ...]:
    """What a thread belongs to: its user, then its project as far as that belongs to nobody."""
    user = (Scope.of_user(about.user),) if about.user else ()
    project = (Scope.of_project(about.project, everybody=False),) if about.project else ()
    return (*user, *project)


def near(reader: Reader, state: ThreadState, limit: int = THREADS) -> list[ThreadState]:
    """The other threads whose words a thread is told by itself: of its user and of its project, the oldest first."""
    found = {one.id: one for scope in scopes_of(state.about) for one in scope.threads(reader, limit)}
    found.pop(state.id, None)
    return sorted(found.values(), key=lambda one: (one.created_at, one.id))


def is_near(about: About, other: About) -> bool:
    """True where a thread is told by itself what another one says."""
    return any(scope.holds(other) for scope in scopes_of(about))


def wanted_from(info: ThreadInfo, scope: str) -> Wanted | None:
    """The threads that are looked through from one when somebody asks; None: only itself. None of another user is among them."""
    if scope == "user":
        return Wanted(users=(info.user,)) if info.user else None
    if scope == "thread" or (scope == "project" and not info.project):
        return None  # a thread that belongs to no project has only itself
    users = ("", info.user) if info.user else ("",)
    return Wanted(project=info.project if scope == "project" else None, users=users)


def may_see(about: About, other: About) -> bool:
    """True where words of another thread may be shown in this one when somebody asks for them."""
    return not other.user or other.user == about.user
