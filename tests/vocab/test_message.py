"""Roles, contents and messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import InvalidInput
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import ROLES, Content, Message, checked_role, content_of
from backscroll.vocab.part import Part, Reasoning, Text, ToolCall
from tests.vocab.drawn import contents, parts, perhaps, texts


@pytest.mark.parametrize("role", ["system", "user", "assistant", "tool"])
def test_roles_are_the_four_known_words(role: str) -> None:
    """These and no others are written into logs."""
    assert checked_role(role) == role
    assert len(ROLES) == 4


@given(texts | st.sampled_from(["", "User", " user", "user ", "developer", "用户", "users", "use"]))
def test_any_other_role_is_refused_with_a_hint(role: str) -> None:
    """The error repeats what was given and says what would do."""
    if role in ROLES:
        return
    with pytest.raises(InvalidInput) as refused:
        checked_role(role)
    assert repr(role) in refused.value.message
    assert all(known in refused.value.hint for known in ROLES)


@given(texts, perhaps)
def test_a_string_is_a_content_of_one_text(words: str, author: str | None) -> None:
    """Plain words become one text part, signed by the author."""
    assert content_of(words, author=author) == Content((Text(words),), author)
    assert content_of(words).text == words


@given(st.lists(parts, max_size=4), perhaps)
def test_parts_keep_their_order(some: list[Part], author: str | None) -> None:
    """A list of parts, and a single one, become a content with just these parts."""
    assert content_of(some, author=author) == Content(tuple(some), author)
    assert content_of(tuple(some)).parts == tuple(some)
    assert all(content_of(part, author=author) == Content((part,), author) for part in some)


@given(contents)
def test_a_content_is_taken_as_it_is(content: Content) -> None:
    """What is a content already keeps author and metadata."""
    assert content_of(content) is content


@given(contents)
def test_a_message_speaks_for_its_live_content(content: Content) -> None:
    """Parts, words and author of a message are those of its content."""
    ref = Ref("a" * 32, 1)
    message = Message(ref, "user", ref, content, "2024-05-01T10:00:00+00:00")
    assert (message.parts, message.text, message.author) == (content.parts, content.text, content.author)


def test_text_excludes_thinking() -> None:
    """The text of a content is its text parts, line by line."""
    content = Content((Reasoning("let me see"), Text("你好"), ToolCall("1", "look", {}), Text("there")))
    assert content.text == "你好\nthere"


def test_metadata_is_not_shared_between_contents() -> None:
    """No common mutable default."""
    assert Content(()).metadata is not Content(()).metadata
