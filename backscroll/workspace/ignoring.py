"""Ignore files, read as git reads them, without git.

Owns patterns (`*`, `**`, `?`, classes, a slash at either end, `!`, escapes) and which of many ignore files has the last word: the
deepest, and in it the last line that fits. Git itself is not asked: what a repository configures can make it run programs, and
looking at files must run nothing. Refuses: walking (`listing`), and what is inside an ignored folder. After: `listing`, `searching`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of an ignore file."""

    fits: re.Pattern[str]  # a path below the folder of the ignore file
    negated: bool = False
    folders_only: bool = False


@dataclass(frozen=True, slots=True)
class Ignore:
    """The ignore files that hold in a folder: those of the folders above it, then its own."""

    layers: tuple[
        tuple[str, tuple[Rule, ...]], ...
    ] = ()  # (folder with / at its end, or empty for the top; its rules)

    def with_file(self, folder: str, text: str) -> Ignore:
        """One more ignore file, in a folder below."""
        rules = read_rules(_as_bytes(text.removeprefix("\ufeff")))
        prefix = "" if folder in ("", ".") else f"{folder}/"
        return Ignore((*self.layers, (prefix, rules))) if rules else self

    def ignores(self, path: str, *, folder: bool) -> bool:
        """True where the last line that fits says so. What lies in an ignored folder is not asked about."""
        for prefix, rules in reversed(self.layers):
            if not path.startswith(prefix):
                continue
            below = _as_bytes(path[len(prefix) :])
            for rule in reversed(rules):
                if (folder or not rule.folders_only) and rule.fits.match(below):
                    return not rule.negated
        return False


def _as_bytes(text: str) -> str:
    """One character for each byte: to git, `?` is a byte, and half a Chinese character."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("latin-1")


def read_rules(text: str) -> tuple[Rule, ...]:
    """The rules of an ignore file."""
    lines = text.replace("\r\n", "\n").split("\n")
    return tuple(rule for line in lines if (rule := _rule(line)) is not None)


def _rule(line: str) -> Rule | None:
    if line.startswith("#"):
        return None
    pattern = _without_end(line)
    negated = pattern.startswith("!")
    pattern = pattern[negated:]
    folders_only = pattern.endswith("/")
    pattern = pattern[: len(pattern) - folders_only]
    anchored = "/" in pattern
    pattern = pattern.removeprefix("/")
    if not pattern:
        return None
    try:
        fits = re.compile(("" if anchored else "(?:.*/)?") + _translated(pattern) + r"\Z", re.DOTALL)
    except re.error:
        return None  # git, too, lets a broken class fit nothing
    return Rule(fits, negated, folders_only)


def _without_end(line: str) -> str:
    """Without spaces at the end, unless the last one is escaped."""
    bare = line.rstrip(" ")
    escapes = len(bare) - len(bare.rstrip("\\"))
    return f"{bare} " if escapes % 2 and bare != line else bare


def _translated(pattern: str) -> str:
    out, at = list[str](), 0
    while at < len(pattern):
        c = pattern[at]
        if c == "*":
            at, piece = _stars(pattern, at)
            out.append(piece)
            continue
        if c == "?":
            out.append("[^/]")
        elif c == "[":
            at, piece = _class(pattern, at)
            out.append(piece)
            continue
        elif c == "\\":
            at += 1
            if at == len(pattern):
                raise re.error("nothing is escaped")
            out.append(re.escape(pattern[at]))
        else:
            out.append(re.escape(c))
        at += 1
    return "".join(out)


def _stars(pattern: str, at: int) -> tuple[int, str]:
    """One star stays within a name; two between slashes are any folders."""
    end = at
    while end < len(pattern) and pattern[end] == "*":
        end += 1
    opens = at == 0 or pattern[at - 1] == "/"
    if end - at == 2 and opens:
        if pattern[end : end + 1] == "/":
            return end + 1, "(?:.*/)?"
        if end == len(pattern):
            return end, ".+" if at else ".*"
    return end, "[^/]*"


def _class(pattern: str, at: int) -> tuple[int, str]:
    """A class of characters, which never fits a slash."""
    end = at + 1
    negated = pattern[end : end + 1] in ("!", "^")
    end += negated
    first, body = end, list[str]()
    while end < len(pattern) and (pattern[end] != "]" or end == first):
        if pattern.startswith("[:", end) and (close := pattern.find(":]", end)) > 0:
            body.append(_NAMED.get(pattern[end + 2 : close], ""))
            end = close + 2
            continue
        if pattern[end] == "\\" and end + 1 < len(pattern):
            end += 1
            body.append(re.escape(pattern[end]))
        else:
            body.append("-" if pattern[end] == "-" else re.escape(pattern[end]))
        end += 1
    if end >= len(pattern):
        raise re.error("a class has no end")
    return end + 1, f"(?!/)[{'^' if negated else ''}{''.join(body)}]"


_NAMED = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "punct": r"!-/:-@\[-`{-~",
    "xdigit": "0-9a-fA-F",
}


class Chosen:
    """Paths picked by patterns, as a person writes them: `*.py`, `src/**/*.{ts,tsx}`, several with commas or spaces between."""

    def __init__(self, patterns: str) -> None:
        self._rules = _chosen(patterns.strip())

    def __bool__(self) -> bool:
        return bool(self._rules)

    def takes(self, path: str) -> bool:
        """True for what a pattern fits, or a folder above it; without patterns for everything. `!` in front leaves out."""
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
def _chosen(patterns: str) -> tuple[Rule, ...]:
    pieces = [piece for given in _split(patterns) for piece in _unfolded(given)]
    return tuple(rule for piece in pieces if (rule := _rule(piece.removeprefix("./"))) is not None)


def _above(path: str) -> Sequence[str]:
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]


def _split(patterns: str) -> list[str]:
    """At commas and spaces that stand in no braces."""
    pieces, depth, piece = list[str](), 0, ""
    for c in patterns:
        depth += (c == "{") - (c == "}")
        if depth <= 0 and c in ", \n":
            pieces.append(piece)
            piece = ""
        else:
            piece += c
    return [p for p in (*pieces, piece) if p]


def _unfolded(pattern: str) -> list[str]:
    """`a.{b,c}` as `a.b` and `a.c`; 64 at the most."""
    done, todo = list[str](), [pattern]
    while todo and len(done) + len(todo) <= 64:
        now = todo.pop(0)
        match = re.search(r"\{([^{}]*,[^{}]*)\}", now)
        if match is None:
            done.append(now)
            continue
        todo += [now[: match.start()] + choice + now[match.end() :] for choice in match.group(1).split(",")]
    return done + todo
