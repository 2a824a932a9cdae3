"""Types for threads, turns and steps, as readers see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json

#: Search scopes: this thread, all threads of its user, all threads of its project, or the whole store.
Scope: TypeAlias = Literal["thread", "user", "project", "all"]


def _none() -> Mapping[str, Json]:
    return {}


@dataclass(frozen=True, slots=True)
class ThreadInfo:
    """The description of a thread, without its messages."""

    id: str
    title: str = ""
    project: str = ""
    kind: str = "chat"
    language: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=_none)
    created_at: str = ""
    updated_at: str = ""
    events: int = 0  # sequence number of the newest event
    messages: int = 0  # live ones
    turns: int = 0  # turns that a user message opened
    parent: str | None = None  # the thread it was forked from
    forked_at: Ref | None = None  # the last message it shares with its parent
    forgotten: bool = False
    user: str = ""  # whose thread it is
    key: str = ""  # the caller's own name for it


@dataclass(frozen=True, slots=True)
class Step:
    """One model reply with its tool calls and their results (or the messages before any reply)."""

    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """A user message and all that follows until the next one. Turn 0 is what precedes the first.

    `version` is a hash over the ids of its live revisions: it changes exactly when its set of live revisions does.
    """

    id: str  # uuid, kept for life
    sequence: int
    timestamp: str
    messages: tuple[Message, ...]
    version: str
    processed: bool = False
    processed_at: str | None = None

    @property
    def user_input(self) -> str:
        """The words of the user message that opens the turn; empty for turn 0."""
        return self.messages[0].text if self.sequence else ""

    @property
    def response(self) -> str:
        """The words of the assistant in this turn."""
        return "\n".join(m.text for m in self.messages if m.role == "assistant" and m.text)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The leaves of compression: each assistant reply together with the results of its calls."""
        out: list[Step] = []
        current: list[Message] = []
        for message in self.messages:
            if message.role == "assistant" and any(m.role == "assistant" for m in current):
                out.append(Step(tuple(current)))
                current = []
            current.append(message)
        if current:
            out.append(Step(tuple(current)))
        return tuple(out)
