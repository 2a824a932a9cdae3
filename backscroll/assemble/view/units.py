"""Units: the smallest parts of a history that a prompt keeps or condenses as a whole.

A unit is a message by itself, or a reply together with the results of its calls, which are never separated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message, is_spoken_by_user
from backscroll.vocab.part import ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class Unit:
    """A message, or a reply with the results of its calls."""

    messages: tuple[Message, ...]

    @property
    def id(self) -> Ref:
        """The id of its first message, which never changes."""
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
        """The revisions of its messages."""
        return tuple(m.revision for m in self.messages)

    @property
    def pinned(self) -> bool:
        """True if any of its messages is pinned."""
        return any(m.pinned for m in self.messages)

    @property
    def unanswered(self) -> tuple[str, ...]:
        """Ids of calls that have no result yet."""
        asked = [p.id for m in self.messages for p in m.parts if isinstance(p, ToolCall)]
        told = {p.call_id for m in self.messages for p in m.parts if isinstance(p, ToolResult)}
        return tuple(call for call in asked if call not in told)


def newest_turn(units: Sequence[Unit]) -> Sequence[Unit]:
    """Return the units after the latest user message; all of them if the user has not spoken."""
    for at in range(len(units) - 1, -1, -1):
        if is_spoken_by_user(units[at].messages[0]):
            return units[at + 1 :]
    return units


def fresh_units(units: Sequence[Unit]) -> Sequence[Unit]:
    """Return what no reply has answered yet: the newest reply with its results, and what came after them."""
    for at in range(len(units) - 1, -1, -1):
        if units[at].role == "assistant":
            told = any(m.role == "tool" for m in units[at].messages)
            return units[at if told else at + 1 :]
    return units


class AnsweredCall(NamedTuple):
    """Where a call was answered, and the answer without its text."""

    message: Ref
    revision: Ref
    result: ToolResult


@dataclass(frozen=True, slots=True)
class WaitingReply:
    """A reply of the newest turn with unanswered calls."""

    message: Message
    told: Mapping[str, AnsweredCall]  # its answered calls, by id

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """All calls of the reply."""
        return tuple(p for p in self.message.parts if isinstance(p, ToolCall))


def answered_in(messages: Iterable[Message]) -> dict[str, AnsweredCall]:
    """Return the results in some messages, by the id of their call."""
    return {
        p.call_id: AnsweredCall(m.id, m.revision, replace(p, content=()))
        for m in messages
        for p in m.parts
        if isinstance(p, ToolResult)
    }


def waiting_replies(turn: Iterable[Message]) -> list[WaitingReply]:
    """Return the replies of a turn with calls that no later message answers. Input and output are newest first."""
    told: dict[str, AnsweredCall] = {}
    out: list[WaitingReply] = []
    for message in turn:
        told |= answered_in((message,))
        calls = [p.id for p in message.parts if isinstance(p, ToolCall)]
        if any(id not in told for id in calls):
            out.append(WaitingReply(message, {id: told[id] for id in calls if id in told}))
    return out


def units_of(messages: Iterable[Message]) -> Iterator[Unit]:
    """Split a history into units. A tool message without a reply before it is a unit by itself: repair handles it.

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
    """Yield the units of replies and results with no other messages between them."""
    told = [{p.call_id for p in m.parts if isinstance(p, ToolResult)} for m in stretch]
    later: list[set[str]] = [set() for _ in stretch]  # results still expected
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
