"""Match the lines of two texts, for blame, diffs and counts.

Owns matching two lists of lines. Unique lines that both have are anchors (as in patience diff), the lines between them are
matched with the fewest changes, piece by piece, so the work stays close to linear for any texts. Files and versions:
`workspace/git/blame`.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

_CHANGES = 256  # between two lists of lines that are looked for at once
_NOWHERE = -(1 << 60)
_CONTEXT = 3

#: A run of equal lines: where it begins before, where after, how long it is.
Run = tuple[int, int, int]


def split_lines(text: str) -> list[str]:
    """Return the lines of a text with their ends. Only line feeds end a line, as in git; form feeds and the like do not."""
    if not text:
        return []
    lines = text.split("\n")
    last = lines.pop()
    whole = [line + "\n" for line in lines]
    return [*whole, last] if last else whole


def match_lines(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[Run]:
    """Return the runs of lines that both have, in order, none overlapping another."""
    runs: list[Run] = []
    work = [(0, len(before), 0, len(after))]
    while work:
        low, high, left, right = work.pop()
        start = low
        while low < high and left < right and before[low] == after[left]:
            low, left = low + 1, left + 1
        if low > start:
            runs.append((start, left - (low - start), low - start))
        end = high
        while low < high and left < right and before[high - 1] == after[right - 1]:
            high, right = high - 1, right - 1
        if end > high:
            runs.append((high, right, end - high))
        if low == high or left == right:
            continue
        anchors = _anchors(before, after, low, high, left, right)
        if anchors:
            work.extend(_between(anchors, low, high, left, right))
        else:
            runs.extend(_between_anchors(before, after, low, high, left, right))
    return _join_runs(sorted(runs))


def _anchors(
    before: Sequence[Hashable], after: Sequence[Hashable], low: int, high: int, left: int, right: int
) -> list[tuple[int, int]]:
    """Return lines that are unique on both sides: the longest chain in order."""
    old, new = Counter(before[low:high]), Counter(after[left:right])
    places = {after[n]: n for n in range(left, right) if new[after[n]] == 1}
    pairs = [(n, places[before[n]]) for n in range(low, high) if old[before[n]] == 1 and before[n] in places]
    tails: list[int] = []  # the smallest last place of a chain of each length
    ends: list[int] = []  # which pair that is
    previous: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect.bisect_left(tails, place)
        previous.append(ends[length - 1] if length else -1)
        if length == len(tails):
            tails.append(place)
            ends.append(number)
        else:
            tails[length], ends[length] = place, number
    chain: list[tuple[int, int]] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        chain.append(pairs[at])
        at = previous[at]
    return chain[::-1]


def _between_anchors(
    before: Sequence[Hashable], after: Sequence[Hashable], low: int, high: int, left: int, right: int
) -> Iterator[Run]:
    """Yield matches of repeated lines by the fewest changes, in bounded steps."""
    shared = set(before[low:high]) & set(after[left:right])
    olds = [n for n in range(low, high) if before[n] in shared]
    news = [n for n in range(left, right) if after[n] in shared]
    numbers = {line: number for number, line in enumerate(shared)}
    one, other = [numbers[before[n]] for n in olds], [numbers[after[n]] for n in news]
    while one and other:
        pairs, x, y = _fewest_changes(one, other)
        yield from ((olds[a], news[b], 1) for a, b in pairs)
        one, other, olds, news = one[x:], other[y:], olds[x:], news[y:]


def _fewest_changes(a: Sequence[int], b: Sequence[int]) -> tuple[list[tuple[int, int]], int, int]:
    """Run Myers' algorithm for at most `_CHANGES` changes: return the equal places, and the positions reached."""
    ends = {1: 0}  # the furthest place in `a` on each diagonal
    history: list[dict[int, int]] = []
    for changes in range(min(_CHANGES, len(a) + len(b)) + 1):
        history.append(dict(ends))
        for k in range(-changes, changes + 1, 2):
            x = _step(ends, k, changes)
            y = x - k
            if not (0 <= x <= len(a) and 0 <= y <= len(b)):
                ends[k] = _NOWHERE
                continue
            while x < len(a) and y < len(b) and a[x] == b[y]:
                x, y = x + 1, y + 1
            ends[k] = x
            if x == len(a) and y == len(b):
                return _way_back(history, x, y), x, y
    best = max((2 * x - k, k) for k, x in ends.items() if x >= 0 and 0 <= x - k <= len(b) and x <= len(a))[1]
    x = ends[best]
    return _way_back(history, x, x - best), x, x - best


