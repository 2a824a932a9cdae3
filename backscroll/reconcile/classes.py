"""What happened to a message that both sides have: nothing, an edit, a regeneration, a choice, a flag.

Before: `record/reconcile/stages` said which entry is which message. Refuses: order and presence; `record/reconcile/placing` has those.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from backscroll.record.reconcile.holes import forgotten_by, only
from backscroll.record.reconcile.likeness import alike
from backscroll.record.reconcile.matching import Block, Sides
from backscroll.record.reconcile.normal import unspoken
from backscroll.record.reconcile.operations import (
    AddAlternative,
    Ambiguous,
    Choose,
    Edit,
    Hide,
    Known,
    Note,
    Operation,
    Ours,
    Regenerate,
    Restore,
    SkipForgotten,
    Unhide,
)
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.message import Content


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is known about a pair besides its contents."""

    late: bool  # nobody has answered it yet on one of the sides
    firm: bool  # that the two are one message is not guessed from words or place
    knows_hidden: bool  # their flag means something


def untouched(sides: Sides, o: int, block: Block, *, knows_hidden: bool) -> bool:
    """A quick look that settles the usual case: plainly the same, nothing to do."""
    entry, message = sides.ours[o], block.message
    if entry.deleted or message.alternatives or (knows_hidden and entry.hidden != message.hidden):
        return False
    if sides.mode == "prompt":
        return not entry.hidden and sides.our_loose[o] == block.loose
    return _same(sides, entry.content, message.content)


def changed(
    sides: Sides, entry: Ours, block: Block, here: Circumstances
) -> tuple[list[Operation], list[Note]]:
    """The operations that make our entry say and show what their message does."""
    operations: list[Operation] = [Restore(entry.id, block.theirs)] if entry.deleted else []
    notes: list[Note] = []
    if sides.mode == "prompt":
        if entry.hidden:
            operations.append(Unhide(entry.id))
        if sides.key(entry.content) != block.loose:
            _reworded(sides, entry, block, here, operations, notes)
        return operations, notes
    if here.knows_hidden and entry.hidden != block.message.hidden:
        operations.append(Hide(entry.id) if block.message.hidden else Unhide(entry.id))
    if not _same(sides, entry.content, block.message.content):
        _reworded(sides, entry, block, here, operations, notes)
    _swiped(sides, entry, block, operations, notes)
    return operations, notes


def _same(sides: Sides, ours: Content, theirs: Content) -> bool:
    """To the letter; but what they do not say (who spoke, what was thought) they do not deny."""
    if theirs.author is not None and theirs.author != ours.author:
        return False
    thoughts = unspoken(theirs)
    return sides.letters(ours) == sides.letters(theirs) and (not thoughts or thoughts == unspoken(ours))


def _reworded(
    sides: Sides,
    entry: Ours,
    block: Block,
    here: Circumstances,
    operations: list[Operation],
    notes: list[Note],
) -> None:
    theirs = block.message.content
    if sides.key(entry.content) != block.loose and _forgotten(sides, entry, block.message, theirs):
        notes.append(SkipForgotten(entry.id, block.theirs))
        return
    if theirs.author is None and entry.content.author is not None:
        theirs = replace(theirs, author=entry.content.author)
    edit = Edit(entry.id, theirs, block.theirs)
    known = _known(sides, entry, block, theirs)
    if known is not None:
        operations.append(Choose(entry.id, known.id, block.theirs))
        if sides.mode == "full" and not _same(sides, known.content, theirs):
            operations.append(edit)  # the same words, but for a blank or a name
        return
    ours_key = sides.key(entry.content)
    similar = alike(ours_key, block.loose) if ours_key and block.loose else ours_key == block.loose
    if entry.role != "assistant":
        operations.append(edit)
        if not similar and not here.firm:
            notes.append(_ambiguous("edited-or-replaced", "edited", entry, block))
        return
    others = {sides.key(content) for _, content in _others(block)}
    swiped = ours_key in others and ours_key != block.loose
    if swiped or (
        here.late and not similar and not others
    ):  # one that kept its swipes but not its words was edited
        operations.append(Regenerate(entry.id, theirs, block.message.at, block.theirs))
        return
    operations.append(edit)
    if not similar:
        notes.append(_ambiguous("edited-or-regenerated", "edited", entry, block))


def _forgotten(sides: Sides, entry: Ours, message: ForeignMessage, content: Content) -> bool:
    alone = only(message, content)
    own = entry.forget_check is not None and entry.forget_check(alone)
    return own or forgotten_by(sides, alone) is not None


def _known(sides: Sides, entry: Ours, block: Block, theirs: Content) -> Known | None:
    """The revision of ours that says this; to the letter if there is one, the newest of several."""
    letters = [k for k in entry.known if _same(sides, k.content, theirs)]
    if not letters and sides.key(entry.content) != block.loose:
        letters = [k for k in entry.known if sides.key(k.content) == block.loose]
    return letters[-1] if letters else None


def _ambiguous(what: str, done: str, entry: Ours, block: Block) -> Ambiguous:
    considered = tuple(what.split("-or-"))
    return Ambiguous(what, considered, done, (entry.id,), (block.theirs,))


def _others(block: Block) -> list[tuple[int, Content]]:
    """Their alternatives besides the live one, whose place among them may still hold what it said before an edit."""
    return [(k, c) for k, c in enumerate(block.message.alternatives) if k != block.message.chosen]


def _swiped(sides: Sides, entry: Ours, block: Block, operations: list[Operation], notes: list[Note]) -> None:
    """Alternatives of theirs that we have not seen."""
    message = block.message
    if len(message.alternatives) < 2:
        return
    seen = {block.loose, sides.key(entry.content), *(sides.key(k.content) for k in entry.known)}
    times = message.alternative_times
    for index, content in _others(block):
        key = sides.key(content)
        if key in seen:
            continue
        seen.add(key)
        if _forgotten(sides, entry, message, content):
            notes.append(SkipForgotten(entry.id, block.theirs, index))
            continue
        at = times[index] if index < len(times) else None
        operations.append(AddAlternative(entry.id, content, at, block.theirs))
