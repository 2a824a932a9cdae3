"""Parts of a message and their JSON form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import InvalidInput
from backscroll.vocab.part import (
    Json,
    Media,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    part_from_json,
    part_to_json,
    text_of,
)
from tests.vocab.drawn import parts

ONE_OF_EACH: list[tuple[Part, dict[str, Json]]] = [
    (Text("hi"), {"t": "text", "text": "hi"}),
    (Media("image/png", blob="ab"), {"t": "media", "type": "image/png", "blob": "ab"}),
    (ToolCall("c1", "read", {"path": "a"}), {"t": "call", "id": "c1", "name": "read", "args": {"path": "a"}}),
    (
        ToolResult("c1", (Text("no"),), is_error=True),
        {"t": "result", "call": "c1", "content": [{"t": "text", "text": "no"}], "error": True},
    ),
    (Reasoning("hm", "sig"), {"t": "reasoning", "text": "hm", "signature": "sig"}),
    (Opaque("acme", "beep", "{}"), {"t": "opaque", "vendor": "acme", "kind": "beep", "raw": "{}"}),
]


@given(parts)
def test_every_part_comes_back_from_json_as_it_went_in(part: Part) -> None:
    """Through text and back, a part of any kind is the same, whatever it holds."""
    written = json.dumps(part_to_json(part), ensure_ascii=False)
    assert part_from_json(json.loads(written)) == part


@pytest.mark.parametrize(("part", "shape"), ONE_OF_EACH, ids=lambda value: type(value).__name__)
def test_stored_form_never_changes(part: Part, shape: dict[str, Json]) -> None:
    """Stores contain parts in this form and order, which must stay readable forever."""
    assert list(part_to_json(part).items()) == list(shape.items())
    assert part_from_json(shape) == part


@given(parts)
def test_nothing_empty_is_stored(part: Part) -> None:
    """Fields that say nothing are left out; only the arguments of a call may be null."""
    shape = part_to_json(part)
    assert [key for key, value in shape.items() if value is None and key != "args"] == []
    assert shape.get("extra") != {}
    assert shape.get("error") is not False


@pytest.mark.parametrize("arguments", [None, "", "{}", {}, [], 0, False])
def test_arguments_keep_their_type(arguments: Json) -> None:
    """A string stays a string and an object an object: a vendor expects what it sent."""
    shape = part_to_json(ToolCall("1", "f", arguments))
    assert "args" in shape
    back = part_from_json(json.loads(json.dumps(shape)))
    assert isinstance(back, ToolCall)
    assert back.arguments == arguments
    assert type(back.arguments) is type(arguments)


@pytest.mark.parametrize(
    "part",
    [Media("image/png", data=b"\x89PNG"), ToolResult("1", (Text("see"), Media("image/png", data=b"")))],
    ids=["alone", "in a result"],
)
def test_raw_bytes_are_not_written_into_a_part(part: Part) -> None:
    """Media must be stored first, also inside a tool result."""
    with pytest.raises(InvalidInput, match="stored before"):
        part_to_json(part)


@pytest.mark.parametrize(
    "data", [{}, {"t": None}, {"t": "sound"}, {"t": "Text", "text": "x"}, {"t": ["text"]}]
)
def test_unknown_kind_is_refused(data: dict[str, Json]) -> None:
    """Missing values are not guessed."""
    with pytest.raises(InvalidInput, match="unknown kind of part"):
        part_from_json(data)


@given(st.lists(parts, max_size=5))
def test_only_text_is_read_aloud(some: Sequence[Part]) -> None:
    """Neither thoughts nor calls nor results are part of the words, however many parts there are."""
    assert text_of(some) == "\n".join(part.text for part in some if isinstance(part, Text))


@pytest.mark.parametrize("part", [part for part, _ in ONE_OF_EACH], ids=lambda part: type(part).__name__)
def test_parts_are_immutable(part: Any) -> None:
    """Holders of a part may rely on it."""
    with pytest.raises(FrozenInstanceError):
        part.extra = {"new": 1}
