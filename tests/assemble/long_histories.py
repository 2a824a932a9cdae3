"""Histories of every kind for the tests of compaction: parallel tools, aborted calls, giants, images, pins, two languages."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from backscroll.assemble.view.meter import Meter
from backscroll.assemble.view.units import Unit, units_of
from backscroll.assemble.view.view import RenderContext
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message, Role, checked_role
from backscroll.vocab.part import Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import Block

THREAD = "a" * 32
LINES = (
    "def total(items): return sum(item.price for item in items)",
    "Error: cannot open /srv/app/config.yaml (line 17)",
    "请把报告发给王小明，编号 A-2041，截止 2026-03-01。",
    "The order 77-KX9 of Ada Lovelace goes to ada@example.org.",
    '{"id": "u_1093", "name": "Zoë", "items": [1, 2, 3], "note": "left at the door", "more": {"a": null}}',
    "    | 12→    value = parse_header(line)  # see 《协议说明》",
    "plain words without anything that stands out in them",
    "\ud83d half an emoji, \x00\x1c\u2028 odd separators",
    "",
)


def count(text: str) -> int:
    """A stand-in for tokens: a third of the characters."""
    return (len(text) + 2) // 3


def lens() -> RenderContext:
    """A lens that remembers what it rendered."""
    return RenderContext(Meter(count), memo={})


def ref(number: int) -> Ref:
    """The name of the message that event `number` brought."""
    return Ref(THREAD, number)


def message(number: int, role: Role, *parts: Part, pinned: bool = False) -> Message:
    """A message with these parts."""
    return Message(ref(number), role, ref(number), Content(parts), "2026-01-01T00:00:00+00:00", pinned=pinned)


texts = st.lists(st.sampled_from(LINES), max_size=6).map("\n".join)
giants = st.builds(
    lambda line, n: "\n".join(f"{i}: {line}" for i in range(n)), st.sampled_from(LINES), st.integers(40, 150)
)


@st.composite
def _steps(draw: st.DrawFn) -> list[tuple[Role, tuple[Part, ...]]]:
    """A reply with calls and their results; some calls stay without an answer, some answers come in one message."""
    calls = draw(st.integers(0, 3))
    base = draw(st.integers(0, 10**9))
    parts: list[Part] = []
    if draw(st.booleans()):
        parts.append(Reasoning(draw(texts), "signature"))
    if draw(st.booleans()):
        parts.append(Text(draw(texts)))
    if draw(st.integers(0, 9)) == 0:
        parts.append(Opaque("vendor", "thing", '{"x": 1}'))
    for n in range(calls):
        value = draw(st.one_of(texts, giants))
        arguments = draw(
            st.sampled_from([{"path": "src/a.py", "text": value}, '{"path": "b', value, None, [value]])
        )
        parts.append(ToolCall(f"call_{base}_{n}", "edit", arguments))
    out: list[tuple[Role, tuple[Part, ...]]] = [("assistant", tuple(parts))]
    answered = draw(st.integers(0, calls)) if draw(st.integers(0, 5)) == 0 else calls
    for n in range(answered):
        content: tuple[Text | Media, ...] = (Text(draw(st.one_of(texts, giants))),)
        if draw(st.integers(0, 9)) == 0:
            content = (*content, Media("image/png", blob="0" * 64))
        out.append(("tool", (ToolResult(f"call_{base}_{n}", content),)))
    return out


_said = texts.map(lambda text: [("user", (Text(text),))])
_odd = st.sampled_from(
    [
        [("user", ())],
        [("user", (Media("image/png", blob="1" * 64), Text("这张图是什么？")))],
        [("tool", (ToolResult("nobody", (Text("an answer that nobody asked for"),)),))],
        [("system", (Text("Another rule."),))],
    ]
)


@st.composite
def histories(draw: st.DrawFn, least: int = 1, most: int = 14) -> list[Message]:
    """Messages in order, numbered from 1; the first is the system's, some are pinned."""
    out = [message(1, "system", Text("You are careful."))]
    for turn in draw(st.lists(st.one_of(_said, _steps(), _steps(), _odd), min_size=least, max_size=most)):
        for role, parts in turn:
            out.append(message(len(out) + 1, checked_role(role), *parts))
    pin = draw(st.integers(0, 4 * len(out)))
    return [replace(m, pinned=True) if at == pin and m.role != "tool" else m for at, m in enumerate(out)]


def units(messages: list[Message]) -> list[Unit]:
    """The units of a history."""
    return list(units_of(messages))


def tokens(blocks: list[Block]) -> int:
    """What blocks weigh together, by what they say."""
    return sum(b.tokens for b in blocks)


def spoken(blocks: list[Block]) -> list[tuple[str, tuple[Part, ...]]]:
    """What of blocks reaches a wire."""
    return [(b.role, b.parts) for b in blocks]


def orphans(pairs: list[tuple[str, tuple[Part, ...]]]) -> list[str]:
    """Calls without a result, and results without their call directly before them."""
    out: list[str] = []
    waiting: list[str] = []
    for role, parts in pairs:
        if role != "tool":
            out += waiting
            waiting = [p.id for p in parts if isinstance(p, ToolCall)]
        for part in parts:
            if isinstance(part, ToolResult):
                if part.call_id in waiting:
                    waiting.remove(part.call_id)
                else:
                    out.append(part.call_id)
    return sorted(out + waiting)
