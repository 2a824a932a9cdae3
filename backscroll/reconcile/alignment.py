"""Align two sequences: match equal items in order.

Near-linear where the sequences are nearly equal, and never quadratic in Python steps: the ends are stripped, long stretches are
cut at items that occur once on both sides (or, where everything repeats, at runs of items that do), and what is left is solved
exactly, one machine word at a time, on bit vectors. Ties go to the later item, because a trimmed history lacks its beginning.
Items are opaque (equal numbers are equal items) and matched only in order; `heaviest_rising` handles the rest.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TypeAlias

Pair: TypeAlias = tuple[int, int]
Tokens: TypeAlias = Sequence[int]

EXACT_BITS = 1 << 27  # up to here the rows of the exact solution are kept in memory: 16 MB
WORST_BITS = 1 << 35  # limit for halving; longer stretches are cut proportionally
WINDOWS = (4, 16, 64)


def common(ours: Tokens, theirs: Tokens) -> list[Pair]:
    """Return pairs of equal items, rising on both sides; the maximum number unless a stretch is enormous."""
    out: list[Pair] = []
    todo = [(0, len(ours), 0, len(theirs))]
    while todo:
        low_a, high_a, low_b, high_b = todo.pop()
        head, tail = _ends(ours, theirs, low_a, high_a, low_b, high_b)
        out.extend((low_a + k, low_b + k) for k in range(head))
        out.extend((high_a - k, high_b - k) for k in range(1, tail + 1))
        low_a, low_b, high_a, high_b = low_a + head, low_b + head, high_a - tail, high_b - tail
        if low_a == high_a or low_b == high_b:
            continue
        left, right = _find_shared_items(ours[low_a:high_a], theirs[low_b:high_b])
        a = [ours[low_a + i] for i in left]
        b = [theirs[low_b + j] for j in right]
        if not a:
            continue
        if len(b) == 1 or len(a) * len(b) <= EXACT_BITS:
            out.extend((low_a + left[i], low_b + right[j]) for i, j in _lcs(a, b))
            continue
        cuts = [(low_a + left[i], low_b + right[j]) for i, j in _anchors(a, b)]
        if cuts:
            out.extend(cuts)
            todo.extend(_between(cuts, (low_a, high_a, low_b, high_b)))
        else:
            i, j = _halves(a, b)
            cut_a = low_a + left[i] if i < len(left) else high_a
            cut_b = low_b + right[j] if j < len(right) else high_b
            todo += [(low_a, cut_a, low_b, cut_b), (cut_a, high_a, cut_b, high_b)]
    out.sort()
    return out


def _ends(a: Tokens, b: Tokens, low_a: int, high_a: int, low_b: int, high_b: int) -> Pair:
    """Return the lengths of the common prefix and suffix.

    Where the two would overlap, a shorter `b` (something was taken away) is matched from its end: what is missing is
    then missing at the top. A longer one is matched from its beginning: what is new is then new at the bottom.
    """
    most = min(high_a - low_a, high_b - low_b)
    head = 0
    while head < most and a[low_a + head] == b[low_b + head]:
        head += 1
    tail = 0
    while tail < most and a[high_a - 1 - tail] == b[high_b - 1 - tail]:
        tail += 1
    if head + tail <= most:
        return head, tail
    return (most - tail, tail) if high_a - low_a > high_b - low_b else (head, most - head)


def _find_shared_items(a: Tokens, b: Tokens) -> tuple[list[int], list[int]]:
    """Return the indexes of items that occur on both sides; the others cannot match anything."""
    both = set(a).intersection(b)
    return [i for i, x in enumerate(a) if x in both], [j for j, x in enumerate(b) if x in both]


def _between(cuts: Sequence[Pair], bounds: tuple[int, int, int, int]) -> Iterable[tuple[int, int, int, int]]:
    low_a, high_a, low_b, high_b = bounds
    for i, j in (*cuts, (high_a, high_b)):
        if low_a < i and low_b < j:
            yield low_a, i, low_b, j
        low_a, low_b = i + 1, j + 1


def _anchors(a: Tokens, b: Tokens) -> list[Pair]:
    """Return items that occur once on both sides, in order; failing that, starts of runs that do."""
    found = _unique(a, b)
    for width in WINDOWS:
        if found:
            break
        seen: dict[tuple[int, ...], int] = {}
        runs = [
            [seen.setdefault(tuple(side[k : k + width]), len(seen)) for k in range(len(side) - width + 1)]
            for side in (a, b)
        ]
        found = _unique(*runs)
    return longest_rising(found)


def _unique(a: Tokens, b: Tokens) -> list[Pair]:
    once_a = Counter(a)
    once_b = Counter(b)
    where = {x: j for j, x in enumerate(b) if once_b[x] == 1}
    return [(i, where[x]) for i, x in enumerate(a) if once_a[x] == 1 and x in where]


def _masks(a: Tokens) -> dict[int, int]:
    """Return a number for each item, with one bit for each position it has."""
    places: dict[int, list[int]] = {}
    for i, x in enumerate(a):
        places.setdefault(x, []).append(i)
    out: dict[int, int] = {}
    for x, where in places.items():
        if len(where) == 1:
            out[x] = 1 << where[0]
            continue
        raw = bytearray(where[-1] // 8 + 1)
        for i in where:
            raw[i >> 3] |= 1 << (i & 7)
        out[x] = int.from_bytes(raw, "little")
    return out


def _rows(a: Tokens, b: Tokens) -> Iterable[int]:
    """Yield a bit vector over `a` after each item of `b`; zeros mark where the common length grows."""
    masks = _masks(a)
    everything = (1 << len(a)) - 1
    row = everything
    for x in b:
        mask = masks.get(x)
        if mask is not None:
            hit = row & mask
            row = ((row + hit) | (row - hit)) & everything
        yield row


def _last_row(a: Tokens, b: Tokens) -> int:
    newest = deque(_rows(a, b), maxlen=1)
    return newest[0] if newest else (1 << len(a)) - 1


def _lcs(a: Tokens, b: Tokens) -> list[Pair]:
    """Return a longest common subsequence; among equals, the latest."""
    rows = list(_rows(a, b))
    out: list[Pair] = []
    i, j = len(a), len(b)
    while i and j:
        if a[i - 1] == b[j - 1]:
            i, j = i - 1, j - 1
            out.append((i, j))
        elif rows[j - 1] >> (i - 1) & 1:
            i -= 1
        else:
            j -= 1
    return out


def _halves(a: Tokens, b: Tokens) -> Pair:
    """Return where to split both sides so that an optimal solution falls into the halves."""
    middle = len(b) // 2
    if len(a) * len(b) > WORST_BITS:
        return len(a) // 2, middle
    before = _lengths(a, b[:middle])
    after = _lengths(a[::-1], b[middle:][::-1])
    total = [x + y for x, y in zip(before, reversed(after), strict=True)]
    return total.index(max(total)), middle


def _lengths(a: Tokens, b: Tokens) -> list[int]:
    """Return the length of the common subsequence with `b` for every prefix of `a`."""
    bits = f"{_last_row(a, b):0{len(a)}b}"[::-1]
    return [0, *accumulate(1 if bit == "0" else 0 for bit in bits)]


def common_length(a: Tokens, b: Tokens) -> int:
    """Return the length of a longest common subsequence."""
    return len(a) - _last_row(a, b).bit_count()


def longest_rising(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the largest subset of pairs (sorted by their first, all firsts and seconds different) whose seconds rise too."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for index, (_, second) in enumerate(pairs):
        place = bisect_left(ends, second)
        before.append(last[place - 1] if place else -1)
        if place == len(ends):
            ends.append(second)
            last.append(index)
        else:
            ends[place] = second
            last[place] = index
    out: list[Pair] = []
    index = last[-1] if last else -1
    while index >= 0:
        out.append(pairs[index])
        index = before[index]
    out.reverse()
    return out


def heaviest_rising(weights: dict[Pair, float]) -> list[Pair]:
    """Return the heaviest subset of pairs that rises on both sides; each item is used at most once."""
    width = max((j for _, j in weights), default=-1) + 1
    tree: list[tuple[float, int]] = [(0.0, -1)] * (width + 1)  # best chain that ends at or before a second
    pairs = sorted(weights, key=lambda pair: (pair[0], -pair[1]))  # so that no chain uses a first twice
    before: list[int] = []
    best = (0.0, -1)
    for index, pair in enumerate(pairs):
        reach = (0.0, -1)
        place = pair[1]
        while place > 0:
            reach = max(reach, tree[place])
            place -= place & -place
        before.append(reach[1])
        here = (reach[0] + weights[pair], index)
        best = max(best, here)
        place = pair[1] + 1
        while place <= width:
            tree[place] = max(tree[place], here)
            place += place & -place
    out: list[Pair] = []
    index = best[1]
    while index >= 0:
        out.append(pairs[index])
        index = before[index]
    out.reverse()
    return out
