"""Source code written by tools: what it defines, and which packages it imports.

Owns reading a piece of code by its file extension (`extract_code.toml`); nothing is parsed, because pieces of
edits are not whole programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import cast

from backscroll.derive.extract.code.words import table, words
from backscroll.vocab.part import Json

_WIDE = 40_000  # characters of one piece that are read
_CLASSES = frozenset(
    {"class", "interface", "enum", "type", "struct", "trait", "record", "object", "protocol", "module"}
)
_ENTRY = frozenset({"main", "setup", "init", "run", "test"})


@dataclass(frozen=True, slots=True)
class CodeDefinition:
    """A definition in code."""

    name: str
    kind: str  # class or function
    line: str


@cache
def _by_ending() -> Mapping[str, str]:
    rows = cast("dict[str, dict[str, list[str]]]", table()["languages"])
    return {ending: name for name, row in rows.items() for ending in row["endings"]}


@cache
def _shapes(language: str, key: str) -> tuple[re.Pattern[str], ...]:
    rows = cast("dict[str, dict[str, Json]]", table()["languages"])
    return tuple(re.compile(row, re.MULTILINE) for row in cast("list[str]", rows[language][key]))


def language_of_file(path: str) -> str:
    """Return the language of a file by its extension; empty if unknown."""
    return _by_ending().get(path.rsplit(".", 1)[-1].lower(), "") if "." in path else ""


def defined_by(path: str, code: str) -> list[CodeDefinition]:
    """Return what a piece of code defines for others: classes first, then functions; no private names and no tests."""
    language = language_of_file(path)
    if not language:
        return []
    out: dict[str, CodeDefinition] = {}
    for pattern in _shapes(language, "defines"):
        for found in pattern.finditer(code[:_WIDE]):
            name, told = found["name"], found["kind"].split()[-1]
            if name.startswith("_") or name.lower().startswith("test") or name in _ENTRY or len(name) < 3:
                continue
            if language == "python" and told == "def" and found[0][:1] in " \t":
                continue  # a method: its class stands for it
            kind = "class" if told in _CLASSES else "function"
            start = code.rfind("\n", 0, found.end()) + 1
            end = code.find("\n", found.end())
            line = code[start : end if end >= 0 else len(code)].strip()[:160]
            out.setdefault(name, CodeDefinition(name, kind, line))
    return sorted(out.values(), key=lambda d: d.kind != "class")


def packages_in(path: str, code: str) -> Iterator[tuple[str, str]]:
    """Yield packages that a piece of code imports, with the line; not the standard library, nor the project's own modules."""
    language = language_of_file(path)
    if not language:
        return
    own = words("own", language) if language in table()["own"] else frozenset[str]()
    near = {part.rsplit(".", 1)[0] for part in re.split(r"[/\\]", path)}
    seen: set[str] = set()
    for pattern in _shapes(language, "imports"):
        for found in pattern.finditer(code[:_WIDE]):
            name = _package(language, found["name"])
            if not name or name in seen or name in own or name in near or name.startswith(("@/", "node:")):
                continue
            if language == "go" and _inside(path, found["name"]):
                continue
            seen.add(name)
            start = code.rfind("\n", 0, found.start() + 1) + 1
            end = code.find("\n", found.end())
            yield name, code[start : end if end >= 0 else len(code)].strip()[:160]


def _inside(path: str, module: str) -> bool:
    """Return True for a module of the project itself: the file is in a folder of that name."""
    folders = module.split("/")[3:4]
    return bool(folders) and f"/{folders[0]}/" in f"/{path}"


def _package(language: str, name: str) -> str:
    """Return the package that a module belongs to."""
    if language == "script":
        parts = name.split("/")
        return "/".join(parts[:2]) if name.startswith("@") else parts[0]
    if language == "go":
        return "/".join(name.split("/")[:3])
    return name
