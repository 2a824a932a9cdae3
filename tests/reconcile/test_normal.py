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
def test_twice_is_once(text: str) -> None:
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
def test_what_rendering_changes_is_gone(left: str, right: str) -> None:
    """Line ends, blanks at line ends, gaps and ways to compose a letter do not make two texts different."""
    assert normal_text(left) == normal_text(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [("Ok", "ok"), ("ok", "ok."), ("１２", "12"), ("a b", "a  b"), ("一 二", "一二"), ("  x\n y", "  x\ny")],
)
def test_what_somebody_wrote_stays(left: str, right: str) -> None:
    """Case, punctuation, width and blanks inside a line are part of what was said."""
    assert normal_text(left) != normal_text(right)


def test_lone_surrogates_pass() -> None:
    """Half a letter, as broken files hold it, has a normal form too."""
    assert normal_text("a\ud800 \nb") == "a\ud800\nb"


def test_one_text_is_its_own_key() -> None:
    """A plain text needs no wrapping: exact to the letter, loose in normal form."""
    assert exact(content(Text("hi \r\nyou"))) == "hi \r\nyou"
    assert loose(content(Text("hi \r\nyou"))) == "hi\nyou"


def test_texts_in_pieces_are_one_text() -> None:
    """A wire may cut words into several text parts."""
    assert exact(content(Text("one"), Text("two"))) == exact(content(Text("one\ntwo")))


def test_no_text_can_pass_for_a_call() -> None:
    """The key of a content with a call is the key of no text."""
    call = content(ToolCall("c1", "read", {"path": "a"}))
    assert exact(content(Text(exact(call)))) != exact(content(ToolCall("c1", "read", {"path": "b"})))
    assert exact(call).startswith("\0")


def test_arguments_are_compared_as_values() -> None:
    """One wire sends arguments as a string, another as a value; order of keys and blanks do not matter."""
    as_text = content(ToolCall("c1", "read", '{"b": 1,   "a": "文"}'))
    as_value = content(ToolCall("c1", "read", {"a": "文", "b": 1}))
    assert exact(as_text) == exact(as_value)
    assert exact(content(ToolCall("c1", "read", "{broken"))) != exact(as_value)


def test_loose_forgives_renamed_calls() -> None:
    """Programs give calls new names; the loose key does not care, the exact one does."""
    left, right = content(ToolCall("c1", "read", {})), content(ToolCall("toolu_9", "read", {}))
    assert loose(left) == loose(right)
    assert exact(left) != exact(right)


def test_bytes_and_their_blob_are_the_same_picture() -> None:
    """A picture on its way in compares equal to the stored one, under the store's own names for bytes."""
    arriving, stored = (
        content(Media("image/png", data=b"png")),
        content(Media("image/png", blob="name of png")),
    )
    assert exact(arriving, lambda data: f"name of {data.decode()}") == exact(stored)
    assert exact(content(Media("image/png", url="http://a/1.png"))) != exact(stored)


def test_thinking_is_not_spoken() -> None:
    """Thinking and vendor parts are in neither key, but are named."""
    said = content(Text("yes"))
    thought = content(Reasoning("hmm"), Text("yes"), Opaque("x", "y", "raw"))
    assert exact(thought) == exact(said)
    assert (unspoken(said), unspoken(thought)) == ((), ("hmm", "raw"))


def test_results_are_compared_by_what_they_say() -> None:
    """Two results of a call differ if their words, their pictures or their success differ."""
    keys = {
        exact(content(ToolResult("c1", (Text("a"),)))),
        exact(content(ToolResult("c1", (Text("b"),)))),
        exact(content(ToolResult("c1", (Text("a"),), is_error=True))),
        exact(content(ToolResult("c1", (Media("image/png", blob="x"),)))),
    }
    assert len(keys) == 4


def test_calls_and_results_have_names() -> None:
    """A call and its result share an id and are still two things."""
    assert call_ids(content(Text("x"), ToolCall("c1", "f", {}))) == ("call c1",)
    assert call_ids(content(ToolResult("c1", ()))) == ("result c1",)


def test_substance_counts_chinese_signs_double() -> None:
    """Eight Chinese signs say as much as sixteen letters, and nothing says more than enough."""
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
def test_a_known_name_before_the_words_is_recognised(text: str, parted: tuple[str | None, str]) -> None:
    """Only names that are known, only at the beginning, and the longest that fits."""
    assert names_of(["Ellie", "Ellie Fox", "艾莉", ""]).split_name(text) == parted


def test_without_names_nothing_is_parted() -> None:
    """No names, no signatures."""
    assert names_of([]).split_name("Ellie: hello") == (None, "Ellie: hello")
