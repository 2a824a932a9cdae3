"""Match patterns of ignore files and key files.

Owns the meaning of patterns (`*.log`, `build/`, `!keep.log`, `docs/**`), of one ignore file and of several nested ones.
Reading folders: `workspace/snapshots/scan`. Not left to git, because the same files must count on a machine without git;
tests compare it with the real one (a `?` is one character here, and one byte there).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
_LONGEST_PATTERN = 4096
_PLAIN = re.compile(r"[^*?\[\\]*")


@dataclass(frozen=True, slots=True)
class _RuleGroup:
    """Consecutive rules of one sign, as expressions over the name and over the path, plus those for folders only."""

    negated: bool
    names: re.Pattern[str] | None
    paths: re.Pattern[str] | None
    folder_names: re.Pattern[str] | None
    folder_paths: re.Pattern[str] | None


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules of one ignore file. The last match decides."""

    groups: tuple[_RuleGroup, ...]  # the last first

    def verdict(self, path: str, name: str) -> bool | None:
        """Return True: ignored; False: explicitly not; None: no match. Paths of folders end with a slash."""
        folder = path.endswith("/")
        if folder:
            path, name = path[:-1], name.removesuffix("/")
        for group in self.groups:
            names = group.folder_names if folder else group.names
            paths = group.folder_paths if folder else group.paths
            if (names is not None and names.fullmatch(name)) or (paths is not None and paths.fullmatch(path)):
                return not group.negated
        return None

    def __bool__(self) -> bool:
        return bool(self.groups)


def parse_rules(text: str) -> IgnoreRules:
    """Return the rules in the text of an ignore file."""
    return rules_of(text.removeprefix("\ufeff").split("\n"))


def rules_of(lines: Iterable[str]) -> IgnoreRules:
    """Return the same from its lines."""
    groups: list[tuple[bool, list[PatternLine]]] = []
    for line in lines:
        parsed = parse_line(line)
        if parsed is None:
            continue
        if not groups or groups[-1][0] != parsed.negated:
            groups.append((parsed.negated, []))
        groups[-1][1].append(parsed)
    return IgnoreRules(tuple(_build_group(negated, some) for negated, some in reversed(groups)))


def _build_group(negated: bool, lines: Sequence[PatternLine]) -> _RuleGroup:
    return _RuleGroup(
        negated,
        _any_of(line.expression for line in lines if not line.anchored and not line.only_folders),
        _any_of(line.expression for line in lines if line.anchored and not line.only_folders),
        _any_of(line.expression for line in lines if not line.anchored),
        _any_of(line.expression for line in lines if line.anchored),
    )


def matches(rules: IgnoreRules, path: str) -> bool:
    """Return True if a file's path, or a folder above it, matches: for patterns that include files."""
    parts = path.split("/")
    for n in range(len(parts)):
        last = n == len(parts) - 1
        inner = "/".join(parts[: n + 1]) + ("" if last else "/")
        said = rules.verdict(inner, parts[n] + ("" if last else "/"))
        if said is not None and (last or said):
            return said
    return False


def _any_of(expressions: Iterable[str]) -> re.Pattern[str] | None:
    joined = "|".join(f"(?:{one})" for one in expressions)
    return re.compile(joined, re.DOTALL) if joined else None


@dataclass(frozen=True, slots=True)
class PatternLine:
    """One line of an ignore file."""

    negated: bool
    anchored: bool  # anchored to the folder of the ignore file; otherwise any name below matches
    only_folders: bool
    expression: str


def parse_line(line: str) -> PatternLine | None:
    """Parse a line; None if it holds no pattern that could match."""
    line = line.removesuffix("\r")
    if line.startswith("#") or len(line) > _LONGEST_PATTERN:
        return None
    line = _without_trailing_spaces(line)
    negated = line.startswith("!")
    if negated:
        line = line[1:]
    only_folders = line.endswith("/")
    if only_folders:
        line = line[:-1]
    anchored = "/" in line
    line = line.removeprefix("/")
    if not line:
        return None
    expression = _expression(line, anchored=anchored)
    if expression is None:
        return None
    return PatternLine(negated, anchored, only_folders, expression)


def _without_trailing_spaces(line: str) -> str:
    """Strip trailing spaces unless a backslash precedes them."""
    bare = line.rstrip(" ")
    if bare == line:
        return line
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if backslashes % 2 else bare


def _expression(pattern: str, *, anchored: bool) -> str | None:
    """Return a pattern as a regular expression; None if it is invalid, which matches nothing."""
    out: list[str] = []
    n = 0
    # Git compares the literal prefix of an anchored pattern separately, so two stars right after it are at a start too.
    plain = _PLAIN.match(pattern)
    begins = plain.end() if anchored and plain else 0
    while n < len(pattern):
        char = pattern[n]
        if char == "*":
            end = n
            while end < len(pattern) and pattern[end] == "*":
                end += 1
            piece, n = _stars(pattern, n, end, begins)
            out.append(piece)
        elif char == "?":
            out.append("[^/]")
            n += 1
        elif char == "[":
            found = _bracket(pattern, n)
            if found is None:
                return None
            piece, n = found
            out.append(piece)
        elif char == "\\":
            if n + 1 >= len(pattern):
                return None
            out.append(re.escape(pattern[n + 1]))
            n += 2
        else:
            out.append(re.escape(char))
            n += 1
    return "".join(out)


def _stars(pattern: str, start: int, end: int, begins: int) -> tuple[str, int]:
    """Translate a run of stars; return the expression and where the pattern continues."""
    inside = start > 0 and pattern[start - 1] == "/"
    if end - start < 2 or not (inside or start in (0, begins)):
        return "[^/]*", end
    if end == len(pattern):
        return (".+" if inside else ".*"), end
    if pattern[end] == "/":
        return "(?:.*/)?", end + 1
    return "[^/]*", end


def _bracket(pattern: str, start: int) -> tuple[str, int] | None:
    """Translate `[a-z]` from its opening; None if it is never closed."""
    n = start + 1
    negated = n < len(pattern) and pattern[n] in "!^"
    if negated:
        n += 1
    pieces: list[str] = []
    first = True
    while True:
        if n >= len(pattern):
            return None
        char = pattern[n]
        if char == "]" and not first:
            break
        first = False
        found = _bracket_piece(pattern, n)
        if found is None:
            return None
        piece, n = found
        pieces.append(piece)
    inner = "".join(pieces)
    if not inner:  # only empty ranges
        return ("[^/]" if negated else "(?!)"), n + 1
    return f"(?!/)[{'^' if negated else ''}{inner}]", n + 1


def _bracket_piece(pattern: str, n: int) -> tuple[str, int] | None:
    """Translate one character, range or class inside brackets; an empty range gives an empty text."""
    if pattern.startswith("[:", n) and (end := pattern.find(":]", n + 2)) > 0:
        named = _CLASSES.get(pattern[n + 2 : end])
        return None if named is None else (named, end + 2)
    low, n = _bracket_char(pattern, n)
    if low is None:
        return None
    if not (pattern.startswith("-", n) and n + 1 < len(pattern) and pattern[n + 1] != "]"):
        return re.escape(low), n
    high, n = _bracket_char(pattern, n + 1)
    if high is None:
        return None
    return (f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""), n


def _bracket_char(pattern: str, n: int) -> tuple[str | None, int]:
    if pattern[n] == "\\":
        return (pattern[n + 1], n + 2) if n + 1 < len(pattern) else (None, n + 1)
    return pattern[n], n + 1
