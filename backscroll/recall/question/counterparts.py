"""Counterparts: words of a question in the other language, Chinese or English, by a table of everyday and technical vocabulary.

A question in Chinese about a log in English shares no word with it, and word vectors are too imprecise for one line of a long
result. Owns the table (`counterparts.toml`, written for this package) and the look-up; it is not a translation: any counterpart
will do, and a word that the table lacks has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from backscroll.recall.text.terms import terms_of
from backscroll.vocab.values.pattern import late
from backscroll.vocab.values.table import read_table

#: An English word or phrase as stems, all of which must occur.
Stems: TypeAlias = tuple[str, ...]
_HAN = late("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_PHRASE = 3  # stems


@dataclass(frozen=True, slots=True)
class Counterparts:
    """The table in both directions."""

    english: dict[str, tuple[Stems, ...]]  # Chinese word -> English
    chinese: dict[Stems, tuple[str, ...]]  # English -> Chinese words
    longest: int  # maximum characters of a Chinese word


@lru_cache(maxsize=1)
def counterparts() -> Counterparts:
    """Return the table, loaded on first use."""
    english: dict[str, dict[Stems, None]] = {}
    chinese: dict[Stems, dict[str, None]] = {}
    for lines in read_table("backscroll.recall", "counterparts.toml").values():
        for line in str(lines).strip().split("\n"):
            ours, _, theirs = line.partition(" = ")
            for phrase in theirs.split(", "):
                stems = tuple(dict.fromkeys(terms_of(phrase)[0]))
                for word in ours.split() if stems else ():
                    english.setdefault(word, {})[stems] = None
                    chinese.setdefault(stems, {})[word] = None
    return Counterparts(
        {word: tuple(found) for word, found in english.items()},
        {stems: tuple(found) for stems, found in chinese.items()},
        max(map(len, english)),
    )


def english_of(text: str) -> list[tuple[str, tuple[Stems, ...]]]:
    """Return the Chinese words of a text that are in the table, the longest at each place, with their English counterparts."""
    table = counterparts()
    out: dict[str, tuple[Stems, ...]] = {}
    for run in _HAN.findall(text):
        place = 0
        while place < len(run):
            size = min(table.longest, len(run) - place)
            while size and run[place : place + size] not in table.english:
                size -= 1
            if size:
                out[run[place : place + size]] = table.english[run[place : place + size]]
            place += size or 1
    return list(out.items())


def chinese_of(stems: Sequence[str]) -> list[tuple[Stems, tuple[str, ...]]]:
    """Return the English words of a text, given as its terms in order, that are in the table, with their Chinese counterparts."""
    table = counterparts()
    out: dict[Stems, tuple[str, ...]] = {}
    place = 0
    while place < len(stems):
        size = _PHRASE
        while size and tuple(stems[place : place + size]) not in table.chinese:
            size -= 1
        if size:
            found = tuple(stems[place : place + size])
            out[found] = table.chinese[found]
        place += size or 1
    return list(out.items())
