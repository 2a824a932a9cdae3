"""Recall: what of the past answers a question, the best value for the tokens.

Owns finding the candidates in a store and what is handed out. Scores and choice are made by the pure room `recall`. Hidden,
deleted, superseded and forgotten words never appear; cropped ones may.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backscroll.errors import InvalidInput
from backscroll.vocab.ids import Ref

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread

SCOPES = ("thread", "project", "all")


@dataclass(frozen=True, slots=True)
class RecalledItem:
    """One message, or the piece of it that answers."""

    message: Ref
    revision: Ref
    thread: str  # in which it was found
    handle: str  # `[bs:17]`, by which the whole is expanded
    role: str
    speaker: str  # the author, else the role
    at: str
    text: str  # in full, or the best excerpt
    whole: bool  # True where `text` is all of it
    score: float
    why: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was found, best first."""

    query: str
    items: tuple[RecalledItem, ...]
    text: str  # ready for a prompt: in the order in which it was said, with handles
    tokens: int  # of `text`

    @property
    def sources(self) -> tuple[Ref, ...]:
        """The revisions it rests on."""
        return tuple(item.revision for item in self.items)


def checked_scope(scope: str) -> str:
    """The scope, or a clear error."""
    if scope not in SCOPES:
        raise InvalidInput(f"unknown scope: {scope!r}", hint=f"use one of {', '.join(SCOPES)}")
    return scope


def recall(
    thread: Thread, query: str, budget: int = 2000, *, scope: str = "thread", limit: int | None = None
) -> Recalled:
    """What of the past answers a question, within `budget` tokens."""
    checked_scope(scope)
    return Recalled(query, (), "", 0)


def recall_for_prompt(
    thread: Thread,
    newest: str,
    budget: int,
    count: Callable[[str], int],
    exclude: Collection[Ref] = (),
) -> Recalled | None:
    """What the newest message asks for and the prompt does not show; None where nothing is needed or good enough."""
    return None
