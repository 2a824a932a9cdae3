"""The living memory of a thread: its graph, the window of turns that may still change, tasks, what is remembered of them, and
the folder it works in.

Owns nothing: each is a room of its own that holds the thread, made when it is asked for. Before: `engine/knowledge/graph`, `engine/knowledge/lore`,
`engine/knowledge/turn_states`, `engine/work/tasks`, `engine/work/memory/memories`, `engine/folder/workroom`. After: `engine/thread`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from backscroll.engine.core.doors import doors

if TYPE_CHECKING:
    from backscroll.engine.folder.commits import Committed
    from backscroll.engine.folder.workroom import Workroom
    from backscroll.engine.knowledge.graph import ThreadGraph
    from backscroll.engine.knowledge.lore.thread_lore import ThreadLore
    from backscroll.engine.knowledge.turn_states import ThreadWindow
    from backscroll.engine.thread import Thread
    from backscroll.engine.work.memory.thread_memory import ThreadMemory
    from backscroll.engine.work.tasks import Tasks
    from backscroll.vocab.change import CodeChange


@doors
class Living:
    """What a thread knows about the world and about its own work."""

    @property
    def graph(self) -> ThreadGraph:
        """The knowledge graph: what the turns say about the world, and your own changes to it."""
        from backscroll.engine.knowledge.graph import ThreadGraph

        return ThreadGraph(cast("Thread", self))

    @property
    def lore(self) -> ThreadLore:
        """Lorebooks and cards: what they put into prompts, and what wakes each entry."""
        from backscroll.engine.knowledge.lore.thread_lore import ThreadLore

        return ThreadLore(cast("Thread", self))

    @property
    def window(self) -> ThreadWindow:
        """The sliding window: which turns are analysed, and how far that has come."""
        from backscroll.engine.knowledge.turn_states import ThreadWindow

        return ThreadWindow(cast("Thread", self))

    @property
    def tasks(self) -> Tasks:
        """Tasks: started, attempted, ended with a verdict."""
        from backscroll.engine.work.tasks import Tasks

        return Tasks(cast("Thread", self))

    @property
    def memory(self) -> ThreadMemory:
        """What is remembered of ended tasks, here and in the other threads of the project."""
        from backscroll.engine.work.memory.thread_memory import ThreadMemory

        return ThreadMemory(cast("Thread", self))

    def workroom(self, root: str | os.PathLike[str] | None = None) -> Workroom:
        """The folder that the thread works in, with its changes; by default the one its metadata name, else the current one."""
        from backscroll.engine.folder.workroom import Workroom

        thread = cast("Thread", self)
        named = thread.info.metadata.get("workspace")
        return Workroom(thread, root or (named if isinstance(named, str) and named else os.curdir))

    def auto_detect_code_changes(self) -> list[CodeChange]:
        """What changed in the thread's folder since somebody last looked, written down and described."""
        return self.workroom().auto_detect_code_changes()

    def commit_to_git(self, message: str = "") -> Committed:
        """Commit what the agent changed in the thread's folder, and nothing else, to the git repository there."""
        return self.workroom().commit(message)
