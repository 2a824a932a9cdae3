"""Collect losses while writing: what the target format cannot hold.

Owns: the `Problem`s of an export: one for each message whose flags, author or alternatives have no place in the target,
one per kind for records of another tool that are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from backscroll.vocab.foreign import Aside, ForeignCodeChange, ForeignMessage, Item, Problem

#: Called by a writer of parts with what it left out.
Note: TypeAlias = Callable[[str], None]


def quiet(_: str) -> None:
    """Ignore problems."""


def _none() -> Counter[str]:
    return Counter()


@dataclass(slots=True)
class ExportLosses:
    """The problems of one export, and the writer's position."""

    label: str  # the target, for people
    problems: list[Problem]
    position: int = 0  # messages so far
    left_out: Counter[str] = field(default_factory=_none)

    def note(self, what: str) -> None:
        """Note a problem with the message that is being written."""
        self.problems.append(Problem(what, where=f"message {self.position}"))

    def flags(self, message: ForeignMessage, *, hidden: bool = False, author: bool = False) -> None:
        """Begin a message: report its flags and author, unless the target can express them."""
        self.position += 1
        if len(message.alternatives) > 1:
            others = len(message.alternatives) - 1
            self.note(f"{self.label} has no alternatives: {others} other version(s) left out")
        if message.hidden and not hidden:
            self.note(f"{self.label} cannot hide a message: it is written as an ordinary one")
        if message.pinned:
            self.note(f"{self.label} cannot pin a message")
        if message.content.author is not None and not author:
            self.note(f"{self.label} has no names of speakers: {message.content.author!r} left out")

    def leave_out(self, item: Item) -> None:
        """Report a record that the target cannot hold; problems of the source are passed on."""
        if isinstance(item, Problem):
            self.problems.append(item)
        elif isinstance(item, Aside):
            self.left_out[f"record(s) of the kind {item.kind!r}"] += 1
        elif isinstance(item, ForeignCodeChange):
            self.left_out["code change(s)"] += 1

    def close(self) -> None:
        """Report the records that were left out, once per kind."""
        for kind, count in self.left_out.items():
            self.problems.append(Problem(f"{count} {kind} have no place in {self.label} and were left out"))
