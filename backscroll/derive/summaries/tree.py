"""The summary tree: its spans, and which of them a change affects.

Level 0 are pieces (a turn, or part of a long one), level 1 spans of pieces, and so on. Whether a span opens depends on its
opening message alone (`derive/summaries/spans`), so regrouping begins at the span before a change and ends at the first
opening behind it that was there before: one path, not everything. Refuses reading and writing; those are passed in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from backscroll.derive.summaries import gist, summary
from backscroll.derive.summaries.spans import rank
from backscroll.record.derived import SummaryNode
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Role

#: The name under which the store keeps the progress of a thread's tree.
PROGRESS = "tree"
_INITIAL = {"user": "u", "assistant": "a", "system": "s", "tool": "t"}
_ROLE = {initial: role for role, initial in _INITIAL.items()}


class TreeMessage(NamedTuple):
    """A message as the tree sees it: its position and its hash, without its text."""

    message: Ref
    revision: Ref
    role: Role
    position: bytes
    digest: str
    pinned: bool
    hidden: bool

    @property
    def shown(self) -> bool:
        """True if summaries may quote it."""
        return not self.hidden and self.role != "system"

    @property
    def input(self) -> str:
        """What a gist depends on in this message."""
        return gist.input_of(self.message, self.revision, self.role, self.digest, pinned=self.pinned)


def piece(thread: str, run: Sequence[TreeMessage]) -> SummaryNode:
    """Return the node of level 0 for a run of messages."""
    inputs = [s.input for s in run if s.shown]
    covered = [s.input if s.shown else f"{s.message} -" for s in run]
    return SummaryNode(
        thread,
        0,
        run[0].message,
        run[0].position,
        run[-1].position,
        _version(run[0].role, covered),
        gist.RECIPE.key(inputs),
        sum(1 for s in run if s.role == "user"),
        len(run),
    )


def span(thread: str, level: int, children: Sequence[SummaryNode]) -> SummaryNode:
    """Return the parent of some nodes."""
    first = children[0]
    return SummaryNode(
        thread,
        level,
        first.opening,
        first.position,
        children[-1].end,
        _version(role_of(first), [c.version for c in children]),
        summary.RECIPE.key([str(level), *(c.key.hex() for c in children)]),
        sum(c.turns for c in children),
        sum(c.messages for c in children),
    )


def _version(role: str, covered: Iterable[str]) -> str:
    """Return a hash over what a node covers, after the initial of the role that opens it."""
    hashed = hashlib.sha256("\n".join(covered).encode("utf-8", "surrogatepass"))
    return _INITIAL[role] + hashed.hexdigest()[:31]


def role_of(node: SummaryNode) -> str:
    """Return the role of the message that opens a node."""
    return _ROLE[node.version[0]]


def opens(node: SummaryNode, level: int) -> bool:
    """Return True if a node of the level below opens a node of this level by itself (the very first always does)."""
    return rank(role_of(node), node.opening) >= level


def just_before(position: bytes) -> bytes:
    """Return a position after which only this position and later ones come."""
    if not position:
        return position
    last = position[-1]
    return position[:-1] if last == 0 else position[:-1] + bytes([last - 1]) + b"\xff" * 24


@dataclass(frozen=True, slots=True)
class Regrouping:
    """The result of regrouping one stretch of a level."""

    start: bytes | None  # position at which it began; None: the very beginning
    stop: bytes | None  # position at which the old spans resume; None: the very end
    runs: tuple[tuple[TreeMessage | SummaryNode, ...], ...]


class LevelSource(NamedTuple):
    """Access to the existing nodes of a level, for regrouping."""

    walk: Callable[
        [bytes | None], Iterator[TreeMessage | SummaryNode]
    ]  # the nodes of the level below, after a position
    opens: Callable[[TreeMessage | SummaryNode], bool]
    last_before: Callable[[bytes], SummaryNode | None]  # its spans before the change
    had: Callable[[bytes], bool]  # whether a span began at this position


def regroup(level: LevelSource, dirty: Sequence[bytes], endless: bytes | None) -> Iterator[Regrouping]:
    """Recompute the spans of a level after a change.

    `dirty` are positions at which something was or is; from `endless` on everything is new. What lies between two regions is
    as it was.
    """
    points = sorted(set(dirty))
    at, last = 0, len(points)
    while at < last or endless is not None:
        point = points[at] if at < last else endless
        assert point is not None
        if endless is not None and endless < point:
            point = endless
        before = level.last_before(point)
        start = None if before is None else before.position
        runs: list[tuple[TreeMessage | SummaryNode, ...]] = []
        run: list[TreeMessage | SummaryNode] = []
        stop: bytes | None = None
        for thing in level.walk(None if start is None else just_before(start)):
            place = thing.position
            while at < last and points[at] < place:
                at += 1
            touched = (at < last and points[at] == place) or (endless is not None and endless <= place)
            if run and level.opens(thing):
                if not touched and place > point and level.had(place):
                    stop = place
                    break
                runs.append(tuple(run))
                run = []
            run.append(thing)
        if run:
            runs.append(tuple(run))
        yield Regrouping(start, stop, tuple(runs))
        if stop is None:
            return
