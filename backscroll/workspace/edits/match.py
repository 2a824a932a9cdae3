"""Find the place in a file where an edit belongs.

Owns finding the text to replace: exactly, else by line ignoring trailing spaces, else with a uniform change of indentation.
Looser matches count only if unique, and are reported. If none fits, the nearest match is shown with line numbers, never used.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import accumulate
from typing import NoReturn

from backscroll.errors import InvalidInput
from backscroll.workspace.edits.edit import Hunk, TextReplacement

_NUMBERED = re.compile(r"^\s*\d+ ?[|│:→\t]")
_SHOWN = 8  # lines shown of the nearest match
_LOOKED_AT = 20_000  # lines of a file compared for that
_MORE = "give more of the lines around it, so that it fits in one place"


@dataclass(frozen=True, slots=True)
class EditMatch:
    """A span of the file (in characters) and its replacement."""

    start: int
    end: int
    text: str
    note: str = ""


class Document:
    """A text with plain newlines, by characters and by lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.ended = text.endswith("\n")
        self.lines = text.split("\n")
        if self.lines[-1] == "":
            self.lines.pop()
        self.starts = [0, *accumulate(len(line) + 1 for line in self.lines)]
        self.starts[-1] = len(text)

    def line_of(self, at: int) -> int:
        """Return the line number of a character, from 1."""
        return min(bisect_right(self.starts, at), max(len(self.lines), 1))

    def block(self, first: int, many: int, new: Sequence[str], note: str = "") -> EditMatch:
        """Return the replacement of a block of lines; a missing final newline stays missing."""
        last = first + many
        start, end = self.starts[min(first, len(self.lines))], self.starts[min(last, len(self.lines))]
        text = "".join(f"{line}\n" for line in new)
        if last >= len(self.lines) and not self.ended and self.lines:
            text = text.removesuffix("\n") if many or not text else "\n" + text.removesuffix("\n")
        return EditMatch(start, end, text, note)


def find_replace(document: Document, edit: TextReplacement) -> list[EditMatch]:
    """Return every place of a replacement; `InvalidInput` if their number is not the expected one."""
    edit = replace(edit, old=_plain(edit.old), new=_plain(edit.new))
    if edit.old == edit.new:
        raise InvalidInput("old and new text are the same", hint="give a new text that differs")
    if not edit.old.strip("\n") and not (edit.old and not edit.by_lines):
        raise InvalidInput(
            "the text to be replaced is empty",
            hint="give the existing lines; use write_file to replace a whole file",
        )
    exact = _exact_lines(document, edit) if edit.by_lines else _exact(document, edit)
    if exact:
        return _as_many(document, edit, exact)
    if loose := _loose(document, edit):
        return loose
    raise InvalidInput(_absent(document, edit.old), hint=_absent_hint(edit.old))


def find_hunk(document: Document, hunk: Hunk, after: int, shift: int) -> tuple[EditMatch, int]:
    """Return the place of a hunk, at or after a line (from 0), and that line. `shift`: how far off the numbers were so far."""
    if not hunk.old:
        return _place_insertion(document, hunk, after, shift)
    expected = hunk.start - 1 + shift
    for alike, note in ((_same, ""), (_same_but_end, "spaces at the ends of lines differ")):
        places = [
            n
            for n in _windows(document.lines, hunk.old, alike)
            if n >= after and _ends_fit(document, hunk, n)
        ]
        if hunk.near and not hunk.numbered and len(places) > 1:
            places = _below(document, hunk.near, places)[:1]
        if hunk.numbered and expected in places:
            return _replace_hunk(document, hunk, expected, note), expected
        if len(places) == 1:
            return _replace_hunk(document, hunk, places[0], note), places[0]
        if places:
            raise InvalidInput(
                f"the hunk fits in {len(places)} places: lines {_join_numbers(n + 1 for n in places)}",
                hint=_MORE,
            )
    raise InvalidInput(_absent(document, "\n".join(hunk.old)), hint=_absent_hint("\n".join(hunk.old)))


