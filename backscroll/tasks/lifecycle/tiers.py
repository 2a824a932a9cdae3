"""Tiers: how near a task is to the current one, and whether two titles mean the same.

Short: the current task, whole. Middle: the few tasks before it, as summaries. Long: everything else, as
memories. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from backscroll.recall.text.terms import stopwords
from backscroll.recall.text.words import index_words, normalize_text
from backscroll.tasks.lifecycle.tuning import MIDDLE, SAME_TITLE
from backscroll.vocab.task import Task


class Tier(StrEnum):
    """The distance of a task."""

    SHORT = "short"
    MIDDLE = "middle"
    LONG = "long"


def tiers(tasks: Sequence[Task], middle: int = MIDDLE) -> dict[str, Tier]:
    """Return the tier of every task by its id; tasks never begun have none."""
    begun = sorted((t for t in tasks if t.spans), key=lambda t: (t.current, t.spans[-1][0]), reverse=True)
    out: dict[str, Tier] = {}
    for task in begun:
        if task.current:
            out[task.id] = Tier.SHORT
        else:
            near = sum(tier is Tier.MIDDLE for tier in out.values()) < middle
            out[task.id] = Tier.MIDDLE if near else Tier.LONG
    return out


def same_title(one: str, other: str) -> bool:
    """Return True if two titles are equal, ignoring case, spacing and marks around words."""
    return bool(_plain(one)) and _plain(one) == _plain(other)


def alike(one: str, other: str) -> bool:
    """Return True if two titles mean much the same: most of their distinctive words are shared."""
    if same_title(one, other):
        return True
    common = stopwords()
    first, second = ({w for w in index_words(t).split() if w not in common} for t in (one, other))
    if min(len(first), len(second)) < 2:
        return False
    return len(first & second) >= SAME_TITLE * len(first | second)


def _plain(title: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in normalize_text(title).casefold()).split())
