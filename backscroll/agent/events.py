"""Events of a run: what a terminal draws and `run --jsonl` prints.

Owns the nouns and their JSON. The last event of a run is always `Finished`. Refuses: drawing them (`surfaces`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Literal, TypeAlias, cast

from backscroll.vocab.change import CodeChange
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json

#: How a run can end.
End: TypeAlias = Literal[
    "answered",  # the model said something and asked for nothing
    "completed",  # a result was shown to the user, who took it
    "incomplete",  # … who did not, and said nothing that could be worked on at once
    "asked",  # a question for the person is open, and no user was there to answer
    "stopped",  # interrupted by the person
    "silent",  # the model said nothing, no words and no call, and did so again when it was asked once more
    "limit",  # steps or money are used up
    "cut",  # the answer stopped at the output limit of the model, and did so again each time it was continued
    "repeated",  # the model made the same calls with the same results three times in a row
    "failed",  # the model could not be asked
]


def _none() -> Mapping[str, Json]:
    return {}


@dataclass(frozen=True, slots=True)
class RunUsage:
    """Tokens and money so far: of one step, of a run, or of a thread."""

    input: int = 0
    cached: int = 0
    output: int = 0
    nano: int | None = None  # US dollars × 10⁹; None if the price is unknown
    calls: int = 0
    estimated: int = 0  # of the calls, those whose tokens we counted because the service did not report them
    unanswered: int = (
        0  # of these, those that went out and whose answer was never written down: at most so much
    )


@dataclass(frozen=True, slots=True)
class Began:
    """A run began with a message of the person, or goes on (`resumed`)."""

    message: Ref | None
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt was built and sent; what the status line shows."""

    step: int
    tokens: int  # of the prompt, tools included
    budget: int
    model: str
    expected_cached: int = 0
    compacted: str = ""  # why the past was condensed for it; empty: it was not
    recalled: int = 0  # details that were restored


@dataclass(frozen=True, slots=True)
class Thought:
    """More of the thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class Said:
    """More of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Forming:
    """A tool call is being written; `arguments` is what of it has come so far, of a long one the beginning."""

    index: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class RunStep:
    """A reply is whole and recorded."""

    step: int
    message: Ref
    text: str
    calls: int
    counted: RunUsage = RunUsage()
    cut: bool = False  # it stopped at the output limit


@dataclass(frozen=True, slots=True)
class Calling:
    """A tool begins its work (it was allowed)."""

    call_id: str
    tool: str
    line: str  # what it does, in one line
    arguments: Mapping[str, Json] = field(default_factory=_none)


@dataclass(frozen=True, slots=True)
class Output:
    """A tool at work has printed something."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """A tool is done, or was refused; the result is recorded."""

    call_id: str
    tool: str
    line: str  # the outcome in one line
    text: str  # the whole result
    is_error: bool = False
    refused: str | None = None  # the reason of a refusal; empty where none was given
    message: Ref | None = None  # where it is in the record
    change: CodeChange | None = None  # what it did to the files


@dataclass(frozen=True, slots=True)
class Noted:
    """Something the person should know: a retry, a compaction after an overflow, a change manually."""

    kind: str  # again, overflow, limit, continued, cut_call, calls, usage, resumed …
    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a run."""

    end: End
    text: str = ""  # the answer or the result
    steps: int = 0
    counted: RunUsage = RunUsage()
    error: str = ""
    hint: str = ""
    message: Ref | None = None  # the last one
    exit_code: int = 0  # of an error


Happening: TypeAlias = (
    Began | Asked | Thought | Said | Forming | RunStep | Calling | Output | Called | Noted | Finished
)


def to_json(happening: Happening) -> dict[str, Json]:
    """One line for programs: `{"type": "said", …}`; empty fields are left out."""
    name = "step" if isinstance(happening, RunStep) else type(happening).__name__.lower()
    out: dict[str, Json] = {"type": name}
    for part in fields(happening):
        value = _plain(getattr(happening, part.name))
        if value not in (None, "", {}, [], False):
            out[part.name] = value
    return out


def _plain(value: Json) -> Json:
    if isinstance(value, Ref):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple | list):
        return [_plain(v) for v in cast("list[Json]", value)]
    return value


def __getattr__(name: str) -> object:
    """Return `RunStep` by its old name, `Step`: deprecated, for one release."""
    if name == "Step":
        warnings.warn("Step is deprecated: use RunStep", DeprecationWarning, stacklevel=2)
        return RunStep
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def run_to_end(happenings: Iterator[Happening], on: Callable[[Happening], None] | None) -> Finished:
    """Consume a run; return its last event."""
    finished: Finished | None = None
    for happening in happenings:
        if on is not None:
            on(happening)
        if isinstance(happening, Finished):
            finished = happening
    assert finished is not None, "a run ends with Finished"
    return finished
