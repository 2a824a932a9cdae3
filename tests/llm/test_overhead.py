"""Token counts of messages, tools and pictures on each wire."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import InvalidInput
from backscroll.llm.tokens.media import image_size, is_text, page_count, picture_tokens
from backscroll.llm.tokens.overhead import (
    frame_tokens,
    message_tokens,
    render_json,
    request_tokens,
    tools_tokens,
)
from backscroll.llm.tokens.tokens import tokenizer_for
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message
from backscroll.vocab.part import Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import WIRES
from tests.llm.pictures import PICTURES, png
from tests.vocab.drawn import parts as drawn_parts

COUNTER = tokenizer_for("gpt-5")
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a place.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def said(role: Any, *parts: Part, author: str | None = None) -> Message:
    ref = Ref("0" * 32, 1)
    return Message(ref, role, ref, Content(parts, author), "2026-11-15T12:00:00+00:00")


def test_plain_text_on_the_openai_wire_counts_as_documented() -> None:
    """Three tokens per message, one for the role, the text; three that open the answer."""
    system = (
        "You are a helpful, pattern-following assistant that translates corporate jargon into plain English."
    )
    messages = [said("system", Text(system)), said("user", Text("hello world"))]
    words = COUNTER.count(system) + COUNTER.count("hello world")
    assert request_tokens(messages, COUNTER, "openai-chat") == words + 2 * 4 + 3


@pytest.mark.parametrize("wire", WIRES)
def test_request_is_the_sum_of_its_parts(wire: str) -> None:
    messages = [
        said("user", Text("What is the weather in 北京?"), author="Ada"),
        said(
            "assistant", Reasoning("look it up", "c2ln" * 40), ToolCall("c1", "get_weather", {"city": "北京"})
        ),
        said("tool", ToolResult("c1", (Text("sunny, 21 °C"),))),
    ]
    alone = sum(message_tokens(m.parts, m.role, COUNTER, wire, author=m.author) for m in messages)
    tools = tools_tokens([TOOL], COUNTER, wire)
    assert request_tokens(messages, COUNTER, wire, tools=[TOOL]) == alone + tools + frame_tokens(wire)


@pytest.mark.parametrize("wire", WIRES)
@given(parts=st.lists(drawn_parts, max_size=4), more=drawn_parts)
def test_more_parts_never_take_less(wire: str, parts: list[Part], more: Part) -> None:
    """Whatever a history contains can be counted, and nothing counts as nothing."""
    before = message_tokens(parts, "assistant", COUNTER, wire)
    after = message_tokens([*parts, more], "assistant", COUNTER, wire)
    assert 0 < before <= after


@pytest.mark.parametrize("wire", WIRES)
def test_tools_count_more_than_their_description(wire: str) -> None:
    one = tools_tokens([TOOL], COUNTER, wire)
    assert one > COUNTER.count(render_json(TOOL))
    assert tools_tokens([TOOL, TOOL], COUNTER, wire) > one
    assert tools_tokens([], COUNTER, wire) == tools_tokens(None, COUNTER, wire) == 0


def test_tools_that_are_not_objects_are_refused() -> None:
    with pytest.raises(InvalidInput, match="a tool is described by str"):
        tools_tokens(["get_weather"], COUNTER, "openai-chat")  # pyright: ignore[reportArgumentType]


def test_unknown_wire_is_refused() -> None:
    with pytest.raises(InvalidInput, match="unknown wire"):
        message_tokens([Text("x")], "user", COUNTER, "telegraph")


def test_arguments_count_the_same_as_text_and_as_value() -> None:
    value = {"path": "docs/潮汐.md", "limit": 20}
    as_value = message_tokens([ToolCall("c", "read", value)], "assistant", COUNTER, "anthropic")
    as_text = message_tokens([ToolCall("c", "read", render_json(value))], "assistant", COUNTER, "anthropic")
    assert as_value == as_text


def test_signature_counts_where_the_thinking_is_hidden() -> None:
    bare = message_tokens([Reasoning("")], "assistant", COUNTER, "anthropic")
    signed = message_tokens([Reasoning("", "x" * 4000)], "assistant", COUNTER, "anthropic")
    assert signed - bare == 1000


def test_several_tool_results_are_several_messages() -> None:
    results = [ToolResult(str(n), (Text("ok"),)) for n in range(3)]
    three = message_tokens(results, "tool", COUNTER, "openai-chat")
    one = message_tokens(results[:1], "tool", COUNTER, "openai-chat")
    assert three >= 3 * one


def test_lone_surrogates_and_odd_values_are_counted() -> None:
    parts: list[Part] = [
        Text("\ud800 \x00"),
        ToolCall("c", "\udfff", {"a": "\ud800"}),
        Opaque("v", "k", "\udc00"),
    ]
    assert message_tokens(parts, "assistant", COUNTER, "openai-chat") > 0


# -- pictures and files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PICTURES)
def test_image_size_is_read_from_its_first_bytes(kind: str) -> None:
    assert image_size(PICTURES[kind]) == (640, 480)


@given(st.sampled_from(sorted(PICTURES)), st.integers(0, 40), st.binary(max_size=20))
def test_a_damaged_picture_has_no_size_and_does_no_harm(kind: str, keep: int, junk: bytes) -> None:
    found = image_size(PICTURES[kind][:keep] + junk)
    assert found is None or min(found) > 0


AREA = {"rule": "area", "pixels": 750, "most": 4784, "least": 10}
TILES = {
    "rule": "tiles", "base": 85, "each": 170, "fit": 2048, "short": 768, "tile": 512, "patches": 1536, "patch": 0.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("width", "height", "tiles", "area"),
    [
        (1024, 1024, 765, 1399),
        (2048, 4096, 1105, 4784),
        (512, 512, 255, 350),
        (1, 1, 255, 10),
        (200, 200, 255, 54),
    ],
)
def test_images_count_by_the_vendors_rules(width: int, height: int, tiles: int, area: int) -> None:
    """The examples of the vendors' own pages."""
    assert picture_tokens(width, height, TILES) == tiles
    assert picture_tokens(width, height, AREA) == area


