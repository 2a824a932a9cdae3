"""Marks for long pastes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.surfaces import i18n
from backscroll.surfaces.chat.input.history_file import FolderHistory
from backscroll.surfaces.chat.input.pastes import CHARACTERS, LINES, Pastes

LONG = "\n".join(f"line {n}" for n in range(240))
CHINESE = "港口的潮汐表。" * 200


@pytest.fixture(autouse=True)
def _english() -> Iterator[None]:
    yield
    i18n.use("en")


def test_short_pastes_stay_as_they_are() -> None:
    pastes = Pastes()
    for text in ("", "words", "x" * CHARACTERS, "\n".join("a" * LINES)):
        assert pastes.fold(text) == text


def test_long_paste_becomes_a_mark_and_is_sent_whole() -> None:
    """Lines or characters are counted, several are numbered, and the text around them stays."""
    pastes = Pastes()
    line = "look: " + pastes.fold(LONG)
    assert line == "look: [pasted: 240 lines #1]"
    line += " and " + pastes.fold(CHINESE, line)
    assert line.endswith(" and [pasted: 1400 characters #2]")
    assert pastes.whole(line) == f"look: {LONG} and {CHINESE}"
    assert pastes.fold(LONG) == "[pasted: 240 lines #1]"
    assert pastes.fold(LONG.replace("7", "8")) == "[pasted: 240 lines #2]"
    i18n.use("zh")
    assert pastes.fold(LONG) == "[粘贴：240 行 #1]"
    assert pastes.fold(CHINESE) == "[粘贴：1400 字 #1]"


def test_pasted_marks_are_text() -> None:
    """A paste that contains another one's mark is sent as pasted; an invented mark is only text."""
    pastes = Pastes()
    first = pastes.mark(LONG)
    second = pastes.mark(f"see {first}\n{first}", first)
    assert pastes.whole(f"{first} {second}") == f"{LONG} see {first}\n{first}"
    assert pastes.whole("[pasted: 3 lines #9] [#1 map.png]") == "[pasted: 3 lines #9] [#1 map.png]"


def test_edited_mark_is_text() -> None:
    pastes = Pastes()
    mark = pastes.fold(LONG)
    assert pastes.whole(mark[:-1]) == mark[:-1]
    assert pastes.mark_at(f"ab{mark}c", 2 + len(mark)) == (2, 2 + len(mark))
    assert pastes.mark_at(f"ab{mark}c", 3) == (2, 2 + len(mark))
    assert pastes.mark_at(f"ab{mark}c", 2) is None


def test_edited_text_gets_its_marks_back() -> None:
    """Unchanged pastes are folded again; changed ones are not."""
    pastes = Pastes()
    line = f"see {pastes.fold(LONG)}"
    assert pastes.fold_again(f"see, please, {LONG}!", line) == "see, please, [pasted: 240 lines #1]!"
    changed = pastes.whole(line).replace("line 7\n", "")
    assert pastes.fold_again(changed, line) == changed


@given(st.lists(st.text(st.characters(exclude_characters="[]"), max_size=30), min_size=1, max_size=7))
def test_pieces_and_lines_are_the_same(pieces: list[str]) -> None:
    """Folding loses nothing, whatever was typed and pasted."""
    pieces = pieces if len(pieces) % 2 else pieces[:-1]
    pastes = Pastes()
    assert pastes.pieces(pastes.fold_pieces(pieces)) == pieces
    assert pastes.whole(pastes.fold_pieces(pieces)) == "".join(pieces)


def test_history_restores_pastes(tmp_path: Path) -> None:
    """In this chat and in the next one: a mark in the line, the text behind it."""
    pastes, path = Pastes(), tmp_path / "typed.jsonl"
    line = f"see {pastes.fold(LONG)} 好"
    FolderHistory(path, pastes).store_string(line)
    FolderHistory(path, pastes).store_string("short")
    later = Pastes()
    assert list(FolderHistory(path, later).load_history_strings()) == ["short", line]
    assert later.whole(line) == f"see {LONG} 好"


def test_broken_history_line_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "typed.jsonl"
    path.write_text('"one"\n[1, 2]\n[]\n{"a": 1}\n["two", 3]\n["a", "b')
    assert list(FolderHistory(path).load_history_strings()) == ["one"]
