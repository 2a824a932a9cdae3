"""Withdrawals: what prompts tell and somebody has hidden, reworded or corrected since, or may not be told here any more.

A text in a prompt names the memories that it tells. Taking one of them back reaches the text at once, as a deletion reaches what quotes a message. So does a
correction of a fact about the user, and moving a thread to another user or project. Refuses: memories that only fade, facts that later words supersede, and
what the rules no longer believe; those stay until the next compaction. Before: `engine/work/memory/reading`, `engine/knowledge/people/overruling`. After:
`engine/prompts/composer`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from backscroll.record.about import About
from backscroll.tasks.memory.words import told_as
from backscroll.vocab.prompt import Block, Section

if TYPE_CHECKING:
    from backscroll.engine.knowledge.people.held import HeldScope
    from backscroll.engine.thread import Thread
    from backscroll.engine.work.memory.reading import Collected


def may_be_withdrawn(block: Block) -> bool:
    """True for a text that tells what somebody can take back."""
    return bool(block.tells) or block.section is Section.PROFILE


def withdrawn(
    thread: Thread, about: About, found: Collected, scopes: Callable[[], Sequence[HeldScope]]
) -> Callable[[Block], bool]:
    """Says of a block whether something that it tells was taken back; `found` is what is remembered now."""
    hidden = {memory.id for memory in found.hidden}
    worded = {memory.id: told_as(memory) for memory in found.memories if memory.by == "person"}
    overruled: Callable[[Block], bool] | None = None

    def is_withdrawn(block: Block) -> bool:
        nonlocal overruled
        for told in block.tells:
            name = told.partition(":")[0]
            id = found.aliases.get(name, name)
            if id in hidden or worded.get(id, told) != told:
                return True
        if block.section is not Section.PROFILE:
            return False
        if overruled is None:
            from backscroll.engine.knowledge.people.overruling import overruled_in

            overruled = overruled_in(thread, about, scopes())
        return overruled(block)

    return is_withdrawn
