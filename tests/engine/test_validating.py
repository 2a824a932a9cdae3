"""Prompts in files: read in every shape, written back in the same one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backscroll.engine.exchange.validation import prompts_of, read_prompts, write_prompts
from backscroll.errors import FormatError, InvalidInput, NotFound

USER = {"role": "user", "content": "你好"}
EMPTY = {"role": "user", "content": ""}


def test_prompt_file_shapes_are_kept(tmp_path: Path) -> None:
    """One document, one message per line or one request per line; the repaired file has the same shape."""
    lines = "".join(json.dumps(row) + "\n" for row in ({"messages": [USER, EMPTY]}, {"input": "hi"}))
    for text, shape, mended in (
        (json.dumps([USER, EMPTY]), "document", [USER]),
        (json.dumps(USER) + "\n\n" + json.dumps(EMPTY) + "\n", "messages", None),
        (lines, "requests", None),
        (json.dumps(USER), "messages", None),
    ):
        found = prompts_of(text)
        assert found.shape == shape
        changes = write_prompts(found, str(tmp_path / "out.json"))
        again = read_prompts(str(tmp_path / "out.json"))
        assert again.shape == shape
        assert not any(again.flaws())
        assert bool(changes) == any(found.flaws())
        if mended is not None:
            assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == mended


def test_lone_surrogate_in_a_file_is_repaired(tmp_path: Path) -> None:
    """The repaired file is valid UTF-8."""
    path = tmp_path / "in.json"
    path.write_text('[{"role": "user", "content": "half \\ud83d here"}]', encoding="utf-8")
    found = read_prompts(str(path))
    assert [flaw.rule.id for flaws in found.flaws() for flaw in flaws] == ["V4"]
    write_prompts(found, str(tmp_path / "out.json"))
    assert json.loads((tmp_path / "out.json").read_bytes()) == [{"role": "user", "content": "half  here"}]


def test_unrepairable_flaws_are_reported() -> None:
    """A previous response without instructions is reported before and after repair."""
    found = prompts_of('{"input": "hi", "previous_response_id": "r"}')
    assert [flaw.rule.id for flaw in found.unmendable()] == ["R6"]
    assert prompts_of('[{"role": "tool", "content": "x"}]').unmendable() == []


def test_bad_files_raise_clear_errors(tmp_path: Path) -> None:
    """Every error has a hint."""
    with pytest.raises(NotFound):
        read_prompts(str(tmp_path / "absent"))
    with pytest.raises(InvalidInput, match="folder"):
        read_prompts(str(tmp_path))
    with pytest.raises(FormatError, match="empty"):
        prompts_of(" \n", "x")
    with pytest.raises(FormatError, match="not valid JSON"):
        prompts_of("Dear diary", "x")
    with pytest.raises(FormatError, match="line 2"):
        prompts_of(json.dumps(USER) + "\n{broken\n", "x")
    with pytest.raises(FormatError, match="no prompt"):
        prompts_of('{"weather": 1}', "x")
    with pytest.raises(InvalidInput, match="unknown wire"):
        prompts_of("[]", "x", wire="telex")
