"""Relevance: whether anything in a conversation is about a question at all.

Odds compare the texts of a conversation with each other: one of them is always the best, even if none has to do with the
question. Here the question is compared with all of them at once, by four measures together: how much of it the best text covers, in
its own words, in similar ones, and by meaning, and how much of it was ever mentioned (`belonging`). Each alone is misled: by a
common word in a long text, by a vector that is near to everything; an unrelated question would have to pass all. Of a few
texts one that covers a third of the question is enough. If it and some text are about the same everyday matter (`domains.toml`)
less is required. Questions that name a speaker, a time, a path or a quotation, or that are long may be about anything that
was said. Learned on the shared retrieval data, with questions of other conversations as unrelated ones (`docs/recall.md`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import log1p
from typing import TYPE_CHECKING

from backscroll.recall.index.index import RecallIndex
from backscroll.recall.question.analysis import QuestionAnalysis
from backscroll.recall.text.terms import terms_of
from backscroll.recall.text.words import is_unspaced
from backscroll.recall.tuning import (
    ABOUT_HELD,
    ABOUT_NEAR,
    ABOUT_SOFT,
    BELONGS_BY_VECTORS,
    BELONGS_BY_WORDS,
    BELONGS_FROM,
    SAME_MATTER,
    SMALL_INDEX,
    SURELY_HELD,
    SURELY_NEAR,
)
from backscroll.vocab.values.table import read_table

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

_SENTENCES = 2  # of a question that can follow from what leads up to it


def is_about(index: RecallIndex, asked: QuestionAnalysis, clues: Mapping[str, NDArray[float64]]) -> bool:
    """Return False if no text of a (not empty) index is about a question; `clues` are those of the best texts."""
    if not asked.words or not asked.asks or len(asked.sentences) > _SENTENCES:
        return True
    if asked.times or asked.exact or _names_a_speaker(index, asked):
        return True
    if _is_in_another_script(index, asked):
        return True  # then words are weak evidence, and the table of counterparts lacks many
    if len(index) <= SMALL_INDEX:
        worded = asked.asks_list or is_worded(clues) or holds_most(index, asked)
        return worded or bool(texts_of_domains(index, asked))
    lacking = BELONGS_FROM - belonging(index, asked, clues)
    return lacking <= 0 or (lacking <= SAME_MATTER and bool(texts_of_domains(index, asked)))


def holds_most(index: RecallIndex, asked: QuestionAnalysis) -> bool:
    """Return True if some text contains most of the words, however common they are there: "what did we agree on for berth 7?" among
    many berths.
    """
    words = set(asked.words)
    held: Counter[int] = Counter()
    for word in words:
        held.update(index.words.held.get(word, ()))
    return max(held.values(), default=0) * 2 > len(words)


def belonging(index: RecallIndex, asked: QuestionAnalysis, clues: Mapping[str, NDArray[float64]]) -> float:
    """Return the log odds that a question belongs to this (not empty) index."""
    weights = BELONGS_BY_WORDS if index.space is None else BELONGS_BY_VECTORS
    found = {name: float(clues[name].max()) for name in ("held", "soft", "near")}
    found["known"] = _measure_coverage(
        index, [term for term in dict.fromkeys(asked.words) if term not in index.names]
    )
    return weights["start"] + sum(weights[name] * value for name, value in found.items())


def _measure_coverage(index: RecallIndex, terms: Sequence[str]) -> float:
    """Return how much of a question was ever mentioned, in its words or in similar ones; rare words count more."""
    if not terms:
        return 1.0
    space, held = index.space, index.words.held
    kin: dict[str, dict[str, float]] = (
        {} if space is None else dict(zip(terms, space.kin(terms), strict=True))
    )
    told = [1.0 if held.get(term) else max(kin.get(term, {}).values(), default=0.0) for term in terms]
    rarity = [log1p(len(index) / (1 + len(held.get(term, ())))) for term in terms]
    return sum(a * b for a, b in zip(told, rarity, strict=True)) / sum(rarity)


def is_worded(clues: Mapping[str, NDArray[float64]]) -> bool:
    """Return True if some text covers enough of a question in its words, in similar ones or by meaning."""
    return bool(
        clues["soft"].max() >= ABOUT_SOFT
        or clues["held"].max() >= ABOUT_HELD
        or clues["near"].max() >= ABOUT_NEAR
    )


def is_surely_about(clues: Mapping[str, NDArray[float64]], place: int) -> bool:
    """Return True for a text (by its place among the clues) that covers most of a question, or says nearly the same."""
    return bool(
        max(clues["held"][place], clues["passage_held"][place], clues["soft"][place]) >= SURELY_HELD
        or clues["near"][place] >= SURELY_NEAR
    )


def texts_of_domains(index: RecallIndex, asked: QuestionAnalysis) -> set[int]:
    """Return the texts about the same everyday matter as a question."""
    out: set[int] = set()
    for domain in _domains():
        if _asks_about(asked, domain):
            for term in domain:
                out.update(index.words.held.get(term, ()))
    return out


@lru_cache(maxsize=1)
def _domains() -> tuple[frozenset[str], ...]:
    """Return the words of each everyday matter, English ones as stems."""
    return tuple(
        frozenset(
            term
            for word in str(words).split()
            for term in ([word] if is_unspaced(word) else terms_of(word)[0])
        )
        for words in read_table("backscroll.recall", "domains.toml").values()
    )


def _asks_about(asked: QuestionAnalysis, domain: frozenset[str]) -> bool:
    return not domain.isdisjoint(asked.words)


def _names_a_speaker(index: RecallIndex, asked: QuestionAnalysis) -> bool:
    return any(term in index.names or index.speaker_called(term) is not None for term in asked.words)


def _is_in_another_script(index: RecallIndex, asked: QuestionAnalysis) -> bool:
    unspaced = sum(is_unspaced(word) for word in asked.words) * 2 >= len(asked.words)
    return unspaced != (index.unspaced * 2 >= len(index))
