"""The account of a prompt: kept without loss, without words, and compared with the one before."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.assemble.receipt import (
    FULL,
    NEAR,
    Money,
    Receipt,
    ReceiptItem,
    compare,
    item_of,
    mark_of,
    receipt_from_bytes,
    same_prefix,
    warnings_for,
    with_cached,
)
from backscroll.errors import StoreCorrupt
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Text
from backscroll.vocab.prompt import Block, Level, Section

THREAD = "a" * 32
LETTERS = st.text("abc", max_size=8)


def item(mark: str, section: str = "recent", tokens: int = 10, **more: Any) -> ReceiptItem:
    facts = {"role": "user", "level": "verbatim", "reason": "recent", "handle": "[bs:3]", **more}
    return ReceiptItem(section=section, tokens=tokens, mark=mark, **facts)


def receipt(marks: str = "", **more: Any) -> Receipt:
    items = more.pop("items", tuple(item(mark) for mark in marks))
    facts: dict[str, Any] = {
        "thread": THREAD,
        "event": 9,
        "at": "2026-11-03T14:02:00+00:00",
        "wire": "anthropic",
        "model": "m",
        "tokenizer": "o200k",
        "exact": True,
        "budget": 1000,
        "reserve": 100,
        "tools": 50,
        "tokens": 200,
        "messages": 3,
        "left_out": 1,
    }
    return Receipt(items=items, **{**facts, **more})


def block(words: str = "secret words", **more: Any) -> Block:
    facts: dict[str, Any] = {"sources": (Ref(THREAD, 7),), "message": Ref(THREAD, 5), "tokens": 12}
    return Block("user", (Text(words),), Section.RECENT, **{**facts, **more})


# -- kept --------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(LETTERS, st.sampled_from(list(Section)), st.integers(0, 10**6)), max_size=5),
    st.none() | st.integers(0, 10**12),
    st.lists(LETTERS, max_size=3),
)
def test_a_receipt_comes_back_as_it_was(
    items: list[tuple[str, Section, int]], cold: int | None, said: list[str]
) -> None:
    made = receipt(
        items=tuple(item(mark, section.value, tokens) for mark, section, tokens in items),
        money=Money(None, cold),
        repairs=tuple(said),
        warnings=tuple(said),
        compaction={"reason": "must", "before": 3, "after": 2},
    )
    assert receipt_from_bytes(made.to_bytes()) == made
    assert receipt_from_bytes(made.to_bytes()).to_bytes() == made.to_bytes()


def test_unknown_receipt_fields_are_ignored() -> None:
    """A receipt that was kept by a newer program can still be read."""
    raw = json.loads(receipt("ab").to_bytes())
    assert receipt_from_bytes(json.dumps({**raw, "mood": "sunny"}).encode()) == receipt("ab")


@pytest.mark.parametrize(
    "damage",
    [
        {"items": None},
        {"items": [{"section": "recent"}]},
        {"items": [{"unheard": "of"}]},
        {"money": 3},
        {"money": {"gold": 1}},
        {"repairs": None},
    ],
)
def test_damaged_receipt_is_reported(damage: dict[str, Any]) -> None:
    raw = json.loads(receipt("ab").to_bytes())
    with pytest.raises(StoreCorrupt, match="receipt is damaged") as caught:
        receipt_from_bytes(json.dumps({**raw, **damage}).encode())
    assert caught.value.hint


@pytest.mark.parametrize("missing", ["budget", "items", "money", "wire"])
def test_receipt_with_a_missing_field_is_damaged(missing: str) -> None:
    raw = json.loads(receipt("ab").to_bytes())
    del raw[missing]
    with pytest.raises(StoreCorrupt):
        receipt_from_bytes(json.dumps(raw).encode())


def test_receipt_contains_no_message_text() -> None:
    """Handles, counts and hashes only: a receipt may be kept after the words are forgotten."""
    made = receipt(items=(item_of(block("the password is hunter2")),))
    assert b"hunter2" not in made.to_bytes()
    assert "hunter2" not in json.dumps(made.to_json())


# -- figures -----------------------------------------------------------------------------------------------------


def test_receipt_total_counts_tools_messages_and_reserve() -> None:
    made = receipt("ab")
    assert (made.total, made.room, made.usage) == (350, 650, 0.35)
    assert receipt("ab", budget=0).usage == 1.0
    assert made.to_json()["total"] == 350


def test_receipt_sections_follow_the_order_of_the_prompt() -> None:
    """Tools first, the reserve last; empty sections are left out."""
    items = (item("a", "recent", 5), item("b", "system", 7), item("c", "recent", 1), item("d", "graph", 0))
    assert list(receipt(items=items).sections().items()) == [
        ("tools", 50),
        ("system", 7),
        ("recent", 6),
        ("reserve", 100),
    ]
    assert receipt(items=items, tools=0, reserve=0).sections() == {"system": 7, "recent": 6}


@pytest.mark.parametrize(
    ("usage", "said"),
    [
        (NEAR - 0.01, ()),
        (NEAR, ("the context window is nearly full",)),
        (FULL, ("the context window is full",)),
    ],
)
def test_warnings_as_the_window_fills(usage: float, said: tuple[str, ...]) -> None:
    assert warnings_for(usage) == said
    assert warnings_for(usage, ["first"]) == ("first", *said)


# -- items -------------------------------------------------------------------------------------------------------


def test_receipt_item_names_its_handle() -> None:
    """A message by its own number, a condensed run from its first to its last, our own words by nothing."""
    run = (Ref(THREAD, 9), Ref(THREAD, 4), Ref(THREAD, 6))
    assert item_of(block()).handle == "[bs:5]"
    assert item_of(block(message=None, sources=run, level=Level.GIST)).handle == "[bs:4-9]"
    assert item_of(block(message=None, sources=())).handle == ""
    assert item_of(block(message=None, sources=(Ref("b" * 32, 1), Ref(THREAD, 2)))).handle == ""
    assert item_of(block(level=Level.DIGEST)).level == "digest"


def test_item_mark_depends_on_content_only() -> None:
    """Section and reason do not change it; text and author do."""
    assert mark_of(block(section_free := "x")) == mark_of(block("x", reason="other", tokens=99))
    assert mark_of(block(section_free)) != mark_of(block("y"))
    assert mark_of(block("x")) != mark_of(block("x", author="Ann"))
    assert mark_of(block("\ud800")) != mark_of(block("\ud801"))


# -- one after the other -----------------------------------------------------------------------------------------


@given(LETTERS, LETTERS)
def test_the_same_prefix_is_the_longest_one(one: str, other: str) -> None:
    same = same_prefix(one, other)
    assert one[:same] == other[:same]
    assert same == min(len(one), len(other)) or one[same] != other[same]


def test_shared_prefix_counts_as_cached() -> None:
    """Up to the first difference."""
    before = receipt(items=(item("a"), item("b"), item("t", "operations")))
    marked, tokens = with_cached([item("a"), item("b"), item("t", "operations"), item("c")], before)
    assert [i.cached for i in marked] == [True, True, True, False]
    assert tokens == 30
    marked, tokens = with_cached([item("a"), item("b"), item("u", "operations"), item("c")], before)
    assert [i.cached for i in marked] == [True, True, False, False]
    assert tokens == 20
    assert with_cached([item("a")], None) == ((item("a"),), 0)
    assert with_cached([item("x"), item("b")], before)[1] == 0


@given(LETTERS, LETTERS)
def test_a_comparison_lists_what_went_and_what_came(old: str, new: str) -> None:
    """Nothing that both have is listed, and everything that only one has is."""
    found = compare(receipt(old), receipt(new))
    rest_old, rest_new = old[found.same :], new[found.same :]
    assert [i.mark for i in found.gone] == [m for m in rest_old if m not in rest_new]
    assert [i.mark for i in found.new] == [m for m in rest_new if m not in rest_old]
    assert found.cached == 10 * found.same
