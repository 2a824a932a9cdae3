"""Comparison of two tasks: what they have in common, and where they differ.

Compares files, tools, commands, decisions, errors, and distinctive words. Pure: messages are passed in,
nothing is read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from backscroll.derive.digest import digests_of
from backscroll.derive.essence.essentials import EssentialKind
from backscroll.derive.essence.reader import essentials
from backscroll.recall.text.terms import cut_words, stopwords
from backscroll.recall.text.words import fold_word, is_unspaced, stem
from backscroll.tasks.lifecycle.tuning import COMPARED, LISTED, POOL, TOPICS
from backscroll.vocab.message import Message, is_spoken_by_user
from backscroll.vocab.task import Task

_WORD = re.compile(r"[^\W_][\w.\-/]*[^\W_]|[^\W_]", re.UNICODE)
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+")


@dataclass(frozen=True, slots=True)
class ComparisonSide:
    """One of the two tasks."""

    task: Task
    messages: int
    turns: int
    files: tuple[str, ...]
    tools: tuple[str, ...]
    topics: tuple[str, ...]
    decisions: tuple[str, ...]
    errors: tuple[str, ...]  # still open at its end


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two tasks side by side."""

    first: ComparisonSide
    second: ComparisonSide
    same_files: tuple[str, ...]
    same_tools: tuple[str, ...]
    same_topics: tuple[str, ...]
    same_errors: tuple[str, ...]
    likeness: float  # 0 … 1
    linked: str  # their link; empty: none


def side_of(task: Task, messages: Sequence[Message]) -> ComparisonSide:
    """Return the comparable properties of one task."""
    digests = digests_of(messages)
    found = essentials(messages)
    changed = [d.target for d in digests if d.kind in ("edit", "write") and d.target.strip()]
    named = [d.target for d in digests if d.kind == "read" and d.target.strip()]
    return ComparisonSide(
        task,
        len(messages),
        sum(is_spoken_by_user(m) for m in messages),
        tuple(dict.fromkeys((*changed, *named, *(e.text for e in found if e.kind is EssentialKind.PATH)))),
        tuple(dict.fromkeys(d.tool_name for d in digests)),
        tuple(topics_of([task.title, *_iterate_texts(messages)])),
        tuple(e.text for e in found if e.kind is EssentialKind.DECISION),
        tuple(e.text for e in found if e.kind is EssentialKind.ERROR),
    )


def compare(first: ComparisonSide, second: ComparisonSide) -> Comparison:
    """Return what two tasks have in common, and where they differ."""
    topics = _common(first.topics, second.topics)
    files = _common(first.files, second.files)
    how = [k.how for a, b in ((first, second), (second, first)) for k in a.task.links if k.other == b.task.id]
    shares = [_share(first.topics, second.topics), _share(first.files, second.files)]
    known = [share for share in shares if share is not None]
    return Comparison(
        first,
        second,
        files[:LISTED],
        _common(first.tools, second.tools)[:LISTED],
        topics[:TOPICS],
        _common(first.errors, second.errors)[:LISTED],
        round(sum(known) / len(known), 3) if known else 0.0,
        how[0] if how else "",
    )


def only(side: Sequence[str], common: Sequence[str], most: int = LISTED) -> tuple[str, ...]:
    """Return what only one side has."""
    shared = set(common)
    return tuple(item for item in side if item not in shared)[:most]


def _common(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    held = set(second)
    return tuple(item for item in first if item in held)


def _share(first: Sequence[str], second: Sequence[str]) -> float | None:
    both = {*first, *second}
    return len({*first} & {*second}) / len(both) if both else None


def _iterate_texts(messages: Iterable[Message]) -> Iterable[str]:
    return (m.text[:COMPARED] for m in messages if m.role in ("user", "assistant") and m.text)


def topics_of(texts: Iterable[str]) -> list[str]:
    """Return the distinctive words of texts, most frequent first, in their most frequent spelling."""
    common = stopwords()
    counts: Counter[str] = Counter()
    spellings: dict[str, Counter[str]] = {}
    for text in texts:
        for word in _words(text):
            key = word if is_unspaced(word) else stem(fold_word(word))
            if len(word) < 2 or key in common or word.isdigit():
                continue
            counts[key] += 1
            spellings.setdefault(key, Counter())[word] += 1
    ranked = sorted(counts, key=lambda key: (-counts[key], key))[:POOL]
    return [min(spellings[key], key=lambda word, key=key: (-spellings[key][word], word)) for key in ranked]


def _words(text: str) -> Iterable[str]:
    for run in _WORD.findall(text):
        if not is_unspaced(run):
            yield run
            continue
        for stretch in _HAN.findall(run):
            yield from cut_words(stretch)
        yield from (piece for piece in _HAN.split(run) if piece)
