"""What a thread knows: its graph, the window of turns that may still change, tasks and memories, what can be looked up in it, and the
folder it works in.

Owns nothing: each is in a module of its own that is given the thread, loaded when it is asked for.
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
    """What a thread knows about the world and about its own work."""

    @property
    def graph(self) -> ThreadGraph:
        """The knowledge graph: what the turns say about the world, and your own changes to it."""
        from backscroll.engine.knowledge.graph import ThreadGraph  # start-up: a store opens without it

        return ThreadGraph(self)

    @property
    def lore(self) -> ThreadLore:
        """Lorebooks and cards: what they put into prompts, and what wakes each entry."""
        from backscroll.engine.prompts.thread_lore import ThreadLore  # start-up: a store opens without it

        return ThreadLore(self)

    @property
    def window(self) -> ThreadWindow:
        """The sliding window: which turns are analysed, and how far that has come."""
        # start-up: a store opens without it
        from backscroll.engine.knowledge.turn_states import ThreadWindow

        return ThreadWindow(self)

    @property
    def tasks(self) -> Tasks:
        """Tasks: started, attempted, ended with a verdict."""
        from backscroll.engine.work.tasks import Tasks  # start-up: a store opens without it

        return Tasks(self)

    @property
    def memory(self) -> ThreadMemory:
        """What is remembered of ended tasks, here and in the other threads of the project."""
        # start-up: a store opens without it
        from backscroll.engine.work.memory.thread_memory import ThreadMemory

        return ThreadMemory(self)

    # -- looking back -----------------------------------------------------------------------------------------

    def recall(
        self,
        query: str,
        budget: int = 2000,
        *,
        scope: Scope = "thread",
        limit: int | None = None,
    ) -> RecallResult:
        """Return what of the past answers a question, best value for the tokens; `scope` is thread, user, project or all."""
        from backscroll.engine.search.recall import recall  # start-up: a store opens without it

        return recall(self, query, budget, scope=scope, limit=limit)

    def expand(self, handle: str) -> list[Message]:
        """Return the full originals behind a handle (`[bs:17]`)."""
        from backscroll.engine.prompts.expansion import expand  # start-up: a store opens without it

        return expand(self, handle)

    def tools(self, wire: Wire = "openai-chat") -> HistoryTools:
        """Tools that open handles and search the record, for a program that calls a model itself: see `docs/programs.md`."""
        # start-up: a store opens without it
        from backscroll.engine.prompts.history_tools import HistoryTools

        return HistoryTools(self, wire)

    def operations(self, rounds: int | None = None, *, last: int | None = None) -> list[Digest]:
        """Return what tools did lately: of the last rounds, or the last so many; oldest first."""
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
        """Tool calls with their full results, newest first."""
        from backscroll.engine.folder.tool_uses import tool_history  # start-up: a store opens without it

        return tool_history(self, tool=tool, target=target, turn=turn, text=text, limit=limit)

    def context_summary(self, budget: int = 800) -> str:
        """The old name of `summary`; deprecated."""
        warn_renamed("thread.context_summary()", "thread.summary()")
        return self.summary(budget)

    def summary(self, budget: int = 800) -> str:
        """A readable account of where the conversation stands."""
        from backscroll.engine.tree.account import context_summary  # start-up: a store opens without it

        return context_summary(self, budget)

    # -- the folder -------------------------------------------------------------------------------------------

    def workroom(self, root: str | os.PathLike[str] | None = None) -> Workroom:
        """Return the folder that the thread works in, with its changes; by default the one its metadata name, else the current one."""
        from backscroll.engine.folder.workroom import Workroom  # start-up: a store opens without it

        named = self.info.metadata.get("workspace")
        return Workroom(self, root or (named if isinstance(named, str) and named else os.curdir))

    def auto_detect_code_changes(self) -> list[CodeChange]:
        """Return what changed in the thread's folder since the last look, written down and described."""
        return self.workroom().auto_detect_code_changes()

    def commit_to_git(self, message: str = "") -> CommitReport:
        """Commit what the agent changed in the thread's folder, and nothing else, to the git repository there."""
        return self.workroom().commit(message)
