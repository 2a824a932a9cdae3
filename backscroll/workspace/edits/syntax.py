"""Syntax checks for edited files.

Reports the first error of a text in a known language, with its line. Nothing is run or imported: Python is only parsed. Files
in unknown languages pass.
"""

from __future__ import annotations

import ast
import json
import tomllib
import warnings
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import cast

_LONGEST = 2_000_000  # characters; parsing more takes seconds
_DEEPEST = "it is nested too deeply"
_COMMENTED = {
    "tsconfig.json",
    "jsconfig.json",
    "devcontainer.json",
    "settings.json",
    "launch.json",
    "tasks.json",
    "extensions.json",
    ".eslintrc.json",
}

_TEMPLATED = {".yaml", ".yml", ".json", ".toml", ".xml"}


def flaw(path: str, text: str) -> str:
    """Return the syntax error of a file's text in one line; empty if there is none, or the language is unknown."""
    name = PurePosixPath(path)
    check = _CHECKS.get(name.suffix.lower())
    if check is None or len(text) > _LONGEST:
        return ""
    if name.name.lower() in _COMMENTED or (name.parent.name == ".vscode" and name.suffix == ".json"):
        return ""  # JSON with comments
    if "{{" in text and "}}" in text and name.suffix.lower() in _TEMPLATED:
        return ""  # a template of such a file
    try:
        return check(text)
    except (RecursionError, MemoryError):
        return _DEEPEST


def _python(text: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in a string is not a flaw
            ast.parse(text)
    except SyntaxError as error:
        return f"Python, line {error.lineno or 1}: {error.msg}"
    except ValueError as error:  # a NUL character, a lone surrogate
        return f"Python: {error}"
    return ""


def _json(text: str) -> str:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f"JSON, line {error.lineno}: {error.msg}"
    return ""


def _json_lines(text: str) -> str:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            json.loads(line)
        except json.JSONDecodeError as error:
            return f"JSON, line {number}: {error.msg}"
    return ""


def _toml(text: str) -> str:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return f"TOML: {error}"
    return ""


def _yaml(text: str) -> str:
    import yaml

    try:
        # Only the structure is checked: tags are not resolved or constructed.
        for _ in yaml.parse(text, Loader=yaml.SafeLoader):
            pass
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        return f"YAML, line {mark.line + 1 if mark else 1}: {error.problem or error.context or ''}"
    except yaml.YAMLError as error:
        return f"YAML: {' '.join(str(error).split())}"
    return ""


def _xml(text: str) -> str:
    from xml.parsers import expat

    parser = expat.ParserCreate()
    # Entities defined in the text are never expanded: they could grow without bound.
    parser.EntityDeclHandler = _no_entities
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    try:
        parser.Parse(text.encode("utf-8", "surrogatepass"), True)
    except expat.ExpatError as error:
        return f"XML, line {error.lineno}: {expat.ErrorString(error.code)}"
    except _Entities:
        return ""
    return ""


class _Entities(Exception):
    """The text defines entities of its own."""


def _no_entities(*_: object) -> None:
    raise _Entities


_CHECKS = cast(
    "dict[str, Callable[[str], str]]",
    {
        ".py": _python,
        ".pyi": _python,
        ".json": _json,
        ".jsonl": _json_lines,
        ".ndjson": _json_lines,
        ".ipynb": _json,
        ".toml": _toml,
        ".yaml": _yaml,
        ".yml": _yaml,
        ".xml": _xml,
        ".svg": _xml,
        ".xsd": _xml,
        ".xsl": _xml,
        ".xhtml": _xml,
        ".plist": _xml,
    },
)
