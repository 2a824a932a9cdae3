"""What the line formats share."""

from __future__ import annotations

import re
from typing import Any

import pytest

from backscroll.formats.sources.media import from_base64, from_data_url, to_data_url
from backscroll.formats.sources.rows import (
    as_array,
    as_object,
    keep_line,
    minted_uuid,
    parse_row,
    same,
    short_title,
    stem,
    time_of,
)
from backscroll.vocab.foreign import Problem


@pytest.mark.parametrize(
    "line",
    ["", "{", "NaN", '{"a": Infinity}', '{"a": 1e999}', "[" * 100_000, "9" * 5000, '"x"', "null", "[{}]"],
)
def test_line_that_is_not_an_object_is_a_problem(line: str) -> None:
    """Broken, nested beyond measure, numbers that JSON has not, other values: a problem, never an exception."""
    found = parse_row(7, line)
    assert isinstance(found, Problem)
    assert found.line == 7
    assert keep_line(line, 7).raw == line


def test_objects_are_parsed() -> None:
    """A whole object is given as it is, lone surrogates included."""
    assert parse_row(1, '{"a": "\\ud83d", "n": 1.5}') == {"a": "\ud83d", "n": 1.5}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-01-01T10:00:00.123Z", "2026-01-01T10:00:00.123Z"),
        ("2026-01-01T10:00:00+08:00", "2026-01-01T10:00:00+08:00"),
        ("2026-01-01T10:00:00", "2026-01-01T10:00:00+00:00"),
        ("yesterday", None),
        (1700000000, None),
        (None, None),
    ],
)
def test_time_of_accepts_only_valid_times(value: Any, expected: str | None) -> None:
    """Valid times are kept verbatim, times without a zone are UTC, the rest gives none."""
    assert time_of(value) == expected


def test_short_title_is_one_short_line() -> None:
    """The first line with words, its white space joined, cut where it is long."""
    assert short_title("\n\n  你好\t 世界 \nmore") == "你好 世界"
    assert len(short_title("很" * 500)) == 80
    assert short_title(" \n ") == ""
    assert [stem(name) for name in ("a.b.jsonl", "plain", ".hidden")] == ["a.b", "plain", ".hidden"]


def test_minted_uuid_depends_on_its_seed_only() -> None:
    """The UUID is well-formed."""
    assert minted_uuid("a", 1) == minted_uuid("a", 1) != minted_uuid("a", 2)
    assert re.fullmatch(
        r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", minted_uuid("\ud83d")
    )


def test_same_compares_as_json() -> None:
    """True is not 1 and 1 is not 1.0, however Python sees it; the order of keys does not matter."""
    assert same({"a": 1, "b": [None]}, {"b": [None], "a": 1})
    assert not same({"a": True}, {"a": 1})
    assert not same([1], [1.0])
    assert (as_object([]), as_array({})) == (None, None)


@pytest.mark.parametrize("text", ["aGk", "aGk=\n", "a Gk=", "é", "aGl="])
def test_only_canonical_base64_is_decoded(text: str) -> None:
    """Other spellings are left alone so that they round-trip."""
    assert from_base64(text) is None
    assert from_data_url(f"data:image/png;base64,{text}") is None


def test_data_urls_round_trip() -> None:
    """Type and bytes of a `data:` address, and back."""
    url = to_data_url("image/png", b"\x00hi")
    assert from_data_url(url) == ("image/png", b"\x00hi")
    assert from_data_url("data:text/plain,hi") is None
