"""The memories of a thread, as users hold them: `thread.memory`.

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
    """The memories available to one thread. Keeps no state of its own, so two handles always agree."""

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
        """List memories: pinned first, then by weight; with `text`, only related ones, best match first."""
        return remembering.memories(self.thread, kinds=kinds, scope=scope, text=text, hidden=hidden)

    def get(self, memory: str) -> Memory:
        """Return one memory by its id or id prefix."""
        return remembering.memory_of(self.thread, memory)

    def why(self, memory: str) -> MemoryExplanation:
        """Return why something is remembered: the evidence, quoted, and the user's changes to it."""
        return remembering.why(self.thread, memory)

    def preferences(self) -> Sequence[Preference]:
        """Return the user's preferences with all evidence; superseded and doubtful ones last."""
        return remembering.preferences(self.thread)

    def defaults(self) -> PreferenceDefaults:
        """Return the defaults that follow from the preferences in force: language, name, style, tools."""
        return remembering.defaults(self.thread)

    def load_relevant_history(
        self, task: Task | str, budget_tokens: int = remembering.RELEVANT_TOKENS
    ) -> RelevantHistory:
        """Return what earlier work contributes to a task or a text, within a token budget."""
        return remembering.load_relevant_history(self.thread, task, budget_tokens)

    def hints(self, text: str) -> Sequence[Memory]:
        """Return lessons that apply to a text."""
        return remembering.hints(self.thread, text)

    def plan(self, task: Task | str, *, ask: bool = False) -> Plan:
        """Return what to do next in a task; `ask`: have the configured model write it."""
        return plan_for(self.thread, task, ask=ask)

    def questions(self, task: Task | str, *, ask: bool = False) -> Sequence[FollowUp]:
        """Return questions to ask the user about a task; `ask`: have the configured model write them."""
        return followups_for(self.thread, task, ask=ask)

    # -- the user's changes ----------------------------------------------------------------------------------

    def add(
        self, text: str, *, kind: MemoryKind | str = MemoryKind.FACT, sources: Sequence[Ref | str] = ()
    ) -> Memory:
        """Add a memory; it is withheld when a message in `sources` changes."""
        return remembering_acts.add(self.thread, text, kind=kind, sources=sources)

    def edit(self, memory: str, text: str) -> Memory:
        """Replace the text of a memory."""
        return remembering_acts.edit(self.thread, memory, text)

    def pin(self, memory: str) -> Memory:
        """Pin a memory: every prompt includes it as long as there is room."""
        return remembering_acts.pin(self.thread, memory)

    def unpin(self, memory: str) -> Memory:
        """Unpin a memory."""
        return remembering_acts.unpin(self.thread, memory)

    def forget(self, memory: str, *, erase: bool = False) -> int:
        """Hide a memory; `erase` also destroys what users wrote about it. Return how many texts were destroyed."""
        return remembering_acts.forget(self.thread, memory, erase=erase)

    def restore(self, memory: str) -> Memory:
        """Revert the user's changes to a memory."""
        return remembering_acts.bring_back(self.thread, memory)
