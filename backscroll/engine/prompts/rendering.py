"""Render the blocks of one prompt for its wire: which thinking may be sent along, and the receipt's item for each block.

Owns comparing the beginning with the previous prompt (`prefixes`), and the compaction that will be recorded with it. Blocks
are chosen elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from backscroll.assemble.receipt import Receipt, ReceiptItem, item_of
from backscroll.assemble.view.handles import without_handles
from backscroll.assemble.wires import RenderedPrompt, render
from backscroll.assemble.wires.insertion import insertion_form
from backscroll.engine.prompts.compaction.cuts import CompactionDraft
from backscroll.engine.prompts.composition.composer import WINDOWS, Composer, weight
from backscroll.engine.prompts.prefixes import BINDING, Prefix, offered_digest, with_absent
from backscroll.engine.prompts.receipts import receipts
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json
from backscroll.vocab.prompt import Block

#: Maximum tokens that one repair, and the request to continue, can add.
REPAIRED, LAST_WORD = 32, 8


class PromptRenderer:
    """Renders one prompt, as often as its blocks are fitted."""

    def __init__(self, composer: Composer, last: Receipt | None) -> None:
        self.composer, self.ask, self.last = composer, composer.ask, last
        self.draft: CompactionDraft | None = None  # to be recorded once there is a prompt
        self.compaction: dict[str, Json] = {}  # what the receipt records about it
        self.offered = offered_digest(self.ask, composer.thread.engine.settings.insertions)
        self.prefix: Prefix | None = None  # if the wire binds thinking
        self.rendered: RenderedPrompt | None = None
        self._itemised: tuple[Sequence[Block], tuple[ReceiptItem, ...]] = ((), ())
        self._blob = cache(composer.thread.engine.blob)  # as of now, for the whole prompt

    # -- the compaction that goes with it --------------------------------------------------------------------

    def restore(self, found: CompactionDraft | None) -> None:
        """Show messages again that may no longer be condensed, because the end of the history was deleted."""
        if found is not None:
            self.draft, self.composer.frozen = found, found.frozen

    def trim(self, found: CompactionDraft | None) -> None:
        """Show results as they were cut in place."""
        if found is not None:
            before = self.compaction.get("before", found.before)
            self.draft, self.composer.frozen = found, found.frozen
            self.compaction = {"reason": "pays", "before": before, "after": found.now, "trimmed": True}

    def condense(self, found: CompactionDraft) -> None:
        """Show the history as condensed."""
        self.draft = found
        reason = found.frozen.compaction.reason
        self.compaction = {"reason": reason, "before": found.before, "after": found.now}
        self.composer.condense(found.units, found.after, found.frozen, found.sheet)

    # -- rendering -------------------------------------------------------------------------------------------

    def render_blocks(self, blocks: Sequence[Block]) -> RenderedPrompt:
        """Return the blocks in the format of the wire, repaired."""
        ask, engine = self.ask, self.composer.thread.engine
        known = {m.id: m for m in self.composer.sheet.window}

        def same_model(block: Block) -> bool:
            message = None if block.message is None or not ask.model else known.get(block.message)
            if message is None or message.content.metadata.get("model") != ask.model:
                return False
            return self._is_bound(message) if self.prefix is None else self.prefix.binds(message)

        if ask.wire == BINDING and ask.model:
            items, last = self.items(blocks), self._last_bound()
            rewritten = self.draft is not None
            self.prefix = Prefix(self.composer, blocks, items, last, self.offered, rewritten=rewritten)
        self.rendered = render(
            self.strip_handles(blocks),
            ask.wire,
            tools=list(ask.tools),
            blobs=self._blob,
            model=ask.model or None,
            same_model=same_model,
            insertions=insertion_form(engine.settings.insertions),
        )
        return self.rendered

    def items(self, blocks: Sequence[Block]) -> tuple[ReceiptItem, ...]:
        """Return the receipt's items for the blocks; those of the previous prompt are not hashed again."""
        if self._itemised[0] is not blocks:
            thread = self.composer.thread
            shelf = thread.engine.memo.shelf("items", WINDOWS)
            known: dict[int, tuple[Block, ReceiptItem]] = shelf.get(thread.id, {})
            now = {id(b): known.get(id(b)) or (b, item_of(b, thread.id)) for b in blocks}
            shelf[thread.id] = now
            items = [now[id(b)][1] for b in blocks]
            self._itemised = (blocks, with_absent(blocks, items, self._blob))
        return self._itemised[1]

    def strip_handles(self, blocks: Sequence[Block]) -> Sequence[Block]:
        """Return the blocks as sent: without handles for callers that cannot open them."""
        return blocks if self.ask.handles else [without_handles(block) for block in blocks]

    def _last_bound(self) -> Receipt | None:
        """Return the newest receipt of a prompt that thinking can be bound to: without a model, its beginning was not recorded."""
        if self.last is None or _binds(self.last):
            return self.last
        return next((r for r in receipts(self.composer.thread) if _binds(r)), None)

    def _is_bound(self, message: Message) -> bool:
        """Return True if nothing before a reply was condensed or changed since.

        Its wire does not bind thinking, but a model should not be shown thoughts about what it no longer sees.
        """
        composer, made = self.composer, message.revision.seq
        written = 0 if composer.frozen is None else composer.frozen.event or 0
        if made <= (written if self.draft is None else composer.sheet.head):
            return False
        return not any(c.event >= made and c.place < message.position for c in composer.sheet.changes)


def _binds(receipt: Receipt) -> bool:
    return receipt.wire == BINDING and bool(receipt.model)


def count_tokens(blocks: Sequence[Block], rendered: RenderedPrompt) -> int:
    """Return the tokens of the messages: the weight of the blocks, plus what repairs can have added."""
    return weight(blocks) + REPAIRED * len(rendered.changes) + LAST_WORD
