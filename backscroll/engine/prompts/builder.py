"""Prompt assembly: the messages to send now, valid, within the budget and cache-friendly, and the receipt.

Until a compaction, a prompt is the previous one plus an addition at its end, byte for byte. `prompt` and `_build_once` are
the steps in order; each step is in the module it is imported from. The pure rooms decide, the steps read and write.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from backscroll.assemble.receipt import Money, PromptDifference, Receipt, ReceiptItem, compare
from backscroll.assemble.view.continuation import CONTINUED
from backscroll.engine.budget.counts import flush_if_many
from backscroll.engine.budget.request import check_request
from backscroll.engine.core.thread_scope import ThreadScope
from backscroll.engine.prompts.account import Prompt
from backscroll.engine.prompts.compaction.compaction import ACTOR, due, make_compaction, write_down
from backscroll.engine.prompts.compaction.cuts import restore_messages, shorten_results, trim_newest
from backscroll.engine.prompts.composition.composer import Composer, read_composer, weight
from backscroll.engine.prompts.composition.placement import PlacementRecord, place
from backscroll.engine.prompts.fitting import fit_prompt, smallest_blocks
from backscroll.engine.prompts.insertions import insertions_for
from backscroll.engine.prompts.receipts import keep_receipt, last_receipt, receipts
from backscroll.engine.prompts.rendering import PromptRenderer
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json
from backscroll.vocab.prompt import Block

__all__ = [
    "Money",
    "Prompt",
    "PromptDifference",
    "Receipt",
    "ReceiptItem",
    "compare",
    "prompt",
    "receipts",
]

_AGAIN = 3  # how often a prompt is rebuilt because other processes wrote to the thread meanwhile


def prompt(
    thread: ThreadScope,
    budget: int | None = None,
    *,
    model: str | None = None,
    tools: Sequence[Mapping[str, Json]] = (),
    reserve: int | None = None,
    wire: str | None = None,
    recall: bool | None = None,
    handles: bool | None = True,
    dry_run: bool = False,
    as_of: int | None = None,
    without: Collection[Ref] = (),
) -> Prompt:
    """Build the prompt; see `Thread.prompt`. A prompt as of an earlier event is a dry run and writes nothing.

    `without`: replies that are being regenerated, and that the prompt must not show.
    """
    engine = thread.engine
    quiet = dry_run or as_of is not None
    wanted = (engine.settings.recall if recall is None else recall) and as_of is None

    # 1. Check the request: budget, model, tools, wire.
    ask = check_request(engine, budget, model=model, tools=tools, reserve=reserve, wire=wire, handles=handles)
    # 2. Read the receipt of the previous prompt, which this one should continue.
    last = last_receipt(thread)
    if not quiet:
        engine.worker()
    # 3. Read the history and build, again if another process wrote meanwhile.
    done = _build_with_retries(
        lambda: read_composer(thread, ask, as_of, frozenset(without)), last, recall=wanted, quiet=quiet
    )
    # 4. Store the receipt, and new token counts.
    if not quiet:
        keep_receipt(thread, done.receipt)
        flush_if_many(engine)
    return done


def _build_with_retries(
    read: Callable[[], Composer], last: Receipt | None, *, recall: bool, quiet: bool
) -> Prompt:
    """Return the prompt; built again if another process wrote to the thread before its additions were recorded."""
    for _ in range(_AGAIN):
        done = _build_once(read(), last, recall=recall, quiet=quiet)
        if done is not None:
            return done
    done = _build_once(read(), last, recall=False, quiet=True)  # a busy thread: nothing is added
    assert done is not None
    return done


def _build_once(composer: Composer, last: Receipt | None, *, recall: bool, quiet: bool) -> Prompt | None:
    """Build one prompt from what was read; None if another process wrote to the thread before it was recorded."""
    job, room = PromptRenderer(composer, last), composer.ask.room
    # 1. What every prompt must show; a budget that cannot hold it is rejected.
    least = smallest_blocks(job)
    # 2. Show what may no longer be condensed; cut giant results in place.
    job.restore(restore_messages(composer))
    job.trim(shorten_results(composer, room))  # answered ones if that pays
    job.trim(trim_newest(composer, room))  # fresh ones if they cannot fit
    # 3. What prompts show already, and what to insert after the newest message.
    stable = composer.blocks(composer.frozen)
    new = insertions_for(composer, stable, recall=recall, anew=False)
    # 4. Fit, render and repair, unless a compaction comes first.
    reason = due(composer, weight(stable) + weight(new.blocks), room)
    done, placed = fit_prompt(job, stable, new, least) if reason is None else (None, ())
    # 5. Compact if that is due, or if something was cut: only the finished prompt shows what repairs add.
    if done is None or done.receipt.cut:
        draft = make_compaction(composer, reason or "must", room)
        if draft is not None:
            job.condense(draft)
            stable = composer.blocks(draft.frozen)
            new = insertions_for(composer, stable, recall=recall, anew=True)
        done, placed = fit_prompt(job, stable, new, least)
    # 6. Record what was condensed and placed.
    return done if quiet else _write_down(job, done, placed)


def _write_down(job: PromptRenderer, done: Prompt, placed: Sequence[Block]) -> Prompt | None:
    """Record what was condensed and placed; a prompt that failed records nothing."""
    composer = job.composer
    behind = _added_behind(job, done, placed)
    if job.draft is not None:
        event = write_down(composer.thread, job.draft, composer.sheet, ACTOR, behind)
        if event is None:
            return None
        facts = {**done.receipt.compaction, "event": event.seq}
        return replace(done, receipt=replace(done.receipt, compaction=facts))
    if behind is None:
        return done
    seen = composer.sheet.head
    written = composer.thread.as_actor(ACTOR).stroke(
        lambda pen: place(pen, behind, composer.placed_under) if pen.state.head == seen else None
    )
    return None if written is None else done


def _added_behind(job: PromptRenderer, done: Prompt, placed: Sequence[Block]) -> PlacementRecord | None:
    """Return what this prompt adds that is in no message and that the next one must repeat; None if there is nothing."""
    window, rendered = job.composer.sheet.window, job.rendered
    if not window or rendered is None:
        return None
    newest = window[-1]
    goes_on = rendered.goes_on
    if not job.composer.placed.asks_to_go_on(newest):
        at = next((n for n, b in enumerate(done.blocks, 1) if b.message == newest.id), len(done.blocks))
        goes_on = next((b.text for b in done.blocks[at : at + 1] if b.reason == CONTINUED), goes_on)
    mark = None if job.prefix is None else job.prefix.mark
    found = PlacementRecord(newest, placed, rendered.waiting, goes_on, mark, bound=job.prefix is not None)
    return found if placed or found.waits or goes_on or mark is not None else None
