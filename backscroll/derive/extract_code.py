"""What a turn of a coding session says: files, functions, packages, decisions, errors, commands and how they ended.

Before: `derive/assertions_speech` (what was said), `derive/digest` (what tools did). After: `derive/assertions`.
"""

from __future__ import annotations

from collections.abc import Sequence

from backscroll.derive.said import Said
from backscroll.vocab.assertion import Assertion
from backscroll.vocab.message import Message


def read(messages: Sequence[Message], told: Sequence[Said] | None = None) -> list[Assertion]:
    """What these messages (one turn, in order) say; `told` is what was said in them, where somebody knows it already."""
    return []
