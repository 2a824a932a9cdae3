"""Tool output as plain bounded text: without escape codes, progress bars, control characters, and without the middle.

Owns: turning any tool output into bounded plain lines; measuring and cutting texts for one line of a prompt. Refuses:
interpreting it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from backscroll.vocab.values.pattern import late

#: Characters that are read at each end of a result; the rest is only counted.
SLICE = 12_000
#: Replaces the middle.
GAP = "\n…\n"
_LONGEST_LINE = 800

_ESCAPES = late(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?|[PX^_][^\x1b]{0,4096}(?:\x1b\\)?|[ -/]?[0-~])"
)
_BACKSPACED = late(r"[^\n\x08]\x08")
_CONTROL = late("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ufff0-\ufffb]+")
_ODD = late("[\x00-\x07\x0b\x0e-\x1a\x1c-\x1f\ufffd]")
_SURROGATE = late("[\ud800-\udfff]")
_SPACES = late(r"\s+")
_WIDE = late(
    "[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\U0001f300-\U0001faff\U00020000-\U0003fffd]"
)
_ENCODED = late(r"[A-Za-z0-9+/=_-]{400,}")


def width(text: str) -> int:
    """Return the width of a text; a Chinese character counts two, as on a screen and roughly as in tokens."""
    return len(text) + (0 if text.isascii() else len(_WIDE.findall(text)))


def middle(text: str) -> tuple[int, int]:
    """Return where the part of a text that is only counted begins and ends: at line breaks, unless lines are very long."""
    if len(text) <= 2 * SLICE:
        return len(text), len(text)
    first = text.rfind("\n", SLICE - _LONGEST_LINE, SLICE) + 1 or SLICE
    last = text.find("\n", len(text) - SLICE, len(text) - SLICE + _LONGEST_LINE) + 1 or len(text) - SLICE
    return first, last


def cut_huge_text(text: str) -> str:
    """Return only both ends of a huge text; any other text unchanged."""
    if len(text) <= 2 * SLICE:
        return text
    first, last = middle(text)
    return f"{text[:first]}{GAP}{text[last:]}"


def plain(text: str) -> str:
    """Return both ends of a text as a terminal would show them; every line break becomes a newline."""
    if len(text) < 800 and text.isascii() and text.isprintable():
        return text
    text = cut_huge_text(text)
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\x08" in text:
        for _ in range(8):  # a spinner moves back a few characters, not hundreds
            text, changed = _BACKSPACED.subn("", text)
            if not changed:
                break
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        text = "\n".join(_overwritten(line) if "\r" in line else line for line in text.split("\n"))
    text = _CONTROL.sub("", text)
    if not text.isascii():
        text = _SURROGATE.sub("\ufffd", text)
    lines = text.split("\n")
    if max(map(len, lines)) <= _LONGEST_LINE:
        return text
    # No reader needs more, and the patterns stay fast.
    return "\n".join(line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…" for line in lines)


def _overwritten(line: str) -> str:
    """Return what remains of a line that was overwritten repeatedly: the last state that is not empty."""
    return next((state for state in reversed(line.split("\r")) if state.strip()), "")


def lines_of(text: str) -> list[str]:
    """Return the lines that are not empty, stripped."""
    return [line for raw in text.split("\n") if (line := raw.strip())]


def one_line(text: str) -> str:
    """Return a text on one line."""
    return _SPACES.sub(" ", text).strip()


def is_binary(text: str) -> bool:
    """Return True for binary data decoded as text."""
    head = text[:2000]
    odd = len(_ODD.findall(head))
    return odd > 8 and odd * 12 > len(head)


def is_encoded(text: str) -> bool:
    """Return True if nearly all of a text is base64 or similar, which tells a reader nothing."""
    head = text[:4000]
    return sum(len(run) for run in _ENCODED.findall(head)) * 10 > len(head) * 8


def cut(text: str, limit: int) -> str:
    """Return the beginning of a text, with an ellipsis if it does not fit."""
    if width(text) <= limit:
        return text
    kept = _begin(text, limit - 1)
    at = kept.rfind(" ")
    return (kept[:at] if at > len(kept) * 2 // 3 else kept).rstrip(" ,;:|") + "…"


def cut_middle(text: str, limit: int) -> str:
    """Return both ends of a text, with an ellipsis between them: paths and commands differ at the end."""
    if width(text) <= limit:
        return text
    tail = _begin(text[::-1], (limit - 1) * 2 // 5)[::-1]
    return f"{_begin(text, limit - 1 - width(tail))}…{tail}"


def _begin(text: str, limit: int) -> str:
    """Return as many characters from the beginning as fit."""
    if limit <= 0:
        return ""
    kept = text[:limit]
    while kept and width(kept) > limit:
        kept = kept[: max(0, len(kept) - max(1, (width(kept) - limit) // 2))]
    return kept


def join_items(items: Iterable[str], limit: int, separator: str = ", ", *, total: int | None = None) -> str:
    """Join as many whole items as fit, then the number of the rest; the first is cut rather than omitted."""
    all_items: Sequence[str] = items if isinstance(items, Sequence) else list(items)
    count = len(all_items) if total is None else total
    out: list[str] = []
    used = 0
    for item in all_items:
        more = 5 if len(out) + 1 < count else 0
        room = limit - used - (len(separator) if out else 0) - more
        if width(item) > room:
            if out or room < 8:
                break
            out.append(cut_middle(item, room))
            used = limit
            continue
        used += width(item) + (len(separator) if out else 0)
        out.append(item)
    left = count - len(out)
    return separator.join(out) + (f" +{left}" if left > 0 and out else "")
