"""Passages: the few lines of a long text that cover most of a question, in its own words or their counterparts.

The learned weighting (`recall/fuse`) comes from conversations. A tool result is another kind of text: dozens of lines about many
things, one of which answers. Here a question is a list of notions, each with the words that can express it in either language;
rare ones count more. The score of a text is that of its best lines, together with the call that produced it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import TYPE_CHECKING

import numpy as np

from backscroll.recall.index.index import RecallIndex
from backscroll.recall.index.lexical import Postings
from backscroll.recall.question.analysis import QuestionAnalysis, cue
from backscroll.recall.question.counterparts import Stems, chinese_of, english_of
from backscroll.recall.text.terms import terms_of
from backscroll.recall.text.words import is_unspaced, pairs_of
from backscroll.recall.tuning import (
    CALLED_WEIGHT,
    PASSAGE_NOTIONS,
    PASSAGE_ODDS,
    PASSAGE_SHARE,
    PASSAGE_SHARE_ACROSS,
    PASSAGE_STEEPNESS,
    UNHEARD_WEIGHT,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

WINDOW = 3  # lines
_MOST = 16  # texts that are searched line by line
_LOOKED_AT = 40_000  # characters of a text
_LINE = 400  # characters of a line; a longer one is cut


@dataclass(frozen=True, slots=True)
class Notion:
    """One concept of a question: any of these terms expresses it."""

    terms: frozenset[str]  # its own words
    phrases: tuple[Stems, ...] = ()  # English counterparts
    words: tuple[str, ...] = ()  # Chinese counterparts

    def is_said(self, terms: Collection[str]) -> bool:
        """Return True if lines, given by their terms, express it in the words of the question."""
        return any(term in terms for term in self.terms)

    def stands_in(self, terms: Collection[str], text: str) -> bool:
        """Return True if lines, given by their terms and their letters, express it."""
        return (
            self.is_said(terms)
            or any(all(stem in terms for stem in phrase) for phrase in self.phrases)
            or any(word in text for word in self.words)
        )


@dataclass(frozen=True, slots=True)
class Passage:
    """The best lines of a text: the weighted share of the question they cover, and the number of its notions."""

    share: float
    notions: int
    across: bool  # more of them in the other language than in the words of the question


def notions_of(asked: QuestionAnalysis) -> list[Notion]:
    """Return the notions of a question, without pronouns and question words."""
    words = [word for word in asked.words if not _points_back(word)]
    out: list[Notion] = []
    taken: set[str] = set()
    for chinese, phrases in english_of(asked.text):
        own = {word for word in words if is_unspaced(word) and (word in chinese or chinese in word)}
        if own and not own <= taken:
            taken |= own
            out.append(Notion(frozenset(own), phrases=phrases))
    spaced = [word for word in terms_of(asked.text)[0] if not is_unspaced(word)]
    for stems, chinese in chinese_of(spaced):
        if not taken.issuperset(stems) and taken.isdisjoint(stems):
            taken.update(stems)
            out.append(Notion(frozenset(stems), words=chinese))
    # A notion inside another is not counted separately: 违约 beside 违约金.
    rest = [word for word in words if word not in taken]
    out += [Notion(frozenset((word,))) for word in rest if not _inside(word, rest)]
    return out


def _inside(word: str, others: Iterable[str]) -> bool:
    return is_unspaced(word) and any(word in other and word != other for other in others)


@lru_cache(maxsize=4_000)
def _points_back(word: str) -> bool:
    return cue("points_back.sure", word) or cue("points_back.maybe", word)


def terms_for(notions: Sequence[Notion]) -> set[str]:
    """Return every term that can find lines for these notions."""
    out: set[str] = set()
    for notion in notions:
        out |= notion.terms
        out.update(stem for phrase in notion.phrases for stem in phrase)
        out.update(term for word in notion.words for term in terms_of(word)[0])
    return out


def odds_of_results(
    index: RecallIndex, asked: QuestionAnalysis, called: Mapping[int, int | None]
) -> dict[int, float]:
    """Return log odds for tool results of which a few lines cover a question, by number.

    `called` maps each result among the texts to the number of the text with its call.
    """
    out: dict[int, float] = {}
    for number, passage in find_passages(index, notions_of(asked) if called else [], called).items():
        least = PASSAGE_SHARE_ACROSS if passage.across else PASSAGE_SHARE
        if passage.notions >= PASSAGE_NOTIONS and passage.share >= least:
            out[number] = PASSAGE_ODDS + PASSAGE_STEEPNESS * (passage.share - least)
    return out


def texts_across(index: RecallIndex, asked: QuestionAnalysis) -> dict[str, NDArray[np.intp]]:
    """Return, for the words of a question, the texts that contain them in the other language, if any do."""
    out: dict[str, NDArray[np.intp]] = {}
    for notion in notions_of(asked) if index.is_mixed(asked.words) else ():
        if not notion.phrases and not notion.words:
            continue
        rows = _rows(index, Notion(frozenset(), notion.phrases, notion.words))
        if rows:
            found = np.asarray(sorted(rows), np.intp)
            out |= dict.fromkeys(notion.terms.intersection(asked.words), found)
    return out


def counterpart_terms(asked: QuestionAnalysis) -> list[str]:
    """Return the counterparts of a question's words as index words of a store."""
    out: dict[str, None] = {}
    for notion in notions_of(asked):
        out.update(dict.fromkeys(stem for phrase in notion.phrases for stem in phrase))
        out.update(
            dict.fromkeys(pair for word in notion.words for pair in pairs_of(word).split() if pair[1:])
        )
    return list(out)


