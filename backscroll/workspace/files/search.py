"""Search text in files.

Owns searching line by line, for words or for a regular expression, within bounds of time, size and number; a runaway
expression is stopped by the time limit. Skips binary, huge and ignored files, and reports how many.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from backscroll.errors import BackscrollError, InvalidInput, NotFound
from backscroll.workspace.files.encoding import decode_text
from backscroll.workspace.files.files import Files
from backscroll.workspace.files.guard import escape_path
from backscroll.workspace.files.ignore import PathSelection
from backscroll.workspace.files.listing import FolderWalk

_WIDEST = 300  # characters of a line that are shown
_LONGEST_QUERY = 2000

#: The span of a match in a line: from, to.
Span: TypeAlias = "tuple[int, int] | None"


@dataclass(frozen=True, slots=True)
class LineMatch:
    """One line in which something was found."""

    path: str
    line: int  # from 1
    column: int  # from 1, of the first place in the line
    text: str  # the line; a very long one is cut around the match
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileSearchResult:
    """What was found, in the order of the paths and lines."""

    hits: tuple[LineMatch, ...]
    counts: dict[str, int]  # lines found in each file
    searched: int  # files searched
    cut: bool = False  # there may be more: too many, or no time left
    passed_over: tuple[str, ...] = ()  # files too large to search
    binary: int = 0  # files that are not text
    stopped: str = ""  # the reason for stopping early
    shut: int = 0  # files skipped unless they are named

    @property
    def text(self) -> str:
        """Return matches as `file:line: text`, with context lines if requested."""
        return "\n".join(line for hit in self.hits for line in _shown_hit(hit))


def search_files(
    files: Files,
    query: str,
    *,
    path: str = ".",
    literal: bool = False,
    pattern: str = "",
    ignore_case: bool = False,
    context: int = 0,
    limit: int = 200,
    seconds: float = 10.0,
    largest: int = 5_000_000,
    everything: bool = False,
    closed: Callable[[str], bool] | None = None,
) -> FileSearchResult:
    """Search a file, or all files below a folder. `pattern`: in which files (`*.py`); `everything`: in ignored ones too;
    `closed`: returns True for files to skip unless they are named."""
    if limit < 1 or context < 0:
        raise InvalidInput("a search needs room for one line at least", hint="give 1 or more")
    find = _finder(query, literal=literal, ignore_case=ignore_case)
    clock = _SearchDeadline(seconds)
    hits: list[LineMatch] = []
    counts: dict[str, int] = {}
    searched = binary = shut = 0
    passed_over: list[str] = []
    stopped, cut = "", False
    try:
        for name, size in _candidates(files, path, pattern, clock, everything=everything):
            clock.check()
            if closed is not None and size >= 0 and closed(name):
                shut += 1
                continue
            if size > largest:
                passed_over.append(name)
                continue
            lines = _lines(files, name)
            if lines is None:
                binary += 1
                continue
            searched += 1
            for hit in _in_file(name, lines, find, clock, context):
                counts[name] = counts.get(name, 0) + 1
                if len(hits) < limit:
                    hits.append(hit)
            if len(hits) >= limit:
                cut = True
                break
    except TimeoutError:
        stopped, cut = f"stopped after {seconds:g} seconds", True
    return FileSearchResult(tuple(hits), counts, searched, cut, tuple(passed_over), binary, stopped, shut)


class _SearchDeadline:
    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def get_seconds_left(self) -> float:
        """Return the seconds left; raises if none are."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def check(self) -> None:
        """Raise if no time is left."""
        self.get_seconds_left()


def _candidates(
    files: Files, path: str, pattern: str, clock: _SearchDeadline, *, everything: bool
) -> Iterator[tuple[str, int]]:
    real = files.resolve(path)
    kind = files.kind(real)
    if not kind:
        raise NotFound(f"no such file or folder: {escape_path(path)}", hint="look with list_files", path=path)
    if kind != "folder":
        files.read_text(real, last=1)  # raises the reason if it cannot be read
        yield real, -1  # named, whatever its size
        return
    chosen = PathSelection(pattern)
    found = list[tuple[str, int]]()
    for entry in FolderWalk(files, real, everything=everything):
        clock.check()
        if entry.kind == "file" and not entry.protected and chosen.takes(entry.path):
            found.append((entry.path, entry.size))
    yield from sorted(found, key=lambda pair: pair[0].split("/"))


def _lines(files: Files, path: str) -> list[str] | None:
    """Return the lines of a file; None if it is not text, or cannot be read."""
    try:
        text = decode_text(files.read_bytes(path))
    except BackscrollError:
        return None
    if text is None:
        return None
    lines = text.text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _in_file(
    path: str, lines: list[str], find: Callable[[str, float], Span], clock: _SearchDeadline, context: int
) -> Iterator[LineMatch]:
    left = clock.get_seconds_left()
    for n, line in enumerate(lines):
        if n % 1000 == 0:
            left = clock.get_seconds_left()
        span = find(line, left)
        if span is None:
            continue
        before, after = lines[max(n - context, 0) : n], lines[n + 1 : n + 1 + context]
        yield LineMatch(
            path,
            n + 1,
            span[0] + 1,
            _cut(line, span[0]),
            tuple(_cut(each) for each in before),
            tuple(_cut(each) for each in after),
        )


def _finder(query: str, *, literal: bool, ignore_case: bool) -> Callable[[str, float], Span]:
    """Return a function that finds the query in a line."""
    if not query or len(query) > _LONGEST_QUERY:
        raise InvalidInput(
            f"a search needs 1 to {_LONGEST_QUERY} characters, not {len(query)}", hint="say what to look for"
        )
    if "\n" in query:
        raise InvalidInput("a search looks at one line at a time", hint="look for a part of one line")
    if literal and not ignore_case:
        return lambda line, _: (at, at + len(query)) if (at := line.find(query)) >= 0 else None
    import regex

    try:
        compiled = regex.compile(
            regex.escape(query) if literal else query, regex.IGNORECASE if ignore_case else 0
        )
    except regex.error as error:
        at = "" if error.pos is None else f" at character {error.pos + 1}"
        raise InvalidInput(
            f"not a regular expression: {error.msg}{at}", hint="fix it, or search for the text literally"
        ) from error

    def find(line: str, left: float) -> Span:
        # A long search must still react to a stop.
        found = compiled.search(line, timeout=left, concurrent=True)
        return (found.start(), found.end()) if found else None

    return find


def _cut(line: str, at: int = 0) -> str:
    """Return a line for display: cut to length around the match."""
    if len(line) <= _WIDEST:
        return line
    start = max(0, min(at - _WIDEST // 3, len(line) - _WIDEST))
    end = start + _WIDEST
    return ("… " if start else "") + line[start:end] + (" …" if end < len(line) else "")


def _shown_hit(hit: LineMatch) -> Iterator[str]:
    name = escape_path(hit.path)
    first = hit.line - len(hit.before)
    yield from (f"{name}-{first + n}- {text}" for n, text in enumerate(hit.before))
    yield f"{name}:{hit.line}: {hit.text}"
    yield from (f"{name}-{hit.line + 1 + n}- {text}" for n, text in enumerate(hit.after))
