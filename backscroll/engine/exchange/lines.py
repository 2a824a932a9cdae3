"""The lines of a foreign conversation that may branch: the main one, and branches that leave another at a message."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from backscroll.vocab.foreign import Aside, ForeignCodeChange, ForeignMessage
from backscroll.vocab.ids import Ref

Kept: TypeAlias = ForeignMessage | Aside | ForeignCodeChange


@dataclass(slots=True)
class ImportBranch:
    """One line of a conversation that may branch: the main one, or a branch that leaves another at a message."""

    number: int
    parent: ImportBranch | None = None
    leaves_at: str | None = None  # source id of the last message it shares
    items: list[Kept] = field(default_factory=list[Kept])
    thread: str | None = None
    head: int | None = None  # where its log ended when we last read it
    written: bool = False  # whether anything was added to it
    places: dict[str, Ref] = field(default_factory=dict[str, Ref])  # source id -> our id, along this line

    def place(self, source_id: str) -> tuple[ImportBranch, Ref] | None:
        """Return the line and id of a message on this line or the line it left."""
        line: ImportBranch | None = self
        while line is not None:
            if source_id in line.places:
                return line, line.places[source_id]
            line = line.parent
        return None


class Router:
    """Assigns items to lines. The main line passes through; branches are held back until it is complete."""

    def __init__(self, notes: list[str]) -> None:
        self.main = ImportBranch(0)
        self.branches: list[ImportBranch] = []
        self.owner: dict[str, ImportBranch] = {}  # source id -> the line that contains it
        self._tips: dict[str, ImportBranch] = {}  # source id of the last message of a line
        self._notes = notes

    def route(self, items: Iterator[Kept]) -> Iterator[Kept]:
        """Yield the items of the main line as they arrive."""
        line = self.main
        last: dict[int, str] = {}
        for item in items:
            if isinstance(item, ForeignMessage):
                if item.parent_id is not None and last.get(line.number) != item.parent_id:
                    line = self._tips.get(item.parent_id) or self._branch(item.parent_id)
                if item.source_id is not None:
                    if line.number in last:
                        self._tips.pop(last[line.number], None)
                    last[line.number] = item.source_id
                    self._tips[item.source_id] = line
                    self.owner.setdefault(item.source_id, line)
            if line is self.main:
                yield item
            else:
                line.items.append(item)

    def _branch(self, leaves_at: str) -> ImportBranch:
        owner = self.owner.get(leaves_at)
        if owner is None and leaves_at:
            self._notes.append(
                f"a branch hangs on an unknown message {leaves_at!r}; it was kept as a fork of the whole"
            )
        branch = ImportBranch(len(self.branches) + 1, owner or self.main, leaves_at)
        self.branches.append(branch)
        return branch
