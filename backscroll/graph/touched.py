"""What one change of the turns has touched so far, so that nothing else is looked at again.

A noun only. Before: `graph/index`, `graph/naming/group`. After: `graph/weave`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from backscroll.graph.index import Line
from backscroll.graph.naming.group import Group, Place
from backscroll.vocab.ids import Ref


@dataclass(slots=True)
class Touched:
    """What one change has touched so far."""

    lines: list[Line] = field(default_factory=list[Line])
    named: dict[str, set[Ref]] = field(
        default_factory=dict[str, set[Ref]]
    )  # keys with other mentions, and where
    spelled: set[str] = field(default_factory=set[str])  # keys that gained or lost a spelling or a vote
    dirty: set[Place] = field(default_factory=set[Place])  # turns whose pronouns are settled again
    called: set[str] = field(default_factory=set[str])  # names whose bearer may be another now
    #: nodes that some turn says more or less for, and whether they were shown before
    shown: dict[int, tuple[Group, bool]] = field(default_factory=dict[int, tuple[Group, bool]])
