"""Valid Unicode: what is left out, what stays, and that the log keeps the rest."""

from __future__ import annotations

import json

from hypothesis import given

from backscroll.record.chain import from_bytes, to_bytes, words_from_bytes
from backscroll.record.content import decode, encode, original
from backscroll.vocab.message import Content
from backscroll.vocab.part import Json
from backscroll.vocab.values.unicode import is_valid_text, valid_json, valid_text
from tests.vocab.drawn import contents, json_values, texts


@given(texts)
def test_valid_text_is_what_utf_8_can_hold(text: str) -> None:
    """Whatever goes in can be encoded afterwards; what could be before is the very same."""
    made = valid_text(text)
    made.encode()
    assert is_valid_text(made)
    assert valid_text(made) == made
    if is_valid_text(text):
        assert made is text


def test_surrogate_pairs_are_joined_and_lone_halves_dropped() -> None:
    """The text around them stays."""
    assert valid_text("\ud83d\ude00 a\ud83db\udc00\ud800c") == "😀 abc"
    assert valid_json({"\ud83dk": ["他\ud83d说", ("\udfff",), 1, None]}) == {"k": ["他说", [""], 1, None]}


@given(json_values)
def test_what_the_rooms_read_of_the_log_is_valid(value: Json) -> None:
    """Bytes of the log as the rooms read them: no halves; the same value where it had none. The log itself gives all back."""
    data = to_bytes(value)
    words = words_from_bytes(data)
    json.dumps(words, ensure_ascii=False).encode()
    assert from_bytes(data) == value
    assert words == valid_json(value)


@given(contents)
def test_a_content_is_read_in_valid_unicode_and_given_back_to_the_letter(content: Content) -> None:
    """`decode` for the rooms, `original` for readers, exports and comparisons."""
    body = encode(content)
    assert original(body) == content
    json.dumps(json.loads(encode(decode(body))), ensure_ascii=False).encode()


def test_escaped_surrogates_in_stored_json_are_removed_too() -> None:
    """Bytes that escape a half are valid UTF-8; their value is not."""
    assert words_from_bytes(b'{"a": "x\\ud83dy", "b": "\\ud83d\\ude00"}') == {"a": "xy", "b": "😀"}
