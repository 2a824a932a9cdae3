"""A call in one line: the tool, what it was about, how it went.

A stand-in of few rules.
"""

from __future__ import annotations

from backscroll.assemble.view.pieces import arguments_of, strings_in
from backscroll.assemble.view.units import Unit
from backscroll.vocab.part import Text, ToolCall, ToolResult


def call_lines(unit: Unit) -> dict[str, str]:
    """One line for every call of a unit, and for results whose call is not in it."""
    results = {p.call_id: p for m in unit.messages for p in m.parts if isinstance(p, ToolResult)}
    out: dict[str, str] = {}
    for message in unit.messages:
        for part in message.parts:
            if isinstance(part, ToolCall):
                out[part.id] = _line(part, results.get(part.id))
    for call_id, result in results.items():
        out.setdefault(call_id, _outcome(result))
    return out


def _line(call: ToolCall, result: ToolResult | None) -> str:
    values = [v.strip().replace("\n", " ") for v in strings_in(arguments_of(call)) if v.strip()]
    target = min(values, key=lambda v: (not any(c in v for c in "/_."), len(v) > 120))[:90] if values else ""
    return f"{call.name} {target}: {_outcome(result)}" if result else f"{call.name} {target}"


def _outcome(result: ToolResult) -> str:
    text = next((c.text for c in result.content if isinstance(c, Text)), "")
    return next(
        (line.strip()[:90] for line in text.split("\n") if line.strip() and not line.startswith("```")), ""
    )
