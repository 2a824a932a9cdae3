"""Cuts: show results shorter in place, and show condensed messages again; everything before them stays unchanged.

A step that cannot fit is cut before a service caches it; a giant result that a reply has answered is cut once that pays.
Texts placed under the compaction in force stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from backscroll.assemble.compaction.cuts import answered_giants, count_results, with_cuts
from backscroll.assemble.compaction.marks import cap, compute_full_budget, part
from backscroll.assemble.compaction.policy import trim
from backscroll.assemble.compaction.trail import Trail
from backscroll.assemble.compaction.tuning import MUST
from backscroll.assemble.view.compaction import Compaction
from backscroll.assemble.view.units import Unit, fresh_units
from backscroll.derive.essence.learning import factor, features_of
from backscroll.engine.inputs.inputs import PromptInputs, waits_anew
from backscroll.engine.inputs.lessons import weights_of
from backscroll.engine.prompts.composition.composer import Composer, weight
from backscroll.engine.prompts.composition.stored_compaction import StoredCompaction
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.prompt import Block, Level


@dataclass(frozen=True, slots=True)
class CompactionDraft:
    """A compaction that is not recorded yet."""

    frozen: StoredCompaction
    after: bytes | None  # position before which only summaries are shown
    units: tuple[Unit, ...]  # the remaining units of the window
    before: int
    now: int
    sheet: PromptInputs | None = None  # with what was skipped at the beginning; None: unchanged
    room: int = 0  # for messages, in the prompt it was made for


def unseen_units(composer: Composer, frozen: StoredCompaction | None) -> tuple[frozenset[Ref], int]:
    """Return the units that no reply has answered yet and that may fade later, and their tokens as currently shown.

    Many messages without a reply between them (an import) are ordinary history: only the newest that fit are fresh.
    """
    return composer.answers.about(
        "unseen", composer.units, frozen, make=lambda: _find_unseen(composer, frozen)
    )


def _find_unseen(composer: Composer, frozen: StoredCompaction | None) -> tuple[frozenset[Ref], int]:
    safe = composer.safe
    compaction = Compaction() if frozen is None else frozen.compaction
    fresh: set[Ref] = set()
    tokens = 0
    for unit in reversed(fresh_units(composer.units)):
        if unit.id in safe:
            continue
        shown = composer.lens.show_unit(
            unit, compaction.levels.get(unit.id, Level.VERBATIM), compaction.keeps
        )
        cost = weight(b for b in shown if isinstance(b, Block))
        if unit.role == "user" and tokens + cost > compute_full_budget(composer.ask.room) - fixed_tokens(
            composer
        ):
            break
        fresh.add(unit.id)
        tokens += cost
    return frozenset(fresh), tokens


def fixed_tokens(composer: Composer) -> int:
    """Return the tokens of units that never fade."""
    units, safe = composer.units, composer.safe
    return composer.answers.about(
        "fixed",
        units,
        make=lambda: sum(composer.meter.message(m) for u in units if u.id in safe for m in u.messages),
    )


def boost_of(composer: Composer) -> Callable[[Message], float] | None:
    """Return a function that raises the weight of messages that were requested again after earlier compactions, and of similar ones."""
    weights = weights_of(composer.thread.engine)
    return (lambda message: factor(features_of(message), weights)) if weights else None


def restore_messages(composer: Composer) -> CompactionDraft | None:
    """Return the compaction with condensed messages that must be shown again; None if there are none.

    Once its successors are deleted, a message may be the user's latest, or a waiting call: it is shown in full, out of
    place if it precedes the window. Once recorded, it stays so as the conversation continues.
    """
    frozen, units = composer.frozen, composer.units
    if frozen is None:
        return None
    levels, safe = frozen.compaction.levels, composer.safe
    again = {u.id for u in units if u.id in levels and safe.get(u.id) in ("latest", "unanswered")}
    if not again and not _asked_anew(composer.sheet) and not waits_anew(composer.sheet):
        return None
    left = {unit: level for unit, level in levels.items() if unit not in again}
    wanted = replace(frozen, compaction=replace(frozen.compaction, levels=left), under=frozen.placed_under)
    now = weight(composer.blocks(wanted))
    return CompactionDraft(wanted, composer.edge, tuple(units), now, now, room=composer.ask.room)


def _asked_anew(sheet: PromptInputs) -> bool:
    """Return True if the user's last message precedes the window and the compaction in force does not show it."""
    if sheet.asked is None or sheet.compaction is None:
        return False
    return sheet.compaction.head.get("asked") != str(sheet.asked.id)


