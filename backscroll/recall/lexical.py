"""Which texts hold the words of a question: BM25 over two kinds of terms, exactly and softly.

Owns the postings and the two scores. *Exactly*: Okapi BM25. *Softly*: each term of the question is matched by the most similar
term of a text (by the vectors of the terms), so that "physician" finds "doctor". Scores are shares of what a text could reach
at the most, so they can be compared between questions and conversations. Incremental: a text can be added and taken away at any
time, and the scores are those of an index built anew from what is left. Before: `recall/cut`. After: `recall/clues`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

K1 = 1.2
B = 0.5


@dataclass(slots=True)
class Postings:
    """Terms -> the texts that hold them, with how often. Texts are numbered by whoever adds them."""

    held: dict[str, dict[int, int]] = field(default_factory=dict[str, dict[int, int]])
    lengths: dict[int, int] = field(default_factory=dict[int, int])
    total: int = 0

    def add(self, number: int, terms: Sequence[str]) -> None:
        """Take in a text."""
        for term, times in Counter(terms).items():
            found = self.held.get(term)
            if found is None:
                self.held[term] = {number: times}
            else:
                found[number] = times
        self.lengths[number] = len(terms)
        self.total += len(terms)

    def remove(self, number: int, terms: Iterable[str]) -> None:
        """Take out a text that was added with these terms."""
        for term in set(terms):
            found = self.held[term]
            del found[number]
            if not found:
                del self.held[term]
        self.total -= self.lengths.pop(number)

    def rarity(self, term: str) -> float:
        """How much it says that a text holds this term (idf)."""
        known = len(self.held.get(term, ()))
        return float(np.log(1 + (len(self.lengths) - known + 0.5) / (known + 0.5)))

    def mean_length(self) -> float:
        """Terms of a text on average."""
        return self.total / len(self.lengths) if self.lengths and self.total else 1.0

    def column(self, term: str, size: int) -> tuple[NDArray[np.intp], NDArray[float32]]:
        """Which texts hold a term, and how often."""
        found = self.held.get(term, {})
        return (
            np.fromiter(found.keys(), np.intp, len(found)),
            np.fromiter(found.values(), np.float32, len(found)),
        )


@dataclass(frozen=True, slots=True)
class Matched:
    """Scores of all texts for one question; every number is a share of the best that is possible."""

    exact: NDArray[float32]  # BM25
    held: NDArray[float32]  # how much of the question a text holds, by rarity
    soft: NDArray[float32]  # with similar terms in place of equal ones
    rarest: NDArray[float32]  # holds the rarest known term of the question
