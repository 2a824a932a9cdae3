"""Word matching between texts and a question: BM25, exactly and softly.

Owns the postings and both scores. *Exactly*: Okapi BM25. *Softly*: each term of the question is matched by the most similar term
of a text (by the vectors of the terms), so that "physician" finds "doctor". A rare term counts for more, and a term that no text
contains still counts towards the maximum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from backscroll.recall.tuning import ACROSS_WEIGHT, K1

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

_REMEMBERED = 2_000  # columns that are cached until something is added
#: Which texts contain a term, and how often.
Column: TypeAlias = "tuple[NDArray[np.intp], NDArray[float64]]"

#: Terms of a question -> the texts that contain them in another language.
Across: TypeAlias = "Mapping[str, NDArray[np.intp]]"


def _nothing() -> dict[str, Column]:
    return {}


def idf(known: int, size: int) -> float:
    """Return the inverse document frequency of a term that so many of all texts contain."""
    known = min(known, size)
    return log(1 + (size - known + 0.5) / (known + 0.5))


@dataclass(slots=True)
class Postings:
    """Terms -> the texts that contain them, with counts. Texts are numbered from 0; one can be extended in several steps."""

    held: dict[str, dict[int, int]] = field(default_factory=dict[str, dict[int, int]])
    lengths: list[int] = field(default_factory=list[int])
    total: int = 0
    columns: dict[str, Column] = field(default_factory=_nothing)  # requested columns

    def add(self, number: int, terms: Sequence[str]) -> None:
        """Add (more of) a text; numbers are given in order."""
        self.columns.clear()
        while len(self.lengths) <= number:
            self.lengths.append(0)
        held = self.held
        for term in terms:  # counting them first takes longer than counting in place
            found = held.get(term)
            if found is None:
                held[term] = {number: 1}
            else:
                found[number] = found.get(number, 0) + 1
        self.lengths[number] += len(terms)
        self.total += len(terms)

    def rarity(self, term: str, others: int = 0) -> float:
        """Return the idf of a term; `others` contain it in another language."""
        return idf(len(self.held.get(term, ())) + others, len(self.lengths))

    def column(self, term: str) -> Column:
        """Return which texts contain a term, and how often; one question asks for the same terms several times."""
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
class LexicalScores:
    """How well each text matches; `best` is the maximum possible."""

    score: NDArray[float64]  # BM25
    held: NDArray[float64]  # rarity of the terms they contain
    best: float


def match(
    postings: Postings,
    terms: Sequence[str],
    lengths: NDArray[float64],
    b: float,
    across: Across | None = None,
    groups: NDArray[np.intp] | None = None,
) -> LexicalScores:
    """Return BM25 of all texts; `b` is the penalty on long texts. `across`: texts that contain a term in another language.

    `groups` has for each text its group (a session): then groups are matched, and `lengths` are theirs.
    """
    size = len(lengths)
    score, held, best = np.zeros(size), np.zeros(size), 0.0
    average = float(lengths.sum()) / size if size and lengths.any() else 1.0
    for term in terms:
        rows, times = postings.column(term)
        others = None if across is None else across.get(term)
        if groups is not None:
            found = np.bincount(groups[rows], times, size) if len(rows) else np.zeros(size)
            rows = np.flatnonzero(found)
            times = found[rows]
            others = None if others is None else np.unique(groups[others])
        if others is not None:
            others = np.setdiff1d(others, rows)
        rarity = idf(len(rows) + (0 if others is None else len(others)), size)
        best += rarity
        score[rows] += rarity * times * (K1 + 1) / (times + K1 * (1 - b + b * lengths[rows] / average))
        held[rows] += rarity
        if others is not None:
            worth = ACROSS_WEIGHT * rarity
            score[others] += worth * (K1 + 1) / (1 + K1 * (1 - b + b * lengths[others] / average))
            held[others] += worth
    return LexicalScores(score, held, max(best, 1e-6))


def match_softly(
    postings: Postings,
    terms: Sequence[str],
    lengths: NDArray[float64],
    kin: Sequence[Mapping[str, float]] = (),
    across: Across | None = None,
) -> NDArray[float64]:
    """Return the share of a question that each text contains in its own or in similar words.

    `kin` has the similar terms of each term of the question, and how similar they are (0 to 1); empty: only equal terms.
    """
    size = len(postings.lengths)
    total, best = np.zeros(size), 0.0
    if not terms:
        return total
    average = lengths.mean() or 1.0
    for number, term in enumerate(terms):
        others = None if across is None else across.get(term)
        rarity = postings.rarity(term, 0 if others is None else len(others))
        best += rarity
        found = np.zeros(size)
        for word, likeness in sorted(kin[number].items(), key=lambda one: one[1]) if kin else ():
            found[postings.column(word)[0]] = likeness * likeness
        if others is not None:
            found[others] = np.maximum(found[others], ACROSS_WEIGHT)
        found[postings.column(term)[0]] = 1.0
        total += rarity * found
    # A long text contains a little of everything: one of many times the usual length has to contain more.
    return total / max(best, 1e-6) / (1 + np.maximum(lengths / average - 1, 0) / 8)
