"""Withdrawals: memories whose words prompts tell, and that somebody has hidden or reworded since.

A text in a prompt names the memories that it tells. Taking one of them back reaches the text at once, as a deletion reaches what quotes a message. Refuses:
memories that only fade, or that the rules no longer believe; those stay until the next compaction. Before: `engine/remembering_reading`. After:
`engine/composing`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from backscroll.engine.remembering_reading import collect
from backscroll.tasks.memory_telling import told_as
from backscroll.vocab.prompt import Block

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread


def withdrawn(thread: Thread) -> Callable[[Block], bool]:
    """Says of a block whether a memory that it tells was taken back."""
    found = collect(thread, ready=True)
    hidden = {memory.id for memory in found.hidden}
    worded = {memory.id: told_as(memory) for memory in found.memories if memory.by == "person"}

    def is_withdrawn(block: Block) -> bool:
        for told in block.tells:
            name = told.partition(":")[0]
            id = found.aliases.get(name, name)
            if id in hidden or worded.get(id, told) != told:
                return True
        return False

    return is_withdrawn
