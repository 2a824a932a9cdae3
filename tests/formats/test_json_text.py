"""JSON text: written for any file, read without raising, saved where it breaks off."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.formats.sources.json_text import ArrayBreak, NotJson, dumps, elements, printable, try_parse

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=4), x, max_size=3),
    max_leaves=8,
)


@given(values)
def test_what_is_written_is_read_again(value: Any) -> None:
    """Any value comes back, and its text fits a UTF-8 file."""
    for indent in (None, 2):
        assert json.loads(dumps(value, indent).encode("utf-8")) == value
    assert try_parse(dumps(value)) == value


def test_non_ascii_is_kept_and_lone_surrogates_are_escaped() -> None:
    """Chinese stays readable; a lone surrogate becomes an escape in JSON and a replacement character in plain text."""
    assert dumps({"字": "半\ud83d"}) == '{"字":"半\\ud83d"}'
    assert json.loads(dumps("\ud83d")) == "\ud83d"
    assert printable("半\ud83d") == "半\ufffd"


@pytest.mark.parametrize(
    "text", ["", "{", "[1,]", "nul", "\x00", "[" * 100_000, "1" * 5000, "NaN", "[1e999]", '{"a":1} x']
)
def test_try_parse_returns_a_reason_for_invalid_json(text: str) -> None:
    """For broken, too deep and too long texts."""
    assert isinstance(try_parse(text), NotJson)


@given(st.lists(values, max_size=5), st.floats(0, 1), st.sampled_from([None, 1]))
def test_a_cut_array_gives_exactly_its_whole_elements(
    array: list[Any], part: float, indent: int | None
) -> None:
    """Wherever the text ends, what is given out is a beginning of the array, and nothing of the text is lost."""
    text = dumps(array, indent)
    cut_at = int(len(text) * part)
    whole, cut = elements(text[:cut_at])
    found = [element.value for element in whole]
    assert found == array[: len(found)]
    if cut_at == len(text):
        assert (found, cut) == (array, None)
    else:
        assert isinstance(cut, ArrayBreak)
        assert text[: cut.at] + cut.rest == text[:cut_at]
        assert cut.line == 1 + text.count("\n", 0, cut.at)


def test_number_at_the_end_of_a_cut_text_is_left_out() -> None:
    """It may have had more digits."""
    whole, cut = elements("[1,23")
    assert [element.value for element in whole] == [1]
    assert cut is not None
    assert cut.rest == "23"


def test_elements_have_their_line_and_raw_text() -> None:
    """With the line each element starts on; a position without an array is reported."""
    whole, cut = elements('{"a": [\n  1,\n  {"b":\n 2},\n  "c"\n]}', 6)
    assert [(e.line, e.raw) for e in whole] == [(2, "1"), (3, '{"b":\n 2}'), (5, '"c"')]
    assert cut is None
    none, cut = elements("5")
    assert none == []
    assert cut is not None
    assert "no array" in cut.what
