"""Turn a finished matching into operations: deletions, restores, additions and moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from backscroll.reconcile.classes import Circumstances, is_untouched, plan_changes
from backscroll.reconcile.holes import without_forgotten
from backscroll.reconcile.matching import Matching, Sides
from backscroll.reconcile.operations import (
    Append,
    Delete,
    ForgottenNote,
    Hide,
    Insert,
    Move,
    NewRef,
    Note,
    Operation,
    Place,
)
from backscroll.vocab.ids import Ref


@dataclass(frozen=True, slots=True)
class UnmatchedOutcome:
    """The outcome of unmatched items."""

    delete: frozenset[int]  # entries of ours; all others stay
    hide: frozenset[int]
    add: frozenset[int]  # blocks of theirs; all others are left alone


def operations_of(
    sides: Sides, matching: Matching, verdict: UnmatchedOutcome, *, knows_hidden: bool
) -> tuple[list[Operation], list[Note]]:
    """Return the operations: deletions and hidings first, then placements and changes in the order of their list."""
    ids = [entry.id for entry in sides.ours]
    out: list[Operation] = [Delete(ids[o]) for o in sorted(verdict.delete)]
    out.extend(Hide(ids[o]) for o in sorted(verdict.hide))
    notes: list[Note] = [
        ForgottenNote(ids[o], sides.blocks[t].theirs) for t, o in sorted(matching.withheld.items())
    ]
    our_end, their_end = _last_user(sides)
    writer = _OperationWriter(
        sides, matching, out, notes, lambda o, t: o > our_end or t > their_end, knows_hidden
    )
    previous: Place = None
    done = 0  # blocks before this index are placed
    survivor = 0  # entries before this index are done
    for o, t in (*matching.chain, (len(ids), len(sides.blocks))):
        for other in range(survivor, o):
            moving = matching.theirs_of[other] in matching.moved and matching.theirs_of[other] >= 0
            if not sides.ours[other].deleted and other not in verdict.delete and not moving:
                previous = ids[other]
        for block in range(done, t):
            if block in matching.moved:
                previous = writer.move_message(block, previous)
            elif block in verdict.add:
                previous = writer.add_message(block, previous, last=o == len(ids))
        if o < len(ids):
            writer.keep_message(o, t)
            previous = ids[o]
        done, survivor = t + 1, o + 1
    return out, notes


def matched_of(sides: Sides, matching: Matching) -> tuple[tuple[Ref, int], ...]:
    """Return the pairs of our entries and their messages, without holes."""
    pairs = ((o, t) for t, o in enumerate(matching.ours_of) if o >= 0 and not sides.ours[o].forgotten)
    return tuple((sides.ours[o].id, sides.blocks[t].theirs) for o, t in pairs)


def _last_user(sides: Sides) -> tuple[int, int]:
    ours = (o for o in range(len(sides.ours) - 1, -1, -1) if sides.ours[o].role == "user" and sides.live(o))
    theirs = (t for t in range(len(sides.blocks) - 1, -1, -1) if sides.blocks[t].message.role == "user")
    return next(ours, -1), next(theirs, -1)


@dataclass(slots=True)
class _OperationWriter:
    """Writes operations block by block."""

    sides: Sides
    matching: Matching
    out: list[Operation]
    notes: list[Note]
    late: Callable[[int, int], bool]
    knows_hidden: bool
    count: int = 0

    def add_message(self, t: int, previous: Place, *, last: bool) -> Place:
        """Add a message that we do not have; return its place."""
        block = self.sides.blocks[t]
        new = NewRef(self.count)
        self.count += 1
        message, notes = without_forgotten(self.sides, block.message, block.theirs)
        self.notes.extend(notes)
        if last:
            self.out.append(Append(new, message, block.theirs))
        else:
            self.out.append(Insert(new, message, previous, block.theirs))
        return new

    def move_message(self, t: int, previous: Place) -> Place:
        """Move a message that we have elsewhere; return its place."""
        o = self.matching.ours_of[t]
        self.keep_message(o, t)  # first, because it may restore a deleted message
        self.out.append(Move(self.sides.ours[o].id, previous))
        return self.sides.ours[o].id

    def keep_message(self, o: int, t: int) -> None:
        """Keep a message that both sides have, or that was forgotten here."""
        if self.sides.ours[o].forgotten:
            self.notes.append(ForgottenNote(self.sides.ours[o].id, self.sides.blocks[t].theirs))
            return
        if is_untouched(self.sides, o, self.sides.blocks[t], knows_hidden=self.knows_hidden):
            return
        here = Circumstances(self.late(o, t), t in self.matching.firm, self.knows_hidden)
        operations, notes = plan_changes(self.sides, self.sides.ours[o], self.sides.blocks[t], here)
        self.out.extend(operations)
        self.notes.extend(notes)
