"""Whether anything that was said is about a question at all.

Odds compare the texts of a conversation with each other: the best of them is the best, even where none has to do with the question. Here the question is
compared with all of them at once: a short question of which no text holds a third, in its own words, in similar ones or by meaning, is about
something that was never spoken of, unless it and some text are about the same everyday matter (`domains.toml`). Questions that name a speaker, a time, a path or a quotation, ask for a list, or are told at length may be
about anything that was said. Set on the shared retrieval data, with questions of other conversations as those about nothing (`docs/recall.md`). Before: `recall/clues`.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from backscroll.recall.cut import terms_of
from backscroll.recall.index import Index
from backscroll.recall.understand import Asked
from backscroll.recall.words import is_unspaced

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

_NEAR, _SOFT, _HELD = 0.36, 0.34, 0.34  # the best text of all has to reach one of these
_MOST, _NEARLY = 0.5, 0.45
_SENTENCES = 2  # of a question that can be told from what leads up to it


def is_about(index: Index, asked: Asked, clues: Mapping[str, NDArray[float64]]) -> bool:
    """False where no text of a (not empty) index is about a question; `clues` are those of the best texts."""
    if not asked.words or not asked.asks or len(asked.sentences) > _SENTENCES:
        return True
    if asked.times or asked.exact or asked.asks_list or _names_a_speaker(index, asked):
        return True
    if _is_in_another_script(index, asked):
        return True  # words say little then, and the table of counterparts lacks many
    return is_worded(clues) or bool(texts_of_domains(index, asked)) or _holds_most(index, asked)


def _holds_most(index: Index, asked: Asked) -> bool:
    """True where some text has most of the words, however common they are there: "what did we agree on for berth 7?" among many berths."""
    words = set(asked.words)
    held: Counter[int] = Counter()
    for word in words:
        held.update(index.words.held.get(word, ()))
    return max(held.values(), default=0) * 2 > len(words)


def is_worded(clues: Mapping[str, NDArray[float64]]) -> bool:
    """True where some text holds enough of a question in its words, in similar ones or by meaning."""
    return bool(clues["soft"].max() >= _SOFT or clues["held"].max() >= _HELD or clues["near"].max() >= _NEAR)


def is_surely_about(clues: Mapping[str, NDArray[float64]], place: int) -> bool:
    """True for a text (by its place among the clues) that holds most of a question, or says nearly the same."""
    return bool(
        max(clues["held"][place], clues["passage_held"][place], clues["soft"][place]) >= _MOST
        or clues["near"][place] >= _NEARLY
    )


def texts_of_domains(index: Index, asked: Asked) -> set[int]:
    """The texts that are about the same everyday matter as a question."""
    out: set[int] = set()
    for domain in _domains():
        if _asks_about(asked, domain):
            for term in domain:
                out.update(index.words.held.get(term, ()))
    return out


@lru_cache(maxsize=1)
def _domains() -> tuple[frozenset[str], ...]:
    """The words of each everyday matter, English ones as stems."""
    text = files("backscroll.recall").joinpath("domains.toml").read_text(encoding="utf-8")
    return tuple(
        frozenset(
            term
            for word in str(words).split()
            for term in ([word] if is_unspaced(word) else terms_of(word)[0])
        )
        for words in tomllib.loads(text).values()
    )


def _asks_about(asked: Asked, domain: frozenset[str]) -> bool:
    return not domain.isdisjoint(asked.words)


def _names_a_speaker(index: Index, asked: Asked) -> bool:
    return any(term in index.names or index.speaker_called(term) is not None for term in asked.words)


def _is_in_another_script(index: Index, asked: Asked) -> bool:
    unspaced = sum(is_unspaced(word) for word in asked.words) * 2 >= len(asked.words)
    return unspaced != (index.unspaced * 2 >= len(index))