def _place_insertion(document: Document, hunk: Hunk, after: int, shift: int) -> tuple[EditMatch, int]:
    """Place an insertion without context: only a line number, or a line named above, locates it."""
    if hunk.numbered:
        line = max(hunk.start + shift, 0)
    elif hunk.near:
        places = [n for n, text in enumerate(document.lines) if text.strip() == hunk.near and n >= after]
        if len(places) != 1:
            raise InvalidInput(
                f"the line above the hunk was found {len(places)} times: {hunk.near}", hint=_MORE
            )
        line = places[0] + 1
    else:
        line = len(document.lines)
    if line > len(document.lines) or line < after:
        raise InvalidInput(
            f"the hunk inserts after line {line}, and the file has {len(document.lines)}",
            hint="read the file again; it may have changed",
        )
    found = document.block(line, 0, hunk.new)
    if not hunk.new_ends and line == len(document.lines):
        found = EditMatch(
            found.start,
            found.end,
            found.text.removesuffix("\n") if document.ended or not line else found.text,
        )
    return found, line


def _replace_hunk(document: Document, hunk: Hunk, first: int, note: str) -> EditMatch:
    kept = document.lines[first : first + len(hunk.old)]
    new = _keep_old_lines(hunk.old, hunk.new, kept, str) if note else list(hunk.new)
    found = document.block(first, len(hunk.old), new, note)
    at_end = first + len(hunk.old) >= len(document.lines)
    if at_end and hunk.new and hunk.old_ends != hunk.new_ends:
        text = "\n".join(new) + ("\n" if hunk.new_ends else "")
        return EditMatch(found.start, found.end, text, note)
    return found


def _ends_fit(document: Document, hunk: Hunk, first: int) -> bool:
    """Return True if the place suits a hunk: one that lacks a final newline must be at the end of the file."""
    at_end = first + len(hunk.old) == len(document.lines)
    return at_end or (hunk.old_ends and hunk.new_ends)


def _below(document: Document, near: str, places: list[int]) -> list[int]:
    """Keep the places below the line that a hunk names, if that line is unique."""
    named = [n for n, text in enumerate(document.lines) if text.strip() == near.strip()]
    return [n for n in places if n > named[0]] if len(named) == 1 else places


def _exact(document: Document, edit: TextReplacement) -> list[EditMatch]:
    step = (
        len(edit.old) if edit.replace_all or edit.count > 1 else 1
    )  # for a single one, overlapping places count too
    found, at = list[EditMatch](), document.text.find(edit.old)
    while at >= 0:
        found.append(EditMatch(at, at + len(edit.old), edit.new))
        at = document.text.find(edit.old, at + step)
    return found


def _exact_lines(document: Document, edit: TextReplacement) -> list[EditMatch]:
    old, new = _lines(edit.old), _lines(edit.new)
    return [document.block(n, len(old), new) for n in _windows(document.lines, old, _same)]


def _as_many(document: Document, edit: TextReplacement, found: list[EditMatch]) -> list[EditMatch]:
    if edit.replace_all or len(found) == edit.count:
        return found
    lines = _join_numbers(document.line_of(each.start) for each in found)
    raise InvalidInput(
        f"the text was found {len(found)} times, not {edit.count}: lines {lines}",
        hint="give more surrounding lines, or replace all of them",
    )


def _loose(document: Document, edit: TextReplacement) -> list[EditMatch]:
    """Return the one place where whole lines match except for spaces; none if ambiguous."""
    if edit.count != 1 or edit.replace_all:
        return []
    old, new = _lines(edit.old), _lines(edit.new)
    if not edit.by_lines and edit.old.endswith("\n") != edit.new.endswith("\n") and edit.new:
        return []  # the end of the last line is part of the change: match exactly
    places = list(_windows(document.lines, old, _same_but_end))
    if places:
        return _only(document, places, old, new, str, "spaces at the ends of lines differ")
    places = list(_windows(document.lines, old, _same_but_indent))
    shifts = {
        n: shift for n in places if (shift := _shift(old, document.lines[n : n + len(old)])) is not None
    }
    if len(shifts) != 1:
        if len(shifts) > 1:
            _several(list(shifts))
        return []
    place, shift = next(iter(shifts.items()))
    if any(line.strip() and not line.startswith(shift.less) for line in new):
        return []
    return _only(document, [place], old, new, shift.on, "the indentation differs")


