"""Events of a run: what a terminal draws and `run --jsonl` prints.

Owns the nouns and their JSON. The last event of a run is always `Finished`. Refuses: drawing them (`surfaces`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Literal, TypeAlias, cast

from backscroll.deprecation import warn_renamed
from backscroll.vocab.change import CodeChange
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json

#: How a run can end.
End: TypeAlias = Literal[
    "answered",  # the model answered and made no calls
    "completed",  # a result was shown to the user, who accepted it
    "incomplete",  # … who did not, and gave no feedback that could be worked on at once
    "asked",  # a question to the user is open, and no user was there to answer
    "stopped",  # interrupted by the user
    "silent",  # the model returned neither text nor calls, and again when it was asked once more
    "limit",  # the limit on steps or cost was reached
    "cut",  # the answer stopped at the output limit of the model, and again each time it was continued
    "repeated",  # the model made the same calls with the same results three times in a row
    "failed",  # the request to the model failed
]


def _none() -> Mapping[str, Json]:
    return {}


@dataclass(frozen=True, slots=True)
class RunUsage:
    """Tokens and cost so far: of one step, of a run, or of a thread."""

    input: int = 0
    cached: int = 0
    output: int = 0
    nano: int | None = None  # US dollars × 10⁹; None if the price is unknown
    calls: int = 0
    estimated: int = 0  # calls whose tokens we counted because the service reported none
    unanswered: int = 0  # of these, calls sent whose answer was never recorded: an upper bound


@dataclass(frozen=True, slots=True)
class Began:
    """A run began with a user message, or continues (`resumed`)."""

    message: Ref | None
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt was built and sent; shown in the status line."""

    step: int
    tokens: int  # of the prompt, tools included
    budget: int
    model: str
    expected_cached: int = 0
    compacted: str = ""  # why the history was condensed for it; empty: it was not
    recalled: int = 0  # details that were restored


@dataclass(frozen=True, slots=True)
class Thought:
    """A piece of the reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Forming:
    """A tool call is being written; `arguments` is what has arrived so far, of a long one only the beginning."""

    index: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class RunStep:
    """A reply is complete and recorded."""

    step: int
    message: Ref
    text: str
    calls: int
    counted: RunUsage = RunUsage()
    cut: bool = False  # it stopped at the output limit


@dataclass(frozen=True, slots=True)
class Calling:
    """A tool starts (its call was allowed)."""

    call_id: str
    tool: str
    line: str  # what it does, in one line
    arguments: Mapping[str, Json] = field(default_factory=_none)


@dataclass(frozen=True, slots=True)
class Output:
    """A running tool has printed something."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """A tool has finished, or its call was refused; the result is recorded."""

    call_id: str
    tool: str
    line: str  # the outcome in one line
    text: str  # the whole result
    is_error: bool = False
    refused: str | None = None  # the reason of a refusal; empty if none was given
    message: Ref | None = None  # its message in the log
    change: CodeChange | None = None  # what it did to the files


@dataclass(frozen=True, slots=True)
class Noted:
    """Something the user should know: a retry, a compaction after an overflow, a manual change."""

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
    """Return an event as a JSON object for programs: `{"type": "said", …}`; empty fields are left out."""
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
        warn_renamed("Step", "RunStep")
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
