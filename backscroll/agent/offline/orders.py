"""Explicit commands for the offline assistant, in English and Chinese.

Owns parsing one line (`read README.md`, `运行 git status`, `crop top 5`) into a tool call. What is not clearly a command is not one:
a question that begins with the same word is answered from history instead. Refuses: running anything (the loop does, with the usual
approval).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import cast

from backscroll.errors import InvalidInput
from backscroll.vocab.handle import parse_handle
from backscroll.vocab.part import Json

_QUESTION = ("?", "？")
_QUOTES = "\"'“”‘’「」`"
_LINES = re.compile(
    r"(?P<path>.+?)[\s:：]+(?:lines?\s+|第)?(?P<first>\d{1,9})\s*(?:-|–|~|到|至|to)\s*(?P<last>\d{1,9})行?"
)
_CROP = re.compile(
    r"(?P<where>[a-z]+|[\u4e00-\u9fff]+?)的?\s*(?P<n>\d{1,9})\s*(?:条|messages?)?\s*(?:[:：]\s*(?P<summary>.*))?",
    re.IGNORECASE,
)
_HAN = re.compile(r"[\u3400-\u9fff]")
_MOST_WORDS = 4  # words that a path may have: more is a sentence


@dataclass(frozen=True, slots=True)
class TodoLine:
    """One line of the to-do list."""

    text: str
    status: str = "pending"


@dataclass(frozen=True, slots=True)
class CompanionOrder:
    """A tool to call; `trouble` names the companion's reply if the command makes no sense."""

    tool: str
    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    trouble: str = ""


@cache
def tables() -> dict[str, Json]:
    """Return the tables of what the companion understands and says."""
    return tomllib.loads((files("backscroll.agent") / "companion.toml").read_text(encoding="utf-8"))


def asks_for_help(text: str) -> bool:
    """Return True if the user asks which commands there are."""
    return text.strip().lower() in tables()["words"]["help"]


def usages(language: str, tools: Sequence[str]) -> list[str]:
    """Return the syntax of the commands, for the tools that are available."""
    found = cast("list[dict[str, str]]", tables()["orders"])
    return [order[f"usage_{language}"] for order in found if order["tool"] in tools]


def order_of(text: str, todos: Sequence[TodoLine] = ()) -> CompanionOrder | None:
    """Parse the command in a line; None if there is none."""
    text = text.strip()
    if text.startswith(("!", "！")) and text[1:].strip():
        return CompanionOrder("run_command", {"command": text[1:].strip()})
    if not text or "\n" in text:
        return None
    for table in cast("list[dict[str, Json]]", tables()["orders"]):
        if (rest := _behind(text, table)) is not None:
            found = _TAKES[table["takes"]](str(table["tool"]), rest, todos)
            if found is not None:
                return found
    return None


def _behind(text: str, table: Mapping[str, Json]) -> str | None:
    """Return the text after the command word; None if the text does not begin with one."""
    colon = table["takes"] == "after_colon"
    for word in cast("list[str]", [*table["en"], *table["zh"]]):
        if text[: len(word)].lower() != word:
            continue
        rest = text[len(word) :]
        if colon:
            if rest.lstrip()[:1] in (":", "：") and (said := rest.lstrip()[1:].strip()):
                return said
        elif _apart(word, rest, str(table["takes"])):
            return rest.lstrip(" \t:：").strip()
    return None


def _apart(word: str, rest: str, takes: str) -> bool:
    """Return True if a word ends here: a blank or a colon follows, or (Chinese needs none) something that is not a Chinese word."""
    if not rest or rest[0] in " \t:：\u3000":
        return True
    if not _HAN.match(word):
        return False
    return takes in ("text", "crop") or not _HAN.match(rest)


def _strip_quotes(text: str) -> str:
    text = text.strip()
    return text[1:-1].strip() if len(text) > 1 and text[0] in _QUOTES and text[-1] in _QUOTES else text


# -- what is behind the word ---------------------------------------------------------------------------------


