"""Terms by which recall compares texts: stems of spaced scripts, dictionary words and character pairs of Chinese.

Owns the choice of terms; the letters are prepared by `recall/text/words`, whose index words (pairs of characters for scripts
without spaces) are one of the two kinds. The other kind are words as a dictionary cuts them (rjieba). Words that occur in every
sentence are left out; they are listed in `stopwords.toml`. Without the word segmenter, pairs replace words.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Protocol

from backscroll.recall.text.words import (
    UNSPACED,
    fold_word,
    humps_of,
    normalize_text,
    pairs_of,
    runs_of,
    stem,
)
from backscroll.vocab.values.table import read_table

_UNSPACED = re.compile(f"[{UNSPACED}]")
#: No question has more; the rest of a book adds nothing to the statistics.
LONGEST = 40_000
_CACHED = 100_000


class _SearchCutter(Protocol):
    def cut(self, text: str) -> list[str]: ...
    def cut_for_search(self, text: str) -> list[str]: ...
    def tag(self, text: str) -> list[tuple[str, str]]: ...


@lru_cache(maxsize=1)
def _cutter() -> _SearchCutter | None:
    try:
        from rjieba import Jieba
    except ImportError:
        return None
    return Jieba()


def cut_words(text: str) -> list[str]:
    """Return the words of a stretch without spaces; without a word segmenter, the stretch itself."""
    cutter = _cutter()
    return [text] if cutter is None else cutter.cut(text)


def tagged_words(text: str) -> list[tuple[str, str]]:
    """Return the words of a Chinese text with their tags (`nr` a person, `ns` a place …); empty without a word
    segmenter.
    """
    cutter = _cutter()
    return [] if cutter is None else cutter.tag(text)


@lru_cache(maxsize=1)
def stopwords() -> frozenset[str]:
    """Return words that do not distinguish questions; English ones as stems."""
    data = read_table("backscroll.recall", "stopwords.toml")
    english = {stem(fold_word(word)) for word in data["english"].split()}
    return frozenset(english | set(data["chinese"].split()))


class _Stems(dict[str, tuple[str, ...]]):
    """Spaced word -> its terms. Bounded by starting over."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        parts = humps_of(word)
        pieces = [*parts, word] if len(parts) > 1 else [word]
        found = tuple(term for piece in pieces if (term := stem(fold_word(piece))) not in stopwords())
        if len(self) >= _CACHED:
            self.clear()
        self[word] = found
        return found


class _InternedWords(dict[str, str]):
    """A word -> the same word, stored once. Bounded by starting over."""

    def __missing__(self, word: str) -> str:
        if len(self) >= _CACHED:
            self.clear()
        self[word] = word
        return word


_stems, _once = _Stems(), _InternedWords()


def terms_of(text: str) -> tuple[list[str], list[str]]:
    """Return words, and stems with character pairs: the two ways in which texts are compared. They differ only in scripts without
    spaces.
    """
    runs = runs_of(normalize_text(text[:LONGEST]))
    words: list[str] = []
    pairs: list[str] = []
    spaced = True
    for run in runs:
        if _UNSPACED.match(run):
            spaced = False
            # The same few thousand words occur in all texts: each is stored once.
            words += map(_once.__getitem__, _dictionary_words(run))
            pairs += [_once[pair] for pair in pairs_of(run).split() if len(pair) > 1]
        else:
            found = _stems[run]
            words += found
            pairs += found
    return (words, words) if spaced else (words, pairs)


def _dictionary_words(run: str) -> list[str]:
    cutter = _cutter()
    if cutter is None:
        return [pair for pair in pairs_of(run).split() if len(pair) > 1]
    stop = stopwords()
    return [word for word in cutter.cut_for_search(run) if word not in stop]