def find_passages(
    index: RecallIndex, notions: Sequence[Notion], among: Mapping[int, int | None]
) -> dict[int, Passage]:
    """Return the passages of texts `among` (number -> that of the text with the call) that cover part of a question."""
    size = len(index)
    rows = [_rows(index, notion) for notion in notions]
    top = log(1 + (size + 0.5) / 0.5)
    weights = [_rarity(len(found), size) if found else UNHEARD_WEIGHT * top for found in rows]
    whole = sum(weights)
    if not whole:
        return {}
    worth: dict[int, float] = {}
    for found, weight in zip(rows, weights, strict=True):
        for number in found:
            worth[number] = worth.get(number, 0.0) + weight
    with_call = {
        number: worth.get(number, 0.0) + CALLED_WEIGHT * worth.get(-1 if call is None else call, 0.0)
        for number, call in among.items()
        if number in worth
    }
    best = sorted(with_call, key=lambda number: (-with_call[number], number))[:_MOST]
    out: dict[int, Passage] = {}
    for number in best:
        inside = [n for n, found in enumerate(rows) if number in found]
        call = among[number]
        beside = {n for n, found in enumerate(rows) if call in found}
        here = _best_window(
            index.texts[number].candidate.text, [notions[n] for n in inside], [weights[n] for n in inside]
        )
        held = {inside[n] for n in here}
        if not held:
            continue
        said = sum(weights[n] for n in held) + CALLED_WEIGHT * sum(weights[n] for n in beside - held)
        words = index.texts[number].words
        foreign = sum(weights[n] for n in held if not notions[n].is_said(words))
        across = foreign > 0.5 * sum(weights[n] for n in held)
        out[number] = Passage(said / whole, len(held | beside), across)
    return out


def _rarity(known: int, size: int) -> float:
    return log(1 + (size - known + 0.5) / (known + 0.5))


def _rows(index: RecallIndex, notion: Notion) -> set[int]:
    """Return the texts that contain a notion anywhere."""
    out: set[int] = set()
    for term in notion.terms:
        out.update(index.words.held.get(term, ()))
    for phrase in notion.phrases:
        out |= _all_held(index.words, phrase)
    for word in notion.words:
        if len(word) > 1:
            out |= _all_held(index.pairs, [word[i : i + 2] for i in range(len(word) - 1)])
        else:
            out.update(index.words.held.get(word, ()))
    return out


def _all_held(postings: Postings, terms: Sequence[str]) -> set[int]:
    found = [postings.held.get(term) for term in terms]
    if not found or not all(found):
        return set()
    columns = sorted((column for column in found if column), key=len)
    return set(columns[0]).intersection(*columns[1:])


def _best_window(text: str, notions: Sequence[Notion], weights: Sequence[float]) -> set[int]:
    """Return the numbers of the notions that the best lines express."""
    lines = [
        line[start : start + _LINE]
        for line in text[:_LOOKED_AT].split("\n")
        for start in range(0, max(len(line), 1), _LINE)
    ]
    terms = [frozenset(terms_of(line)[0]) for line in lines]
    best: set[int] = set()
    most = 0.0
    for start in range(max(1, len(lines) - WINDOW + 1)):
        here = frozenset[str]().union(*terms[start : start + WINDOW])
        words = "\n".join(lines[start : start + WINDOW])
        found = {n for n, notion in enumerate(notions) if notion.stands_in(here, words)}
        said = sum(weights[n] for n in found)
        if said > most:
            best, most = found, said
    return best
