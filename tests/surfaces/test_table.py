"""Tables fit the screen and line up in both languages."""

from __future__ import annotations

import pytest

from backscroll.surfaces.screen.cells import width
from backscroll.surfaces.screen.screen import Screen
from backscroll.surfaces.screen.table import Column, table

COLUMNS = [Column("id"), Column("title", shrinks=True), Column("n", right=True)]


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Screen:
    monkeypatch.setenv("COLUMNS", "40")
    return Screen()


def test_flexible_column_is_cut(narrow: Screen) -> None:
    """A long title is shortened so that the line fits; the other columns stay whole."""
    lines = list(
        table(narrow, COLUMNS, [("3f2a9c1e", "a very long title " * 5, "12"), ("77c01234", "b", "3")])
    )
    assert all(width(line) <= 40 for line in lines)
    assert lines[1].startswith("3f2a9c1e")
    assert lines[1].endswith("12")
    assert "…" in lines[1]


def test_chinese_and_english_columns_line_up(narrow: Screen) -> None:
    """The last column starts in the same cell in every row."""
    lines = list(table(narrow, COLUMNS, [("1", "中文标题", "5"), ("2", "title", "6")]))
    assert {width(line) for line in lines[1:]} == {width(lines[1])}


def test_empty_columns_are_left_out(narrow: Screen) -> None:
    """Header included."""
    lines = list(table(narrow, COLUMNS, [("1", "", "5")]))
    assert "title" not in lines[0]


def test_nothing_is_cut_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that grep finds it."""
    monkeypatch.delenv("COLUMNS", raising=False)
    long = "word " * 100
    assert long.strip() in list(table(Screen(), COLUMNS, [("1", long, "2")]))[1]


def test_cells_cannot_break_the_table(narrow: Screen) -> None:
    """Line breaks and escapes in a title do not reach the screen."""
    lines = list(table(narrow, COLUMNS, [("1", "a\nb\x1b[2J", "2")]))
    assert len(lines) == 2
    assert "\x1b" not in lines[1]
