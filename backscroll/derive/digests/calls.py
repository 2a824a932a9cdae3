"""The subject of a tool call: its arguments as a mapping, the kind of tool, and the target.

Owns: names of tools in every convention (`Read`, `read_file`, `mcp__files__read_file`, `files.read_file`), arguments that are
JSON, a string of JSON, or neither. Refuses: results.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias, cast

from backscroll.derive.digests.cues import table, words
from backscroll.derive.digests.output_text import cut_middle, one_line, plain
from backscroll.formats.sources.json_text import NotJson, words_parsed
from backscroll.vocab.part import Json
from backscroll.vocab.values.pattern import late

Kind: TypeAlias = Literal[
    "read", "write", "edit", "search", "list", "command", "web", "database", "todo", "task", "other"
]
_TARGET = 90
_DEPTH = 12
_MANY = 2_000  # values of one call that are examined

_CAMEL = late(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = late(r"[\s\-]+")
_PATCHED = late(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_MOVED = late(r"^\*\*\* Move to: (.+)$", re.MULTILINE)
_DIFFED = late(r"^\+\+\+ (?:b/)?(\S+)", re.MULTILINE)
_LOGIN_SHELL = late(r"^(?:/\w+)*/?(?:ba|z|da|k)?sh$")


@dataclass(frozen=True, slots=True)
class CallDetails:
    """A parsed call."""

    name: str
    kind: Kind
    arguments: Mapping[str, Json]
    raw: str  # the arguments as text, if they are not a mapping
    target: str


def parse_call(name: str, arguments: Json) -> CallDetails:
    """Parse a call."""
    given, raw = arguments_of(arguments)
    inner_name, inner = _passed_on(name, given)
    kind = _kind(inner_name, frozenset(inner), _door(inner_name, inner), bool(_PATCHED.search(raw)))
    return CallDetails(name, kind, inner, raw, _target(kind, inner, raw))


def kind_of(tool_name: str, arguments: Json = None) -> Kind:
    """Return the kind of tool a call uses: by its name, else by the words of the name and the names of the arguments."""
    return parse_call(tool_name, arguments).kind


def arguments_of(arguments: Json) -> tuple[Mapping[str, Json], str]:
    """Return the arguments as a mapping, or as text where they are not one; a wire may send either."""
    if isinstance(arguments, str):
        value = words_parsed(arguments) if arguments.lstrip()[:1] in ("{", "[", '"') else NotJson("", 0)
        if isinstance(value, NotJson):
            return {}, arguments
        arguments = value
    if isinstance(arguments, dict):
        given = cast("dict[object, Json]", arguments)
        return {str(key): value for key, value in given.items()}, ""
    if arguments is None:
        return {}, ""
    return {}, arguments if isinstance(arguments, str) else "\n".join(scalars(arguments))


def scalars(value: Json, depth: int = 0) -> Iterator[str]:
    """Yield all texts and numbers in a JSON value, in reading order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, int | float):
        yield str(value)
    elif depth < _DEPTH and isinstance(value, dict):
        for inner in cast("dict[str, Json]", value).values():
            yield from scalars(inner, depth + 1)
    elif depth < _DEPTH and isinstance(value, list | tuple):
        for inner in cast("list[Json]", value)[:_MANY]:
            yield from scalars(inner, depth + 1)


@lru_cache(maxsize=4096)
def plain_name(name: str) -> str:
    """Return the name of a tool in lower snake case, without a server or namespace prefix."""
    last = re.split(r"__|[./:]", name.strip())[-1] or name.strip()
    return _SEPARATORS.sub("_", _CAMEL.sub("_", last)).strip("_").lower()


@lru_cache(maxsize=1)
def _names() -> Mapping[str, Kind]:
    named = cast("dict[Kind, list[str]]", table("tools")["names"])
    return {name: kind for kind, names in named.items() for name in names}


def _passed_on(name: str, given: Mapping[str, Json]) -> tuple[str, Mapping[str, Json]]:
    """Return the tool and arguments that a call passes on to another tool, else its own."""
    if plain_name(name) not in words("tools", "passing", "names"):
        return name, given
    inner = next(
        (given[key] for key in table("tools")["passing"]["tool"] if isinstance(given.get(key), str)), name
    )
    held = next((given[key] for key in table("tools")["passing"]["arguments"] if given.get(key)), None)
    passed, _ = arguments_of(held)
    return cast("str", inner), passed or given


def _door(name: str, given: Mapping[str, Json]) -> str:
    """Return the operation requested from a multi-purpose tool."""
    if plain_name(name) not in words("tools", "doors", "names"):
        return ""
    asked_for = next(
        (given[key] for key in table("tools")["doors"]["keys"] if isinstance(given.get(key), str)), ""
    )
    verbs = cast("dict[str, str]", table("tools")["doors"]["what"])
    # Some recordings leave out the command; the arguments reveal it.
    return verbs.get(
        cast("str", asked_for), "edit" if words("tools", "arguments", "text") & given.keys() else "read"
    )


