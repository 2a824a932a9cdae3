"""The normal form of a text, and the keys by which contents are compared."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.reconcile.normal import (
    call_ids,
    exact,
    loose,
    names_of,
    normal_text,
    substance,
    unspoken,
)
from backscroll.vocab.message import Content
from backscroll.vocab.part import Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult


def content(*parts: Part) -> Content:
    """A content of these parts."""
    return Content(parts)


@given(st.text())
def test_normalising_is_idempotent(text: str) -> None:
    """The normal form of a normal form is itself."""
    assert normal_text(normal_text(text)) == normal_text(text)


@given(st.text(alphabet="ab \t\r\n\u3000\u00a0é", max_size=30))
def test_line_ends_do_not_matter(text: str) -> None:
    """A text saved with CRLF compares equal to the same text saved with LF."""
    assert normal_text(text.replace("\n", "\r\n")) == normal_text(text)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("one\r\ntwo", "one\ntwo"),
        ("one  \ntwo\t", "one\ntwo"),
        ("一行\u3000\n二行", "一行\n二行"),
        ("\n\n one", "one"),
        ("one\n\n\n\ntwo", "one\n\ntwo"),
        (unicodedata.normalize("NFD", "café"), unicodedata.normalize("NFC", "café")),
    ],
)
def test_rendering_differences_are_removed(left: str, right: str) -> None:
    """Line ends, trailing blanks, gaps and Unicode composition do not make texts different."""
    assert normal_text(left) == normal_text(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [("Ok", "ok"), ("ok", "ok."), ("１２", "12"), ("a b", "a  b"), ("一 二", "一二"), ("  x\n y", "  x\ny")],
)
def test_written_differences_are_kept(left: str, right: str) -> None:
    """Case, punctuation, width and blanks inside a line are part of the text."""
    assert normal_text(left) != normal_text(right)


def test_lone_surrogates_have_a_normal_form() -> None:
    """Half a letter, as broken files hold it, has a normal form too."""
    assert normal_text("a\ud800 \nb") == "a\ud800\nb"


def test_plain_text_is_its_own_key() -> None:
    """Exact to the letter, loose in normal form."""
    assert exact(content(Text("hi \r\nyou"))) == "hi \r\nyou"
    assert loose(content(Text("hi \r\nyou"))) == "hi\nyou"


def test_text_in_several_parts_is_one_text() -> None:
    """A wire may split it."""
    assert exact(content(Text("one"), Text("two"))) == exact(content(Text("one\ntwo")))


def test_no_text_has_the_key_of_a_call() -> None:
    """The key of a content with a call is the key of no text."""
    call = content(ToolCall("c1", "read", {"path": "a"}))
    assert exact(content(Text(exact(call)))) != exact(content(ToolCall("c1", "read", {"path": "b"})))
    assert exact(call).startswith("\0")


def test_arguments_are_compared_as_values() -> None:
    """As string or value, whatever the order of keys and the blanks."""
    as_text = content(ToolCall("c1", "read", '{"b": 1,   "a": "文"}'))
    as_value = content(ToolCall("c1", "read", {"a": "文", "b": 1}))
    assert exact(as_text) == exact(as_value)
    assert exact(content(ToolCall("c1", "read", "{broken"))) != exact(as_value)


def test_loose_key_ignores_renamed_calls() -> None:
    """The exact one does not."""
    left, right = content(ToolCall("c1", "read", {})), content(ToolCall("toolu_9", "read", {}))
    assert loose(left) == loose(right)
    assert exact(left) != exact(right)


def test_bytes_and_their_blob_are_equal() -> None:
    """An incoming picture equals the stored one, under the store's names for bytes."""
    arriving, stored = (
        content(Media("image/png", data=b"png")),
        content(Media("image/png", blob="name of png")),
    )
    assert exact(arriving, lambda data: f"name of {data.decode()}") == exact(stored)
    assert exact(content(Media("image/png", url="http://a/1.png"))) != exact(stored)


def test_thinking_is_in_no_key() -> None:
    """Nor are vendor parts; both are named."""
    said = content(Text("yes"))
    thought = content(Reasoning("hmm"), Text("yes"), Opaque("x", "y", "raw"))
    assert exact(thought) == exact(said)
    assert (unspoken(said), unspoken(thought)) == ((), ("hmm", "raw"))


def test_results_are_compared_by_content() -> None:
    """They differ if their text, their pictures or their success differ."""
    keys = {
        exact(content(ToolResult("c1", (Text("a"),)))),
        exact(content(ToolResult("c1", (Text("b"),)))),
        exact(content(ToolResult("c1", (Text("a"),), is_error=True))),
        exact(content(ToolResult("c1", (Media("image/png", blob="x"),)))),
    }
    assert len(keys) == 4


def test_call_and_result_have_different_names() -> None:
    """They share an id and are still two things."""
    assert call_ids(content(Text("x"), ToolCall("c1", "f", {}))) == ("call c1",)
    assert call_ids(content(ToolResult("c1", ()))) == ("result c1",)


def test_substance_counts_chinese_characters_double() -> None:
    """Eight count as much as sixteen letters, and the total is capped."""
    assert substance("继续") == 4 == substance("okay")
    assert substance("x" * 10_000) == 64


@pytest.mark.parametrize(
    ("text", "parted"),
    [
        ("Ellie: hello", ("Ellie", "hello")),
        ("艾莉：你好", ("艾莉", "你好")),
        ("Ellie Fox:\nhello", ("Ellie Fox", "hello")),
        ("Eliza: hello", (None, "Eliza: hello")),
        ("I said: Ellie: hello", (None, "I said: Ellie: hello")),
        ("Ellie", (None, "Ellie")),
    ],
)
def test_known_name_before_the_text_is_recognised(text: str, parted: tuple[str | None, str]) -> None:
    """Only known names, only at the beginning, and the longest that fits."""
    assert names_of(["Ellie", "Ellie Fox", "艾莉", ""]).split_name(text) == parted


def test_no_signatures_without_names() -> None:
    """No names, no signatures."""
    assert names_of([]).split_name("Ellie: hello") == (None, "Ellie: hello")
