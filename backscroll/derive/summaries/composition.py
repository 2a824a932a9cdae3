"""Composition of gists and summaries: choosing items for a budget, cutting texts, listing and counting essentials.

Owns no scoring: items come with their scores. The connecting words between quotations are data (`labels.toml`), in the
language of the quotations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from backscroll.derive.essence.essentials import LONGEST_NAME, Essential, EssentialKind, Findings
from backscroll.derive.recipe import Count
from backscroll.vocab.values.table import read_table

NAMED = (EssentialKind.PATH, EssentialKind.ID)


class SummaryItem(NamedTuple):
    """A candidate for a gist or a summary."""

    order: int  # position, if it is chosen
    text: str
    score: float
    tokens: int
    bound: tuple[Essential, ...] = ()  # the essentials that it states
    pieces: frozenset[str] = frozenset()


@cache
def _tables() -> Mapping[str, Mapping[str, str]]:
    return read_table("backscroll.derive", "labels.toml")


def labels(language: str) -> Mapping[str, str]:
    """Return the connecting words, in Chinese or in English."""
    return _tables()["zh" if language == "zh" else "en"]


def select_items(items: Iterable[SummaryItem], room: int) -> set[int]:
    """Choose items by weight, as long as they fit; the very first may be cut to fit."""
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
            out.add(item.order)  # the whole text is cut at the end
            left = 0
    return out


def clip_text(text: str, limit: int, count: Count) -> str:
    """Return the beginning of a text, at most so many tokens long, with an ellipsis if it was cut."""
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


def list_essentials(
    essentials: Sequence[Essential], words: Mapping[str, str], *, told: str = ""
) -> list[str]:
    """Return one line for each kind, without what is in `told`."""
    out: list[str] = []
    known = flat(told)
    for kind in EssentialKind:
        texts = [e.text for e in essentials if e.kind is kind and not says(known, e)]
        if texts:
            between = words["comma"] if kind in NAMED else "; "
            out.append(f"{words[kind.value]}{words['colon']}{between.join(texts)}")
    return out


def distinct(essentials: Sequence[Essential]) -> list[Essential]:
    """Return names without those that end a longer one: `app.py` is dropped if `src/app.py` is present."""
    longer = {e.text for e in essentials if len(e.text) <= LONGEST_NAME}
    ends = {text[n + 1 :] for text in longer for n, c in enumerate(text) if c in "/\\"}
    return [e for e in essentials if e.text not in ends]


def flat(text: str) -> str:
    """Return a text with all white space as single spaces, for comparing."""
    return " ".join(text.split())


def says(told: str, essential: Essential) -> bool:
    """Return True if a text (flat) states an essential; one that was cut in the middle is matched by its ends."""
    text = flat(essential.text)
    if text in told:
        return True
    head, cut, tail = text.partition(" … ")
    return bool(cut) and head in told and tail in told


def counted_rest(found: Findings, words: Mapping[str, str], *, told: str) -> str:
    """Return the number of omitted open essentials by kind, in words; empty if none."""
    counts: dict[EssentialKind, int] = dict(found.more)
    known = flat(told)
    for essential in found.open:
        if not says(known, essential):
            counts[essential.kind] = counts.get(essential.kind, 0) + 1
    parts = [words[f"more_{kind.value}"].format(n=counts[kind]) for kind in EssentialKind if counts.get(kind)]
    return words["more"].format(counts=words["comma"].join(parts)) if parts else ""
