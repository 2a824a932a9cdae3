"""Parsing docstrings: the description and the parameters, in the usual styles.

Owns reading the sections on parameters: Google (`Args:`), reST (`:param x:`) and numpy (`Parameters` underlined), and Chinese
`参数：`. Everything else is the description. Refuses: types (`agent/schema` reads the hints).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_GOOGLE = re.compile(r"(?i)(?:args|arguments|parameters|params|参数)\s*[:：]\s*")
_NUMPY = re.compile(r"(?i)(?:parameters|other parameters|参数)\s*")
_NAMED = re.compile(r"\*{0,2}(\w+)\s*(?:[(（][^)）]*[)）])?\s*[:：]\s*(.*)")
_FIELD = re.compile(r":(?:param|parameter|arg|argument|key)\s+(?:[^:]*?\s)?\*{0,2}(\w+)\s*:\s*(.*)")
_OTHER_FIELD = re.compile(r":(?:type|rtype|return|returns|raises?|var|ivar)\b[^:]*:")
_UNDERLINE = re.compile(r"-{3,}\s*")


def _none() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class DocstringParts:
    """A parsed docstring."""

    text: str = ""  # without the descriptions of parameters
    parameters: Mapping[str, str] = field(default_factory=_none)


def parse_docstring(doc: str | None) -> DocstringParts:
    """Split a docstring into description and parameters."""
    lines = inspect.cleandoc(doc or "").split("\n")
    kept: list[str] = []
    found: dict[str, str] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        if _GOOGLE.fullmatch(line):
            at = _google(lines, at + 1, found)
        elif _NUMPY.fullmatch(line) and at + 1 < len(lines) and _UNDERLINE.fullmatch(lines[at + 1]):
            at = _numpy(lines, at + 2, found)
        elif named := _FIELD.match(line.strip()):
            at = _read_continuation(lines, at + 1, found, named[1], named[2])
        elif _OTHER_FIELD.match(line.strip()):
            at += 1  # types are read from the hints
        else:
            kept.append(line)
            at += 1
    return DocstringParts(re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), found)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _google(lines: list[str], at: int, found: dict[str, str]) -> int:
    """Read a section of indented `name: words`; return the line after it."""
    depth, name = 0, ""
    while at < len(lines):
        line = lines[at]
        if line.strip():
            indent = _indent(line)
            if indent == 0:
                break
            depth = depth or indent
            named = _NAMED.match(line.strip()) if indent == depth else None
            if named:
                name = named[1]
                found[name] = named[2].strip()
            elif name:
                found[name] = f"{found[name]} {line.strip()}".strip()
        at += 1
    return at


def _numpy(lines: list[str], at: int, found: dict[str, str]) -> int:
    """Read a section of `name : type` with indented words below; return the line after it."""
    names: list[str] = []
    while at < len(lines):
        line = lines[at]
        following = lines[at + 1] if at + 1 < len(lines) else ""
        if line.strip() and _indent(line) == 0:
            if _UNDERLINE.fullmatch(following) or not re.match(r"[\w*, ]+(?:\s*:.*)?$", line):
                break
            names = [n.strip().lstrip("*") for n in line.split(":")[0].split(",")]
            found.update(dict.fromkeys(names, ""))
        else:
            for name in names if line.strip() else ():
                found[name] = f"{found[name]} {line.strip()}".strip()
        at += 1
    return at


def _read_continuation(lines: list[str], at: int, found: dict[str, str], name: str, words: str) -> int:
    """Read the indented continuation of a reST field; return the line after it."""
    text = words.strip()
    while at < len(lines) and lines[at].strip() and _indent(lines[at]) > 0:
        text = f"{text} {lines[at].strip()}".strip()
        at += 1
    found[name] = text
    return at