def _step(ends: dict[int, int], k: int, changes: int) -> int:
    """Return where a diagonal begins after one more change: a line of `b` added, or a line of `a` removed."""
    above, below = ends.get(k + 1, _NOWHERE), ends.get(k - 1, _NOWHERE)
    return above if k == -changes or (k != changes and below < above) else below + 1


def _way_back(history: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    for changes in range(len(history) - 1, -1, -1):
        ends = history[changes]
        k = x - y
        above, below = ends.get(k + 1, _NOWHERE), ends.get(k - 1, _NOWHERE)
        down = k == -changes or (k != changes and below < above)
        if changes == 0:
            from_x, from_y = 0, 0
        else:
            from_x = above if down else below
            from_y = from_x - (k + 1 if down else k - 1)
        # Backtrack along the equal lines to the change of this step.
        stop = from_x + (0 if down or changes == 0 else 1)
        while x > stop:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = from_x, from_y
    return pairs[::-1]


def _between(
    anchors: list[tuple[int, int]], low: int, high: int, left: int, right: int
) -> Iterator[tuple[int, int, int, int]]:
    """Yield the parts from one anchor to the next; each begins with its anchor, so that every part gets smaller."""
    starts = [(low, left), *anchors]
    stops = [*anchors, (high, right)]
    for (from_old, from_new), (to_old, to_new) in zip(starts, stops, strict=True):
        if to_old > from_old or to_new > from_new:
            yield from_old, to_old, from_new, to_new


def _join_runs(runs: list[Run]) -> list[Run]:
    """Merge adjacent runs."""
    out: list[Run] = []
    for old, new, count in runs:
        if out and out[-1][0] + out[-1][2] == old and out[-1][1] + out[-1][2] == new:
            out[-1] = (out[-1][0], out[-1][1], out[-1][2] + count)
        else:
            out.append((old, new, count))
    return out


def count_changes(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """Return the numbers of added and removed lines."""
    same = sum(count for _, _, count in match_lines(before, after))
    return len(after) - same, len(before) - same


def hunks(before: Sequence[str], after: Sequence[str], context: int = _CONTEXT) -> Iterator[str]:
    """Yield the lines of a unified diff below the names of the files."""
    for group in _group_changes(match_lines(before, after), len(before), len(after), context):
        first, last = group[0], group[-1]
        yield f"@@ -{_span(first[1], last[2])} +{_span(first[3], last[4])} @@\n"
        for tag, a, b, c, d in group:
            if tag == "=":
                yield from (_render_diff_line(" ", line) for line in before[a:b])
            else:
                yield from (_render_diff_line("-", line) for line in before[a:b])
                yield from (_render_diff_line("+", line) for line in after[c:d])


def _render_diff_line(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"


def _span(start: int, stop: int) -> str:
    count = stop - start
    at = start + 1 if count else start
    return str(at) if count == 1 else f"{at},{count}"


Piece = tuple[str, int, int, int, int]


def _group_changes(runs: list[Run], olds: int, news: int, context: int) -> Iterator[list[Piece]]:
    """Yield changes with a few context lines; nearby changes share a group."""
    pieces: list[Piece] = []
    a = c = 0
    for old, new, count in [*runs, (olds, news, 0)]:
        if old > a or new > c:
            pieces.append(("!", a, old, c, new))
        if count:
            pieces.append(("=", old, old + count, new, new + count))
        a, c = old + count, new + count
    group: list[Piece] = []
    for number, (tag, i, j, k, m) in enumerate(pieces):
        if tag == "!":
            group.append((tag, i, j, k, m))
            continue
        first, last = number == 0, number == len(pieces) - 1
        if not first and not last and j - i <= 2 * context:
            group.append((tag, i, j, k, m))
            continue
        if not first:
            group.append((tag, i, min(j, i + context), k, min(m, k + context)))
            yield group
            group = []
        if not last:
            group = [(tag, max(i, j - context), j, max(k, m - context), m)]
    if any(piece[0] == "!" for piece in group):
        yield group
