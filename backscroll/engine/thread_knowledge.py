"""The living memory of a thread: its graph, the window of turns that may still change, tasks, what is remembered of them, and
the folder it works in.

Owns nothing: each is a room of its own that holds the thread, made when it is asked for.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from backscroll.engine.core.signatures import doors
from backscroll.engine.core.thread_scope import ThreadScope

if TYPE_CHECKING:
    from backscroll.engine.folder.commits import CommitReport
    from backscroll.engine.folder.workroom import Workroom
    from backscroll.engine.knowledge.graph import ThreadGraph
    from backscroll.engine.knowledge.turn_states import ThreadWindow
    from backscroll.engine.prompts.thread_lore import ThreadLore
    from backscroll.engine.work.memory.thread_memory import ThreadMemory
    from backscroll.engine.work.tasks import Tasks
    from backscroll.vocab.change import CodeChange


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
