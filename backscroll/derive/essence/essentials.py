"""Essentials: what every level of compression must keep, and when it is settled.

An essential is open until something later settles it: a to-do until it is ticked, an error until the same thing succeeds, a
question until it is answered. What one message says about this is local (`derive/essence/reader`); this module owns the nouns
and the fold: findings of spans are joined in order, so an edit re-derives one span and the joins above it. What is carried
on is bounded, and what does not fit is counted, never silently dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias, cast

from backscroll.derive.essence.resolution import (
    TodoMatter,
    covers,
    near_close,
    settles_error,
    settles_todo,
    todo_matter,
)
from backscroll.derive.essence.tuning import NEAR_EVENTS
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json


class EssentialKind(StrEnum):
    """The kind of an essential, most urgent first."""

    TODO = "todo"
    ERROR = "error"
    CONSTRAINT = "constraint"
    DECISION = "decision"
    QUESTION = "question"
    PATH = "path"
    ID = "id"


#: How many open essentials of a kind a span carries on; beyond that the lightest are only counted.
CARRIED: Mapping[EssentialKind, int] = {
    EssentialKind.TODO: 40,
    EssentialKind.ERROR: 24,
    EssentialKind.CONSTRAINT: 40,
    EssentialKind.DECISION: 40,
    EssentialKind.QUESTION: 8,
    EssentialKind.PATH: 80,
    EssentialKind.ID: 80,
}
#: Maximum characters of a path or an id; anything longer is data (base64 has slashes, too).
LONGEST_NAME = 320
_SETTLED = 240  # closes that a span carries on; losing one leaves something open too long, which is safe


@dataclass(frozen=True, slots=True)
class Essential:
    """One thing that must be kept, in its original words."""

    kind: EssentialKind
    text: str
    source: Ref  # the revision that states it
    message: Ref
    group: str  # what settles it: `todo/list`, `error/tool` …
    name: str  # identifies it in its group; the same name again is the same thing
    weight: float = 1.0  # decides which ones stay if not all can


@dataclass(frozen=True, slots=True)
class Close:
    """Something was settled: one item of a group by name, or (empty name) the whole group."""

    group: str  # `todo`: the name is a clause about something done; `todo/near`, `error/near`: see `derive/essence/resolution`
    name: str = ""


Mark: TypeAlias = Essential | Close


def _none() -> Mapping[EssentialKind, int]:
    return {}


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of a span: what it leaves open, what it settles, and how much was dropped."""

    open: tuple[Essential, ...] = ()
    closes: tuple[Close, ...] = ()
    more: Mapping[EssentialKind, int] = field(default_factory=_none)


#: Errors that people report; those of tools are settled by the same call.
_TOLD = ("error/said", "error/told")


