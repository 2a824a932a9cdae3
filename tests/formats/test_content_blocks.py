"""Content that callers write as dictionaries: each type has one meaning, and what has none is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import backscroll
from backscroll.errors import FormatError, InvalidInput
from backscroll.formats.content_blocks import ANTHROPIC, OPENAI, part_of
from backscroll.vocab.part import Media, Part, Reasoning, Text, ToolCall, ToolResult

PNG = b"\x89PNG\r\n\x1a\n"
DATA = "data:image/png;base64,iVBORw0KGgo="
CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
READ: list[tuple[dict[str, Any], Part]] = [
    ({"type": "text", "text": "潮水"}, Text("潮水")),
    ({"type": "image_url", "image_url": {"url": DATA}}, Media("image/png", data=PNG)),
    (
        {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}},
        Media("image/*", url="https://x.example/a.png"),
    ),
    (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
        Media("image/png", data=PNG),
    ),
    ({"type": "thinking", "thinking": "hm", "signature": "s"}, Reasoning("hm", "s")),
    ({"type": "tool_use", "id": "t", "name": "look", "input": {"at": 1}}, ToolCall("t", "look", {"at": 1})),
    ({"type": "tool_result", "tool_use_id": "t", "content": "six"}, ToolResult("t", (Text("six"),))),
    (CALL, ToolCall("call_1", "look", "{}")),
]
REFUSED: list[dict[str, Any]] = [
    {},
    {"text": "no type"},
    {"type": "text"},
    {"type": "text", "text": 6},
    {"type": "image_url", "image_url": {"link": "x"}},
    {"type": "image_url", "image_url": {"url": "data:broken"}},
    {"type": "tool_use", "name": "no id"},
    {"type": "video", "url": "x"},
    {"type": ["text"], "text": "x"},
    {"role": "user", "content": "a whole message"},
]


@pytest.mark.parametrize(("block", "part"), READ)
def test_content_block_becomes_its_part(block: dict[str, Any], part: Part) -> None:
    assert part_of(block) == part


def test_vendor_fields_of_a_text_block_are_kept() -> None:
    cached = {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}
    assert part_of(cached) == Text("a", {"anthropic": {"cache_control": {"type": "ephemeral"}}})


@pytest.mark.parametrize("block", REFUSED)
def test_invalid_block_is_refused_and_nothing_is_written(block: dict[str, Any], tmp_path: Path) -> None:
    with backscroll.open(tmp_path / "s.db") as store:
        thread = store.create()
        for content in (block, [block], [Text("before"), block]):
            with pytest.raises(InvalidInput):
                thread.append("user", content)
        assert len(thread) == 0


def test_every_writing_method_accepts_dictionaries(tmp_path: Path) -> None:
    with backscroll.open(tmp_path / "s.db") as store:
        thread = store.create()
        said = thread.append("user", {"type": "text", "text": "one"}, author="Ann")
        assert (said.text, said.author) == ("one", "Ann")
        thread.edit(said.id, [{"type": "text", "text": "two"}, Media("image/png", data=PNG)])
        thread.regenerate(said.id, {"type": "text", "text": "three"})
        thread.insert("system", [{"type": "text", "text": "zero"}])
        assert [message.text for message in thread.messages()] == ["zero", "three"]
        shown = thread.append("user", [{"type": "image_url", "image_url": {"url": DATA}}])
        (picture,) = shown.parts
        assert isinstance(picture, Media)
        assert picture.blob is not None
        assert store.blob(picture.blob) == PNG


@given(
    st.dictionaries(
        st.sampled_from(
            ["type", "text", "id", "name", "input", "function", "source", "image_url", "content"]
        ),
        st.sampled_from([*OPENAI, *ANTHROPIC, "function"])
        | st.text(max_size=4)
        | st.none()
        | st.integers()
        | st.lists(st.text(max_size=2), max_size=2)
        | st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=2),
        max_size=6,
    )
)
def test_any_dictionary_is_a_part_or_a_clear_error(block: dict[str, Any]) -> None:
    try:
        made = part_of(block)
    except FormatError as refused:
        made = refused.hint
    assert isinstance(made, Text | Media | Reasoning | ToolCall | ToolResult) or made
