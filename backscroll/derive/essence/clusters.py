"""Clusters: texts that say nearly the same, found by shared words and characters.

Owns the pieces by which texts are compared (stems of words, pairs of Han characters) and the grouping; deterministic, and
quick because only texts that share a piece are compared. Refuses meaning: vectors are `recall`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from backscroll.derive.essence.tuning import SAME_TEXT, STEM_LETTERS
from backscroll.vocab.values.pattern import late

_PIECE = late(
    r"[a-z0-9_][a-z0-9_'./-]*[a-z0-9_]|[a-z0-9_]|[\u2e80-\u2fff\u3040-\u9fff\uac00-\ud7a3\uf900-\ufaff]+"
)
_COMMON = 24  # a piece in more groups than this is too common to distinguish them
#: Words that say nothing about the subject of a text.
_SMALL = frozenset(
    "a an the and or but of to in on at for with by from as is are was were be been being it its this that these those i "
    "you he she we they me my your his her our their do does did have has had will would can could should may might must not no "
    "so if then than there here what which who when where how why all any some just also now up out about into over after "
    "before again more most other only own same too very s t don".split()
)
_SMALL_ZH = frozenset(
    "的 了 是 在 和 我 你 他 她 它 们 这 那 就 都 也 还 要 吗 呢 吧 啊 把 被 给 与 及 或 而".split()
)


@lru_cache(maxsize=4096)
def pieces(text: str) -> frozenset[str]:
    """Return the features by which texts are compared: beginnings of words, pairs of Han characters."""
    out: set[str] = set()
    for found in _PIECE.findall(text.lower()):
        if found[0] >= "\u2e80":
            letters = [c for c in found if c not in _SMALL_ZH]
            out.update(a + b for a, b in pairwise(letters))
            if len(letters) == 1:
                out.add(letters[0])
        elif found not in _SMALL:
            out.add(found[:STEM_LETTERS] if found.isalpha() else found)
    return frozenset(out)


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Return how much of the shorter text is in the longer, 0 to 1; texts of very different length are not the same."""
    if not one or not other:
        return 0.0
    few, many = (one, other) if len(one) <= len(other) else (other, one)
    shared = len(few & many)
    return shared / len(few) if len(many) <= 3 * len(few) else shared / len(many)


def clusters(texts: Sequence[str], near: float = SAME_TEXT) -> list[list[int]]:
    """Return groups of indexes in the order of their first members; a text joins the group whose first member is most similar."""
    groups: list[list[int]] = []
    heads: list[frozenset[str]] = []
    holders: dict[str, list[int]] = {}  # the groups that have a piece
    for index, text in enumerate(texts):
        own = pieces(text)
        shared: dict[int, int] = {}
        for piece in own:
            holding = holders.get(piece, ())
            if len(holding) <= _COMMON:
                for group in holding:
                    shared[group] = shared.get(group, 0) + 1
        best, best_at = 0.0, -1
        for group in sorted(shared):
            alike = likeness(own, heads[group])
            if alike > best:
                best, best_at = alike, group
        if best >= near:
            groups[best_at].append(index)
            continue
        for piece in sorted(own):
            holders.setdefault(piece, []).append(len(groups))
        groups.append([index])
        heads.append(own)
    return groups
