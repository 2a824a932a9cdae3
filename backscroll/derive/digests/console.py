"""Digests of commands: exit status, totals of a test run, the decisive error, else the most informative lines.

Owns: output of programs. Refuses: files and listings that a program printed; those are recognised by their shape and go to
`derive/digests/source` and `derive/digests/listing`.
"""

from __future__ import annotations

import re
from collections import Counter

from backscroll.derive.digests.cues import any_of
from backscroll.derive.digests.output_text import cut, join_items, one_line, width
from backscroll.derive.digests.results import ResultDetails
from backscroll.derive.digests.salient import most_specific
from backscroll.derive.digests.trouble import error_line, has_error_line


def command_outcome(told: ResultDetails, limit: int, known: str) -> str:
    """Return a program's output on one line."""
    ended = f"exit {told.exit_code}" if told.exit_code else ""
    pieces = [ended] if ended else []
    totals = "" if told.is_log else totals_line(told)
    failed = bool(told.exit_code) or told.is_error
    if failed or has_error_line(told):
        room = limit - sum(width(p) + 2 for p in pieces) - (min(60, width(totals)) + 2 if totals else 0)
        trouble = error_line(told, room)
        if trouble and one_line(trouble) != totals:
            pieces.append(trouble)
    if totals:
        room = limit - sum(width(p) + 2 for p in pieces)
        if room > 12:
            pieces.append(cut(totals, room))
    if len(pieces) > (1 if ended else 0):
        return with_terms(pieces, told, limit, known)
    return with_terms([*pieces, *last_lines(told, limit)], told, limit, known)


def totals_line(told: ResultDetails) -> str:
    """Return the summary line of a test run or a checker: the last line that counts something."""
    counts = any_of("errors", "totals")
    found = [line for line in told.said[-60:] if len(line) < 200 and counts.search(line)]
    numbers = [line for line in found if re.search(r"\d", line)]
    return one_line((numbers or found)[-1].strip("=-─━ ")) if found else ""


def last_lines(told: ResultDetails, limit: int) -> list[str]:
    """Return the last informative lines, as many as fit into half the room."""
    said = told.said
    if not said:
        return ["no output"] if not told.size or not told.text.strip() else []
    if len(said) == 1:
        return [cut(one_line(said[0]), limit)]
    times = Counter(said)
    last = next(
        (line for line in reversed(said) if times[line] == 1), said[-1]
    )  # repeated lines carry little information
    return [f"{told.lines} lines", cut(one_line(last), max(40, limit // 2))]


def with_terms(pieces: list[str], told: ResultDetails, limit: int, known: str) -> str:
    """Return the pieces, and fill the remaining room with the strings of the result that are most likely to be used again."""
    line = join_items(pieces, limit, "; ", total=0) if pieces else ""
    room = limit - width(line) - 2
    if room < 16:
        return line
    terms = most_specific("\n".join(told.said), room, without=f"{known}\n{line}")
    return f"{line}; {terms}" if line and terms else line or terms
