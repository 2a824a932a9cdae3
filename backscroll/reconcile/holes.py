"""Withhold forgotten text that another program still has and sends back.

Longer texts are withheld wherever they appear. A short one (`ok`) is withheld only at the hole, once per hole, because users
repeat it. What was forgotten is not stored here; the caller passes in checks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace

from backscroll.reconcile.matching import Matching, Sides
from backscroll.reconcile.normal import WEIGHTY, substance
from backscroll.reconcile.operations import Ambiguity, ForgottenNote, Note
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.message import Content


def forgotten_by(sides: Sides, message: ForeignMessage, near: Iterable[int] = ()) -> int | None:
    """Return the entry whose forgotten text a message contains; entries in `near` are checked for short texts too."""
    if not sides.checkers:
        return None
    found = next((o for o in near if _says(sides, o, message)), None)
    if found is None and substance(sides.key(message.content)) >= WEIGHTY:
        found = next((o for o in sides.checkers if _says(sides, o, message)), None)
    return found


def only(message: ForeignMessage, content: Content) -> ForeignMessage:
    """Return the message as if it had only this content: a check may look at all alternatives."""
    return replace(message, content=content, alternatives=(), alternative_times=(), chosen=0)


def _says(sides: Sides, o: int, message: ForeignMessage) -> bool:
    check = sides.ours[o].forget_check
    return check is not None and check(message)


def withhold(sides: Sides, matching: Matching) -> None:
    """Match free blocks with forgotten text to their hole or live entry, or keep them out."""
    if not sides.checkers:
        return
    left = [o for o, _ in matching.chain]
    right = [t for _, t in matching.chain]
    taken: list[tuple[int, int]] = []
    spent: set[int] = set()
    for gap in matching.gaps(lambda _: True, both=False):
        inside = set(gap.ours)
        reached = -1  # what is matched in one gap must rise
        for t in gap.theirs:
            first, last = _equals(sides.their_tokens, t)
            low, high = bisect_left(right, first), bisect_right(right, last)
            near = range(left[low - 1] + 1 if low else 0, left[high] if high < len(left) else len(sides.ours))
            o = forgotten_by(sides, sides.blocks[t].message, _within(sides.checkers, near, spent))
            if o is None:
                continue
            if substance(sides.blocks[t].loose) < WEIGHTY:
                spent.add(o)
            if o in inside and o > reached and (sides.live(o) or sides.ours[o].forgotten):
                taken.append((o, t))  # a hole keeps its place among what is around it
                reached = o
            else:
                matching.withheld[t] = o
    matching.take(taken, firm=True)


def _equals(tokens: Sequence[int], t: int) -> tuple[int, int]:
    """Return the run of equal blocks around one: which of them returned is ambiguous."""
    first = last = t
    while first and tokens[first - 1] == tokens[t]:
        first -= 1
    while last + 1 < len(tokens) and tokens[last + 1] == tokens[t]:
        last += 1
    return first, last


def _within(checkers: Sequence[int], near: range, spent: set[int]) -> list[int]:
    some = checkers[bisect_left(checkers, near.start) : bisect_left(checkers, near.stop)]
    return [o for o in some if o not in spent]


def beside_holes(sides: Sides, matching: Matching) -> list[Note]:
    """Return notes on messages at the positions of holes, in the same roles, that no check recognises.

    Rendering may have changed the text that a check compares, so prompts keep them out; elsewhere they are other text.
    """
    notes: list[Note] = []
    for gap in matching.gaps(lambda o: sides.ours[o].forgotten):
        said = [t for t in gap.theirs if sides.blocks[t].message.role != "system"]
        kinds = [sides.our_kinds[o] for o in gap.ours]
        inside = 0 < gap.number < len(matching.chain)
        if not inside or kinds != [sides.blocks[t].kind for t in said]:
            continue
        prompt = sides.mode == "prompt"
        if prompt:
            matching.take(zip(gap.ours, said, strict=True))
        ids = tuple(sides.ours[o].id for o in gap.ours)
        theirs = tuple(sides.blocks[t].theirs for t in said)
        done = "kept out" if prompt else "added"
        notes.append(Ambiguity("forgotten-or-new", ("forgotten", "new"), done, ids, theirs))
    return notes


def without_forgotten(
    sides: Sides, message: ForeignMessage, theirs: int
) -> tuple[ForeignMessage, list[Note]]:
    """Return a new message without its forgotten alternatives; the live one has been checked already."""
    gone: dict[int, int] = {}
    for k, content in enumerate(message.alternatives):
        o = forgotten_by(sides, only(message, content)) if k != message.chosen else None
        if o is not None:
            gone[k] = o
    if not gone:
        return message, []
    notes: list[Note] = [ForgottenNote(sides.ours[o].id, theirs, k) for k, o in gone.items()]
    kept = [k for k in range(len(message.alternatives)) if k not in gone]
    if len(kept) == 1:
        return replace(message, alternatives=(), alternative_times=(), chosen=0), notes
    times = message.alternative_times
    cleaned = replace(
        message,
        alternatives=tuple(message.alternatives[k] for k in kept),
        alternative_times=tuple(times[k] for k in kept if k < len(times)),
        chosen=kept.index(message.chosen),
    )
    return cleaned, notes
