"""Evaluate ignore files as git does, without git.

Owns precedence among ignore files (the deepest wins, and in it the last matching line), and user-written patterns that select
files. Git itself is not used: a repository's settings can make it run programs, and listing files must run nothing.
Elsewhere: the meaning of one pattern (`patterns`), walking (`listing`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from backscroll.workspace.files.patterns import parse_line


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """One line of an ignore file."""

    fits: re.Pattern[str]  # a path below the folder of the ignore file
    negated: bool = False
    folders_only: bool = False


@dataclass(frozen=True, slots=True)
class IgnoreFiles:
    """The ignore files in effect in a folder: those of the folders above it, then its own."""

    layers: tuple[
        tuple[str, tuple[IgnoreRule, ...]], ...
    ] = ()  # (folder with / at its end, or empty for the top; its rules)

    def with_file(self, folder: str, text: str) -> IgnoreFiles:
        """Add the ignore file of a folder below."""
        rules = read_rules(_as_bytes(text.removeprefix("\ufeff")))
        prefix = "" if folder in ("", ".") else f"{folder}/"
        return IgnoreFiles((*self.layers, (prefix, rules))) if rules else self

    def ignores(self, path: str, *, folder: bool) -> bool:
        """Return True if the last matching line ignores the path. Paths inside ignored folders are not passed in."""
        for prefix, rules in reversed(self.layers):
            if not path.startswith(prefix):
                continue
            below = _as_bytes(path[len(prefix) :])
            for rule in reversed(rules):
                if (folder or not rule.folders_only) and rule.fits.match(below):
                    return not rule.negated
        return False


def _as_bytes(text: str) -> str:
    """Map each byte to one character: git's `?` matches a byte, so part of a Chinese character."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("latin-1")


def read_rules(text: str) -> tuple[IgnoreRule, ...]:
    """Return the rules of an ignore file."""
    lines = text.replace("\r\n", "\n").split("\n")
    return tuple(rule for line in lines if (rule := _rule(line)) is not None)


def _rule(line: str) -> IgnoreRule | None:
    found = parse_line(line)
    if found is None:
        return None
    anywhere = "" if found.anchored else "(?:.*/)?"
    return IgnoreRule(
        re.compile(f"{anywhere}{found.expression}\\Z", re.DOTALL), found.negated, found.only_folders
    )


class PathSelection:
    """Paths picked by patterns, as a person writes them: `*.py`, `src/**/*.{ts,tsx}`, several with commas or spaces between."""

    def __init__(self, patterns: str) -> None:
        self._rules = _parse_patterns(patterns.strip())

    def __bool__(self) -> bool:
        return bool(self._rules)

    def takes(self, path: str) -> bool:
        """Return True if a pattern matches the path or a folder above it; without patterns, always. `!` excludes."""
        if not self._rules:
            return True
        taken = all(rule.negated for rule in self._rules)
        for rule in self._rules:
            if (not rule.folders_only and rule.fits.match(path)) or any(
                rule.fits.match(folder) for folder in _above(path)
            ):
                taken = not rule.negated
        return taken


@lru_cache(maxsize=64)
def _parse_patterns(patterns: str) -> tuple[IgnoreRule, ...]:
    pieces = [piece for given in _split(patterns) for piece in _expand_braces(given)]
    return tuple(rule for piece in pieces if (rule := _rule(piece.removeprefix("./"))) is not None)


def _above(path: str) -> Sequence[str]:
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]


def _split(patterns: str) -> list[str]:
    """Split at commas and spaces outside braces."""
    pieces, depth, piece = list[str](), 0, ""
    for c in patterns:
        depth += (c == "{") - (c == "}")
        if depth <= 0 and c in ", \n":
            pieces.append(piece)
            piece = ""
        else:
            piece += c
    return [p for p in (*pieces, piece) if p]


def _expand_braces(pattern: str) -> list[str]:
    """Expand `a.{b,c}` to `a.b` and `a.c`; 64 at most."""
    done, todo = list[str](), [pattern]
    while todo and len(done) + len(todo) <= 64:
        now = todo.pop(0)
        match = re.search(r"\{([^{}]*,[^{}]*)\}", now)
        if match is None:
            done.append(now)
            continue
        todo += [now[: match.start()] + choice + now[match.end() :] for choice in match.group(1).split(",")]
    return done + todo