@pytest.mark.parametrize("wire", WIRES)
def test_image_of_unknown_size_counts_as_the_largest(wire: str) -> None:
    unknown = message_tokens([Media("image/png", url="https://example.org/a.png")], "user", COUNTER, wire)
    for size in ((64, 64), (1000, 700), (4000, 4000), (20_000, 30)):
        known = message_tokens([Media("image/png", data=png(*size))], "user", COUNTER, wire)
        assert known <= unknown


def test_bytes_are_loaded_where_a_part_has_only_their_hash() -> None:
    asked: list[str | None] = []

    def bytes_of(media: Media) -> bytes:
        asked.append(media.blob)
        return png(512, 512)

    parts = [Media("image/png", blob="ab" * 32)]
    small = message_tokens(parts, "user", COUNTER, "anthropic", bytes_of=bytes_of)
    assert asked == ["ab" * 32]
    assert small < message_tokens(parts, "user", COUNTER, "anthropic")


def test_files_count_by_their_type() -> None:
    text = Media("text/markdown", data=("潮汐 " * 100).encode())
    assert message_tokens([text], "user", COUNTER) == 4 + COUNTER.count("[text/markdown]\n" + "潮汐 " * 100)
    pages = b"%PDF-1.7 " + b"/Type /Page /Type/Page /Type /Pages"
    assert page_count(pages) == 2
    assert page_count(bytes(500_000)) == 10
    assert is_text("application/vnd.api+json")
    assert not is_text("application/pdf")
    sound = message_tokens([Media("audio/mpeg", data=bytes(40_000))], "user", COUNTER)
    assert sound == 4 + 100
    assert message_tokens([Media("application/pdf", url="x")], "user", COUNTER) > 10_000
