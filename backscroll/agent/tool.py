"""The contract of tools, built-in and user-defined.

Owns what a tool is, the context it gets, what it returns, and making one of a decorated function. Refuses: running one
(`agent/loop/calls`), which tools there are (`agent/toolbox`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from backscroll.agent.person import Effect, Person, Preview
from backscroll.agent.stop_switch import Stop
from backscroll.vocab.part import Json, Media

if TYPE_CHECKING:
    from backscroll.agent.events import End
    from backscroll.engine.thread import Thread


def _none() -> Mapping[str, Json]:
    return {}


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The result of a tool. `text` is recorded whole; prompts may show less of it."""

    text: str
    is_error: bool = False
    line: str = ""  # the outcome in one line, for the user; empty: made from the text
    media: tuple[Media, ...] = ()
    facts: Mapping[str, Json] = field(default_factory=_none)  # kept with the result, for programs
    ends: End | None = None  # how the run ends here (attempt_completion, an open question)


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool gets to work with."""

    thread: Thread
    call_id: str
    root: Path  # the folder it works in
    person: Person
    stop: Stop
    show: Callable[[str], None]  # print something while running
    seconds: float = 120.0  # limit of a command
    longest: int = 16_000_000  # characters of output that are recorded


@runtime_checkable
class Tool(Protocol):
    """A tool: attributes and two methods. `agent/toolbox` checks them when it is registered."""

    @property
    def name(self) -> str:
        """`[a-zA-Z0-9_-]{1,64}`; a plain attribute is enough, as for the others."""
        ...

    @property
    def description(self) -> str:
        """What it does and when to use it, for the model."""
        ...

    @property
    def parameters(self) -> Mapping[str, Json]:
        """JSON Schema of an object."""
        ...

    @property
    def effect(self) -> Effect:
        """What it does outside the conversation."""
        ...

    def preview(self, context: ToolContext, arguments: Mapping[str, Json]) -> Preview:
        """Return what exactly a call would do, without doing it. Raise `BackscrollError` if it cannot be done at all."""
        ...

    def run(self, context: ToolContext, arguments: Mapping[str, Json]) -> ToolOutput:
        """Run the tool. Arguments are checked against the schema. `agent/loop/calls` turns errors into results."""
        ...


class RunnableTool(Protocol):
    """An object or a class whose `run` has typed parameters of its own; name, description and effect may be beside it."""

    @property
    def run(self) -> Callable[..., object]:
        """Run the tool; return a text, a `ToolOutput`, or anything that can be written as JSON."""
        ...


#: What users may pass where tools are wanted: a tool, or a plain function with type hints and a docstring.
ToolLike = Tool | RunnableTool | Callable[..., object]
Tools = Sequence[ToolLike]
