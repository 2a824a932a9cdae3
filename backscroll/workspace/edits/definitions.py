"""Find definitions in a text: functions, classes and headings, with their lines.

Python by its grammar, other languages by patterns (`telling.toml`). Precise enough for a one-line description; not a parser.
"""

from __future__ import annotations

import ast
import functools
import re
import tomllib
import warnings
from dataclasses import dataclass
from importlib import resources
from pathlib import PurePosixPath

from backscroll.vocab.part import Json

_LONGEST = 500_000  # maximum characters of a text that is analysed
_LONGEST_LINE = 400
_PYTHON = {".py", ".pyi", ".pyw"}


@dataclass(frozen=True, slots=True)
class Definition:
    """A name and the lines it takes, from 1."""

    name: str
    first: int
    last: int


@functools.cache
def telling_table() -> Json:
    """Return the data file."""
    text = resources.files("backscroll.workspace").joinpath("telling.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@functools.cache
def _expressions() -> dict[str, tuple[re.Pattern[str], ...]]:
    found: dict[str, tuple[re.Pattern[str], ...]] = {}
    for language in telling_table()["languages"]:
        compiled = tuple(re.compile(one) for one in language["definitions"])
        found |= dict.fromkeys(language["endings"], compiled)
    return found


def definitions(path: str, text: str) -> list[Definition]:
    """Return the definitions of a text, in order; none if the language is not known."""
    ending = PurePosixPath(path).suffix.lower()
    if len(text) > _LONGEST:
        return []
    if ending in _PYTHON:
        parsed = _python(text)
        if parsed is not None:
            return parsed
    expressions = _expressions().get(ending)
    return [] if expressions is None else _by_patterns(text, expressions)


def _python(text: str) -> list[Definition] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about the analysed code: odd escapes
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found: list[Definition] = []
    _collect(tree.body, "", found)
    return sorted(found, key=lambda one: (one.first, -one.last))


def _collect(body: list[ast.stmt], prefix: str, found: list[Definition]) -> None:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            found.append(Definition(prefix + node.name, first, node.end_lineno or node.lineno))
            if isinstance(node, ast.ClassDef):
                _collect(node.body, f"{prefix}{node.name}.", found)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            _collect(node.body, prefix, found)


def _by_patterns(text: str, expressions: tuple[re.Pattern[str], ...]) -> list[Definition]:
    """Find definitions by patterns; each reaches to the next one."""
    starts: list[tuple[int, str]] = []
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if len(line) > _LONGEST_LINE:
            continue
        match = next((m for m in (one.match(line) for one in expressions) if m), None)
        if match and (name := match[1].strip()):
            starts.append((number, name[:80]))
    ends = [number - 1 for number, _ in starts[1:]] + [len(lines)]
    return [Definition(name, number, end) for (number, name), end in zip(starts, ends, strict=False)]
