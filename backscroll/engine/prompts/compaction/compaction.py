"""Compaction: when the history is condensed, what is recorded about it, and what it saves.

A compaction is an event like any other: it can be undone, and nothing is lost by it. Rules decide and make it, so a prompt
never waits for a model; summaries that models wrote (in the tree) are used if they exist.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from backscroll.assemble.compaction.marks import aim, cap, compute_full_budget, decide, fits_whole
from backscroll.assemble.compaction.notes import index_strings
from backscroll.assemble.compaction.policy import compact as condensed
from backscroll.assemble.compaction.trail import Trail
from backscroll.assemble.compaction.tuning import MUST, CompactionRoom
from backscroll.assemble.view.compaction import Compaction, Reason
from backscroll.derive.essence.essentials import EssentialKind
from backscroll.derive.essence.reader import essentials
from backscroll.engine.budget.request import check_request, too_small
from backscroll.engine.core.pen import Pen
from backscroll.engine.inputs.inputs import PromptInputs, kept_long, out_of_place
from backscroll.engine.inputs.open_calls import noted_waiting
from backscroll.engine.prompts.compaction.cuts import (
    CompactionDraft,
    as_it_is,
    boost_of,
    cut_to_fit,
    fixed_tokens,
    unseen_units,
)
from backscroll.engine.prompts.composition.composer import Composer, read_composer, weight
from backscroll.engine.prompts.composition.placement import PlacementRecord, place
from backscroll.engine.prompts.composition.stored_compaction import ProtectedText, StoredCompaction
from backscroll.engine.tree.tree import catch_up_soon, far_summaries
from backscroll.errors import Conflict
from backscroll.logs import logger_of
from backscroll.vocab.event import Event
from backscroll.vocab.event import Kind as Happened
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import is_spoken_by_user
from backscroll.vocab.prompt import Level
from backscroll.vocab.values.moment import microseconds

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope

#: The actor of automatic compactions: a user's undo never reverts one by accident.
_LOG = logger_of("engine")

ACTOR = "backscroll"
_WARMEST = 0.8  # maximum share of what a compaction leaves for the last turns in full
#: Essentials that bind the next turns; paths and ids are kept by notes and pieces.
BINDING = frozenset(
    {
        EssentialKind.TODO,
        EssentialKind.ERROR,
        EssentialKind.CONSTRAINT,
        EssentialKind.DECISION,
        EssentialKind.QUESTION,
    }
)
_NEARER = 3  # tries to shrink a prompt far enough for a newest step that fits
_TRIES = 5  # tries of a requested compaction while other processes change the history
_BOUND = 0.06  # maximum share of the room for what is still open and binding


@dataclass(frozen=True, slots=True)
class CompactionReport:
    """What a compaction did, or would do."""

    event: int | None  # None: dry run, or nothing to gain
    reason: str
    before: int  # tokens of the messages of a prompt
    after: int
    digested: int  # units whose tool results became one line
    condensed: int  # units that are shown as a line or two
    summed_up: int  # units that only summaries cover
    cost_now: float  # of writing the new prompt once, in plain input tokens
    saves_per_call: float  # in plain input tokens
    pays_back_after: int | None  # calls; None: never

    @property
    def saved(self) -> int:
        """The number of tokens that every later prompt is smaller by."""
        return max(0, self.before - self.after)


def due(composer: Composer, tokens: int, room: int) -> Reason | None:
    """Return whether to compact before this call, and why: from the log, the settings and the clock alone."""
    thread, ask = composer.thread, composer.ask
    settings = thread.engine.settings
    frozen = composer.frozen
    if not composer.sheet.reached or (frozen is None and composer.edge is not None):
        return "must"  # there is more than was read
    if frozen is not None and frozen.compaction.upto == composer.units[-1].last and tokens <= ask.room:
        return None  # nothing was added since
    kept = (frozen.compaction.kept if frozen is not None else 0) or aim(
        room, fixed_tokens(composer), settings
    )
    growth = _growth(composer)
    idle = 0.0
    if composer.replied:
        idle = (microseconds(thread.engine.means.now()) - microseconds(composer.replied)) / 1_000_000
    return decide(
        tokens,
        room,
        growth,
        kept,
        ask.prices,
        fresh=unseen_units(composer, frozen)[1],
        idle_seconds=idle,
        cache_seconds=settings.cache_minutes * 60,
        settings=settings,
    )


def _growth(composer: Composer) -> float:
    """Return the tokens that a call adds, averaged over the window: what was cut or condensed since counts at its original size."""
    calls = sum(u.role == "assistant" for u in composer.units)
    tokens = sum(composer.meter.message(m) for u in composer.units if u.role != "system" for m in u.messages)
    return max(1.0, tokens / max(1, calls))


def make_compaction(composer: Composer, reason: Reason, room: int) -> CompactionDraft | None:
    """Return a compaction of the inputs, the newest step cut if it does not fit; None if the prompt gets no smaller."""
    before = weight(composer.blocks(composer.frozen))
    bound = bound_of(composer, int(_BOUND * room))
    whole = fits_whole(room, fixed_tokens(composer), unseen_units(composer, composer.frozen)[1])
    trail = Trail(composer.meter, composer.lens.slots).begin(composer.indexed).extend(composer.units)
    less, found = 0, None
    for _ in range(_NEARER):
        found = _condense_past(composer, reason, room - less, before, bound, trail, whole=whole)
        if found is None or not whole or found.now <= MUST * room:
            break
        less += found.now - compute_full_budget(room)  # what is beside the history took more than expected
    if found is None:
        return cut_to_fit(composer, as_it_is(composer, before), room)
    return cut_to_fit(composer, found, room) or found


def _condense_past(
    composer: Composer,
    reason: Reason,
    room: int,
    before: int,
    bound: Sequence[ProtectedText],
    trail: Trail,
    *,
    whole: bool,
) -> CompactionDraft | None:
    """Return the condensed history; what is still unseen stays as it is."""
    settings = composer.thread.engine.settings
    frozen = composer.frozen
    outside = weight(composer.blocks(None, ())) + (
        int(settings.share_summaries * room) if composer.edge else 0
    )
    outside += sum(composer.ask.tokenizer.count(b.text) + 3 for b in bound)
    fixed = fixed_tokens(composer)
    fresh, unseen = unseen_units(composer, frozen)
    target = max(1, aim(room - outside, fixed, settings, fresh=unseen, whole=whole))
    plan, past = CompactionRoom(), target - fixed - unseen
    warm = _warm_tokens(composer, past, fresh)
    # The last turns in full take no room from what is condensed, as long as there is some.
    more = min(max(0, warm - int(plan.tail * past)), max(0, compute_full_budget(room - outside) - target))
    found = condensed(
        composer.units,
        None if frozen is None else frozen.compaction,
        composer.lens,
        target=target + more,
        reason=reason,
        trail=trail,
        plan=replace(plan, tail=max(plan.tail, warm / max(1, past + more))),
        boost=boost_of(composer),
        dead=composer.dead,
        fresh=fresh,
        cap=cap(room - outside, fixed),
        limit=compute_full_budget(room - outside),
    )
    return None if found is None else _draft_of(composer, found, room, before, bound, trail)


def _draft_of(
    composer: Composer,
    found: Compaction,
    room: int,
    before: int,
    bound: Sequence[ProtectedText],
    trail: Trail,
) -> CompactionDraft | None:
    """Return what prompts show under a compaction: the remaining window and the summaries of the rest; None if that is not smaller."""
    # If what was condensed before is unchanged, so is the start of the window: otherwise all would be rewritten.
    most = (_KEPT if len(found.cuts) <= 1 else 1) * kept_long(room)
    gone = _leading_gone(composer, found.levels, most)
    left = tuple(composer.units[gone:])
    sheet = _passed_over(composer, gone)
    after = composer.units[gone - 1].messages[-1].position if gone else composer.edge
    shown = {u.id for u in left}
    levels = {k: v for k, v in found.levels.items() if k in shown}
    pruned = replace(found, levels=levels, indexed=index_strings(trail, gone))
    # What is shown needs no reminder.
    in_full = {r for u in left if u.id not in pruned.levels for r in u.revisions}
    still = tuple(b for b in bound if b.source not in in_full)
    far = far_nodes(composer, after, int(composer.thread.engine.settings.share_summaries * room))
    wanted = StoredCompaction(pruned, far, still, at=composer.thread.engine.means.now(), after=after)
    now = weight(composer.blocks(wanted, left, sheet))
    if now >= before:
        return None
    compaction = replace(pruned, before=before, after=now)
    return CompactionDraft(
        replace(wanted, compaction=compaction), after, left, before, now, sheet, composer.ask.room
    )


def _warm_tokens(composer: Composer, room: int, fresh: Collection[Ref]) -> int:
    """Return the tokens of the last turns that stay in full as long as they fit (the setting `warm_turns`).

    A turn that would fit only partly does not count: within one long turn that would leave little room for everything
    before it, and the next compaction would follow at once.
    """
    turns, tokens, warm = composer.thread.engine.settings.warm_turns, 0, 0
    for unit in reversed(composer.units):
        if turns <= 0 or tokens > _WARMEST * room:
            break
        if unit.id not in fresh:
            tokens += sum(composer.meter.message(m) for m in unit.messages)
        if is_spoken_by_user(unit.messages[0]):
            turns -= 1
            warm = tokens if tokens <= _WARMEST * room else warm
    return warm


def _leading_gone(composer: Composer, levels: Mapping[Ref, Level], most: float) -> int:
    """Return how many units at the beginning are no longer shown in the window.

    System messages, pins and the user's latest message are shown wherever the window begins, so it may begin after them:
    otherwise a turn of hundreds of steps would stay whole. At most `most` tokens of originals are kept, however condensed:
    every later prompt must read them. What is shown in full stays, and so does the newest step, however large: the next
    reply answers it.
    """
    units, safe = composer.units, composer.safe
    left = sum(composer.meter.message(m) for u in units for m in u.messages)
    gone = 0
    for count, unit in enumerate(units[:-1], 1):
        why = safe.get(unit.id)
        level = levels.get(unit.id, Level.VERBATIM)
        stays = level is Level.VERBATIM or (level < Level.SUMMARY and left <= most)
        if (why is None and stays) or why not in _ANYWHERE:
            break
        left -= sum(composer.meter.message(m) for m in unit.messages)
        if why is None:
            gone = count  # if only what is shown anyway would be skipped, nothing is gained
    return gone


def _passed_over(composer: Composer, gone: int) -> PromptInputs:
    """Return the inputs with what is shown wherever the window begins, if the window now begins after it."""
    sheet, safe = composer.sheet, composer.safe
    units = composer.units[:gone]
    shown = {m.id for u in composer.units[gone:] for m in u.messages}
    marked = tuple(
        m for m in sheet.kept if m.id not in shown
    )  # including what was pinned since, before the window
    asked = next((u.messages[0] for u in units if safe.get(u.id) == "latest"), sheet.asked)
    if any(is_spoken_by_user(u.messages[0]) for u in composer.units[gone:]):
        asked = None  # the window shows the user's last message
    return replace(sheet, marked=marked, asked=asked, waited=None)


def far_nodes(composer: Composer, before: bytes | None, room: int) -> tuple[tuple[int, Ref], ...]:
    """Return the nodes of the summary tree that summarize everything before a position."""
    if before is None or room <= 0:
        return ()

    thread = composer.thread
    catch_up_soon(thread.engine, thread.id)
    found = far_summaries(thread, before, room, composer.ask.tokenizer.count)
    return tuple((f.level, f.opening) for f in found)


#: Why a unit is shown even if the window starts after it; None: it is not protected.
_ANYWHERE = (None, "system", "pinned", "latest")
#: The share of the limit for a window that a full choice may fill: later continuations need the rest.
_KEPT = 0.8


def bound_of(composer: Composer, room: int) -> tuple[ProtectedText, ...]:
    """Return what in the window is still open and binding, newest first as far as it fits, in order."""
    messages = [m for unit in composer.units for m in unit.messages]
    earlier = composer.frozen.bound if composer.frozen is not None else ()
    carried = [b for b in earlier if b.source not in composer.dead]
    fresh = [ProtectedText(e.kind.value, e.text, e.source) for e in essentials(messages) if e.kind in BINDING]
    out: list[ProtectedText] = []
    known: set[str] = set()
    for item in (*reversed(fresh), *reversed(carried)):
        cost = composer.ask.tokenizer.count(item.text) + 3
        if item.text in known or cost > room:
            continue
        known.add(item.text)
        room -= cost
        out.append(item)
    return tuple(reversed(out))


def write_down(
    thread: ThreadScope,
    found: CompactionDraft,
    sheet: PromptInputs,
    actor: str = ACTOR,
    placed: PlacementRecord | None = None,
) -> Event | None:
    """Record a compaction in the log, with its placements; None if another process wrote since the inputs were read.

    Otherwise text deleted meanwhile would survive in it, and it would hide another compaction. Text is placed only after
    what is still the newest message.
    """
    seen, sheet = sheet.head, found.sheet or sheet

    def work(pen: Pen) -> Event | None:
        frozen = found.frozen
        if pen.view.others(seen) or (placed and pen.state.head != seen):
            return None
        head = {
            "after": None if found.after is None else found.after.hex(),
            "reason": frozen.compaction.reason,
            "before": found.before,
            "now": found.now,
            "sources": sorted({str(_message(pen, source)) for source in frozen.sources()}),
            "room": max(0, found.room),
            "asked": None if sheet.asked is None else str(sheet.asked.id),
            "marked": sorted(str(m.id) for m in sheet.marked if m.role != "system"),
            "waiting": noted_waiting(out_of_place(sheet, {m.id for u in found.units for m in u.messages})),
        }
        event = pen.write(Happened.COMPACTED, head=head, body=frozen.to_json())
        if placed:
            place(pen, placed, event.seq if frozen.under is None else frozen.under, event.seq)
        return event

    return thread.as_actor(actor).stroke(work)


def _message(pen: Pen, revision: Ref) -> Ref:
    event = pen.tx.event(revision)
    return revision if event is None or event.message is None else event.message


def compact(
    thread: ThreadScope, budget: int | None = None, *, model: str | None = None, dry_run: bool = False
) -> CompactionReport:
    """Compact now; see `Thread.compact`."""
    ask = check_request(thread.engine, budget, model=model)
    refused = too_small(thread.engine, ask, 1)
    if refused is not None:
        raise refused
    for _ in range(_TRIES):
        composer = read_composer(thread, ask)
        found = make_compaction(composer, "asked", ask.room)
        if found is None:
            tokens = weight(composer.blocks(composer.frozen))
            return CompactionReport(None, "asked", tokens, tokens, 0, 0, 0, 0.0, 0.0, None)
        if dry_run:
            return report_of(composer, found, None)
        event = write_down(thread, found, composer.sheet, thread.actor)
        if event is not None:
            _LOG.info("thread %s was condensed (event %d)", thread.id, event.seq)
            return report_of(composer, found, event.seq)
    raise Conflict("the history changed while it was being condensed", hint="compact again")


def report_of(composer: Composer, found: CompactionDraft, event: int | None) -> CompactionReport:
    """Return what a compaction saves and costs: in plain input tokens, with the prices of the model."""
    prices = composer.ask.prices
    levels = found.frozen.compaction.levels.values()
    saved = found.before - found.now
    cost = found.now * (prices.write - prices.read)
    per_call = saved * prices.read
    return CompactionReport(
        event,
        found.frozen.compaction.reason,
        found.before,
        found.now,
        sum(level is Level.DIGEST for level in levels),
        sum(level is Level.GIST for level in levels),
        len(composer.units) - len(found.units) + sum(level >= Level.SUMMARY for level in levels),
        cost,
        per_call,
        None if per_call <= 0 else max(1, round(cost / per_call)),
    )
