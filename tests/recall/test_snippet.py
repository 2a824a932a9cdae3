"""Snippets: the right part of the original text, marked, within the given width."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import InvalidInput
from backscroll.recall.question.query import parse_query
from backscroll.recall.snippet import LOOKED_AT, columns, snippet

SHORT = [
    ("The dogs were running\nand  ran", "running dog", "The [dogs] were [running] and ran"),
    ("RUNS run Running", "runs", "[RUNS] [run] [Running]"),
    ("happily happy happiness", "happy", "happily [happy] [happiness]"),
    ("dying to die", "die", "[dying] to [die]"),
    ("call getUserName() now", "user", "call get[User]Name() now"),
    ("call getUserName() now", "getusername", "call [getUserName]() now"),
    ("call get_user_name() now", "getUserName", "call [get]_[user]_[name]() now"),
    ("runners run", "runn*", "[runners] [run]"),
    ("Café cafe\u0301 CAFE", "cafe", "[Café] [cafe\u0301] [CAFE]"),
    ("ＦＵＬＬ width", "full", "[ＦＵＬＬ] width"),
    ("İstanbul ve kedi", "kedi", "İstanbul ve [kedi]"),
    ("Ёжик в тумане", "ежик", "[Ёжик] в тумане"),
    ("一只小猫咪在睡觉", "小猫咪", "一只[小猫咪]在睡觉"),
    ("一只小猫咪在睡觉", "猫", "一只小[猫]咪在睡觉"),
    ("今天天气很好", "今天天气", "[今天天气]很好"),
    ("我用Python写代码", "用Python写代", "我[用Python写代]码"),
    ("น้ำตก", "น้ำ", "[น้ำ]ตก"),
    ("no match at all", "zebra", "no match at all"),
    ("big house", '"big house" -red', "[big] [house]"),
    ("", "dog", ""),
]


@pytest.mark.parametrize(("text", "query", "expected"), SHORT)
def test_matches_are_marked_as_written(text: str, query: str, expected: str) -> None:
    """In any script."""
    assert snippet(text, parse_query(query)) == expected


def test_relaxed_query_marks_overlapping_pairs_as_one() -> None:
    """The pairs that a relaxed query falls into are marked together."""
    assert snippet("小猫咪睡觉", parse_query("大小猫咪").relax()) == "[小猫咪]睡觉"


def test_caller_chooses_the_marks() -> None:
    """The caller chooses the marks."""
    assert snippet("a dog", parse_query("dog"), mark=("<b>", "</b>")) == "a <b>dog</b>"


def test_window_with_most_different_words_wins() -> None:
    """A place with both words beats an earlier one with the same word twice."""
    text = "dog dog " + "filler " * 100 + "the dog bites the postman here " + "filler " * 100
    shown = snippet(text, parse_query("dog postman"), width=60)
    assert "the [dog] bites the [postman] here" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")


def test_rare_word_is_shown_before_a_common_one() -> None:
    """If the words are never together, the window has the rare one; the common one is marked there too."""
    text = "the cat " * 2000 + "plain " * 100 + "the zebra " + "plain " * 100
    assert "[the] [zebra]" in snippet(text, parse_query("the zebra"), width=40)


def test_phrase_beats_scattered_words() -> None:
    """Adjacent words beat the same words further apart."""
    text = "big and small house " + "filler " * 100 + "a big house there " + "filler " * 100
    assert "[big] [house]" in snippet(text, parse_query('"big house"'), width=40)


def test_cuts_fall_between_words() -> None:
    """In spaced scripts no word is torn at the edges of the window."""
    text = "alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa"
    for width in range(20, 80):
        words = (
            snippet(text, parse_query("hotel"), width=width)
            .strip("…")
            .replace("[", "")
            .replace("]", "")
            .split()
        )
        assert set(words) <= set(text.split())


def test_chinese_characters_count_two_columns() -> None:
    """A window of unspaced script holds half as many characters, and is full."""
    shown = snippet("今天天气很好，我们去公园散步。" * 30, parse_query("公园"), width=40)
    assert 36 <= columns(shown.replace("[", "").replace("]", "")) <= 40


def test_only_the_beginning_of_a_very_long_text_is_searched() -> None:
    """Beyond two million characters nothing is searched, and the cut is shown."""
    shown = snippet("filler " * (LOOKED_AT // 7 + 1) + "zebra", parse_query("zebra"))
    assert "zebra" not in shown
    assert shown.endswith("…")


@given(
    st.text() | st.text(alphabet="ab猫小 \n\u0301İ👩\u200d,", max_size=200),
    st.text(alphabet="ab猫小 *", min_size=1, max_size=8),
    st.integers(4, 50),
)
def test_a_snippet_is_a_piece_of_the_text_in_the_room_given(text: str, query: str, width: int) -> None:
    """Without marks and ellipses it is what stands in the text, and it is never too wide."""
    try:
        parsed = parse_query(query)
    except InvalidInput:
        return
    bare = snippet(text, parsed, width, ("\ue000", "\ue001")).replace("\ue000", "").replace("\ue001", "")
    assert columns(bare) <= width
    flat = " ".join(text.split())
    assert bare in (flat, "…" + flat) or bare.removeprefix("…").removesuffix("…") in flat