def _path(tool: str, rest: str, _todos: Sequence[TodoLine]) -> CompanionOrder | None:
    lines = _LINES.fullmatch(rest)
    path = _strip_quotes(lines["path"] if lines else rest)
    quoted = path != (lines["path"] if lines else rest).strip()
    if not path or path.endswith(_QUESTION) or (not quoted and not _like_a_path(path)):
        return None
    arguments: dict[str, Json] = {"path": path}
    if lines:
        arguments |= {"first": int(lines["first"]), "last": int(lines["last"])}
    return CompanionOrder(tool, arguments)


def _like_a_path(text: str) -> bool:
    words = text.split()
    if len(words) == 1:
        return "." in text or "/" in text or text.isupper() or text.isascii()
    return len(words) <= _MOST_WORDS and ("/" in text or "." in words[-1][1:-1])


def _folder(tool: str, rest: str, _todos: Sequence[TodoLine]) -> CompanionOrder | None:
    path = _strip_quotes(rest)
    if path and (path.endswith(_QUESTION) or (path == rest and len(path.split()) > 1)):
        return None
    return CompanionOrder(tool, {"path": path} if path else {})


def _words(tool: str, rest: str, _todos: Sequence[TodoLine]) -> CompanionOrder | None:
    words = _strip_quotes(rest)
    if not words or words.endswith(_QUESTION):
        return None
    return CompanionOrder(
        tool, {"name": words} if tool == "graph_lookup" else {"pattern": words, "literal": True}
    )


def _line(tool: str, rest: str, _todos: Sequence[TodoLine]) -> CompanionOrder | None:
    line = rest.strip()
    line = line[1:-1].strip() if len(line) > 1 and line[0] == line[-1] == "`" else line
    first = line.split()[0].lower() if line else ""
    if not first or first in tables()["words"]["no_command"] or _HAN.match(first):
        return None
    return CompanionOrder(tool, {"command": line})


def _handle(tool: str, rest: str, _todos: Sequence[TodoLine]) -> CompanionOrder | None:
    try:
        return CompanionOrder(tool, {"handle": str(parse_handle(rest))})
    except InvalidInput:
        return None


def _text(tool: str, rest: str, _todos: Sequence[TodoLine]) -> CompanionOrder | None:
    if not rest or (tool == "remember" and rest.endswith(_QUESTION)):
        return None
    return CompanionOrder(tool, {"query": rest} if tool == "recall" else {"text": rest})


def _after_colon(tool: str, rest: str, _todos: Sequence[TodoLine]) -> CompanionOrder | None:
    return CompanionOrder(tool, {"result": rest} if tool == "attempt_completion" else {"title": rest})


def _todo(tool: str, rest: str, todos: Sequence[TodoLine]) -> CompanionOrder | None:
    if not rest or rest.endswith(_QUESTION):
        return None
    now = list(todos)
    word, _, number = rest.partition(" ")
    if word.lower() in tables()["words"]["done"] and number.strip().isdecimal():
        n = int(number)
        if not 1 <= n <= len(now):
            return CompanionOrder(tool, trouble="no_todos")
        now[n - 1] = TodoLine(now[n - 1].text, "completed")
    else:
        now.append(TodoLine(rest))
    return CompanionOrder(tool, {"todos": [{"text": todo.text, "status": todo.status} for todo in now]})


def _crop(tool: str, rest: str, _todos: Sequence[TodoLine]) -> CompanionOrder | None:
    found = _CROP.fullmatch(rest)
    words = cast("dict[str, list[str]]", tables()["words"])
    where = found["where"].lower() if found else ""
    direction = "top" if where in words["top"] else "bottom" if where in words["bottom"] else ""
    if found is None or not direction:
        return None
    arguments: dict[str, Json] = {
        "crop_direction": direction,
        "crop_amount": int(found["n"]),
    }
    if summary := (found["summary"] or "").strip():
        arguments["deleted_messages_summary"] = summary  # without a summary, the engine writes one
    return CompanionOrder(tool, arguments)


_TAKES: Mapping[str, Callable[[str, str, Sequence[TodoLine]], CompanionOrder | None]] = {
    "path": _path,
    "folder": _folder,
    "words": _words,
    "line": _line,
    "handle": _handle,
    "text": _text,
    "after_colon": _after_colon,
    "todo": _todo,
    "crop": _crop,
}
