"""Essentials: what must survive every level of compression, and when it is settled.

An essential is open until something later settles it: a to-do until it is ticked, an error until the same thing succeeds, a
question until it is answered. What one message says about this is local (`derive/essentials_reading`); this module owns the
nouns and the fold: findings of spans are joined in order, so an edit re-derives one span and the joins above it. What is
carried on is bounded, and what falls over the edge is counted, never silently gone. After: `derive/gist`, `derive/summary`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias, cast

from backscroll.derive.clusters import pieces
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json


class Kind(StrEnum):
    """What must not vanish, most urgent first."""

    TODO = "todo"
    ERROR = "error"
    CONSTRAINT = "constraint"
    DECISION = "decision"
    QUESTION = "question"
    PATH = "path"
    ID = "id"


#: How many open essentials of a kind a span carries on; beyond that the least weighty are only counted.
CARRIED: Mapping[Kind, int] = {
    Kind.TODO: 40,
    Kind.ERROR: 24,
    Kind.CONSTRAINT: 40,
    Kind.DECISION: 40,
    Kind.QUESTION: 8,
    Kind.PATH: 80,
    Kind.ID: 80,
}
_SETTLED = 240  # closes that a span carries on; one that is lost leaves something open too long, which is the safe side
_DONE = 0.6  # share of a to-do's words that a sentence about something done must hold


#: Words that say that something is to be done, and nothing about what.
_ANNOUNCED = re.compile(
    r"(?i)\b(?:todo|to-do|still|needs?|ha(?:ve|s)|next|steps?|remain(?:ing)?|don'?t|forget|remember|left|later|up)\b"
    r"|还需要?|还要|还没|下一步|接下来|需要|别忘了|不要忘[记了]|记得|待办|尚未|后续|剩下"
)


@dataclass(frozen=True, slots=True)
class Essential:
    """One thing that must survive, in the words it was said in."""

    kind: Kind
    text: str
    source: Ref  # the revision that says it
    message: Ref
    group: str  # what settles it: `todo/list`, `error/tool` …
    name: str  # which one of its group it is; the same name again is the same thing
    weight: float = 1.0  # which one goes first where not all can stay


@dataclass(frozen=True, slots=True)
class Close:
    """Something was settled: one of a group by name, or (empty name) the whole group."""

    group: str
    name: str = ""


Mark: TypeAlias = Essential | Close


def _none() -> Mapping[Kind, int]:
    return {}


@dataclass(frozen=True, slots=True)
class Findings:
    """What a span leaves open at its end, what it settles of what came before, and how much it could not carry."""

    open: tuple[Essential, ...] = ()
    closes: tuple[Close, ...] = ()
    more: Mapping[Kind, int] = field(default_factory=_none)


def fold(marks: Iterable[Mark]) -> Findings:
    """The findings of what a stretch of messages says, in order."""
    held: dict[tuple[str, str], Essential] = {}
    closes: dict[tuple[str, str], Close] = {}
    for mark in marks:
        if isinstance(mark, Close):
            _settle(held, mark)
            closes[mark.group, mark.name] = mark
        else:
            _open(held, mark)
    return _bounded(held.values(), closes.values(), {})


def join(spans: Sequence[Findings]) -> Findings:
    """The findings of several spans, one after the other."""
    held: dict[tuple[str, str], Essential] = {}
    closes: dict[tuple[str, str], Close] = {}
    more: dict[Kind, int] = {}
    for span in spans:
        for close in span.closes:
            _settle(held, close)
            closes[close.group, close.name] = close
        for essential in span.open:
            _open(held, essential)
        for kind, count in span.more.items():
            more[kind] = more.get(kind, 0) + count
    return _bounded(held.values(), closes.values(), more)


def _open(held: dict[tuple[str, str], Essential], new: Essential) -> None:
    old = held.pop((new.group, new.name), None)  # said again: it moves to the end, as heavy as it ever was
    if old is not None and old.weight > new.weight:
        new = replace(new, weight=old.weight)
    held[new.group, new.name] = new


def _settle(held: dict[tuple[str, str], Essential], close: Close) -> None:
    if close.group == "todo":  # a sentence says that something is done: which to-do was that?
        done = _matter(close.name)
        for key in [
            k for k, e in held.items() if e.kind is Kind.TODO and k[0] != "todo/list" and _covers(done, e)
        ]:
            del held[key]
    elif not close.name:
        for key in [k for k in held if k[0] == close.group]:
            del held[key]
    else:
        held.pop((close.group, close.name), None)


def _covers(done: frozenset[str], todo: Essential) -> bool:
    wanted = _matter(todo.text)
    return len(wanted) > 1 and len(wanted & done) >= _DONE * len(wanted)


def _matter(text: str) -> frozenset[str]:
    """What a to-do, or a sentence about something done, is about: without the words that make it one."""
    found = pieces(_ANNOUNCED.sub(" ", text))
    return frozenset(p[:4] if p.isascii() and p.isalpha() else p for p in found)


def _bounded(held: Iterable[Essential], closes: Iterable[Close], more: Mapping[Kind, int]) -> Findings:
    by_kind: dict[Kind, list[tuple[int, Essential]]] = {}
    everything = list(held)
    for place, essential in enumerate(everything):
        by_kind.setdefault(essential.kind, []).append((place, essential))
    kept: set[int] = set()
    counts = dict(more)
    for kind, found in by_kind.items():
        most, staying = CARRIED[kind], found
        if len(found) > most:
            counts[kind] = counts.get(kind, 0) + len(found) - most
            staying = sorted(found, key=lambda row: (-row[1].weight, -row[0]))[:most]
        kept.update(place for place, _ in staying)
    settled = tuple(closes)[-_SETTLED:]
    open_now = tuple(e for place, e in enumerate(everything) if place in kept)
    return Findings(open_now, settled, {k: counts[k] for k in Kind if counts.get(k)})


def essentials(messages: Sequence[Message]) -> tuple[Essential, ...]:
    """What is open at the end of these messages and must survive."""
    from backscroll.derive.essentials_reading import findings

    return findings(messages).open


def to_json(findings: Findings, packed: Callable[[Ref], Json]) -> dict[str, Json]:
    """The stored shape; short, because there are many. `packed` spells the name of a revision or a message."""
    return {
        "open": [
            [
                e.kind.value,
                e.text,
                packed(e.source),
                packed(e.message),
                e.group,
                "" if e.name == e.text else e.name,
                round(e.weight, 3),
            ]
            for e in findings.open
        ],
        "closes": [[c.group, c.name] for c in findings.closes],
        "more": {kind.value: count for kind, count in findings.more.items()},
    }


def from_json(data: Mapping[str, Json], unpacked: Callable[[Json], Ref]) -> Findings:
    """What `to_json` wrote."""
    rows = cast("list[list[Json]]", data["open"])
    return Findings(
        tuple(
            Essential(Kind(kind), text, unpacked(source), unpacked(message), group, name or text, weight)
            for kind, text, source, message, group, name, weight in rows
        ),
        tuple(Close(group, name) for group, name in cast("list[list[str]]", data["closes"])),
        {Kind(kind): count for kind, count in cast("dict[str, int]", data["more"]).items()},
    )
