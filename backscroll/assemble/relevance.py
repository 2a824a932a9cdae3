"""How much something old has to do with the task at hand: by shared words, without a model.

Words that stand nearly everywhere in the old text count little, names and numbers count more. Given as a share from 0
(nothing in common) to 1 (all that the task speaks of is in there). Before: `recall/words`. After: `engine/cropping` asks a
person first where the share is high.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log

from backscroll.recall.words import index_words


def relevance(task: str, texts: Sequence[str]) -> float:
    """The share of the task's telling words that the old texts hold."""
    wanted = Counter(index_words(task).split())
    if not wanted or not texts:
        return 0.0
    bags = [set(index_words(text).split()) for text in texts]
    weights = {word: _weight(word, bags) for word in wanted}
    total = sum(weights.values())
    found = sum(weight for word, weight in weights.items() if any(word in bag for bag in bags))
    return found / total if total else 0.0


def _weight(word: str, bags: Iterable[set[str]]) -> float:
    """Rare words weigh more; so do those with digits or marks in them, which are names and numbers."""
    holds = [word in bag for bag in bags]
    rarity = log(1 + (len(holds) + 1) / (1 + sum(holds)))
    return rarity * (1.5 if any(c.isdigit() or c in "_./" for c in word) else 1.0)
