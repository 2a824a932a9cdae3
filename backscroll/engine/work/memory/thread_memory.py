"""What is remembered, as users hold it: `thread.memory`.

Owns nothing: reading is in `engine/work/memory/memories`, writing in `engine/work/memory/acts`, plans in
`engine/work/memory/plans`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from backscroll.engine.core.signatures import doors
from backscroll.engine.work.memory import acts as remembering_acts
from backscroll.engine.work.memory import memories as remembering
from backscroll.engine.work.memory.plans import followups_for, plan_for
from backscroll.vocab.ids import Ref
from backscroll.vocab.task import Memory, MemoryKind, Task

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope
    from backscroll.engine.work.memory.memories import MemoryExplanation, RelevantHistory
    from backscroll.tasks.lifecycle.followup import FollowUp
    from backscroll.tasks.lifecycle.plans import Plan
    from backscroll.tasks.preferences.preferences import Preference, PreferenceDefaults
    from backscroll.vocab.thread import Scope


@doors
class ThreadMemory:
    """What is remembered for one thread. Keeps nothing of its own: two of them always agree."""

    def __init__(self, thread: ThreadScope) -> None:
        self.thread = thread

    # -- reading ---------------------------------------------------------------------------------------------

    def list(
        self,
        *,
        kinds: Collection[MemoryKind | str] = (),
        scope: Scope = "project",
        text: str = "",
        hidden: bool = False,
    ) -> Sequence[Memory]:
        """Return what is remembered: pinned first, then by weight; with `text` what has to do with it, best first."""
        return remembering.memories(self.thread, kinds=kinds, scope=scope, text=text, hidden=hidden)

    def get(self, memory: str) -> Memory:
        """One memory by its id, or the first digits of it."""
        return remembering.memory_of(self.thread, memory)

    def why(self, memory: str) -> MemoryExplanation:
        """Return why something is remembered: what it rests on, quoted, and what people did to it."""
        return remembering.why(self.thread, memory)

    def preferences(self) -> Sequence[Preference]:
        """Return what the user prefers, with all evidence; superseded and doubtful ones last."""
        return remembering.preferences(self.thread)

    def defaults(self) -> PreferenceDefaults:
        """Return what follows from the preferences in force."""
        return remembering.defaults(self.thread)

    def load_relevant_history(
        self, task: Task | str, budget_tokens: int = remembering.RELEVANT_TOKENS
    ) -> RelevantHistory:
        """Return what of earlier work matters for a task, or for some words, within a budget."""
        return remembering.load_relevant_history(self.thread, task, budget_tokens)

    def hints(self, text: str) -> Sequence[Memory]:
        """Lessons that a text brings to mind."""
        return remembering.hints(self.thread, text)

    def plan(self, task: Task | str, *, ask: bool = False) -> Plan:
        """Return what to do next about a task; `ask`: have the configured model make it."""
        return plan_for(self.thread, task, ask=ask)

    def questions(self, task: Task | str, *, ask: bool = False) -> Sequence[FollowUp]:
        """Return what to ask the user about a task; `ask`: have the configured model ask."""
        return followups_for(self.thread, task, ask=ask)

    # -- the person's layer ----------------------------------------------------------------------------------

    def add(
        self, text: str, *, kind: MemoryKind | str = MemoryKind.FACT, sources: Sequence[Ref | str] = ()
    ) -> Memory:
        """Write something down; it is withheld when a message it rests on changes."""
        return remembering_acts.add(self.thread, text, kind=kind, sources=sources)

    def edit(self, memory: str, text: str) -> Memory:
        """Put a memory into other words."""
        return remembering_acts.edit(self.thread, memory, text)

    def pin(self, memory: str) -> Memory:
        """Tell a memory in every prompt as long as there is room."""
        return remembering_acts.pin(self.thread, memory)

    def unpin(self, memory: str) -> Memory:
        """Take the pin off again."""
        return remembering_acts.unpin(self.thread, memory)

    def forget(self, memory: str, *, erase: bool = False) -> int:
        """Hide a memory; with `erase` destroy what people wrote about it. Return how many texts were destroyed."""
        return remembering_acts.forget(self.thread, memory, erase=erase)

    def restore(self, memory: str) -> Memory:
        """Take back what people did to a memory."""
        return remembering_acts.bring_back(self.thread, memory)
