"""What a prompt reads once besides the history: lorebooks, memories, graphs of the user and the project.

Each is read on first use. What of it is inserted is chosen in `prompts/insertions`.
"""

from __future__ import annotations

from backscroll.engine.core.audience import scopes_of
from backscroll.engine.core.thread_scope import ThreadScope
from backscroll.engine.inputs.inputs import PromptInputs
from backscroll.engine.knowledge.lore.books import Books, books_of
from backscroll.engine.knowledge.people.cache import CachedScope, held_scope
from backscroll.engine.work.memory.reader import ScopeMemories, collect
from backscroll.record.thread_info import ThreadDescription


class PromptMemory:
    """Lorebooks, memories and graphs, read once for one prompt."""

    def __init__(
        self, thread: ThreadScope, about: ThreadDescription, sheet: PromptInputs, as_of: int | None
    ) -> None:
        self.thread, self.about, self.as_of = thread, about, as_of  # None: now
        self._sheet = sheet
        self._books: Books | None = None
        self._remembered: ScopeMemories | None = None
        self._scopes: list[CachedScope] | None = None

    @property
    def books(self) -> Books:
        """The lorebooks in force."""
        if self._books is None:
            self._books = books_of(self.thread, self._sheet, self.as_of)
        return self._books

    def read_memories(self) -> ScopeMemories:
        """Return the current memories, read once for this prompt."""
        if self._remembered is None:
            self._remembered = collect(self.thread, ready=True)
        return self._remembered

    def scopes(self) -> list[CachedScope]:
        """Return the graphs of the thread's user and project, updated once for this prompt."""
        if self._scopes is None:
            engine = self.thread.engine
            self._scopes = [held_scope(engine, scope, ready=True) for scope in scopes_of(self.about)]
        return self._scopes
