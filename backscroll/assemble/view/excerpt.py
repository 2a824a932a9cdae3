"""Giant tool results in prompts: beginning, end, error lines, and the handle of the whole.

Owns the size of an excerpt (by the size of the window), and the excerpt itself: a function of the text and the limit alone, so that a
result has the same bytes in every prompt until a compaction condenses it. The log keeps the whole. A call that was cut off
at the output limit is shown by its beginning. Pinned messages are shown whole. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from backscroll.assemble.view.meter import render_arguments
from backscroll.assemble.view.pieces import GAP
from backscroll.formats.sources.json_text import dumps
from backscroll.vocab.handle import handle_of
from backscroll.vocab.message import Message, cut_calls
from backscroll.vocab.part import Part, Text, ToolCall, ToolResult
from backscroll.vocab.values.pattern import late

#: Bytes per token of the window up to which a result is shown whole, and the maximum of an excerpt: what fits is shown whole once. In a
#: large window a result may have a byte for each of its tokens, a quarter of it in plain text; it is cut once it was answered.
DENSE, MOST, LARGEST = 8, 60_000, 256_000
HEAD, ERRORS = (
    0.4,
    0.15,
)  # shares of that for the beginning and for error lines; the rest is for the end
_LINE = 300  # characters of an error line
_LOOKED_AT = 2_000  # error lines that are considered
_CALL = 300  # characters of a call that was cut off
_TROUBLE = late(
    r"error|exception|traceback|fail(?:ed|ure)|fatal|panic|denied|not found|undefined|cannot|assert"
    r"|错误|异常|失败|拒绝|无法|未找到|崩溃",
    re.IGNORECASE,
)
_NONE = late(
    r"(?<![\d.])0 (?:failed|failures?|errors?)|(?:failures?|errors?|失败|错误)\s*[:=：]\s*0\b", re.IGNORECASE
)
_WORDS = {
    "en": {
        "gap": "[… {n:,} characters are not shown here …]",
        "errors": "[… {n:,} characters are not shown here; lines among them that speak of errors:]",
        "foot": "[Shown in part: {n:,} characters in {lines:,} lines. The whole is kept: expand {handle}]",
    },
    "zh": {
        "gap": "[…… 此处有 {n:,} 个字符没有显示 ……]",
        "errors": "[…… 此处有 {n:,} 个字符没有显示；其中提到错误的行：]",
        "foot": "[只显示了一部分：共 {n:,} 个字符、{lines:,} 行。全文已保留：展开 {handle}]",
    },
}


def shown_bytes(window: int) -> int:
    """Return the bytes of one result that a prompt for a window of so many tokens shows whole; a longer one becomes an excerpt."""
    return min(max(MOST, min(window, LARGEST)), DENSE * max(window, 1))


def size_of(text: str) -> int:
    """Return the size of a text in bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def is_giant(message: Message, limit: int) -> bool:
    """Return True if a message has more than a prompt shows of it."""
    if not limit or message.pinned:
        return False
    halves = cut_calls(message)
    return any(
        (isinstance(p, ToolResult) and _weight(p) > limit)
        or (isinstance(p, ToolCall) and p.id in halves and len(render_arguments(p.arguments)) > _CALL)
        for p in message.parts
    )


def _weight(result: ToolResult) -> int:
    return sum(size_of(part.text) for part in result.content if isinstance(part, Text))


def shown_parts(message: Message, limit: int, language: str = "") -> tuple[Part, ...]:
    """Return the parts of a message as a prompt shows them; unchanged if nothing is too large."""
    if not is_giant(message, limit):
        return message.parts
    halves = cut_calls(message)
    handle = handle_of(message.id)
    return tuple(_part(part, limit, handle, language, halves) for part in message.parts)


def _part(part: Part, limit: int, handle: str, language: str, halves: frozenset[str]) -> Part:
    if isinstance(part, ToolCall) and part.id in halves:
        text = render_arguments(part.arguments)
        if len(text) <= _CALL:
            return part
        shown = {"cut": f"{text[:_CALL]}{GAP} {handle}"}
        return replace(part, arguments=dumps(shown) if isinstance(part.arguments, str) else shown)
    most = min(limit, MOST)
    if not isinstance(part, ToolResult) or (whole := _weight(part)) <= limit:
        return part
    content = tuple(
        replace(inner, text=excerpt(inner.text, most * size_of(inner.text) // whole, handle, language))
        if isinstance(inner, Text)
        else inner
        for inner in part.content
    )
    return replace(part, content=content)


def excerpt(text: str, limit: int, handle: str, language: str = "") -> str:
    """Return the beginning, error lines and the end of a text, in about so many bytes, with the handle of the whole."""
    if size_of(text) <= limit:
        return text
    words = _WORDS["zh" if language.startswith("zh") else "en"]
    head = _beginning(text, int(limit * HEAD))
    tail = _end(text, limit - int(limit * (HEAD + ERRORS)))
    middle = text[len(head) : len(text) - len(tail)]
    lines = list(_find_error_lines(middle, int(limit * ERRORS)))
    gap = words["errors" if lines else "gap"].format(n=len(middle))
    foot = words["foot"].format(n=len(text), lines=text.count("\n") + 1, handle=handle)
    return "\n".join([head.rstrip("\n"), gap, *lines, *([GAP] if lines else []), tail.rstrip("\n"), foot])


def _beginning(text: str, size: int) -> str:
    """Return the first so many bytes, in whole lines if there are any."""
    head = text[:size].encode("utf-8", "ignore")[:size].decode("utf-8", "ignore")
    cut = head.rfind("\n", len(head) // 2)
    return head[: cut + 1] if cut >= 0 else head


def _end(text: str, size: int) -> str:
    """Return the last so many bytes, in whole lines if there are any."""
    tail = text[-size:].encode("utf-8", "ignore")[-size:].decode("utf-8", "ignore") if size > 0 else ""
    cut = tail.find("\n", 0, len(tail) // 2)
    return tail[cut + 1 :] if cut >= 0 else tail


def _find_error_lines(text: str, room: int) -> Iterator[str]:
    """Yield error lines, as many as fit: the first ones and the last ones, in order, each once."""
    found: dict[str, int] = {}
    for number, line in enumerate(_lines(text)):
        if number >= _LOOKED_AT:
            break
        found.setdefault(line, number)
    lines = list(found)
    first, last = 0, len(lines)
    kept: list[int] = []
    while first < last:
        place = first if len(kept) % 2 == 0 else last - 1
        first, last = (first + 1, last) if place == first else (first, last - 1)
        room -= size_of(lines[place]) + 1
        if room < 0:
            break
        kept.append(place)
    yield from (lines[place] for place in sorted(kept))


def _lines(text: str) -> Iterator[str]:
    at = 0
    while (found := _TROUBLE.search(text, at)) is not None:
        low = text.rfind("\n", max(0, found.start() - _LINE), found.start()) + 1 or max(
            0, found.start() - _LINE // 2
        )
        end = text.find("\n", found.end(), found.end() + _LINE)
        high = end if end >= 0 else min(len(text), found.end() + _LINE // 2)
        line = text[low:high].strip()[:_LINE]
        if line and not _NONE.search(line):
            yield line
        at = max(high, found.end())
