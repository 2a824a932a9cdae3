"""Blame lines: find the version of a file that wrote each line.

Owns following lines from version to version, including blocks that moved inside the file. Contents are passed in, and the
caller has followed renames. Meaning of versions: `engine/folder/blame`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from backscroll.workspace.git.line_history import Run, match_lines, split_lines

_MOVED = 3  # lines that must move together to count as moved, not rewritten
_CANDIDATES = 8  # candidate origins of a moved block that are compared
_MOST_MOVED = 20_000  # lines on either side searched for moved blocks


@dataclass(frozen=True, slots=True)
class FileVersion:
    """One content of the file, with the caller's key."""

    key: str
    content: str | bytes


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """A line of the last version, and the version that wrote it."""

    number: int  # from 1
    text: str  # without its line end
    key: str


def blame_lines(versions: Sequence[FileVersion], *, ignore_whitespace: bool = False) -> list[LineOrigin]:
    """Return the lines of the last version, each with the version that wrote it. The oldest version comes first.

    Line ends do not count as changes: a file that went from CRLF to LF was not rewritten. With `ignore_whitespace` neither
    do spaces and tabs. A block of three lines or more that moved keeps its origin.
    """
    keys: list[str] = []
    known: list[str] = []
    texts: list[str] = []
    for version in versions:
        texts = [_bare(line) for line in split_lines(_text(version.content))]
        lines = ["".join(text.split()) for text in texts] if ignore_whitespace else texts
        keys = _follow(known, keys, lines, version.key)
        known = lines
    return [LineOrigin(n, text, key) for n, (text, key) in enumerate(zip(texts, keys, strict=True), start=1)]


def _text(content: str | bytes) -> str:
    return content if isinstance(content, str) else content.decode("utf-8", "surrogateescape")


def _bare(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _follow(before: Sequence[str], keys: Sequence[str], after: Sequence[str], key: str) -> list[str]:
    """Return the keys of the lines of the next version."""
    if before == after:
        return list(keys)
    runs = match_lines(before, after)
    strong = [run for run in runs if _telling(before, run)]
    origins: dict[int, int] = {new + n: old + n for old, new, count in strong for n in range(count)}
    used = set(origins.values())
    for new, old in _moves(before, after, used, origins):
        if new not in origins and old not in used:
            origins[new] = old
            used.add(old)
    # Empty lines and lone brackets match anywhere: they count only if no moved block claims them.
    for old, new, count in runs:
        for n in range(count):
            if new + n not in origins and old + n not in used:
                origins[new + n] = old + n
                used.add(old + n)
    return [keys[origins[n]] if n in origins else key for n in range(len(after))]


def _telling(lines: Sequence[str], run: Run) -> bool:
    """Return True for a run with a distinctive line, or too long to be a coincidence."""
    start, _, count = run
    return count > 2 * _MOVED or any(_says(lines[n]) for n in range(start, start + count))


def _says(line: str) -> bool:
    return any(char.isalnum() for char in line)


def _moves(
    before: Sequence[str], after: Sequence[str], used: set[int], placed: dict[int, int]
) -> Iterator[tuple[int, int]]:
    """Yield (new, old) for the lines of moved blocks."""
    free_old = [n for n in range(len(before)) if n not in used]
    free_new = [n for n in range(len(after)) if n not in placed]
    if not free_old or not free_new or max(len(free_old), len(free_new)) > _MOST_MOVED:
        return
    open_old, open_new = set(free_old), set(free_new)
    windows: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for n in free_old:
        window = tuple(before[n : n + _MOVED])
        if len(windows[window]) < _CANDIDATES and all(n + more in open_old for more in range(_MOVED)):
            windows[window].append(n)
    for n in free_new:
        if n not in open_new or not all(n + more in open_new for more in range(_MOVED)):
            continue
        window = tuple(after[n : n + _MOVED])
        if not any(_says(line) for line in window):
            continue
        best = max(
            (_length(before, after, old, n, open_old, open_new), -old)
            for old in [*windows.get(window, ()), -1]
        )
        length, old = best[0], -best[1]
        if length < _MOVED:
            continue
        for more in range(length):
            open_old.discard(old + more)
            open_new.discard(n + more)
            yield n + more, old + more


def _length(
    before: Sequence[str], after: Sequence[str], old: int, new: int, open_old: set[int], open_new: set[int]
) -> int:
    """Return the number of equal lines from here that are free on both sides."""
    count = 0
    while (
        old >= 0
        and old + count in open_old
        and new + count in open_new
        and before[old + count] == after[new + count]
    ):
        count += 1
    return count
