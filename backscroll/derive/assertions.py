"""Assertions by rules: what a turn says about the world, without a model, in English, Chinese and the speech of coding sessions.

Local: reads one turn and nothing else. Owns which messages count (never injected memory, summaries, tool output or system
reminders) and the recipe's name; the sentences are read by `extract_en`, `extract_zh`, `extract_code`. Before: `vocab/assertion`.
After: `engine/analysing` keeps what it finds, `graph/fold` puts it together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from backscroll.derive.recipe import Recipe

if TYPE_CHECKING:
    from backscroll.vocab.assertion import Assertion
    from backscroll.vocab.message import Message

#: `version` goes up whenever the same turn would give other assertions.
RECIPE = Recipe("assertions", 1)


def extract(messages: Sequence[Message]) -> tuple[Assertion, ...]:
    """What these messages (one turn, in order) say about the world."""
    raise NotImplementedError
