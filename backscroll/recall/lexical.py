"""Which texts hold the words of a question: BM25, exactly and softly.

Owns the postings and both scores. *Exactly*: Okapi BM25. *Softly*: each term of the question is matched by the most similar term
of a text (by the vectors of the terms), so that "physician" finds "doctor". A rare term counts for more, and a term that no
text holds still counts in what could have been reached. Before: `recall/cut`. After: `recall/clues`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

K1 = 1.2  # how soon more of the same term says nothing new
_ALIKE = 0.55  # terms less similar than this are different things
_KIN = 12  # similar terms that are looked at for a term
_REMEMBERED = 2_000  # columns that are remembered until something is added
#: Which texts hold a term, and how often.
Column: TypeAlias = "tuple[NDArray[np.intp], NDArray[float64]]"


def _nothing() -> dict[str, Column]:
    return {}


@dataclass(slots=True)
class Postings:
    """Terms -> the texts that hold them, with how often. Texts are numbered from 0; one can be added to in several goes."""

    held: dict[str, dict[int, int]] = field(default_factory=dict[str, dict[int, int]])
    lengths: list[int] = field(default_factory=list[int])
    total: int = 0
    columns: dict[str, Column] = field(default_factory=_nothing)  # those that were asked for

    def add(self, number: int, terms: Sequence[str]) -> None:
        """Take in (more of) a text; numbers are given in order."""
        self.columns.clear()
        while len(self.lengths) <= number:
            self.lengths.append(0)
        for term, times in Counter(terms).items():
            found = self.held.get(term)
            if found is None:
                self.held[term] = {number: times}
            else:
                found[number] = found.get(number, 0) + times
        self.lengths[number] += len(terms)
        self.total += len(terms)

    def rarity(self, term: str) -> float:
        """How much it says that a text holds this term (idf)."""
        known = len(self.held.get(term, ()))
        return log(1 + (len(self.lengths) - known + 0.5) / (known + 0.5))

    def column(self, term: str) -> Column:
        """Which texts hold a term, and how often; one question asks for the same terms several times."""
        known = self.columns.get(term)
        if known is None:
            found = self.held.get(term, {})
            rows = np.fromiter(found.keys(), np.intp, len(found))
            known = rows, np.fromiter(found.values(), float, len(found))
            if len(self.columns) >= _REMEMBERED:
                self.columns.clear()
            self.columns[term] = known
        return known


@dataclass(frozen=True, slots=True)
class Matched:
    """How well each text matches; `best` is what could be reached."""

    score: NDArray[float64]  # BM25
    held: NDArray[float64]  # rarity of the terms that are there
    best: float


def match(postings: Postings, terms: Sequence[str], lengths: NDArray[float64], b: float) -> Matched:
    """BM25 of all texts; `b` says how much a long text is held against."""
    size = len(postings.lengths)
    score, held, best = np.zeros(size), np.zeros(size), 0.0
    average = postings.total / size if postings.total else 1.0
    for term in terms:
        rarity = postings.rarity(term)
        best += rarity
        if term in postings.held:
            rows, times = postings.column(term)
            score[rows] += rarity * times * (K1 + 1) / (times + K1 * (1 - b + b * lengths[rows] / average))
            held[rows] += rarity
    return Matched(score, held, max(best, 1e-6))


def match_softly(
    postings: Postings,
    terms: Sequence[str],
    lengths: NDArray[float64],
    vocabulary: Sequence[str],
    likeness: NDArray[np.float32] | None,
) -> NDArray[float64]:
    """The share of a question that each text holds in its own or in similar words.

    `likeness` has a row for each term of the vocabulary and a column for each of the question; None: only equal terms.
    """
    size = len(postings.lengths)
    total, best = np.zeros(size), 0.0
    if not terms:
        return total
    average = lengths.mean() or 1.0
    alike = likeness >= _ALIKE if likeness is not None and len(vocabulary) else None
    for number, term in enumerate(terms):
        rarity = postings.rarity(term)
        best += rarity
        found = np.zeros(size)
        found[postings.column(term)[0]] = 1.0
        if likeness is not None and alike is not None:
            column = likeness[:, number]
            kin = np.flatnonzero(alike[:, number])
            if len(kin) > _KIN:
                kin = kin[np.argpartition(-column[kin], _KIN)[:_KIN]]
            for place in map(int, kin):
                if vocabulary[place] != term:
                    rows = postings.column(vocabulary[place])[0]
                    found[rows] = np.maximum(found[rows], float(column[place]) ** 2)
        total += rarity * found
    # A long text holds a bit of everything: one of many times the usual length has to hold more.
    return total / max(best, 1e-6) / (1 + np.maximum(lengths / average - 1, 0) / 8)
