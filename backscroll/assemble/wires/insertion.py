"""Insertions: what we add between the messages of a conversation, where it was placed once and stays.

Owns: which blocks are insertions. Before: `vocab/prompt`. After: `pairing`, one module per wire.
"""

from __future__ import annotations

from backscroll.vocab.prompt import TAIL, Block, Section


def is_inserted(block: Block) -> bool:
    """True for a block of our own words that stands between messages."""
    return block.section in TAIL or (block.section is Section.MEMORY and block.message is None)