def _only(
    document: Document,
    places: list[int],
    old: Sequence[str],
    new: Sequence[str],
    to: Callable[[str], str],
    note: str,
) -> list[EditMatch]:
    if len(places) > 1:
        _several(places)
    there = document.lines[places[0] : places[0] + len(old)]
    return [document.block(places[0], len(old), _keep_old_lines(old, new, there, to), note)]


def _several(places: list[int]) -> NoReturn:
    raise InvalidInput(
        f"the text was found {len(places)} times ignoring whitespace: lines {_join_numbers(n + 1 for n in places)}",
        hint=_MORE,
    )


@dataclass(frozen=True, slots=True)
class _Shift:
    """The difference of indentation of every line."""

    more: str = ""
    less: str = ""

    def on(self, line: str) -> str:
        """Return a line with the indentation applied."""
        return self.more + line.removeprefix(self.less) if line.strip() else line


def _shift(old: Sequence[str], there: Sequence[str]) -> _Shift | None:
    """Return the one difference of indentation between two blocks; None if it is not the same on every line."""
    found: set[_Shift] = set()
    for mine, theirs in zip(old, there, strict=True):
        if not mine.strip():
            continue
        wanted, actual = _indent(mine), _indent(theirs)
        if actual.endswith(wanted):
            found.add(_Shift(more=actual[: len(actual) - len(wanted)]))
        elif wanted.endswith(actual):
            found.add(_Shift(less=wanted[: len(wanted) - len(actual)]))
        else:
            return None
    return found.pop() if len(found) == 1 else None


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _keep_old_lines(
    old: Sequence[str], new: Sequence[str], there: Sequence[str], to: Callable[[str], str]
) -> list[str]:
    """Return the new lines; unchanged ones stay as in the file."""
    out = list[str]()
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        out += there[a:b] if tag == "equal" else [to(line) for line in new[c:d]]
    return out


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n") if "\r" in text else text


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _same(a: str, b: str) -> bool:
    return a == b


def _same_but_end(a: str, b: str) -> bool:
    return a.rstrip() == b.rstrip()


def _same_but_indent(a: str, b: str) -> bool:
    return a.strip() == b.strip()


def _windows(lines: Sequence[str], old: Sequence[str], alike: Callable[[str, str], bool]) -> list[int]:
    """Return every line at which the block occurs."""
    many = len(old)
    if not many:
        return []
    return [
        n
        for n in range(len(lines) - many + 1)
        if alike(lines[n], old[0]) and all(alike(lines[n + k], old[k]) for k in range(1, many))
    ]


def _join_numbers(numbers: Iterable[int]) -> str:
    every = [str(n) for n in numbers]
    return ", ".join(every[:10]) + (" …" if len(every) > 10 else "")


def _absent_hint(old: str) -> str:
    lines = _lines(old)
    if lines and all(_NUMBERED.match(line) for line in lines if line.strip()):
        return "leave out the line numbers: they are not in the file"
    return "read the file again and copy the lines to the letter"


def _absent(document: Document, old: str) -> str:
    near = _nearest(document.lines[:_LOOKED_AT], _lines(old))
    if near is None:
        return "the text was not found in the file"
    shown = "\n".join(
        f"{n + 1} | {document.lines[n]}" for n in range(near, min(near + _SHOWN, len(document.lines)))
    )
    return f"the text was not found in the file; nearest, at line {near + 1}:\n{shown}"


def _nearest(lines: Sequence[str], old: Sequence[str]) -> int | None:
    """Return the place with most of the lines in this order; else the line most similar to the longest one."""
    wanted = [line.strip() for line in old]
    telling = {line for line in wanted if len(line) > 3}
    best, at = 0, None
    for n, line in enumerate(lines):
        if line.strip() not in telling:
            continue
        first = max(n - wanted.index(line.strip()), 0)
        score = sum(
            a.strip() == b for a, b in zip(lines[first : first + len(wanted)], wanted, strict=False) if b
        )
        if score > best:
            best, at = score, first
    if at is not None or not telling:
        return at
    longest = max(telling, key=len)[:200]
    matcher = SequenceMatcher(None, b=longest, autojunk=False)
    top = 0.6
    for n, line in enumerate(lines):
        matcher.set_seq1(line.strip()[:200])
        if (
            matcher.real_quick_ratio() > top
            and matcher.quick_ratio() > top
            and (ratio := matcher.ratio()) > top
        ):
            top, at = ratio, n
    return at
