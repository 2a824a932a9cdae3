"""The most informative line of an error, and where in the user's own code it occurred.

Owns: choosing one line among tracebacks, compiler output, test reports and messages, in English and Chinese. Refuses:
deciding whether something is an error; `derive/digests/results` does.
"""

from __future__ import annotations

from collections.abc import Sequence

from backscroll.derive.digests.cues import any_of, cues, shapes
from backscroll.derive.digests.logs import LogLevel, body, counts_nothing, loudness
from backscroll.derive.digests.output_text import cut, one_line, width
from backscroll.derive.digests.results import ResultDetails
from backscroll.derive.digests.salient import most_specific
from backscroll.vocab.values.pattern import late

_STRONG = 8  # weight from which a line of any result reports an error
_IN_LOGS = 4  # … and a line of a log, where harmless lines are plain or state a level
_SHOUTED = 9  # weight of a line whose level reports an error
_WORD = 40  # letters before a cut that may belong to a name that was cut
_TRIMMED = late(
    r"^(?:E\s{2,}|\[?(?:ERROR|error|Error)\]?[\s:]+(?=\S*(?:Error|Exception)\b)|npm (?:ERR!|error) )"
)


def error_line(told: ResultDetails, limit: int) -> str:
    """Return the line that best says what went wrong, with its location if known; or nothing."""
    lines = told.heard
    found = _best(lines)
    if found is None:
        return ""
    index, _ = found
    line = one_line(_TRIMMED.sub("", body(lines[index])))
    if index + 1 < len(lines) and (len(line) < 14 or line.endswith((":", "："))):
        line = f"{line} {one_line(body(lines[index + 1]))}"  # the message is below its heading
    where = _place(lines, index)
    room = limit - (width(where) + 5 if where and where not in line else 0)
    line = _fit_line(line, max(24, room))
    return (
        f"{line} at {where}"
        if where and where not in line and width(line) + width(where) + 4 <= limit
        else _fit_line(line, limit)
    )


def _fit_line(line: str, limit: int) -> str:
    """Shorten a line that is too long: its beginning, and the identifying strings of the rest."""
    if width(line) <= limit:
        return line
    short = cut(line, limit * 3 // 5)
    rest = line[max(0, len(short) - 1 - _WORD) :]  # a name may be cut in two
    terms = most_specific(rest, limit - width(short) - 1, without=short)
    return f"{short} {terms}" if terms else cut(line, limit)


def has_error_line(told: ResultDetails, least: int = _STRONG) -> bool:
    """Return True if a result that is not itself an error reports one: a line of sufficient weight."""
    found = _best(told.heard)
    return found is not None and found[1] >= (_IN_LOGS if told.is_log else least)


def _best(lines: Sequence[str]) -> tuple[int, int] | None:
    """Return the line that best says what went wrong, and its weight."""
    words = [body(line) for line in lines]
    levels = [loudness(line) for line in lines]
    best: tuple[int, int] | None = None
    for cue in cues("errors", "error"):
        if best is not None and cue.weight <= best[1]:
            break  # heaviest first
        hits = [
            i
            for i, line in enumerate(words)
            if levels[i] > LogLevel.QUIET and cue.shape.search(line) and not counts_nothing(line)
        ]
        if hits:
            shouted = [i for i in hits if levels[i] is LogLevel.LOUD] or hits
            weight = cue.weight if levels[shouted[0]] is not LogLevel.WARNS else min(cue.weight, _STRONG - 1)
            best = (shouted[-1] if cue.last else shouted[0], weight)
    loud = next(
        (i for i, level in enumerate(levels) if level is LogLevel.LOUD and not counts_nothing(words[i])), None
    )
    if loud is not None and (best is None or (best[1] < _SHOUTED and levels[best[0]] is not LogLevel.LOUD)):
        return loud, _SHOUTED
    if best is not None and levels[best[0]] is LogLevel.LOUD:
        return best[0], max(best[1], _SHOUTED)
    return best


def _place(lines: Sequence[str], index: int) -> str:
    """Return the nearest location in the user's own code: in the line itself, below it, or above it."""
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
