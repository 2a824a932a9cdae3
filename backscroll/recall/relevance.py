"""Whether anything that was said is about a question at all.

Odds compare the texts of a conversation with each other: the best of them is the best, even where none has to do with the
question. Here the question is compared with all of them at once, by four things together: how much of it the best text holds, in
its own words, in similar ones, and by meaning, and how much of it was ever spoken of (`belonging`). Each alone is misled: by a
common word in a long text, by a vector that is near to everything; a question about something else has to pass all. Of a few
texts one that holds a third of the question is enough. Where it and some text are about the same everyday matter (`domains.toml`)
less is asked for. Questions that name a speaker, a time, a path or a quotation, or are told at length may be about anything that
was said. Learned on the shared retrieval data, with questions of other conversations as those about nothing (`docs/recall.md`).
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from math import log1p
from typing import TYPE_CHECKING

from backscroll.recall.index.index import RecallIndex
from backscroll.recall.question.analysis import QuestionAnalysis
from backscroll.recall.text.terms import terms_of
from backscroll.recall.text.words import is_unspaced

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

#: What the four things count (the logarithm of the odds that a question belongs here), with vectors and without; and what has to be reached.
_WITH_VECTORS = {"held": 3.54, "soft": 0.18, "near": 8.85, "known": 2.77, "start": -7.08}
_BY_WORDS = {"held": 0.81, "soft": 3.61, "near": 0.0, "known": 3.54, "start": -4.12}
_LEAST = -2.0
_SMALL = 60  # texts up to which a word in common is not a chance
_SAME_MATTER = 1.0  # … by which less is asked for where both are about the same everyday matter
_NEAR, _SOFT, _HELD = 0.36, 0.34, 0.34  # a text that reaches one of these is about the question in its words
_MOST, _NEARLY = 0.5, 0.45
_SENTENCES = 2  # of a question that can be derived from what leads up to it


def is_about(index: RecallIndex, asked: QuestionAnalysis, clues: Mapping[str, NDArray[float64]]) -> bool:
    """Return False if no text of a (not empty) index is about a question; `clues` are those of the best texts."""
    if not asked.words or not asked.asks or len(asked.sentences) > _SENTENCES:
        return True
    if asked.times or asked.exact or _names_a_speaker(index, asked):
        return True
    if _is_in_another_script(index, asked):
        return True  # words say little then, and the table of counterparts lacks many
    if len(index) <= _SMALL:
        worded = asked.asks_list or is_worded(clues) or holds_most(index, asked)
        return worded or bool(texts_of_domains(index, asked))
    lacking = _LEAST - belonging(index, asked, clues)
    return lacking <= 0 or (lacking <= _SAME_MATTER and bool(texts_of_domains(index, asked)))


def holds_most(index: RecallIndex, asked: QuestionAnalysis) -> bool:
    """Return True if some text has most of the words, however common they are there: "what did we agree on for berth 7?" among
    many berths.
    """
    words = set(asked.words)
    held: Counter[int] = Counter()
    for word in words:
        held.update(index.words.held.get(word, ()))
    return max(held.values(), default=0) * 2 > len(words)


def belonging(index: RecallIndex, asked: QuestionAnalysis, clues: Mapping[str, NDArray[float64]]) -> float:
    """Return the logarithm of the odds that a question is one about this (not empty) index."""
    weights = _BY_WORDS if index.space is None else _WITH_VECTORS
    found = {name: float(clues[name].max()) for name in ("held", "soft", "near")}
    found["known"] = _measure_coverage(
        index, [term for term in dict.fromkeys(asked.words) if term not in index.names]
    )
    return weights["start"] + sum(weights[name] * value for name, value in found.items())


def _measure_coverage(index: RecallIndex, terms: Sequence[str]) -> float:
    """Return how much of a question was ever spoken of, in its words or in similar ones; rare words count more."""
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
    """Return True if some text holds enough of a question in its words, in similar ones or by meaning."""
    return bool(clues["soft"].max() >= _SOFT or clues["held"].max() >= _HELD or clues["near"].max() >= _NEAR)


def is_surely_about(clues: Mapping[str, NDArray[float64]], place: int) -> bool:
    """Return True for a text (by its place among the clues) that holds most of a question, or says nearly the same."""
    return bool(
        max(clues["held"][place], clues["passage_held"][place], clues["soft"][place]) >= _MOST
        or clues["near"][place] >= _NEARLY
    )


def texts_of_domains(index: RecallIndex, asked: QuestionAnalysis) -> set[int]:
    """Return the texts that are about the same everyday matter as a question."""
    out: set[int] = set()
    for domain in _domains():
        if _asks_about(asked, domain):
            for term in domain:
                out.update(index.words.held.get(term, ()))
    return out


@lru_cache(maxsize=1)
def _domains() -> tuple[frozenset[str], ...]:
    """Return the words of each everyday matter, English ones as stems."""
    text = files("backscroll.recall").joinpath("domains.toml").read_text(encoding="utf-8")
    return tuple(
        frozenset(
            term
            for word in str(words).split()
            for term in ([word] if is_unspaced(word) else terms_of(word)[0])
        )
        for words in tomllib.loads(text).values()
    )


def _asks_about(asked: QuestionAnalysis, domain: frozenset[str]) -> bool:
    return not domain.isdisjoint(asked.words)


def _names_a_speaker(index: RecallIndex, asked: QuestionAnalysis) -> bool:
    return any(term in index.names or index.speaker_called(term) is not None for term in asked.words)


def _is_in_another_script(index: RecallIndex, asked: QuestionAnalysis) -> bool:
    unspaced = sum(is_unspaced(word) for word in asked.words) * 2 >= len(asked.words)
    return unspaced != (index.unspaced * 2 >= len(index))
