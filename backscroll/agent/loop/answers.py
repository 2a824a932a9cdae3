"""Answers of a model: what has arrived so far, the whole of it, and the sum of what answers took.

Owns the data of one step. Refuses: asking (`agent/loop/step`).
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

    recorded: ReplyRecord | None  # None: nothing was said
    text: str
    finish: str
    counted: RunUsage
    limit: int = 0  # tokens that it could have
    cut: frozenset[str] = frozenset()  # calls that broke off at that limit
    left_out: int = 0  # calls that were too many

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
    written: list[str] = field(default_factory=list[str])  # everything of the calls, to be counted
    usage: Usage | None = None  # what the vendor had counted by then

    @property
    def anything(self) -> bool:
        """True if the service had begun to work."""
        return bool(self.text or self.reasoning or self.calls or self.usage)

    def piece(self, delta: CallDelta) -> Forming:
        """Add a piece of a call; return what has come of it."""
        name, arguments = self.calls.get(delta.index, ("", ""))
        # Copying a long file for every piece of it would take longer than writing it.
        if len(arguments) < _FORMING:
            arguments += delta.arguments
        self.written.append(delta.arguments)
        self.calls[delta.index] = (name or delta.name, arguments)
        return Forming(delta.index, *self.calls[delta.index])


def add_counts(one: RunUsage, other: RunUsage) -> RunUsage:
    """Return the sum; money is unknown where any of it is."""
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
