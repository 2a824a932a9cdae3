"""No text of a conversation can control the terminal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.surfaces.screen.plain import one_line, safe, safe_json


@pytest.mark.parametrize(
    "attack",
    ["\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "a\rb", "\x08\x08", "\x7f", "\u202eevil", "\x00", "\u2028"],
)
def test_control_characters_become_visible(attack: str) -> None:
    """Escape sequences, carriage returns and direction overrides become signs."""
    shown = safe(attack)
    assert all(c.isprintable() or c == "\n" for c in shown)
    assert shown != ""


@given(st.text())
def test_safe_text_is_printable(text: str) -> None:
    """Whatever the text, no control character and nothing that cannot be written is left."""
    shown = safe(text)
    assert not any(ord(c) < 0x20 and c != "\n" for c in shown)
    assert not any(0x7F <= ord(c) <= 0x9F or 0xD800 <= ord(c) <= 0xDFFF for c in shown)


def test_ordinary_text_is_unchanged() -> None:
    """Letters of every script, emoji and line breaks."""
    text = "Grüße, 世界！\nשלום 👩‍👩‍👧 e\u0301"
    assert safe(text) == text


def test_one_line_removes_breaks() -> None:
    """Table cells and headers are one line, whatever the text."""
    assert one_line(" a\n\tb  c\r\n") == "a b c"


@given(st.dictionaries(st.text(), st.text()))
def test_json_stays_the_same_value(value: dict[str, str]) -> None:
    """Escaping what a terminal might obey changes no value, and leaves one line one line."""
    written = safe_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(written) == value
    assert len(written.splitlines()) == 1
    assert not any(0x7F <= ord(c) <= 0x9F for c in written)
