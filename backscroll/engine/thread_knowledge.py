"""What a thread knows: its graph, sliding window, lorebooks, tasks, memories, recall, tools and workroom.

Owns no state: each of these has its own module, which receives the thread and is loaded on first use.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from backscroll.deprecation import warn_renamed
from backscroll.engine.core.signatures import doors
from backscroll.engine.core.thread_scope import ThreadScope

if TYPE_CHECKING:
    from backscroll.derive.digest import Digest
    from backscroll.engine.folder.commits import CommitReport
    from backscroll.engine.folder.tool_uses import ToolUse
    from backscroll.engine.folder.workroom import Workroom
    from backscroll.engine.knowledge.graph import ThreadGraph
    from backscroll.engine.knowledge.turn_states import ThreadWindow
    from backscroll.engine.prompts.history_tools import HistoryTools
    from backscroll.engine.prompts.thread_lore import ThreadLore
    from backscroll.engine.search.recall import RecallResult
    from backscroll.engine.work.memory.thread_memory import ThreadMemory
    from backscroll.engine.work.tasks import Tasks
    from backscroll.vocab.change import CodeChange
    from backscroll.vocab.message import Message
    from backscroll.vocab.prompt import Wire
    from backscroll.vocab.thread import Scope


@doors
class ThreadKnowledge(ThreadScope):
    """The part of a thread that answers from its graph, tasks, memories and workspace."""

    @property
    def graph(self) -> ThreadGraph:
        """The knowledge graph: what the turns state about the world, with your overrides."""
        from backscroll.engine.knowledge.graph import ThreadGraph  # start-up: a store opens without it

        return ThreadGraph(self)

    @property
    def lore(self) -> ThreadLore:
        """Lorebooks and character cards: what they add to prompts, and the keys that trigger each entry."""
        from backscroll.engine.prompts.thread_lore import ThreadLore  # start-up: a store opens without it

        return ThreadLore(self)

    @property
    def window(self) -> ThreadWindow:
        """The sliding window: which turns are analysed, and which are waiting."""
        # start-up: a store opens without it
        from backscroll.engine.knowledge.turn_states import ThreadWindow

        return ThreadWindow(self)

    @property
    def tasks(self) -> Tasks:
        """Tasks: start, attempt, and end them with a verdict."""
        from backscroll.engine.work.tasks import Tasks  # start-up: a store opens without it

        return Tasks(self)

    @property
    def memory(self) -> ThreadMemory:
        """Memories of ended tasks, from this thread and the other threads of the project."""
        # start-up: a store opens without it
        from backscroll.engine.work.memory.thread_memory import ThreadMemory

        return ThreadMemory(self)

    # -- recall and tools -------------------------------------------------------------------------------------

    def recall(
        self,
        query: str,
        budget: int = 2000,
        *,
        scope: Scope = "thread",
        limit: int | None = None,
    ) -> RecallResult:
        """Return past messages and facts that answer a query, best value per token first; `scope` is thread, user, project or all."""
        from backscroll.engine.search.recall import recall  # start-up: a store opens without it

        return recall(self, query, budget, scope=scope, limit=limit)

    def expand(self, handle: str) -> list[Message]:
        """Return the full messages behind a handle (`[bs:17]`)."""
        from backscroll.engine.prompts.expansion import expand  # start-up: a store opens without it

        return expand(self, handle)

    def tools(self, wire: Wire = "openai-chat") -> HistoryTools:
        """Return tools that open handles and search the history, for a program that calls a model itself: see `docs/programs.md`."""
        # start-up: a store opens without it
        from backscroll.engine.prompts.history_tools import HistoryTools

        return HistoryTools(self, wire)

    def operations(self, rounds: int | None = None, *, last: int | None = None) -> list[Digest]:
        """Return recent tool calls as digests: of the last `rounds`, or the `last` so many; oldest first."""
        from backscroll.engine.folder.recent_operations import (
            operations,  # start-up: a store opens without it
        )

        return operations(self, rounds, last=last)

    def tool_history(
        self,
        *,
        tool: str | None = None,
        target: str | None = None,
        turn: int | None = None,
        text: str | None = None,
        limit: int = 20,
    ) -> list[ToolUse]:
        """Return tool calls with their full results, newest first."""
        from backscroll.engine.folder.tool_uses import tool_history  # start-up: a store opens without it

        return tool_history(self, tool=tool, target=target, turn=turn, text=text, limit=limit)

    def context_summary(self, budget: int = 800) -> str:
        """The old name of `summary`; deprecated."""
        warn_renamed("thread.context_summary()", "thread.summary()")
        return self.summary(budget)

    def summary(self, budget: int = 800) -> str:
        """Summarize where the conversation stands, within a token budget."""
        from backscroll.engine.tree.account import context_summary  # start-up: a store opens without it

        return context_summary(self, budget)

    # -- the workspace ----------------------------------------------------------------------------------------

    def workroom(self, root: str | os.PathLike[str] | None = None) -> Workroom:
        """Return the workroom of the thread; the folder defaults to the one in its metadata, else the current folder."""
        from backscroll.engine.folder.workroom import Workroom  # start-up: a store opens without it

        named = self.info.metadata.get("workspace")
        return Workroom(self, root or (named if isinstance(named, str) and named else os.curdir))

    def auto_detect_code_changes(self) -> list[CodeChange]:
        """Return the changes to the thread's folder since the last scan, and record them."""
        return self.workroom().auto_detect_code_changes()

    def commit_to_git(self, message: str = "") -> CommitReport:
        """Commit what the agent changed in the thread's folder, and nothing else, to its git repository."""
        return self.workroom().commit(message)
