"""Prompt assembly: the messages to send now, within the budget, valid, with the cache kept warm, and the receipt.

A prompt is the one before and something at its end, byte for byte, until a compaction. The steps: read the inputs, compose what prompts show
already, find what is new, compact where it must be, pays or is free, render it on the wire, repair what the wire would refuse, record what was
placed, write the receipt. The pure rooms decide; this module reads, writes and keeps the account.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from backscroll.assemble.receipt import (
    Money,
    PromptDifference,
    Receipt,
    ReceiptItem,
    compare,
    item_of,
    receipt_from_bytes,
    warnings_for,
    with_cached,
)
from backscroll.assemble.view.continuation import CONTINUED
from backscroll.assemble.view.handles import without_handles
from backscroll.assemble.wires import RenderedPrompt, render
from backscroll.assemble.wires.insertion import insertion_form
from backscroll.engine.budget.costs import prices_of
from backscroll.engine.budget.counts import flush_if_many
from backscroll.engine.budget.request import check_request, too_small
from backscroll.engine.prompts.compaction.compaction import ACTOR, due, make_compaction, write_down
from backscroll.engine.prompts.compaction.cuts import (
    CompactionDraft,
    restore_messages,
    shorten_results,
    trim_newest,
)
from backscroll.engine.prompts.composition.composer import Composer, weight
from backscroll.engine.prompts.composition.placement import PlacementRecord, place
from backscroll.engine.prompts.composition.reading import WINDOWS, read_composer
from backscroll.engine.prompts.coverage import coverage_of, pending_in
from backscroll.engine.prompts.insertions import Insertions, insertions_for
from backscroll.engine.prompts.prefixes import (
    BINDING,
    Prefix,
    goes_on_from,
    offered_digest,
    why_broken,
    with_absent,
    with_lost,
)
from backscroll.errors import BudgetTooSmall
from backscroll.llm.prices.ledger import Tokens
from backscroll.llm.prices.prices import rates_for
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json
from backscroll.vocab.prompt import Block, Wire

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope

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

#: Receipts that are kept of each thread.
KEPT = 20
_MENDED, _LAST_WORD = 32, 8  # tokens that repairing one thing, and asking to go on, can add at most
_TRIES = 4  # how often the blocks are fitted again when the wire turns out to need more
_AGAIN = 3  # how often a prompt is made again because others wrote to the thread meanwhile


@dataclass(frozen=True, slots=True)
class Prompt:
    """What to send, and why."""

    messages: list[dict[str, Json]]
    system: Json  # Anthropic's top-level system text, or the instructions of the Responses wire; None: in the messages
    tools: tuple[Mapping[str, Json], ...]
    wire: Wire
    receipt: Receipt
    blocks: tuple[Block, ...]
    cache_key: str = ""  # a suggestion for `prompt_cache_key`: the same for all prompts of a thread

    @property
    def request(self) -> dict[str, Json]:
        """The body of the request, without model and sampling parameters."""
        body: dict[str, Json] = {"input" if self.wire == "openai-responses" else "messages": self.messages}
        if self.system is not None:
            body["instructions" if self.wire == "openai-responses" else "system"] = self.system
        if self.tools:
            body["tools"] = list(self.tools)
        return body


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
    """Build the prompt; see `Thread.prompt`. A prompt as of an earlier event is a rehearsal and writes nothing.

    `without`: replies that are asked for again, and that the prompt must not show.
    """
    engine = thread.engine
    quiet = dry_run or as_of is not None
    wanted = (engine.settings.recall if recall is None else recall) and as_of is None

    ask = check_request(engine, budget, model=model, tools=tools, reserve=reserve, wire=wire, handles=handles)
    last = _last_receipt(thread)
    if not quiet:
        engine.worker()
    done = _build_with_retries(
        lambda: read_composer(thread, ask, as_of, frozenset(without)), last, recall=wanted, quiet=quiet
    )
    if not quiet:
        body = done.receipt.to_bytes()
        engine.store.write(lambda tx: tx.keep_receipt(thread.id, done.receipt.at, body, KEPT))
        engine.memo.shelf("receipts", WINDOWS)[thread.id] = (body, done.receipt)
        flush_if_many(engine)
    return done


def _build_with_retries(
    read: Callable[[], Composer], last: Receipt | None, *, recall: bool, quiet: bool
) -> Prompt:
    """Return the prompt, made again where others wrote to the thread before what it adds was written down."""
    for _ in range(_AGAIN):
        done = _PromptJob(read(), last, recall=recall, quiet=quiet).build_prompt()
        if done is not None:
            return done
    done = _PromptJob(
        read(), last, recall=False, quiet=True
    ).build_prompt()  # a busy thread: nothing is added
    assert done is not None
    return done


def receipts(thread: ThreadScope, limit: int = KEPT) -> list[Receipt]:
    """Return the accounts of the last prompts, newest first."""
    rows = thread.store.read(lambda reader: reader.receipts(thread.id, limit))
    return [receipt_from_bytes(row) for row in rows]


def _last_receipt(thread: ThreadScope) -> Receipt | None:
    """Return the account of the last prompt, taken apart only where this process has not made it."""
    rows = thread.store.read(lambda reader: reader.receipts(thread.id, 1))
    if not rows:
        return None
    shelf = thread.engine.memo.shelf("receipts", WINDOWS)
    body, receipt = shelf.get(thread.id, (None, None))
    if receipt is None or body != rows[0]:
        receipt = receipt_from_bytes(rows[0])
        shelf[thread.id] = (rows[0], receipt)
    return receipt


class _PromptJob:
    """One prompt in the making."""

    def __init__(self, composer: Composer, last: Receipt | None, *, recall: bool, quiet: bool) -> None:
        self.composer, self.ask, self.last = composer, composer.ask, last
        self.recall, self.quiet = recall, quiet
        self.compaction: dict[str, Json] = {}
        self.due: CompactionDraft | None = None  # to be written down once there is a prompt
        self.offered = offered_digest(self.ask, composer.thread.engine.settings.insertions)
        self.prefix: Prefix | None = None  # where the wire binds thinking
        self.rendered: RenderedPrompt | None = None
        self._itemised: tuple[Sequence[Block], tuple[ReceiptItem, ...]] = ((), ())
        self._blob = cache(composer.thread.engine.blob)  # as it is now, for the whole prompt

    def build_prompt(self) -> Prompt | None:
        """Return the prompt; None if others wrote to the thread before it was written down."""
        least = self._least()
        self._mend()
        self._trim()
        stable = self.composer.blocks(self.composer.frozen)
        new = self._new(stable)
        reason = due(self.composer, weight(stable) + weight(new.blocks), self.ask.room)
        made_now, placed = self._fit_and_render(stable, new, least) if reason is None else (None, ())
        if made_now is None or made_now.receipt.cut:  # what repairing adds, only the finished prompt shows
            found = make_compaction(self.composer, reason or "must", self.ask.room)
            if found is not None:
                stable = self._apply_compaction(found)
                new = self._new(stable, anew=True)
            made_now, placed = self._fit_and_render(stable, new, least)
        return made_now if self.quiet else self._write_down(made_now, placed)

    def _write_down(self, done: Prompt, placed: Sequence[Block]) -> Prompt | None:
        """Write down what was condensed and placed; a prompt that could not be made leaves nothing behind."""
        composer = self.composer
        behind = self._placing(done, placed)
        if self.due is not None:
            event = write_down(composer.thread, self.due, composer.sheet, ACTOR, behind)
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

    def _placing(self, done: Prompt, placed: Sequence[Block]) -> PlacementRecord | None:
        """Return what this prompt holds that no message says and the next one has to hold too; None if that is nothing."""
        window, rendered = self.composer.sheet.window, self.rendered
        if not window or rendered is None:
            return None
        newest = window[-1]
        goes_on = rendered.goes_on
        if not self.composer.placed.asks_to_go_on(newest):
            at = next((n for n, b in enumerate(done.blocks, 1) if b.message == newest.id), len(done.blocks))
            goes_on = next((b.text for b in done.blocks[at : at + 1] if b.reason == CONTINUED), goes_on)
        mark = None if self.prefix is None else self.prefix.mark
        found = PlacementRecord(
            newest, placed, rendered.waiting, goes_on, mark, bound=self.prefix is not None
        )
        return found if placed or found.waits or goes_on or mark is not None else None

    def _mend(self) -> None:
        """What was condensed and may not be any more, because the end of the history went away, is shown from now on."""
        found = restore_messages(self.composer)
        if found is not None:
            self.due, self.composer.frozen = found, found.frozen

    def _trim(self) -> None:
        """Giant results are cut where they stand: answered ones where that pays, fresh ones where they cannot fit."""
        for cut in (shorten_results, trim_newest):
            found = cut(self.composer, self.ask.room)
            if found is not None:
                before = self.compaction.get("before", found.before)
                self.due, self.composer.frozen = found, found.frozen
                self.compaction = {"reason": "pays", "before": before, "after": found.now, "trimmed": True}

    def _apply_compaction(self, found: CompactionDraft) -> list[Block]:
        composer = self.composer
        self.due = found
        facts = {"reason": found.frozen.compaction.reason, "before": found.before, "after": found.now}
        self.compaction = facts
        composer.units = list(found.units)
        composer.edge = found.after
        composer.frozen = found.frozen
        composer.sheet = found.sheet or composer.sheet
        return composer.blocks(found.frozen)

    def _new(self, stable: Sequence[Block], *, anew: bool = False) -> Insertions:
        """Return what is to be said behind the newest message."""
        if _newest(self.composer) is None:
            return Insertions((), "there is nothing to look for")
        return insertions_for(self.composer, stable, recall=self.recall, anew=anew)

    def _fit_and_render(
        self, stable: Sequence[Block], new: Insertions, least: Sequence[Block]
    ) -> tuple[Prompt, tuple[Block, ...]]:
        """Fit, render and repair; repairing can add to what the blocks weigh, so this may take another try.

        Where no try fits, nothing but what must be there is sent: that it fits is known already.
        """
        room, more = self.ask.room, _LAST_WORD
        for attempt in range(_TRIES):
            # What is not said yet goes before anything else does; a pin never does.
            kept = new.blocks if attempt < 2 else tuple(b for b in new.blocks if b.message is not None)
            try:
                blocks = self.composer.fit_blocks([*stable, *kept], room - more)
            except BudgetTooSmall:
                break
            rendered = self._render_blocks(blocks)
            need = count_tokens(blocks, rendered)
            if need <= room:
                cut = list(blocks) != [*stable, *kept]
                return self._prompt(blocks, rendered, new, cut=cut), tuple(b for b in kept if b in blocks)
            more = max(more, need - weight(blocks))
        return self._prompt(least, self._render_blocks(least), new, cut=True), ()

    def _least(self) -> list[Block]:
        """Return what must be there; where that does not fit, the refusal names the smallest budget that would do.

        This alone decides whether a budget is refused, so a larger one never is where a smaller one works.
        """
        blocks = self.composer.least()
        if weight(blocks) + _MENDED * (2 * len(blocks) + 2) + _LAST_WORD <= self.ask.room:
            return blocks
        waiting = weight(b for b in blocks if b.reason == "unanswered")
        need = count_tokens(blocks, self._render_blocks(blocks))
        refused = too_small(self.composer.thread.engine, self.ask, need, waiting)
        if refused is not None:
            raise refused
        return blocks

    def _render_blocks(self, blocks: Sequence[Block]) -> RenderedPrompt:
        ask, engine = self.ask, self.composer.thread.engine
        known = {m.id: m for m in self.composer.sheet.window}

        def same_model(block: Block) -> bool:
            message = None if block.message is None or not ask.model else known.get(block.message)
            if message is None or message.content.metadata.get("model") != ask.model:
                return False
            return self._is_bound(message) if self.prefix is None else self.prefix.binds(message)

        if ask.wire == BINDING and ask.model:
            items, last = self._items(blocks), self._last_bound()
            rewritten = self.due is not None
            self.prefix = Prefix(self.composer, blocks, items, last, self.offered, rewritten=rewritten)
        self.rendered = render(
            self._strip_handles(blocks),
            ask.wire,
            tools=list(ask.tools),
            blobs=self._blob,
            model=ask.model or None,
            same_model=same_model,
            insertions=insertion_form(engine.settings.insertions),
        )
        return self.rendered

    def _last_bound(self) -> Receipt | None:
        """Return the newest receipt of a prompt that thinking can be bound to: without a model, its beginning was not recorded."""
        if self.last is None or _binds(self.last):
            return self.last
        return next((r for r in receipts(self.composer.thread) if _binds(r)), None)

    def _items(self, blocks: Sequence[Block]) -> tuple[ReceiptItem, ...]:
        """Return the blocks as they are on the receipt; those of the prompt before are not hashed again."""
        if self._itemised[0] is not blocks:
            thread = self.composer.thread
            shelf = thread.engine.memo.shelf("items", WINDOWS)
            known: dict[int, tuple[Block, ReceiptItem]] = shelf.get(thread.id, {})
            now = {id(b): known.get(id(b)) or (b, item_of(b, thread.id)) for b in blocks}
            shelf[thread.id] = now
            items = [now[id(b)][1] for b in blocks]
            self._itemised = (blocks, with_absent(blocks, items, self._blob))
        return self._itemised[1]

    def _strip_handles(self, blocks: Sequence[Block]) -> Sequence[Block]:
        """Return the blocks as they are sent: without handles for callers that cannot open them."""
        return blocks if self.ask.handles else [without_handles(block) for block in blocks]

    def _is_bound(self, message: Message) -> bool:
        """Return True if nothing that stood before a reply was condensed or changed since. Its wire does not bind thinking, but a model
        should not be shown thoughts about what it is not shown any more."""
        composer, made = self.composer, message.revision.seq
        written = 0 if composer.frozen is None else composer.frozen.event or 0
        if made <= (written if self.due is None else composer.sheet.head):
            return False
        return not any(c.event >= made and c.place < message.position for c in composer.sheet.changes)

    def _prompt(
        self, blocks: Sequence[Block], rendered: RenderedPrompt, new: Insertions, *, cut: bool
    ) -> Prompt:
        ask, composer = self.ask, self.composer
        last, lost = self.last, 0 if self.prefix is None else self.prefix.count_lost_reasoning(ask.model)
        cached_by = last if last is not None and goes_on_from(ask, last, self.offered) else None
        items, cached = with_cached(self._items(blocks), cached_by)
        compacted = bool(self.compaction)
        broken = why_broken(composer, blocks, items, last, self.offered, compacted=compacted, cut=cut)
        tokens = count_tokens(blocks, rendered)
        coverage = coverage_of(composer, blocks)
        receipt = Receipt(
            thread=composer.thread.id,
            event=composer.sheet.head,
            at=composer.thread.engine.means.now(),
            wire=ask.wire,
            model=ask.model,
            tokenizer=ask.tokenizer.name,
            exact=ask.tokenizer.exact,
            budget=ask.budget,
            reserve=ask.reserve,
            tools=ask.tools_tokens,
            tokens=tokens,
            items=items,
            messages=composer.sheet.messages,
            left_out=coverage.summarised + coverage.unseen,
            summarised=coverage.summarised,
            pending=pending_in(composer),
            compaction=self.compaction,
            cached=cached,
            money=_money(composer, tokens + ask.tools_tokens, cached),
            recall=new.why,
            broken=with_lost(broken, lost),
            cut=cut,
            offered=self.offered,
            doubted=self.prefix is not None and self.prefix.doubted,
            repairs=tuple(dict.fromkeys(change.rule.id for change in rendered.changes)),
        )
        receipt = replace(receipt, warnings=warnings_for(receipt.usage))
        marked = rendered.add_cache_marks()
        tools = tuple(marked.tools) if marked.tools is not None else ask.tools
        return Prompt(
            marked.messages,
            marked.system,
            tools,
            ask.wire,
            receipt,
            tuple(self._strip_handles(blocks)),
            rendered.cache_key,
        )


def _binds(receipt: Receipt) -> bool:
    return receipt.wire == BINDING and bool(receipt.model)


def _newest(composer: Composer) -> Message | None:
    """Return the newest message that prompts show, behind which stands what is new; None if that says how to behave."""
    newest = next(reversed(composer.sheet.window), None)
    return None if newest is None or newest.role == "system" else newest


def count_tokens(blocks: Sequence[Block], rendered: RenderedPrompt) -> int:
    """Return tokens of the messages: what the blocks weigh, and as much as repairing can have added."""
    return weight(blocks) + _MENDED * len(rendered.changes) + _LAST_WORD


def _money(composer: Composer, tokens: int, cached: int) -> Money:
    ask = composer.ask
    if not ask.model:
        return Money()

    engine = composer.thread.engine
    at = datetime.fromisoformat(engine.means.now())
    rates = rates_for(ask.model, at=at, table=prices_of(engine))
    if rates is None:
        return Money()
    return Money(
        warm=rates.nano(Tokens(input=tokens, cached=cached, written=tokens - cached)),
        cold=rates.nano(Tokens(input=tokens, written=tokens)),
    )
