"""Answers of a model: what has arrived so far, the complete answer, and the sum of several.

Owns the data of one step. Refuses: sending requests (`agent/loop/step`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from backscroll.agent.events import Forming, RunUsage
from backscroll.engine.calls.replies import ReplyRecord
from backscroll.llm.clients.client import CallDelta, Usage

_FORMING = 4_000  # characters of a call shown while it is being written


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of one step."""

    recorded: ReplyRecord | None  # None: the model returned nothing
    text: str
    finish: str
    counted: RunUsage
    limit: int = 0  # its limit in tokens
    cut: frozenset[str] = frozenset()  # calls cut off at that limit
    left_out: int = 0  # calls dropped because there were too many

    @property
    def is_cut(self) -> bool:
        """True if it stopped at its limit."""
        return self.finish in ("length", "endless")


@dataclass
class AnswerState:
    """What has arrived of an answer so far."""

    text: str = ""
    reasoning: str = ""
    calls: dict[int, tuple[str, str]] = field(default_factory=dict[int, tuple[str, str]])
    written: list[str] = field(default_factory=list[str])  # everything of the calls, for counting
    usage: Usage | None = None  # what the vendor had counted so far

    @property
    def anything(self) -> bool:
        """True if the service had started to answer."""
        return bool(self.text or self.reasoning or self.calls or self.usage)

    def piece(self, delta: CallDelta) -> Forming:
        """Add a piece of a call; return what has arrived of it."""
        name, arguments = self.calls.get(delta.index, ("", ""))
        # Copying a long file for every piece of it would take longer than writing it.
        if len(arguments) < _FORMING:
            arguments += delta.arguments
        self.written.append(delta.arguments)
        self.calls[delta.index] = (name or delta.name, arguments)
        return Forming(delta.index, *self.calls[delta.index])


def add_counts(one: RunUsage, other: RunUsage) -> RunUsage:
    """Return the sum; the cost is unknown if any part of it is."""
    nano = None if one.nano is None or other.nano is None else one.nano + other.nano
    return RunUsage(
        one.input + other.input,
        one.cached + other.cached,
        one.output + other.output,
        nano,
        one.calls + other.calls,
        one.estimated + other.estimated,
        one.unanswered + other.unanswered,
    )
