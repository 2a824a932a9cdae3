"""The tokeniser: what each script becomes, and its limits."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.recall.text import words
from backscroll.recall.text.words import LONGEST_WORD, index_words, tsvector_of

EXPECTED = [
    ("", ""),
    ("  ,.;  ", ""),
    ("The dogs were running", "the dog were run"),
    ("RUNNING Runs", "run run"),
    ("snake_case kebab-case a/b.py", "snake case kebab case a b py"),
    ("getUserName", "get user name getusernam"),
    ("HTMLParser", "html parser htmlparser"),
    ("UTF8String utf8 v2", "utf8 string utf8str utf8 v2"),
    ("URLs and APIs", "url and api"),
    ("iPhone15Pro", "i phone15 pro iphone15pro"),
    ("sha256 3f2a", "sha256 3f2a"),
    ("Café naïve Ångström", "cafe naiv angstrom"),
    ("cafe\u0301", "cafe"),
    ("x\u0302y", "xy"),
    ("Ёлка й", "елка и"),
    ("Ὀδυσσεύς", "οδυσσευσ"),
    ("Straße STRASSE", "strass strass"),
    ("ＡＢＣ１２", "abc12"),
    ("ﬁne", "fine"),
    ("小猫咪", "小猫 猫咪 咪"),
    ("猫", "猫"),
    ("小猫，白色。", "小猫 猫 白色 色"),
    ("用Python写代码", "用 python 写代 代码 码"),
    ("日本語のテキスト", "日本 本語 語の のテ テキ キス スト ト"),
    ("ﾈｺ", "ネコ コ"),
    ("が か\u3099", "が が"),
    ("한국어 \u1112\u1161\u11ab", "한국 국어 어 한"),
    ("ไทย", "ไท ทย ย"),
    ("𠀀𠀁𠀂", "𠀀𠀁 𠀁𠀂 𠀂"),
    ("हिन्दी में", "हिन्दी में"),
    ("العَرَبِيَّة", "العربية"),
    ("שָׁלוֹם", "שלום"),
    ("a\0b c\ud800d e\u00adf", "ab cd ef"),
    ("🙂 ok 👩‍🚀", "ok"),
    ("m² ½", "m2 1 2"),
]


@pytest.mark.parametrize(("text", "expected"), EXPECTED)
def test_index_words_of_each_script(text: str, expected: str) -> None:
    """Each script becomes the index words that the rules say."""
    assert index_words(text) == expected


@pytest.mark.parametrize("length", [1, 2, 10, 23, 24, 25, 26, 60])
def test_fast_and_plain_segmentation_agree(length: int) -> None:
    """For long stretches of unspaced script with any number of runs."""
    runs = ["数据库迁移"[: 1 + n % 5] for n in range(length)]
    expected: list[str] = []
    for run in runs:
        expected += [a + b for a, b in itertools.pairwise(run)] + [run[-1]]
    assert index_words("，".join(runs)) == " ".join(expected)
    whole = "".join(runs)
    assert index_words(whole).split(" ") == [a + b for a, b in itertools.pairwise(whole)] + [whole[-1]]


def test_limit_bounds_the_work() -> None:
    """Only the first characters are read."""
    assert index_words("alpha beta gamma", limit=10) == "alpha beta"


def test_endless_words_are_cut() -> None:
    """Encoded bytes, for example, become one word of bounded length without parts."""
    assert index_words("aB" * 5000) == "ab" * (LONGEST_WORD // 2)


def test_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """More distinct words than it holds are still indexed."""
    monkeypatch.setattr(words, "_CACHED_WORDS", 10)
    monkeypatch.setattr(words, "_cache", type(words._cache)())
    text = " ".join(f"w{n}" for n in range(100))
    assert index_words(text) == text
    assert len(words._cache) <= 10


@given(st.text())
def test_words_are_letters_and_single_spaces_only(text: str) -> None:
    """No input makes a word that could break out of a quoted string, or an empty word."""
    found = index_words(text)
    assert not re.search(r"[\x00-\x1f\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f\ud800-\udfff\s](?<! )", found)
    assert "" not in found.split(" ") or found == ""


@given(st.text(), st.text())
def test_texts_are_indexed_word_by_word(one: str, other: str) -> None:
    """The words of two paragraphs are the words of one and then of the other."""
    both = index_words(one + "\n" + other)
    assert both.split() == index_words(one).split() + index_words(other).split()


def test_tsvector_positions_are_within_the_limits_of_postgres() -> None:
    """They start at one; a word has at most 255, none above the largest allowed."""
    assert tsvector_of("dog run dog 小猫") == "'dog':1,3 'run':2 '小猫':4"
    assert tsvector_of("") == ""
    many = tsvector_of("a " * 300 + "b " * 20_000 + "c")
    positions = {word: [int(n) for n in at.split(",")] for word, at in re.findall(r"'(\w)':([\d,]+)", many)}
    assert positions["a"] == list(range(1, 256))
    assert positions["c"] == [16383]