@lru_cache(maxsize=4096)
def _kind(name: str, keys: frozenset[str], door: str, patch: bool) -> Kind:
    if door:
        return cast("Kind", door)
    simple = plain_name(name)
    known = _names().get(simple) or _names().get(_SEPARATORS.sub("_", name.strip()).lower())
    if known is not None:
        return "database" if known == "search" and simple == "query" and "sql" in keys else known
    if patch:
        return "edit"
    parts = set(simple.split("_"))
    for row in cast("list[dict[str, Json]]", table("tools")["words"]):
        fits = any(word in parts or (not word.isascii() and word in simple) for word in row["words"])
        if fits and ("needs" not in row or _holds(keys, row["needs"])):
            return row["kind"]
    return _kind_by_arguments(keys)


def _holds(keys: Iterable[str], group: str) -> bool:
    return not words("tools", "arguments", group).isdisjoint(keys)


def _kind_by_arguments(keys: frozenset[str]) -> Kind:
    """Return the kind of a tool with a generic name, from arguments that only that kind has."""
    if keys & {"sql", "statement", "sql_query"}:
        return "database"
    if keys & {"old_string", "old_str", "new_str", "diff", "patch"}:
        return "edit"
    if keys & {"command", "cmd"}:
        return "command"
    if keys & {"url", "urls"}:
        return "web"
    if keys & {"file_path", "filepath", "filePath", "notebook_path", "absolute_path"}:
        return "write" if keys & {"content", "contents", "file_text"} else "read"
    return "other"


def _target(kind: Kind, given: Mapping[str, Json], raw: str) -> str:
    """Return the target of a call, on one line."""
    patched = _PATCHED.findall(
        raw or next((v for v in given.values() if isinstance(v, str) and "*** " in v), "")
    )
    if kind == "edit" and patched:
        more = f" +{len(patched) - 1}" if len(patched) > 1 else ""
        return cut_middle(one_line(patched[0]), _TARGET - len(more)) + more
    found = _describe_target(kind, given)
    if not found and kind == "edit":
        text = raw or next((v for v in given.values() if isinstance(v, str) and "+++ " in v), "")
        found = next(iter(_DIFFED.findall(text)), "")
    if not found and raw:
        found = next((line for line in plain(raw).split("\n") if line.strip()), "")
    return cut_middle(one_line(plain(found)), _TARGET)


def _describe_target(kind: Kind, given: Mapping[str, Json]) -> str:
    match kind:
        case "read" | "write" | "edit":
            return _find_argument(given, "path") or _most_telling(given)
        case "search":
            pattern, place = _find_argument(given, "pattern"), _find_argument(given, "place")
            return (
                f"{pattern} in {place}"
                if pattern and place and pattern != place
                else pattern or _most_telling(given)
            )
        case "list":
            return (
                _find_argument(given, "pattern")
                or _find_argument(given, "place")
                or _find_argument(given, "path")
                or _most_telling(given)
            )
        case "command":
            return _find_argument(given, "command") or _most_telling(given)
        case "web":
            return _find_argument(given, "url") or _find_argument(given, "pattern") or _most_telling(given)
        case "database":
            return _find_argument(given, "sql") or _find_argument(given, "path") or _most_telling(given)
        case "task":
            return _find_argument(given, "prompt") or _most_telling(given)
        case "todo":
            return ""
        case "other":
            return _most_telling(given)


def _find_argument(given: Mapping[str, Json], group: str) -> str:
    """Return the first argument of a group that is not empty."""
    for key in cast("list[str]", table("tools")["arguments"][group]):
        value = given.get(key)
        if text := _format_argument(value):
            return text
    return ""


def _format_argument(value: Json) -> str:
    if isinstance(value, list | tuple):
        items = [str(item) for item in cast("list[Json]", value) if isinstance(item, str | int | float)]
        if len(items) > 2 and _LOGIN_SHELL.match(items[0]) and items[1].startswith("-"):
            return items[2]  # `bash -lc "…"`: the third word is the command
        return " ".join(items)
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _most_telling(given: Mapping[str, Json]) -> str:
    """Choose among unknown arguments: names, ids and paths before prose; never options."""
    manner = words("tools", "arguments", "manner")
    shown = [(key, one_line(_format_argument(value))) for key, value in given.items() if key not in manner]
    told = [text for _, text in shown if text]
    if not told:
        inner = [
            one_line(text) for key, value in given.items() if key not in manner for text in scalars(value)
        ]
        told = [text for text in inner if text][:_MANY]
    short = [text for text in told if len(text) <= _TARGET]
    if not short:
        return told[0] if told else ""
    telling = sorted(short, key=lambda text: -_specific(text))
    out = telling[0]
    for text in telling[1:]:  # several short ones together say more than one
        if len(out) + len(text) + 1 > _TARGET * 2 // 3 or text in out:
            continue
        out += " " + text
    return out


def _specific(text: str) -> int:
    """Return how much a text looks like a unique name."""
    marks = (
        bool(re.search(r"[/\\_@#]", text)) + bool(re.search(r"\d", text)) + bool(re.search(r"\w\.\w", text))
    )
    return 2 * marks - (text.count(" ") > 5)
