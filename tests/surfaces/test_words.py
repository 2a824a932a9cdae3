"""Editing the text of a message keeps everything else in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from backscroll.surfaces.cli import given_words as words
from backscroll.vocab.message import Content
from backscroll.vocab.part import Media, Reasoning, Text, ToolCall, ToolResult

CALL = ToolCall("c1", "Read", {"path": "a"})
IMAGE = Media("image/png", url="https://example.org/a.png")


def test_other_parts_stay_in_place() -> None:
    """Thinking before and calls after the text are not touched, nor are author and metadata."""
    before = Content((Reasoning("hm", "sig"), Text("old", {"x": 1}), CALL), "Ann", {"k": "v"})
    after = words.with_words(before, "new")
    assert after == Content((Reasoning("hm", "sig"), Text("new", {"x": 1}), CALL), "Ann", {"k": "v"})


def test_several_texts_become_one() -> None:
    """They are edited as one text, in the place of the first."""
    before = Content((Text("one"), IMAGE, Text("two")))
    assert words.words_of(before) == "one\ntwo"
    assert words.with_words(before, "new").parts == (Text("new"), IMAGE)


def test_text_is_added_before_the_calls() -> None:
    """For a reply that had none."""
    assert words.with_words(Content((CALL,)), "new").parts == (Text("new"), CALL)


def test_text_of_a_tool_result_can_be_edited() -> None:
    """It stays the result of its call."""
    before = Content((ToolResult("c1", (Text("old"), IMAGE), is_error=True, name="Read"),))
    assert words.words_of(before) == "old"
    assert words.with_words(before, "new").parts == (
        ToolResult("c1", (Text("new"), IMAGE), is_error=True, name="Read"),
    )


def test_unsaved_text_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a file that only the user can read."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = words.save_aside("many words\n第二行")
    assert path.read_text(encoding="utf-8") == "many words\n第二行\n"
    assert path.stat().st_mode & 0o077 == 0
