"""Withdrawals: what prompts contain and the user has hidden, reworded or corrected since, or may not be told here any more.

A text in a prompt names the memories that it tells. Taking one of them back reaches the text at once, as a deletion reaches what
quotes a message. So does a correction of a fact about the user, and moving a thread to another user or project. Refuses: memories
that only fade, facts that later words supersede, and what the rules no longer believe; those stay until the next compaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from backscroll.engine.knowledge.people.retractions import overruled_in
from backscroll.record.thread_info import ThreadDescription
from backscroll.tasks.memory.words import told_as
from backscroll.vocab.prompt import Block, Section

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope
    from backscroll.engine.knowledge.people.cache import CachedScope
    from backscroll.engine.work.memory.reader import ScopeMemories


def may_be_withdrawn(block: Block) -> bool:
    """Return True for a text that contains what the user can take back."""
    return bool(block.tells) or block.section is Section.PROFILE


def make_withdrawal_check(
    thread: ThreadScope,
    about: ThreadDescription,
    found: ScopeMemories,
    scopes: Callable[[], Sequence[CachedScope]],
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
            overruled = overruled_in(thread, about, scopes())
        return overruled(block)

    return is_withdrawn
