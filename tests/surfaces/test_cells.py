"""Widths, cutting and wrapping of text on a screen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.surfaces.screen.cells import cut, pad_text, width, wrap

MIXED = st.text(alphabet="ab 中文，。（「」）é\u0301…😀 -", max_size=60)


@pytest.mark.parametrize(
    ("text", "cells"), [("abc", 3), ("中文", 4), ("e\u0301", 1), ("a中b", 4), ("", 0), ("☺\ufe0f", 2)]
)
def test_width_counts_cells(text: str, cells: int) -> None:
    """A Chinese character takes two, a combining mark none."""
    assert width(text) == cells


@given(MIXED, st.integers(min_value=1, max_value=40))
def test_cut_text_fits(text: str, room: int) -> None:
    """Whatever is cut fits its room, and is left alone where it fits already."""
    assert width(cut(text, room)) <= room
    if width(text) <= room:
        assert cut(text, room) == text


def test_cut_text_has_an_ellipsis() -> None:
    """Never half a character."""
    assert cut("中文字符", 5) == "中文…"


@given(MIXED, st.integers(min_value=10, max_value=40))
def test_wrapped_lines_fit_and_lose_nothing(text: str, room: int) -> None:
    """Wrapping keeps every character except spaces at the breaks."""
    lines = list(wrap(text, room))
    assert all(width(line) <= room + 2 for line in lines)  # closing marks may hang over by one cell or two
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_english_breaks_at_spaces_only() -> None:
    """English breaks at spaces only."""
    assert list(wrap("one two three", 9)) == ["one two", "three"]


def test_closing_marks_never_begin_a_line() -> None:
    """The rules of Chinese typesetting: no comma or full stop at the start of a line."""
    lines = list(wrap("一二三四五，六七八九十。一二三四", 10))
    assert all(line[0] not in "，。" for line in lines)


def test_word_longer_than_the_line_is_broken() -> None:
    """An address without spaces is not pushed off the screen."""
    assert list(wrap("x" * 25, 10)) == ["x" * 10, "x" * 10, "x" * 5]


def test_wrapped_lines_keep_their_indentation() -> None:
    """A wrapped line of code keeps its indentation."""
    assert list(wrap("    if something and more", 18)) == ["    if something", "    and more"]


def test_padding_counts_cells() -> None:
    """Chinese and English columns line up."""
    assert width(pad_text("中文", 6)) == width(pad_text("ab", 6)) == 6
    assert pad_text("7", 3, right=True) == "  7"
