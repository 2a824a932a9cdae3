"""Scenarios: the answers of a scripted model, with their conditions.

A scenario is a TOML or JSON file with a table `server` and a list `line`; the first matching line that is not used up answers
a request. Owns reading and checking such files. Not here: serving them (`server`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import cast

from backscroll.deprecation import warn_renamed
from backscroll.errors import FormatError, NotFound
from backscroll.regular_files import read_text
from backscroll.vocab.part import Json
from backscroll.vocab.prompt import WIRES

_FINISHES = ("stop", "length", "tools", "refused")
_ROLES = ("user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class Fault:
    """An error in place of an answer."""

    status: int = 500
    message: str = "scripted fault"
    code: str = ""
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A tool call that the model makes."""

    name: str
    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    id: str = ""  # empty: numbered


@dataclass(frozen=True, slots=True)
class Line:
    """One answer, and what it answers. Omitted conditions match everything."""

    contains: tuple[str, ...] = ()  # all of these are in the newest message
    matches: str = ""  # a regular expression found in the newest message
    anywhere: tuple[str, ...] = ()  # all of these are somewhere in the prompt, system text included
    wire: str = ""
    model: str = ""
    role: str = ""  # of the newest message: user, tool
    tools: bool | None = None  # whether tools are offered
    streamed: bool | None = None
    times: int = 0  # how often it answers; 0: always

    text: str = ""
    fill: bool = (
        False  # `{last}`, `{system}`, `{number}` and `{step}` in text, reasoning and arguments are filled in
    )
    reasoning: str = ""
    redacted: bool = False  # on the Messages wire, the reasoning is sent as redacted_thinking
    calls: tuple[ScriptedCall, ...] = ()
    finish: str = ""  # empty: `tools` if there are calls, else `stop`
    chunk: int = 12  # characters in one piece of a stream
    usage: Mapping[str, int] = field(default_factory=dict[str, int])  # reported instead of the actual counts
    fault: Fault | None = None
    delay: float = 0.0  # seconds before the answer
    hang: float = 0.0  # seconds without an answer, then the connection is dropped
    # Pieces of the stream (unstreamed: bytes) after which the connection is dropped, or the fault is sent.
    cut_after: int | None = None
    pace: float = 0.0  # seconds between two pieces of a stream
    wait_for_file: str = ""  # a file; the answer pauses until it exists
    wait_after: int = 0  # pieces of the stream before that pause; whole answers pause before anything is sent
    touch: str = ""  # a file created when the pause begins, as a signal to tests
    endless: bool = False  # repeat a streamed text, whatever the limit, until the client disconnects
    raw: tuple[str, ...] = ()  # a verbatim stream, instead of all of the above


@dataclass(frozen=True, slots=True)
class Scenario:
    """What a scripted model says, and how its service behaves."""

    lines: tuple[Line, ...] = ()
    models: tuple[str, ...] = ()  # the available models; empty: any
    key: str = ""  # the required key; empty: any, or none
    window: int = 0  # tokens of prompt and answer together; 0: no limit
    max_output: int = 0  # maximum output tokens of a request; 0: the model's limit in the table
    rate: int = 0  # requests in `period` seconds; 0: no limit
    period: float = 60.0
    cache: bool = True
    cache_least: int = 1024  # tokens from which a prefix is kept
    cache_step: int = 128  # OpenAI's granularity
    validate: bool = (
        True  # reject prompts that the real services would reject; `check` in files means the same
    )
    binding: bool = True  # accept thinking only after the prefix it was made under (Anthropic)
    budget: int = 0  # limit on the tokens of a prompt's text and tools; more is a flaw; 0: unlimited
    once: bool = False  # a line without `times` answers once, so that lines play in order
    tokens: str = ""  # the model whose vocabulary counts tokens; empty: four bytes each


