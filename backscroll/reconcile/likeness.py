"""Measure the likeness of texts: is one a changed version of the other?

Short texts are compared letter by letter, long ones by words (by signs, in scripts that put no blanks between words), as twice
the common subsequence over both lengths. Cheap bounds come first, and among many texts only those that share rare neighbours
are compared at all. Meaning is not compared: a paraphrase is a different text.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from zlib import crc32

from backscroll.reconcile.alignment import Pair, common_length, heaviest_rising

ALIKE = 0.8  # threshold for versions of one text
LETTERS = 256  # texts up to this length are compared letter by letter
LONGEST = 20_000  # of longer texts only beginning and end are used
EVERY_PAIR = 256  # up to this many pairs, all are looked at
SKETCH = 8  # word pairs that represent a text if there are many texts
CANDIDATES = 4
CONTINUED = 12  # a prefix this long is not a coincidence

_TOKEN = re.compile(r"[^\W\u0e00-\U0010ffff]+|\S")


def likeness(a: str, b: str) -> float:
    """Return the likeness, from 0.0 (nothing in common) to 1.0 (equal)."""
    if a == b:
        return 1.0
    both = len(a) + len(b)
    same = _affix(a, b)
    if 2 * same / both >= ALIKE:
        return 2 * same / both
    return _ratio(_tokens(a, b), _tokens(b, a))


def alike(a: str, b: str) -> bool:
    """Return True if one text is a changed, continued or cut version of the other."""
    shorter, longer = sorted((a, b), key=len)
    return (len(shorter) >= CONTINUED and longer.startswith(shorter)) or likeness(a, b) >= ALIKE


def _tokens(text: str, other: str) -> Sequence[str]:
    if max(len(text), len(other)) <= LETTERS:
        return text
    if len(text) > LONGEST:
        text = text[: LONGEST // 2] + text[-LONGEST // 2 :]
    return _TOKEN.findall(text)


def _ratio(a: Sequence[str], b: Sequence[str]) -> float:
    both = len(a) + len(b)
    if not both or 2 * min(len(a), len(b)) / both < ALIKE:
        return 0.0
    if 2 * (Counter(a) & Counter(b)).total() / both < ALIKE:
        return 0.0
    numbers: dict[str, int] = {}
    left = [numbers.setdefault(x, len(numbers)) for x in a]
    right = [numbers.setdefault(x, len(numbers)) for x in b]
    return 2 * common_length(left, right) / both


def _affix(a: str, b: str) -> int:
    """Return the number of letters in the common prefix and suffix together."""
    most = min(len(a), len(b))
    head = _prefix(a, b, most)
    return head + min(_prefix(a[::-1], b[::-1], most), most - head)


def _prefix(a: str, b: str, most: int) -> int:
    low = 0
    while low < most:  # slices compare at memory speed, so bisection beats a loop
        middle = (low + most + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            most = middle - 1
    return low


def pair_versions(
    ours: Sequence[str], theirs: Sequence[str], our_kinds: Sequence[Hashable], their_kinds: Sequence[Hashable]
) -> list[Pair]:
    """Return pairs of texts of the same kind that are versions of one another, rising on both sides, the likest first."""
    found: dict[Pair, float] = {}
    for i, j in _worth_comparing(ours, theirs):
        if our_kinds[i] == their_kinds[j] and ours[i] and theirs[j]:
            like = likeness(ours[i], theirs[j])
            if like >= ALIKE:
                found[i, j] = like
            elif alike(ours[i], theirs[j]):
                found[i, j] = ALIKE
    return heaviest_rising(found)


def _worth_comparing(ours: Sequence[str], theirs: Sequence[str]) -> set[Pair]:
    if len(ours) * len(theirs) <= EVERY_PAIR:
        return {(i, j) for i in range(len(ours)) for j in range(len(theirs))}
    shift = len(ours) - len(theirs)
    pairs = {(k, k) for k in range(min(len(ours), len(theirs)))}
    pairs |= {(j + shift, j) for j in range(len(theirs)) if j + shift >= 0}
    where: dict[int, list[int]] = {}
    for i, text in enumerate(ours):
        for mark in _sketch(text):
            where.setdefault(mark, []).append(i)
    for j, text in enumerate(theirs):
        votes: Counter[int] = Counter()
        for mark in _sketch(text):
            owners = where.get(mark, ())
            if len(owners) <= 4 * SKETCH:  # what many texts share distinguishes none of them
                votes.update(owners)
        pairs.update((i, j) for i, _ in votes.most_common(CANDIDATES))
    return pairs


def _sketch(text: str) -> list[int]:
    """Return a few neighbourhoods of a text, chosen by hash so that versions of a text choose the same ones."""
    tokens = _TOKEN.findall(text[:LONGEST])
    if len(tokens) < 2:
        return [crc32(text.encode("utf-8", "surrogatepass"))]
    near = {crc32(f"{a} {b}".encode("utf-8", "surrogatepass")) for a, b in itertools.pairwise(tokens)}
    return sorted(near)[:SKETCH]
