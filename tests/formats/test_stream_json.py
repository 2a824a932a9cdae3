"""The incremental reader: the same values as `json.loads`, whatever the pieces; everything whole is saved from a wreck."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import FormatError
from backscroll.formats.sources.json_stream import Member, StreamElement, pieces
from backscroll.vocab.foreign import Problem
from tests.formats.memory_source import MemorySource


class Pieces(MemorySource):
    """A source that comes in pieces of a chosen size."""

    def __init__(self, text: str, size: int) -> None:
        super().__init__(text, "conversations.json")
        self.size = size

    def chunks(self) -> Iterator[str]:
        text = self.text()
        yield from (text[at : at + self.size] for at in range(0, len(text), self.size))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def read(text: str, *arrays: str, size: int = 7) -> list[Any]:
    return list(pieces(Pieces(text, size), *arrays))


@given(st.lists(JSON, max_size=6), st.integers(1, 40), st.sampled_from([None, 1]), st.booleans())
def test_an_array_gives_its_elements(
    values: list[Any], size: int, indent: int | None, ascii_only: bool
) -> None:
    """Any array, cut anywhere, gives exactly its elements, numbered."""
    text = json.dumps(values, indent=indent, ensure_ascii=ascii_only)
    found = read(text, size=size)
    assert [(piece.number, piece.value) for piece in found] == list(enumerate(values, 1))


@given(st.dictionaries(st.text(), JSON, max_size=5), st.lists(JSON, max_size=5), st.integers(1, 40))
def test_an_object_gives_its_members_and_the_elements_of_one(
    members: dict[str, Any], values: list[Any], size: int
) -> None:
    """An object gives its members, and in place of the array that was named its elements."""
    members.pop("conversations", None)
    found = read(json.dumps({**members, "conversations": values}), "conversations", size=size)
    assert {piece.key: piece.value for piece in found if isinstance(piece, Member)} == members
    assert [piece.value for piece in found if isinstance(piece, StreamElement)] == values


@given(st.lists(JSON, min_size=1, max_size=5), st.data())
def test_a_truncated_array_gives_what_is_whole(values: list[Any], data: st.DataObject) -> None:
    """Wherever the file ends, a problem is reported and every element before that is there."""
    text = json.dumps(values)
    cut = data.draw(st.integers(1, len(text) - 1))
    found = read(text[:cut], size=data.draw(st.integers(1, 20)))
    assert isinstance(found[-1], Problem)
    whole = [piece.value for piece in found if isinstance(piece, StreamElement)]
    # A number that is cut (12 of 123) is still a number; nothing else may differ.
    assert whole[:-1] == values[: len(whole)][:-1]
    ends = [len(json.dumps(values[:n])) - 1 for n in range(1, len(values) + 1)]
    assert len(whole) >= sum(end < cut for end in ends)


def test_truncated_object_gives_its_complete_elements() -> None:
    """The complete conversations of a broken download are saved, with the line where it ends."""
    found = read('{"a": 1,\n"conversations": [{"x": 1},\n{"x": 2},\n{"x": "thr', "conversations")
    assert found[:3] == [Member("a", 1, 1), StreamElement(1, {"x": 1}, 2), StreamElement(2, {"x": 2}, 3)]
    assert found[3].line == 4
    assert "ends in the middle" in found[3].what
    assert len(found) == 4


def test_invalid_element_is_skipped_and_reported() -> None:
    """A broken element costs only itself, and is reported with its line."""
    text = '[{"a": 1},\n{"a": [1 2], "s": "]}, \\" {"},\nnope,\n{"a": 3},\n{"b": "\\x"}, 5]'
    for size in (1, 5, 1000):
        found = read(text, size=size)
        assert [piece.value for piece in found if isinstance(piece, StreamElement)] == [{"a": 1}, {"a": 3}, 5]
        assert [piece.line for piece in found if isinstance(piece, Problem)] == [2, 3, 5]


def test_invalid_member_is_skipped() -> None:
    """A broken member of an object costs only itself."""
    found = read('{"a": tru, "b": {"c" 1}, "d": 4}')
    assert [piece.key for piece in found if isinstance(piece, Member)] == ["d"]
    assert len(found) == 3


def test_nan_and_infinite_numbers_become_text() -> None:
    """No conversation is lost because of them."""
    assert read("[NaN, -Infinity, 1e999, 1.5]")[0].value == "NaN"
    assert [piece.value for piece in read("[NaN, -Infinity, 1e999, 1.5]")] == [
        "NaN",
        "-Infinity",
        "1e999",
        1.5,
    ]


def test_too_deep_and_too_long_values_are_skipped() -> None:
    """Endless nesting and endless integers are reported, and what follows is read."""
    found = read("[" + "[" * 100_000 + "]" * 100_000 + ', 7, 1e5, "x", ' + "9" * 5000 + ", 8]", size=50_000)
    assert [piece.value for piece in found if isinstance(piece, StreamElement)] == [7, 1e5, "x", 8]
    assert len([piece for piece in found if isinstance(piece, Problem)]) == 2


def test_text_after_the_end_is_reported() -> None:
    """What follows the document is not passed over in silence."""
    assert isinstance(read("[1] [2]")[-1], Problem)


@pytest.mark.parametrize("text", ["", "   ", "hello", "<html>", "\x89PNG"])
def test_text_that_is_not_a_document_is_an_error(text: str) -> None:
    """A text that begins like no JSON document is an error of its own kind."""
    with pytest.raises(FormatError):
        read(text)


def test_memory_does_not_grow_with_the_file() -> None:
    """A file of many elements needs the room of a few of them."""

    class Endless(MemorySource):
        def chunks(self) -> Iterator[str]:
            element = json.dumps({"text": "x" * 5000})
            yield "["
            for _ in range(4000):
                yield element + ","
            yield "0]"

    tracemalloc.start()
    count = sum(1 for _ in pieces(Endless("")))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 4001
    assert peak < 2_000_000
