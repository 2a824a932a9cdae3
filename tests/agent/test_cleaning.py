"""Output made readable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.agent.commands.output import decode_output, one_line, readable, shorten_text


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;c3RlYWw=\x07x", "x"),  # would write the clipboard
        ("10%\r50%\r100%\ndone", "100%\ndone"),
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("bo\x08bold", "bbold"),
        ("a\x00b\x07c", "abc"),
        ("safe\u202eevil", "safeevil"),
        ("half \ud800 pair", "half \ufffd pair"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("中文，全角。\u3000空格", "中文，全角。\u3000空格"),
        ("\x9b31mred", "red"),
        ("\x1b", ""),
    ],
)
def test_readable_removes_terminal_control_sequences(raw: str, clean: str) -> None:
    assert readable(raw) == clean


@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=200))
def test_nothing_that_moves_a_cursor_is_left(text: str) -> None:
    """Whatever comes in: no control character but tab and line end, no half character; and it is stable."""
    clean = readable(text)
    assert not any((ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 for c in clean)
    clean.encode("utf-8")
    assert readable(clean) == clean


def test_invalid_utf8_is_replaced_and_noted() -> None:
    text, note = decode_output(b"good \xff\xfe bad, but most of it is text\n")
    assert text == "good \ufffd\ufffd bad, but most of it is text\n"
    assert "no UTF-8" in note


def test_binary_output_is_not_shown() -> None:
    text, note = decode_output(bytes(range(256)) * 20)
    assert text == ""
    assert "binary output, 5,120 bytes" in note


@given(st.text(max_size=500), st.integers(10, 200))
def test_what_is_too_long_keeps_head_and_tail(text: str, longest: int) -> None:
    short = shorten_text(text, longest)
    if len(text) <= longest:
        assert short == text
    else:
        assert "characters left out" in short
        assert short[:1] == text[:1] or text[:1].isspace()
        assert len(short) <= longest + 60


def test_one_line_takes_the_first_line() -> None:
    assert one_line("\n  first   words \nmore") == "first words"
    assert one_line("x" * 200, 10) == "x" * 9 + "…"
