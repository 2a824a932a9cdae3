"""Completions for slash commands and mentions, and the turns that can be named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from backscroll.surfaces.screen.cells import cut
from backscroll.surfaces.screen.plain import one_line

if TYPE_CHECKING:
    from backscroll.surfaces.chat.talk import Talk


@dataclass(frozen=True, slots=True)
class Completion:
    """One completion: `text` replaces everything from `start` (0 or less, counted from the cursor) on."""

    text: str
    display: str
    meta: str = ""
    start: int = 0


def recent_turn_numbers(talk: Talk, most: int = 20) -> list[tuple[str, str]]:
    """Return the last turns, newest first: number and opening words; for completion."""
    turns = talk.thread.recent_turns(most)
    return [(str(x.sequence), cut(one_line(x.user_input[:200]), 50)) for x in reversed(turns) if x.sequence]
