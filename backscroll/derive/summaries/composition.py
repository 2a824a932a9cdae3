"""How gists and summaries are put together: choosing items for a room, cutting texts, listing and counting essentials.

Owns no judgement: items come with their scores. The few words that stand between quotations are data (`labels.toml`), in the
language of what is quoted. Before: `derive/essence/essentials`. After: `derive/summaries/gist`, `derive/summaries/summary`, `derive/summaries/account`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple, cast

from backscroll.derive.essence.essentials import LONGEST_NAME, Essential, Findings, Kind
from backscroll.derive.recipe import Count

NAMED = (Kind.PATH, Kind.ID)


class Item(NamedTuple):
    """Something that may stand in a gist or a summary."""

    order: int  # where it stands if it is chosen
    text: str
    score: float
    tokens: int
    bound: tuple[Essential, ...] = ()  # the essentials that it speaks of
    pieces: frozenset[str] = frozenset()


@cache
def _tables() -> Mapping[str, Mapping[str, str]]:
    raw = resources.files("backscroll.derive").joinpath("labels.toml").read_text(encoding="utf-8")
    return cast("Mapping[str, Mapping[str, str]]", tomllib.loads(raw))


def labels(language: str) -> Mapping[str, str]:
    """The words between quotations, in Chinese or in English."""
    return _tables()["zh" if language == "zh" else "en"]


def taken(items: Iterable[Item], room: int) -> set[int]:
    """Which items to take, weightiest first, as long as they fit; the very first may be cut to fit."""
    left = room
    out: set[int] = set()
    for item in sorted(items, key=lambda i: (-i.score, i.order)):
        if item.score <= 0 and out:
            break
        cost = item.tokens + 1
        if cost <= left:
            out.add(item.order)
            left -= cost
        elif not out and left > 8:
            out.add(item.order)  # the text is cut as a whole at the end
            left = 0
    return out


def clipped(text: str, limit: int, count: Count) -> str:
    """The beginning of a text, at most so many tokens long, with a sign where it was cut."""
    if limit <= 0:
        return ""
    size = count(text)
    if size <= limit:
        return text
    low, high = 0, min(len(text), max(8, len(text) * limit // max(1, size) * 2))
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[:middle] + "…") <= limit:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + "…" if low else ""


def listed(essentials: Sequence[Essential], words: Mapping[str, str], *, told: str = "") -> list[str]:
    """One line for each kind; what is `told` already is not said again."""
    out: list[str] = []
    known = flat(told)
    for kind in Kind:
        texts = [e.text for e in essentials if e.kind is kind and not says(known, e)]
        if texts:
            between = words["comma"] if kind in NAMED else "; "
            out.append(f"{words[kind.value]}{words['colon']}{between.join(texts)}")
    return out


def distinct(essentials: Sequence[Essential]) -> list[Essential]:
    """Names without those that are the end of a longer one: `app.py` goes where `src/app.py` stays."""
    longer = {e.text for e in essentials if len(e.text) <= LONGEST_NAME}
    ends = {text[n + 1 :] for text in longer for n, c in enumerate(text) if c in "/\\"}
    return [e for e in essentials if e.text not in ends]


def flat(text: str) -> str:
    """A text with all white space as single spaces, for comparing."""
    return " ".join(text.split())


def says(told: str, essential: Essential) -> bool:
    """True where a text (flat) says an essential; one that was cut in its middle counts by its ends."""
    text = flat(essential.text)
    if text in told:
        return True
    head, cut, tail = text.partition(" … ")
    return bool(cut) and head in told and tail in told


def counted_rest(found: Findings, words: Mapping[str, str], *, told: str) -> str:
    """How many essentials of which kind are open and not told; empty where all are."""
    counts: dict[Kind, int] = dict(found.more)
    known = flat(told)
    for essential in found.open:
        if not says(known, essential):
            counts[essential.kind] = counts.get(essential.kind, 0) + 1
    parts = [words[f"more_{kind.value}"].format(n=counts[kind]) for kind in Kind if counts.get(kind)]
    return words["more"].format(counts=words["comma"].join(parts)) if parts else ""
