"""Classify the change of a matched message: none, edit, regeneration, choice, flag.

Order and presence: `reconcile/placement`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from backscroll.reconcile.holes import forgotten_by, only
from backscroll.reconcile.likeness import alike
from backscroll.reconcile.matching import ForeignBlock, Sides
from backscroll.reconcile.normal import unspoken
from backscroll.reconcile.operations import (
    AddAlternative,
    Ambiguity,
    Choose,
    Edit,
    ForgottenNote,
    Hide,
    KnownRevision,
    Note,
    Operation,
    OurEntry,
    Regenerate,
    Restore,
    Unhide,
)
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.message import Content


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The circumstances of a pair besides its contents."""

    late: bool  # not answered yet on one of the sides
    firm: bool  # the match is not inferred from text or position
    knows_hidden: bool  # their `hidden` flag is meaningful


def is_untouched(sides: Sides, o: int, block: ForeignBlock, *, knows_hidden: bool) -> bool:
    """Return True in the usual case: obviously the same message, nothing to do."""
    entry, message = sides.ours[o], block.message
    if entry.deleted or message.alternatives or (knows_hidden and entry.hidden != message.hidden):
        return False
    if sides.mode == "prompt":
        return not entry.hidden and sides.our_loose[o] == block.loose
    return _same(sides, entry.content, message.content)


def plan_changes(
    sides: Sides, entry: OurEntry, block: ForeignBlock, here: Circumstances
) -> tuple[list[Operation], list[Note]]:
    """Return the operations that give our entry the content and flags of their message."""
    operations: list[Operation] = [Restore(entry.id, block.theirs)] if entry.deleted else []
    notes: list[Note] = []
    if sides.mode == "prompt":
        if entry.hidden:
            operations.append(Unhide(entry.id))
        if sides.key(entry.content) != block.loose:
            _plan_rewording(sides, entry, block, here, operations, notes)
        return operations, notes
    if here.knows_hidden and entry.hidden != block.message.hidden:
        operations.append(Hide(entry.id) if block.message.hidden else Unhide(entry.id))
    if not _same(sides, entry.content, block.message.content):
        _plan_rewording(sides, entry, block, here, operations, notes)
    _plan_alternatives(sides, entry, block, operations, notes)
    return operations, notes


def _same(sides: Sides, ours: Content, theirs: Content) -> bool:
    """Compare exactly, except for what the other side omits (author, reasoning)."""
    if theirs.author is not None and theirs.author != ours.author:
        return False
    thoughts = unspoken(theirs)
    return sides.letters(ours) == sides.letters(theirs) and (not thoughts or thoughts == unspoken(ours))


def _plan_rewording(
    sides: Sides,
    entry: OurEntry,
    block: ForeignBlock,
    here: Circumstances,
    operations: list[Operation],
    notes: list[Note],
) -> None:
    theirs = block.message.content
    if sides.key(entry.content) != block.loose and _is_forgotten(sides, entry, block.message, theirs):
        notes.append(ForgottenNote(entry.id, block.theirs))
        return
    if theirs.author is None and entry.content.author is not None:
        theirs = replace(theirs, author=entry.content.author)
    edit = Edit(entry.id, theirs, block.theirs)
    known = _find_known_revision(sides, entry, block, theirs)
    if known is not None:
        operations.append(Choose(entry.id, known.id, block.theirs))
        if sides.mode == "full" and not _same(sides, known.content, theirs):
            operations.append(edit)  # the same text except for whitespace or a name
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
    if swiped or (here.late and not similar and not others):  # unchanged swipes with a changed text: an edit
        operations.append(Regenerate(entry.id, theirs, block.message.at, block.theirs))
        return
    operations.append(edit)
    if not similar:
        notes.append(_ambiguous("edited-or-regenerated", "edited", entry, block))


def _is_forgotten(sides: Sides, entry: OurEntry, message: ForeignMessage, content: Content) -> bool:
    alone = only(message, content)
    own = entry.forget_check is not None and entry.forget_check(alone)
    return own or forgotten_by(sides, alone) is not None


def _find_known_revision(
    sides: Sides, entry: OurEntry, block: ForeignBlock, theirs: Content
) -> KnownRevision | None:
    """Return our revision with this content; an exact match first, the newest of several."""
    letters = [k for k in entry.known if _same(sides, k.content, theirs)]
    if not letters and sides.key(entry.content) != block.loose:
        letters = [k for k in entry.known if sides.key(k.content) == block.loose]
    return letters[-1] if letters else None


def _ambiguous(what: str, done: str, entry: OurEntry, block: ForeignBlock) -> Ambiguity:
    considered = tuple(what.split("-or-"))
    return Ambiguity(what, considered, done, (entry.id,), (block.theirs,))


def _others(block: ForeignBlock) -> list[tuple[int, Content]]:
    """Return their alternatives besides the live one, whose slot may still hold the text before an edit."""
    return [(k, c) for k, c in enumerate(block.message.alternatives) if k != block.message.chosen]


def _plan_alternatives(
    sides: Sides, entry: OurEntry, block: ForeignBlock, operations: list[Operation], notes: list[Note]
) -> None:
    """Plan the alternatives of theirs that are new."""
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
        if _is_forgotten(sides, entry, message, content):
            notes.append(ForgottenNote(entry.id, block.theirs, index))
            continue
        at = times[index] if index < len(times) else None
        operations.append(AddAlternative(entry.id, content, at, block.theirs))