class _OpenEssentials:
    """The open essentials so far, in order, and how many did not fit.

    At most twice what is carried on is held of each kind, so that comparing closes does not grow with the text.
    """

    def __init__(self) -> None:
        self.open: dict[tuple[str, str], Essential] = {}
        self.groups: dict[str, dict[str, None]] = {}
        self.counts: dict[EssentialKind, int] = {}
        self.matters: dict[tuple[str, str], TodoMatter] = {}  # to-dos that words may settle
        self.closes: dict[tuple[str, str], Close] = {}
        self.more: dict[EssentialKind, int] = {}

    def add(self, new: Essential) -> None:
        """Open an essential; a repeated one moves to the end and keeps its greatest weight."""
        key = (new.group, new.name)
        old = self.drop(key)
        if old is not None and old.weight > new.weight:
            new = replace(new, weight=old.weight)
        self.open[key] = new
        self.groups.setdefault(new.group, {})[new.name] = None
        self.counts[new.kind] = self.counts.get(new.kind, 0) + 1
        if new.kind is EssentialKind.TODO and new.group != "todo/list":
            self.matters[key] = todo_matter(new.text)
        if self.counts[new.kind] > 2 * CARRIED[new.kind]:
            self.prune(new.kind)

    def drop(self, key: tuple[str, str]) -> Essential | None:
        """Remove an essential; return None if it is not held."""
        old = self.open.pop(key, None)
        if old is not None:
            del self.groups[key[0]][key[1]]
            self.counts[old.kind] -= 1
            self.matters.pop(key, None)
        return old

    def prune(self, kind: EssentialKind) -> None:
        """Keep as many of a kind as are carried on, the heaviest and among equals the newest; count the others."""
        found = [(place, key) for place, (key, e) in enumerate(self.open.items()) if e.kind is kind]
        ranked = sorted(found, key=lambda row: (-self.open[row[1]].weight, -row[0]))
        for _, key in ranked[CARRIED[kind] :]:
            self.drop(key)
            self.more[kind] = self.more.get(kind, 0) + 1

    def settle(self, close: Close) -> None:
        """Settle the essentials that a close refers to."""
        self.closes.pop((close.group, close.name), None)
        self.closes[close.group, close.name] = close
        if close.group == "todo":  # a sentence says that something is done: find that to-do
            for key in [key for key, todo in self.matters.items() if covers(close.name, todo)]:
                self.drop(key)
        elif close.group in ("todo/near", "error/near"):
            for key in list(self.near(close)):
                self.drop(key)
        elif close.name:
            self.drop((close.group, close.name))
        else:
            for name in list(self.groups.get(close.group, ())):
                self.drop((close.group, name))

    def near(self, close: Close) -> Iterator[tuple[str, str]]:
        """Yield what is settled without being named: to-dos of the newest message that has any, and errors on the same subject."""
        near = near_close(close.name)
        todos = close.group == "todo/near"
        keys = self.matters if todos else [(g, n) for g in _TOLD for n in self.groups.get(g, ())]
        found = [k for k in keys if near.seq - NEAR_EVENTS <= self.open[k].message.seq < near.seq]
        if todos:
            found = [k for k in found if settles_todo(near, self.matters[k])]
            last = max((self.open[k].message.seq for k in found), default=0)
            return (k for k in found if self.open[k].message.seq == last)
        return (k for k in found if settles_error(near, self.open[k].text))

    def findings(self) -> Findings:
        """Return the findings to carry on."""
        for kind, count in list(self.counts.items()):
            if count > CARRIED[kind]:
                self.prune(kind)
        settled = tuple(self.closes.values())[-_SETTLED:]
        more = {k: self.more[k] for k in EssentialKind if self.more.get(k)}
        return Findings(tuple(self.open.values()), settled, more)


def fold(marks: Iterable[Mark]) -> Findings:
    """Fold the findings of a stretch of messages, in order."""
    held = _OpenEssentials()
    for mark in marks:
        if isinstance(mark, Close):
            held.settle(mark)
        else:
            held.add(mark)
    return held.findings()


def join(spans: Sequence[Findings]) -> Findings:
    """Join the findings of several consecutive spans."""
    held = _OpenEssentials()
    for span in spans:
        for close in span.closes:
            held.settle(close)
        for essential in span.open:
            held.add(essential)
        for kind, count in span.more.items():
            held.more[kind] = held.more.get(kind, 0) + count
    return held.findings()


def to_json(findings: Findings, packed: Callable[[Ref], Json]) -> dict[str, Json]:
    """Return the stored form; short, because there are many. `packed` encodes the name of a revision or a message."""
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
    """Read what `to_json` wrote."""
    rows = cast("list[list[Json]]", data["open"])
    return Findings(
        tuple(
            Essential(
                EssentialKind(kind), text, unpacked(source), unpacked(message), group, name or text, weight
            )
            for kind, text, source, message, group, name, weight in rows
        ),
        tuple(Close(group, name) for group, name in cast("list[list[str]]", data["closes"])),
        {EssentialKind(kind): count for kind, count in cast("dict[str, int]", data["more"]).items()},
    )
