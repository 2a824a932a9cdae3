"""Relevance of old messages to the current task, by shared words, without a model.

Words that every sentence has count nothing, names and numbers count more. Given as a share from 0 (nothing in common) to 1 (all
that the task speaks of is in there).
"""

from __future__ import annotations

from collections.abc import Sequence

from backscroll.recall.text.terms import stopwords
from backscroll.recall.text.words import index_words


def relevance(task: str, texts: Sequence[str]) -> float:
    """Return the share of the task's distinctive words that the old texts hold."""
    common = stopwords()
    wanted = {word for word in index_words(task).split() if word not in common}
    if not wanted or not texts:
        return 0.0
    held: set[str] = set()
    for text in texts:
        held.update(index_words(text).split())
    total = sum(_weight(word) for word in wanted)
    return sum(_weight(word) for word in wanted & held) / total


def _weight(word: str) -> float:
    """Return the weight of a word: more for names and numbers (with digits or marks), little for single letters."""
    if len(word) < 2:
        return 0.25
    return 1.5 if any(c.isdigit() or c in "_./" for c in word) else 1.0
