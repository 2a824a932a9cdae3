"""The sealed form of a content, its hash, and its searchable text."""

from __future__ import annotations

import contextlib
import copy
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from backscroll.errors import InvalidInput, StoreCorrupt
from backscroll.record.chain import to_bytes
from backscroll.record.content import (
    blobs_of,
    decode,
    digest,
    encode,
    encode_content,
    original,
    searchable,
    tools_of,
)
from backscroll.vocab.message import ROLES, Content
from backscroll.vocab.part import Json, Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from tests.vocab.drawn import contents, extras, json_values, parts, texts

roles = st.sampled_from(ROLES)


@given(contents)
def test_every_content_comes_back_as_it_was_sealed(content: Content) -> None:
    """All kinds of parts, author and metadata survive, whatever characters they hold."""
    assert original(encode(content)) == content
    assert encode(original(encode(content))) == encode(content)


@given(roles, contents)
def test_body_and_hash_are_the_same_made_together_or_alone(role: str, content: Content) -> None:
    """Writing the parts out once gives what two passes would."""
    assert encode_content(role, content) == (encode(content), digest(role, content))


def test_sealed_form_never_changes() -> None:
    """Bodies and hashes in existing stores were made this way."""
    content = Content((Text("你好"), Text("")), "安", {"n": 1})
    assert encode(content).decode() == (
        '{"parts":[{"t":"text","text":"你好"},{"t":"text","text":""}],"author":"安","meta":{"n":1}}'
    )
    assert digest("user", content).hex() == "f421fba70675252280bbb37d694474510ffa425b089ab423b82602337cb62508"


@given(roles, contents, extras)
def test_equal_words_have_equal_hashes(role: str, content: Content, metadata: dict[str, Json]) -> None:
    """The hash knows role, author and parts, and nothing of times and costs."""
    same = replace(copy.deepcopy(content), metadata=metadata)
    assert digest(role, same) == digest(role, content)
    assert digest(role, original(encode(content))) == digest(role, content)


@given(roles, contents, contents)
def test_different_words_have_different_hashes(role: str, one: Content, other: Content) -> None:
    """Another part, another author or another order is something else that was said."""
    assume((one.parts, one.author) != (other.parts, other.author))
    assert digest(role, one) != digest(role, other)


@given(contents)
def test_the_same_words_by_another_role_are_something_else(content: Content) -> None:
    """Four roles have four hashes."""
    assert len({digest(role, content) for role in ROLES}) == 4


@given(st.lists(parts, min_size=1, max_size=3), texts)
def test_missing_and_given_author_have_different_hashes(some: list[Part], author: str) -> None:
    """No author is not an empty one, and an author is not text."""
    nobody, somebody = Content(tuple(some)), Content(tuple(some), author)
    assert digest("user", nobody) != digest("user", somebody)
    assert original(encode(nobody)).author is None
    assert original(encode(somebody)).author == author


@given(contents, st.data())
def test_a_cut_body_is_called_damaged(content: Content, data: st.DataObject) -> None:
    """However much of its end is missing."""
    body = encode(content)
    with pytest.raises(StoreCorrupt):
        decode(body[: data.draw(st.integers(0, len(body) - 1), "length")])


ODD: st.SearchStrategy[Json] = json_values | st.fixed_dictionaries(
    {"parts": json_values | st.lists(st.dictionaries(st.just("t"), texts | st.just("text")), max_size=2)},
    optional={"author": json_values, "meta": json_values},
)


@given(ODD)
def test_json_that_is_no_content_is_called_damaged(value: Json) -> None:
    """What was not written by `encode` is read as far as it makes sense, or refused as damage."""
    with contextlib.suppress(StoreCorrupt):
        assert len(decode(to_bytes(value)).parts) == len(value["parts"])


def test_content_with_an_unknown_part_is_damage() -> None:
    """The store is at fault, not the caller."""
    with pytest.raises(StoreCorrupt, match="unknown kind of part"):
        decode(b'{"parts":[{"t":"smell"}]}')


def test_unstorable_content_is_refused_before_sealing() -> None:
    """Raw bytes of media and values that are not JSON are the caller's mistake."""
    for content in (Content((Media("image/png", data=b"x"),)), Content((Text("x"),), None, {"a": {1}})):
        with pytest.raises(InvalidInput):
            encode(content)


MIXED = Content(
    (
        Reasoning("想一想"),
        Text("look"),
        ToolCall("1", "read", {"path": "caves/map.py", "lines": [1, 20], "all": None}),
        ToolCall("2", "grep", "needle in hay"),
        ToolResult(
            "1", (Text("found"), Media("image/png", blob="b1"), Opaque("v", "k", "secret raw")), name="read"
        ),
        ToolResult("2", (), name=None),
        Media("image/png", blob="b2", name="map.png"),
        Media("image/png", blob="b1", url="https://example.com/x"),
        Media("image/png"),
        Opaque("v", "k", "hidden raw"),
    ),
    "安妮",
)


def test_all_blobs_are_listed_including_those_in_results() -> None:
    """Each reference as often as it occurs; media that is only remembered has none."""
    assert list(blobs_of(MIXED)) == ["b1", "b2", "b1"]


def test_each_tool_is_listed_once_in_order() -> None:
    """Calls and results count; a result that does not name its tool does not."""
    assert tools_of(MIXED) == ("read", "grep")


def test_all_text_can_be_searched() -> None:
    """Author, text, thinking, arguments and results; neither raw parts nor the punctuation of JSON."""
    assert [line.strip() for line in searchable(MIXED).split("\n")] == [
        "安妮",
        "想一想",
        "look",
        "read",
        "path caves/map.py",
        "lines 1",
        "20",
        "all",
        "grep",
        "needle in hay",
        "found",
        "map.png",
        "https://example.com/x",
    ]


@given(contents)
def test_no_word_of_text_escapes_the_search(content: Content) -> None:
    """Whatever is in text, thoughts or a tool's answer is among the words to search, any content at all."""
    words = searchable(content)
    inner = [p for part in content.parts for p in (part.content if isinstance(part, ToolResult) else (part,))]
    assert all(p.text in words for p in inner if isinstance(p, Text | Reasoning))
    assert all(c.name in words for c in content.parts if isinstance(c, ToolCall))
