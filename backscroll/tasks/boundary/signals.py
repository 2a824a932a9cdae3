"""Signals: the input of the boundary detector, one for each message of a person or model.

Owns the conversion of messages to signals: outcomes and files of tool calls go to the assistant message with the calls; system and
tool messages, and texts that a program inserted in the user's name (reminders, summaries of compactions), are distinguished. Not here:
scores.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files

from backscroll.derive.essence.cues import paths_in
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json, ToolCall, ToolResult

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PLACES = ("file_path", "path", "filename", "file", "notebook_path", "target_file", "absolute_path")
_FAILED = (
    "error",
    "traceback",
    "fatal:",
    "command failed",
    "exit code 1",
    "exit code 2",
    "permission denied",
    "错误",
    "失败",
)


@dataclass(frozen=True, slots=True)
class Signal:
    """One message, as the detector sees it."""

    role: str
    text: str
    at_us: int | None = None  # microseconds since 1970; None: unknown
    files: tuple[str, ...] = ()  # files that the message names or its tool calls touch
    succeeded: int = 0  # tool calls
    failed: int = 0
    tools: tuple[str, ...] = ()
    machine: bool = False  # typed by a program


@cache
def _machine() -> tuple[str, ...]:
    text = files("backscroll.tasks").joinpath("boundary_behaviour.toml").read_text(encoding="utf-8")
    return tuple(tomllib.loads(text)["machine"]["begins"])


def typed_by_machine(text: str) -> bool:
    """Return True for text that programs insert in the user's name."""
    return text.lstrip()[:80].lower().startswith(_machine())


def signals_of(messages: Sequence[Message]) -> list[Signal]:
    """Return the signals of a thread, in order."""
    return [signal for _, signal in placed_signals(messages)]


def placed_signals(messages: Iterable[Message]) -> list[tuple[Ref, Signal]]:
    """Return the signals, each with its message. Hidden, deleted and empty messages have none of their
    own.
    """
    out: list[tuple[Ref, Signal]] = []
    for message in messages:
        if message.hidden or message.deleted or message.role == "system":
            continue
        results = [part for part in message.parts if isinstance(part, ToolResult)]
        if results and out:
            place, asked = _asking(out)
            out[place] = (out[place][0], _add_results(asked, results))
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        if message.role == "tool" or not (message.text.strip() or calls):
            continue
        out.append((message.id, _signal(message, calls)))
    return out


def _signal(message: Message, calls: Sequence[ToolCall]) -> Signal:
    text = message.text
    touched = [path for call in calls for path in _find_files(call.arguments)]
    named = paths_in(text[:4_000]) if message.role == "user" else []
    return Signal(
        message.role,
        text,
        _microseconds(message.at),
        tuple(dict.fromkeys([*touched, *named])),
        tools=tuple(call.name for call in calls),
        machine=message.role == "user" and typed_by_machine(text),
    )


def _asking(out: Sequence[tuple[Ref, Signal]]) -> tuple[int, Signal]:
    """Return the last message that called tools, else the last of all."""
    for place in range(len(out) - 1, max(-1, len(out) - 12), -1):
        if out[place][1].tools:
            return place, out[place][1]
    return len(out) - 1, out[-1][1]


def _add_results(signal: Signal, results: Sequence[ToolResult]) -> Signal:
    bad = sum(1 for result in results if _went_wrong(result))
    return replace(signal, succeeded=signal.succeeded + len(results) - bad, failed=signal.failed + bad)


def _went_wrong(result: ToolResult) -> bool:
    if result.is_error:
        return True
    text = next((t for part in result.content if isinstance(t := getattr(part, "text", None), str)), "")
    return text[:200].lower().lstrip("<[ ").startswith(_FAILED)


def _find_files(arguments: Json) -> list[str]:
    """Return the files that the arguments of a call name."""
    if isinstance(arguments, str):
        return paths_in(arguments[:2_000])
    if not isinstance(arguments, dict):
        return []
    return [value for key in _PLACES if isinstance(value := arguments.get(key), str) and value]  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]


def _microseconds(at: str) -> int | None:
    try:
        when = datetime.fromisoformat(at)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    gone = when - _EPOCH
    return (gone.days * 86_400 + gone.seconds) * 1_000_000 + gone.microseconds
