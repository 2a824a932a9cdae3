"""The most telling line of an error, and where in somebody's own code it happened.

Owns: choosing one line among tracebacks, compiler output, test reports and messages, in English and Chinese. Refuses: to
decide whether something is an error; `derive/digests/telling` does. After: every rule by kind uses it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from backscroll.derive.digests.cleaning import cut, one_line, width
from backscroll.derive.digests.cues import any_of, cues, shapes
from backscroll.derive.digests.telling import Told
from backscroll.vocab.pattern import late

_LOOKED_AT = 300  # lines from either end
_TRIMMED = late(
    r"^(?:E\s{2,}|\[?(?:ERROR|error|Error)\]?[\s:]+(?=\S*(?:Error|Exception)\b)|npm (?:ERR!|error) )"
)
_COUNTED = late(
    r"(?<![\d.])0 (?:failed|failures?|errors?|problems?|issues?|warnings?)|(?:failures?|errors?|失败|错误)\s*[:=：]\s*0\b",
    re.IGNORECASE,
)


def error_line(told: Told, limit: int) -> str:
    """The line that says most about what went wrong, with the place where it happened where that is known; or nothing."""
    lines = told.said
    if len(lines) > 2 * _LOOKED_AT:
        lines = lines[:_LOOKED_AT] + lines[-_LOOKED_AT:]
    found = _best(lines)
    if found is None:
        return ""
    index, _ = found
    line = one_line(_TRIMMED.sub("", lines[index]))
    if index + 1 < len(lines) and (len(line) < 14 or line.endswith((":", "："))):
        line = f"{line} {one_line(lines[index + 1])}"  # the message stands under its heading
    where = _place(lines, index)
    room = limit - (width(where) + 5 if where and where not in line else 0)
    line = cut(line, max(24, room))
    return (
        f"{line} at {where}"
        if where and where not in line and width(line) + width(where) + 4 <= limit
        else cut(line, limit)
    )


def troubled(told: Told) -> bool:
    """True where a result that is no error by itself reports one: a strong line of that kind."""
    found = _best(told.said[-80:])
    return found is not None and found[1] >= 8


def _best(lines: Sequence[str]) -> tuple[int, int] | None:
    best: tuple[int, int] | None = None
    for cue in cues("errors", "error"):
        if best is not None and cue.weight <= best[1]:
            break  # most telling first
        hits = [i for i, line in enumerate(lines) if cue.shape.search(line) and not _COUNTED.search(line)]
        if hits:
            best = (hits[-1] if cue.last else hits[0], cue.weight)
    return best


def _place(lines: Sequence[str], index: int) -> str:
    """The nearest place in somebody's own code: in the line itself, under it, or above it."""
    foreign = any_of("errors", "foreign")
    nearby = [
        index,
        *range(index + 1, min(index + 4, len(lines))),
        *range(index - 1, max(-1, index - 40), -1),
    ]
    for i in nearby:
        line = lines[i]
        if foreign.search(line):
            continue
        for shape in shapes("errors", "places"):
            if found := shape.search(line):
                return f"{found['path']}:{found['line']}"
    return ""