def trim_newest(composer: Composer, room: int) -> CompactionDraft | None:
    """Return a newest step that cannot fit, cut to the free room, if the history is small enough to stay as it is; else None."""
    units, frozen = composer.units, composer.frozen
    if not units or not composer.sheet.reached or (frozen is None and composer.edge is not None):
        return None
    before = weight(composer.blocks(frozen))
    if before <= MUST * room:
        return None
    unseen, fixed = unseen_units(composer, frozen)[1], fixed_tokens(composer)
    if compute_full_budget(room) - (before - unseen) < cap(room, fixed):
        return None  # the history takes too much: it is condensed
    return cut_to_fit(composer, as_it_is(composer, before), room)


def as_it_is(composer: Composer, tokens: int) -> CompactionDraft:
    """Return what prompts show now; texts placed under the compaction in force stay."""
    frozen = composer.frozen or StoredCompaction(Compaction(), event=0)
    wanted = replace(frozen, under=frozen.placed_under)
    return CompactionDraft(
        wanted, composer.edge, tuple(composer.units), tokens, tokens, room=composer.ask.room
    )


def cut_to_fit(composer: Composer, found: CompactionDraft, room: int) -> CompactionDraft | None:
    """Return the compaction with the results of the newest step cut to the free room, each to a share. None if not needed."""
    if found.now <= MUST * room:
        return None
    units, frozen = found.units, found.frozen
    fresh, unseen = unseen_units(composer, frozen)
    results = count_results(units, fresh)
    free = part(room, fixed_tokens(composer), compute_full_budget(room) - (found.now - unseen), results)
    trail = Trail(composer.meter, composer.lens.slots).extend(units)
    cut = trim(units, frozen.compaction, composer.lens, cap=free, trail=trail, boost=boost_of(composer))
    if cut is None:
        return None
    wanted = replace(frozen, compaction=cut)
    now = weight(composer.blocks(wanted, units, found.sheet))
    if now >= found.now:
        return None
    compaction = replace(cut, before=found.before, after=now, fresh=unseen_units(composer, wanted)[1])
    return replace(found, frozen=replace(wanted, compaction=compaction), now=now)


def shorten_results(composer: Composer, room: int) -> CompactionDraft | None:
    """Return giant results that a reply has answered, cut in place; None if that would not pay.

    What precedes the first of them stays in the cache. What follows is rewritten, and that is little: the reply, and new
    messages. Uncut, giants would be read with every call and bring the next compaction near.
    """
    units, frozen = composer.units, composer.frozen
    if not composer.sheet.reached or (frozen is None and composer.edge is not None):
        return None
    safe, fresh = composer.safe, unseen_units(composer, frozen)[0]
    giant = cap(room, fixed_tokens(composer))
    compaction = None if frozen is None else frozen.compaction
    places = answered_giants(units, compaction, composer.lens, cap=giant, room=room, safe=safe, fresh=fresh)
    if not places:
        return None
    before = weight(composer.blocks(frozen))
    found = as_it_is(composer, before)
    trail = Trail(composer.meter, composer.lens.slots).extend(units)
    boost = boost_of(composer)
    made = with_cuts(units, compaction, composer.lens, places, cap=giant, trail=trail, safe=safe, boost=boost)
    if made is None:
        return None
    wanted = replace(found.frozen, compaction=made)
    now = weight(composer.blocks(wanted))
    return None if now >= before else replace(found, frozen=wanted, now=now)
