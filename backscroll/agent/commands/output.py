"""Command output made readable and bounded.

Owns removing escape sequences and control characters (text overwritten after a carriage return or a backspace is dropped, as on
a screen), lone surrogates and bytes that are not UTF-8, and keeping head and tail of what is too long. Pure.
"""

from __future__ import annotations

import re

#: Maximum number of characters recorded of one result; longer ones lose their middle.
HARDEST = 20_000_000
_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?"  # titles, links, clipboards
    r"|\x1b[PX^_][^\x1b]{0,4096}(?:\x1b\\)?"  # device control, application strings
    r"|(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]?"  # colours, moves
    r"|\x1b[ -/]{0,8}[0-~]?"
)
#: Control characters except tab and line end; marks of writing direction, which can hide text.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")
_HALVES = re.compile(r"[\ud800-\udfff]")
_OVERWRITTEN = re.compile(r"[^\n]*\r(?!\n)")
_RUBBED = re.compile(r"[^\x08\n]\x08")
_BINARY = 0.3  # share of bytes that are not text above which output is not shown


def readable(text: str) -> str:
    """Return text without anything that a terminal would interpret, and without lone surrogates."""
    if "\x1b" in text or "\x9b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = _OVERWRITTEN.sub("", re.sub(r"\r+\n", "\n", text).rstrip("\r"))
    for _ in range(64):  # man pages and progress counters overwrite what they wrote
        if "\x08" not in text:
            break
        text, changed = _RUBBED.subn("", text)
        if not changed:
            break
    return _HALVES.sub("\ufffd", _CONTROLS.sub("", text))


def decode_output(data: bytes) -> tuple[str, str]:
    """Return bytes as readable text, and a note if not all were text. Zero bytes between names end a line."""
    sample = data[:65536]
    odd = sum(byte < 9 or 13 < byte < 27 or 27 < byte < 32 for byte in sample)
    spoiled = sample.decode("utf-8", "replace").count("\ufffd")
    if odd + spoiled > _BINARY * len(sample) or (spoiled and b"\x00" in sample):
        return "", f"binary output, {len(data):,} bytes; not shown"
    try:
        return readable(data.replace(b"\x00", b"\n").decode("utf-8")), ""
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    return readable(text), f"{bad:,} bytes were no UTF-8; each is shown as \ufffd"


def shorten_text(text: str, longest: int) -> str:
    """Return head and tail of a text that is too long, cut at line ends where possible, with a note of what was left out."""
    if len(text) <= longest:
        return text
    half = max(longest // 2, 1)
    head, tail = text[:half], text[-half:]
    if (cut := head.rfind("\n", half - min(half, 2000))) > 0:
        head = head[: cut + 1]
    if (cut := tail.find("\n", 0, min(half, 2000))) >= 0:
        tail = tail[cut + 1 :]
    gone = len(text) - len(head) - len(tail)
    return f"{head.rstrip()}\n[… {gone:,} characters left out …]\n{tail}"


def one_line(text: str, longest: int = 120) -> str:
    """Return the first words of a text on one line."""
    first = next((line.strip() for line in text.split("\n") if line.strip()), "")
    words = " ".join(first.split())
    return words if len(words) <= longest else f"{words[: longest - 1]}…"