def load_scenario(path: str | Path) -> Scenario:
    """Return a scenario from a TOML or JSON file."""
    place = Path(path)
    try:
        text = read_text(place)
    except FileNotFoundError as error:
        raise NotFound(f"no such scenario: {place}", hint="give a TOML or JSON file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"cannot read the scenario {place}: {error}") from error
    try:
        if place.suffix.lower() == ".json":
            data: Json = json.loads(text)
        else:
            import tomllib

            data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # both kinds of syntax errors are ValueErrors
        raise FormatError(f"cannot read the scenario {place}: {error}") from error
    return scenario_of(data, str(place))


def scenario_of(data: Json, where: str = "scenario") -> Scenario:
    """Return a scenario from its JSON shape: `{"server": {…}, "line": [{…}]}`."""
    table = _mapping(data, where)
    _check_settings(table, ("server", "line"), where)
    server = dict(_mapping(table.get("server", {}), f"{where}: server"))
    if "check" in server:
        server["validate"] = server.pop("check")
    _check_settings(server, [f.name for f in fields(Scenario) if f.name != "lines"], f"{where}: server")
    lines = table.get("line", [])
    if not isinstance(lines, Sequence) or isinstance(lines, str):
        raise FormatError(f"{where}: line is not a list", hint="write [[line]] before every answer")
    found = [_line(entry, f"{where}: line {n}") for n, entry in enumerate(cast("list[Json]", lines), 1)]
    made = _convert_values(Scenario, server, f"{where}: server")
    return replace(Scenario(**made), lines=tuple(found))


def _line(entry: Json, where: str) -> Line:
    given = dict(_mapping(entry, where))
    _check_settings(given, [f.name for f in fields(Line)], where)
    for name in ("contains", "anywhere"):
        if isinstance(given.get(name), str):
            given[name] = [given[name]]
    if "fault" in given:
        fault = dict(_mapping(given["fault"], f"{where}, fault"))
        _check_settings(fault, [f.name for f in fields(Fault)], f"{where}, fault")
        given["fault"] = Fault(**_convert_values(Fault, fault, f"{where}, fault"))
    calls: list[ScriptedCall] = []
    for call in cast("list[Json]", given.get("calls", [])):
        told = dict(_mapping(call, f"{where}, calls"))
        _check_settings(told, [f.name for f in fields(ScriptedCall)], f"{where}, calls")
        if not told.get("name"):
            raise FormatError(f"{where}: a call without a name")
        calls.append(ScriptedCall(**_convert_values(ScriptedCall, told, f"{where}, calls")))
    line = replace(Line(**_convert_values(Line, given, where)), calls=tuple(calls))
    _check(line, where)
    return line


def _check(line: Line, where: str) -> None:
    allowed = {
        "wire": (line.wire, ("", *WIRES)),
        "role": (line.role, ("", *_ROLES)),
        "finish": (line.finish, ("", *_FINISHES)),
    }
    for name, (value, known) in allowed.items():
        if value not in known:
            raise FormatError(
                f"{where}: {name} cannot be {value!r}", hint=f"use one of {', '.join(k for k in known if k)}"
            )
    try:
        re.compile(line.matches)
    except re.error as error:
        raise FormatError(f"{where}: not a regular expression: {line.matches!r} ({error})") from error
    if line.chunk < 1:
        raise FormatError(f"{where}: chunk must be 1 or more")


def _mapping(value: Json, where: str) -> Mapping[str, Json]:
    if not isinstance(value, Mapping):
        raise FormatError(f"{where} is not a table")
    return cast("Mapping[str, Json]", value)


def _check_settings(given: Mapping[str, Json], known: Sequence[str], where: str) -> None:
    for name in given:
        if name not in known:
            raise FormatError(f"{where}: unknown setting {name!r}", hint=f"known: {', '.join(known)}")


_KINDS: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "bool": (bool,),
    "bool | None": (bool,),
    "int": (int,),
    "int | None": (int,),
    "float": (int, float),
    "float | None": (int, float),
    "tuple[str, ...]": (list, tuple),
    "tuple[Called, ...]": (list, tuple),
}


def _convert_values(
    shape: type[Scenario | Line | Fault | ScriptedCall], given: Mapping[str, Json], where: str
) -> dict[str, Json]:
    """Return the values by name, of the right type; lists become tuples."""
    out: dict[str, Json] = {}
    kinds = {f.name: str(f.type) for f in fields(shape)}
    for name, value in given.items():
        kind = kinds[name]
        wanted = _KINDS.get(kind)
        if wanted is not None:
            odd = isinstance(value, bool) and bool not in wanted
            if odd or not isinstance(value, wanted) or (bool not in wanted and _impossible(value)):
                raise FormatError(f"{where}: {name} cannot be {value!r}")
        elif kind.startswith("Mapping") and not isinstance(value, Mapping):
            raise FormatError(f"{where}: {name} cannot be {value!r}")
        out[name] = tuple(cast("list[Json]", value)) if isinstance(value, list) else value
    return out


def _impossible(value: Json) -> bool:
    """Return True for negative numbers, infinity and NaN."""
    return isinstance(value, int | float) and not 0 <= value < float("inf")


def __getattr__(name: str) -> object:
    """Return `ScriptedCall` by its old name, `Called`: deprecated, for one release."""
    if name == "Called":
        warn_renamed("Called", "ScriptedCall")
        return ScriptedCall
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
