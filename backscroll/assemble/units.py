"""Units: the smallest things that a prompt keeps or fades whole.

A unit is a message by itself, or a reply together with the results of its calls: nothing ever comes between those. Before:
`vocab/message`. After: `assemble/policy` chooses a level for each unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import ToolCall, ToolResult


def is_spoken_by_user(message: Message) -> bool:
    """True for words of the user; what we put into the user's mouth (a crop's summary) says so in its metadata."""
    return message.role == "user" and "backscroll" not in message.content.metadata


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
    """Cut a history into units. A tool message with no reply before it is a unit by itself: repair deals with it."""
    current: list[Message] = []
    for message in messages:
        follows = message.role == "tool" and bool(current) and current[0].role == "assistant"
        if current and not follows:
            yield Unit(tuple(current))
            current = []
        current.append(message)
    if current:
        yield Unit(tuple(current))
