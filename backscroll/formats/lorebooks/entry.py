"""One entry of a lorebook, in a shape of our own, whatever program wrote the book.

A noun and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

from backscroll.formats.lorebooks.rule import WakeRule


@dataclass(frozen=True, slots=True)
class LoreEntry:
    """A piece of a world description with the words that call for it."""

    name: str
    keys: tuple[str, ...] = ()  # words that call for it
    secondary_keys: tuple[str, ...] = ()  # words that must be there too
    text: str = ""
    comment: str = ""  # what the author noted beside it
    constant: bool = False  # always in the prompt: it holds for everything
    enabled: bool = True
    order: int = 100
    source: str = ""  # name of the book or file
    category: str = ""  # what the book files it under: "character", "places"
    rest: str = ""  # SillyTavern's other fields as JSON, for the way back
    rule: WakeRule | None = None  # what wakes it; None: it only describes the world
    in_card: bool = False  # a part of a character card, which precedes the conversation
