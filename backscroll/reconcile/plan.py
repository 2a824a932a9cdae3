"""Plan a sync: compare another program's list of messages with our history.

`plan` returns the operations that make our live history equal theirs; it applies nothing. Evidence is used from the strongest
to the weakest (`reconcile/stages`): ids, equal words in order, words in another place, earlier revisions, times, likeness,
place. What is missing at the top was trimmed and is never deleted. Ambiguous changes are resolved in the way that loses
least, and noted. Planning again after applying a plan finds nothing to do. Trees are not supported; pass a list with branches
one branch at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from backscroll.reconcile.alignment import Pair
from backscroll.reconcile.holes import beside_holes, withhold
from backscroll.reconcile.matching import (
    ForeignBlock,
    Gap,
    Keys,
    Matching,
    Sides,
    kind_of,
    sides_of,
    start_matching,
)
from backscroll.reconcile.normal import BlobName, names_of, sha256_name
from backscroll.reconcile.operations import Ambiguity, Mode, Note, OurEntry, SyncPlan, TrimNote
from backscroll.reconcile.placement import UnmatchedOutcome, matched_of, operations_of
from backscroll.reconcile.rendered_prompts import MARKERS, plan_prompt
from backscroll.reconcile.slides import settle
from backscroll.reconcile.stages import (
    by_absence,
    by_ids,
    by_knowledge,
    by_likeness,
    by_move,
    by_tail,
    by_time,
    by_words,
    top_of,
)
from backscroll.vocab.foreign import ForeignMessage

AT_THE_END = 2  # how many of the last messages may have been replaced in place


def plan(
    ours: Sequence[OurEntry],
    theirs: Sequence[ForeignMessage],
    mode: Mode = "full",
    *,
    complete: bool = False,
    knows_hidden: bool = True,
    names: Iterable[str] = (),
    markers: Iterable[str] = MARKERS,
    blob_name: BlobName = sha256_name,
) -> SyncPlan:
    """Return the plan that makes our history equal to theirs.

    `ours` is our history in order: live, hidden, deleted and forgotten entries. `mode` says what their list is.
    For `full`: `complete` promises that it is the whole conversation, so that messages missing at the top were deleted too;
    `knows_hidden` says that their `hidden` flag is meaningful (otherwise it is ignored, and a hidden message that they lack
    is not missing). For `prompt`: `names` are speakers whose names may precede their words (the authors of our entries are
    added), `markers` the texts that a program sends before the chat begins. `blob_name` names media bytes as the store does.
    Metadata and vendors' extras are not compared; thinking and authors only if they are present.
    """
    if mode == "prompt":
        authors = {entry.content.author or "" for entry in ours}
        keys = Keys(mode, names_of({*names, *authors}), blob_name)
        return plan_prompt(ours, theirs, keys, tuple(markers))
    keys = Keys(mode, names_of(()), blob_name)
    blocks = [ForeignBlock(m, t, keys.loose(m.content), kind_of(mode, m.role)) for t, m in enumerate(theirs)]
    sides = sides_of(ours, blocks, keys)
    matching, notes = _match_all(sides, complete=complete, knows_hidden=knows_hidden)
    delete, said = _missing(sides, matching, complete=complete, knows_hidden=knows_hidden)
    add = frozenset(matching.free_blocks())
    verdict = UnmatchedOutcome(delete, frozenset(), add)
    operations, more = operations_of(sides, matching, verdict, knows_hidden=knows_hidden)
    notes += [*said, *_note_replacements(sides, matching, verdict), *more]
    return SyncPlan(tuple(operations), tuple(notes), matched_of(sides, matching))


def _match_all(sides: Sides, *, complete: bool, knows_hidden: bool) -> tuple[Matching, list[Note]]:
    """Run all stages, from the strongest evidence to the weakest."""
    matching = start_matching(sides)
    live = [o for o in range(len(sides.ours)) if sides.live(o)]
    shown = live if knows_hidden else [o for o in live if not sides.ours[o].hidden]
    if any(by_tail(sides, matching, tail, range(len(sides.blocks))) for tail in (shown, live)):
        return matching, []
    matching = _same_words(sides, [sides.live])
    if shown != live:
        # Messages hidden here may be absent from their list, so they come second, unless that fits worse.
        second = _same_words(sides, [lambda o: sides.live(o) and not sides.ours[o].hidden, sides.live])
        matching = max(second, matching, key=lambda found: len(found.chain))
    notes = settle(sides, matching, sides.live, complete=complete)
    top = 0 if complete else top_of(sides, matching)
    notes += by_move(sides, matching, sides.live, top)
    if matching.free_blocks():
        withhold(sides, matching)
        by_absence(sides, matching, lambda o: sides.ours[o].deleted and not sides.ours[o].forgotten)
        by_knowledge(sides, matching, sides.live)
        by_time(sides, matching, sides.live)
        by_likeness(sides, matching, sides.live)
        top = 0 if complete else top_of(sides, matching)
        pairs = [pair for gap in matching.gaps(sides.live) for pair in _same_place(sides, matching, gap, top)]
        matching.take(pair for pair in pairs if not sides.another(*pair))
        notes += beside_holes(sides, matching)
    return matching, notes


def _same_words(sides: Sides, pools: Sequence[Callable[[int], bool]]) -> Matching:
    matching = start_matching(sides)
    by_ids(sides, matching)
    for pool in pools:
        by_words(sides, matching, pool)
    return matching


def _same_place(sides: Sides, matching: Matching, gap: Gap, top: int) -> list[Pair]:
    """Return pairs with only their position in common: between the same neighbours, in the same roles."""
    ours, theirs = gap.ours, gap.theirs
    before = matching.chain[gap.number - 1][0] if gap.number else -1
    at_end = gap.number == len(matching.chain)
    if top == len(sides.ours):
        # Nothing in common: a greeting was exchanged for another; anything else may be a different day.
        pairs = list(zip(ours, theirs, strict=True)) if len(ours) == len(theirs) == 1 else []
        spoken = ((o, t, {sides.ours[o].role, sides.blocks[t].message.role}) for o, t in pairs)
        return [(o, t) for o, t, roles in spoken if roles == {"assistant"}]
    out: list[Pair] = []
    if before >= 0 and sides.ours[before].role == "user":
        first = sides.ours[ours[0]].role, sides.blocks[theirs[0]].message.role
        if first == ("assistant", "assistant"):  # both answer the same message
            out.append((ours[0], theirs[0]))
            ours, theirs = ours[1:], theirs[1:]
    roles = [sides.ours[o].role for o in ours]
    if roles == [sides.blocks[t].message.role for t in theirs] and (len(ours) <= AT_THE_END or not at_end):
        out.extend(zip(ours, theirs, strict=True))
    return out


def _missing(
    sides: Sides, matching: Matching, *, complete: bool, knows_hidden: bool
) -> tuple[frozenset[int], list[Note]]:
    """Return which of ours are gone, and notes on those that only seem to be."""
    lone = [o for o in matching.free_entries() if sides.live(o)]
    notes: list[Note] = []
    if lone and not sides.blocks:
        # A failing server sends an empty list; never delete a conversation because of one.
        considered = ("everything was deleted", "nothing was sent")
        notes.append(Ambiguity("empty-list", considered, "nothing"))
        complete, knows_hidden = False, False
    top = 0 if complete else top_of(sides, matching)
    trimmed = tuple(sides.ours[o].id for o in lone if o < top)
    if trimmed:
        notes.append(TrimNote(trimmed))
        if sides.blocks and len(trimmed) == len(lone) and not matching.chain and not matching.moved:
            considered = ("another conversation", "trimmed beyond all that we know", "everything was changed")
            notes.append(Ambiguity("nothing-in-common", considered, "appended"))
    gone = [o for o in lone if o >= top and (knows_hidden or not sides.ours[o].hidden)]
    return frozenset(gone), notes


def _note_replacements(sides: Sides, matching: Matching, verdict: UnmatchedOutcome) -> list[Note]:
    """Return notes on gaps with a removal and an addition of the same role: perhaps an unrecognisable edit."""
    notes: list[Note] = []
    for gap in matching.gaps(lambda o: o in verdict.delete):
        roles = {sides.ours[o].role for o in gap.ours} & {sides.blocks[t].message.role for t in gap.theirs}
        if roles:
            ours = tuple(sides.ours[o].id for o in gap.ours)
            theirs = tuple(sides.blocks[t].theirs for t in gap.theirs)
            considered = ("edited", "replaced")
            notes.append(Ambiguity("edited-or-replaced", considered, "deleted and added", ours, theirs))
    return notes
