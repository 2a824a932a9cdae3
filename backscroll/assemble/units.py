"""Units: the smallest things that a prompt keeps or fades whole.

A unit is a message by itself, or a reply together with the results of its calls: nothing ever comes between those. Before:
`vocab/message`. After: `assemble/policy` chooses a level for each unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class Unit:
    """A message, or a reply with the results of its calls."""

    messages: tuple[Message, ...]

    @property
    def id(self) -> Ref:
        """Named by its first message, for life."""
        return self.messages[0].id

    @property
    def last(self) -> Ref:
        """Its last message."""
        return self.messages[-1].id

    @property
    def role(self) -> str:
        """The role of its first message."""
        return self.messages[0].role

    @property
    def revisions(self) -> tuple[Ref, ...]:
        """What it consists of."""
        return tuple(m.revision for m in self.messages)

    @property
    def pinned(self) -> bool:
        """True where any of it is pinned."""
        return any(m.pinned for m in self.messages)

    @property
    def unanswered(self) -> tuple[str, ...]:
        """Ids of calls that have no result yet."""
        asked = [p.id for m in self.messages for p in m.parts if isinstance(p, ToolCall)]
        told = {p.call_id for m in self.messages for p in m.parts if isinstance(p, ToolResult)}
        return tuple(call for call in asked if call not in told)


def units_of(messages: Iterable[Message]) -> Iterator[Unit]:
    """Cut a history into units. A tool message with no reply before it is a unit by itself: repair deals with it.

    Some tools record parallel calls as several replies before the first result: such replies are one unit with their results.
    """
    stretch: list[Message] = []
    for message in messages:
        if message.role in ("assistant", "tool"):
            stretch.append(message)
            continue
        yield from _steps(stretch)
        stretch = []
        yield Unit((message,))
    yield from _steps(stretch)


def _steps(stretch: Sequence[Message]) -> Iterator[Unit]:
    """The units of replies and results with nobody else between them."""
    told = [{p.call_id for p in m.parts if isinstance(p, ToolResult)} for m in stretch]
    later: list[set[str]] = [set() for _ in stretch]  # results that are still to come
    for n in range(len(stretch) - 2, -1, -1):
        later[n] = later[n + 1] | told[n + 1]
    current: list[Message] = []
    open_calls: set[str] = set()
    for n, message in enumerate(stretch):
        open_calls -= told[n]
        waits = bool(open_calls & (later[n] | told[n]))
        joins = bool(current) and current[0].role == "assistant" and (message.role == "tool" or waits)
        if current and not joins:
            yield Unit(tuple(current))
            current, open_calls = [], set()
        current.append(message)
        open_calls |= {p.id for p in message.parts if isinstance(p, ToolCall)}
    if current:
        yield Unit(tuple(current))
