"""Message parts that are not plain text: tool calls and results, reasoning, attachments. Folded to a line, or in full.

Results often name only the id of their call; with `calls` (id -> tool), a caller that reads a history in order fills in the name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import cast

from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.cells import cut, width
from backscroll.surfaces.screen.plain import one_line, safe
from backscroll.vocab.part import Json, Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

#: The arguments that best describe a call, in this order.
_TELLING = ("command", "cmd", "pattern", "query", "file_path", "path", "url", "description", "prompt", "name")
_LONG = 400


def fold_part(part: Part, room: int, calls: Mapping[str, str] | None = None) -> str:
    """Return a part in one line, cut to fit; empty if there is nothing to show."""
    match part:
        case Text():
            return cut(one_line(part.text), room)
        case ToolCall():
            return cut(f"→ {one_line(part.name)}  {_target(part.arguments)}".rstrip(), room)
        case ToolResult():
            return _result(part, room, calls or {})
        case Reasoning():
            return _opening(t("parts.thinking"), part.text, room) if part.text.strip() else ""
        case Media():
            return cut(_media(part), room)
        case Opaque():
            return cut(f"[{one_line(part.vendor)}: {one_line(part.kind)}]", room)


def unfold_part(part: Part, calls: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield all lines of a part."""
    match part:
        case Text():
            yield from safe(part.text).split("\n")
        case ToolCall():
            yield f"→ {one_line(part.name)}  {one_line(part.id)}".rstrip()
            yield from (f"  {line}" for line in _pretty(part.arguments))
        case ToolResult():
            yield _arrow(part, calls or {}) + (f"  {one_line(part.call_id)}" if part.call_id else "")
            for inner in part.content:
                yield from (f"  {line}" for line in unfold_part(inner))
        case Reasoning():
            yield t("parts.thinking")
            yield from (f"  {line}" for line in safe(part.text).split("\n"))
        case Media():
            yield _media(part)
        case Opaque():
            yield f"[{one_line(part.vendor)}: {one_line(part.kind)}]"
            yield from (f"  {line}" for line in safe(part.raw).split("\n"))


def _arrow(part: ToolResult, calls: Mapping[str, str]) -> str:
    name = one_line(part.name or calls.get(part.call_id, ""))
    state = t("parts.failed") if part.is_error else ""
    return " ".join(filter(None, ("←", name, state)))


def _result(part: ToolResult, room: int, calls: Mapping[str, str]) -> str:
    text = "\n".join(p.text for p in part.content if isinstance(p, Text))
    if not text.strip():
        others = " ".join(fold_part(p, room) for p in part.content if not isinstance(p, Text))
        return cut(f"{_arrow(part, calls)}  {others or t('words.empty')}", room)
    return _opening(f"{_arrow(part, calls)} ".replace("： ", "："), text, room)


def _opening(label: str, text: str, room: int) -> str:
    """Return the first line of a text, and how many more there are."""
    lines = [line for line in text.splitlines() if line.strip()]
    more = "  " + t("parts.more_lines", more=count("words.lines", len(lines) - 1)) if len(lines) > 1 else ""
    gap = "" if label.endswith("：") else " "
    return cut(f"{label}{gap}{one_line(lines[0][:_LONG])}", room - width(more)) + more


def _target(arguments: Json) -> str:
    """Return the target of a call: its main argument, or all of them."""
    value = arguments
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return one_line(value[:_LONG])
    if isinstance(value, dict):
        known = cast("dict[str, Json]", value)
        for name in _TELLING:
            if isinstance(known.get(name), str) and known[name]:
                return one_line(known[name][:_LONG])
        if not known:
            return ""
    return one_line(json.dumps(value, ensure_ascii=False)[:_LONG])


def _pretty(arguments: Json) -> list[str]:
    if isinstance(arguments, str):
        return safe(arguments).split("\n")
    return safe(json.dumps(arguments, ensure_ascii=False, indent=2)).split("\n")


def _media(part: Media) -> str:
    name = one_line(part.name or part.url or "")
    if len(name) > 80 or name.startswith("data:"):
        name = name[:40] + "…"
    return f"[{' '.join(filter(None, (one_line(part.media_type), name)))}]"
