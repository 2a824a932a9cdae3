"""Compose what a prompt shows already, from the inputs, the compaction in force and the texts placed since.

Owns the order: system messages, pins, the history at the resolution chosen by the last compaction, summaries of older
history and what was still open then, everything left unchanged or added since, and after each message what was placed
there. Between two compactions it only grows at its end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import takewhile
from operator import itemgetter
from typing import TYPE_CHECKING

from backscroll.assemble.compaction.last_resort import fit_last
from backscroll.assemble.view.compaction import IndexedString
from backscroll.assemble.view.continuation import with_continuations
from backscroll.assemble.view.units import Unit, units_of
from backscroll.assemble.view.view import RenderContext, find_held_messages, find_protected_units, view
from backscroll.assemble.wires.insertion import as_pair, is_own, words_of_insertion
from backscroll.engine.budget.request import PromptRequest, meter_of
from backscroll.engine.core.history import History
from backscroll.engine.core.lineage import View
from backscroll.engine.core.memo import IdentityMemo
from backscroll.engine.crops.crops import summarised_again
from backscroll.engine.crops.dead_sources import dead_sources
from backscroll.engine.inputs.inputs import PromptInputs, out_of_place, read_sheet
from backscroll.engine.inputs.rows import RowCaches
from backscroll.engine.prompts.composition.arrangement import arrange, placed_unseen
from backscroll.engine.prompts.composition.blocks import BlockMaker
from backscroll.engine.prompts.composition.messages import last_reply, shown_sizes, told_by
from backscroll.engine.prompts.composition.placed_texts import PlacedTexts
from backscroll.engine.prompts.composition.prompt_memory import PromptMemory
from backscroll.engine.prompts.composition.stored_compaction import StoredCompaction, known_frozen
from backscroll.engine.tree.tree import FarSummary, node_summaries
from backscroll.formats.language import language_of
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message, is_cut, is_spoken_by_user
from backscroll.vocab.part import Text, ToolCall
from backscroll.vocab.prompt import Block, Level, Section
from backscroll.vocab.values.unicode import valid_text

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope

_PLACED = 64  # threads whose placements are cached
_SAMPLE = 2000  # characters of a message from which its language is detected
#: Insertions whose first line is our title.
_FRAMED = frozenset({Section.MEMORY, Section.PROFILE, Section.TASK, Section.OPERATIONS})
_SHOWN = 4000  # condensed units that are cached: more than a large window has

WINDOWS = 8  # threads whose window is cached


def read_composer(
    thread: ThreadScope, ask: PromptRequest, as_of: int | None = None, without: Collection[Ref] = ()
) -> Composer:
    """Read what a prompt needs, and return a composer for it."""
    engine = thread.engine
    now = as_of is None and not without
    memo = engine.memo.shelf("sheets", 512) if now else None
    name = f"{ask.tokenizer.name}:{ask.wire}:{ask.shown}"
    kept = RowCaches(engine.memo.shelf("rows", WINDOWS), name) if now else None

    def read(view: View) -> Composer:
        told, summarised = told_by(engine, ask), summarised_again(thread)
        sheet = read_sheet(view, max(ask.room, 1), told, summarised, memo, kept, without)
        return Composer(thread, ask, sheet, view, as_of)

    return History(thread.store, thread.id, as_of).reading(read)


class Composer:
    """Assembles the stable part of one prompt."""

    def __init__(
        self,
        thread: ThreadScope,
        ask: PromptRequest,
        sheet: PromptInputs,
        view_now: View,
        as_of: int | None = None,
    ) -> None:
        self.as_of = as_of  # None: now
        self.answers = IdentityMemo()
        self.thread, self.ask, self.sheet = thread, ask, sheet
        engine = thread.engine
        real = [m for m in (*sheet.apart, *sheet.window) if "backscroll" not in m.content.metadata]
        sizes = sheet.sizes
        uncounted = [m for m in real if m.revision not in sizes]
        if uncounted:
            sizes = {**sizes, **shown_sizes(engine, uncounted, ask)}
        self.meter = meter_of(engine, ask, sizes)
        self.state = view_now.state
        self.about = self.state.about
        self.language = valid_text(self.about.language)
        about = f"{ask.tokenizer.name}:{ask.wire}:{ask.shown}:{self.language}"
        shelf = engine.memo.shelf(f"view:{about}", _SHOWN)
        self.lens = RenderContext(self.meter, memo=shelf, language=self.language, limit=ask.shown)
        self.units: list[Unit] = list(units_of(sheet.window))
        self.frozen = None if sheet.compaction is None else known_frozen(engine, sheet.compaction)
        if self.frozen is not None and not sheet.reached:
            # So much was added since that the window does not reach back: the earlier choice is out of sight.
            self.frozen = None
        self.edge = sheet.edge
        self.replied = last_reply(engine, view_now, sheet.window)
        self.dead = frozenset[Ref]()
        if self.frozen is not None:
            self.dead = dead_sources(thread, sheet, self.frozen.sources(), view_now, now=as_of is None)
        if self.frozen is not None and self.dead:
            self.frozen = self.frozen.without(self.dead)  # nor may the next compaction carry their text over
        self.placed_under = 0 if sheet.compaction is None else sheet.compaction.seq
        if self.frozen is not None and self.frozen.placed_under is not None:
            self.placed_under = self.frozen.placed_under
        self.memory = PromptMemory(thread, self.about, sheet, as_of)
        self.make = BlockMaker(thread, ask, self.meter, self.language)
        self.placed = PlacedTexts(
            view_now, sheet, self.placed_under, self.memory, self.weigh_block, self.meter
        )

    def condense(
        self, units: Sequence[Unit], edge: bytes | None, frozen: StoredCompaction, sheet: PromptInputs | None
    ) -> None:
        """Apply a compaction that was just made: `units` remain in the window, `edge` is the position before it."""
        self.units, self.edge, self.frozen = list(units), edge, frozen
        self.sheet = sheet or self.sheet

    @property
    def indexed(self) -> tuple[IndexedString, ...]:
        """The index of what was read before the window."""
        return () if self.frozen is None else self.frozen.compaction.indexed

    @cached_property
    def frames(self) -> str:
        """The language of insertions: the thread's own setting, else that of earlier insertions, else that of the user's messages.

        A placed text is kept verbatim, so messages may decide here, although `language` must not change with them. The
        choice holds until the next compaction.
        """
        if self.language:
            return self.language
        placed = (b for blocks in self.placed.texts.values() for b in blocks)
        for block in placed:
            if block.section in _FRAMED and block.level is Level.GIST:
                return language_of(block.text.split("\n", 1)[0]) or "en"
        said = (language_of(m.text[:_SAMPLE]) for m in self.sheet.window if is_spoken_by_user(m))
        return next(filter(None, said), "")

    # -- blocks ----------------------------------------------------------------------------------------------

    def blocks(
        self,
        frozen: StoredCompaction | None,
        units: Sequence[Unit] | None = None,
        sheet: PromptInputs | None = None,
    ) -> list[Block]:
        """Return the stable part under a compaction."""
        sheet = sheet or self.sheet
        shown = self.units if units is None else units
        made = self.answers.about(
            "blocks", frozen, shown, sheet, make=lambda: self._blocks(frozen, shown, sheet)
        )
        return list(made)

    @property
    def safe(self) -> Mapping[Ref, str]:
        """Units of the window that never fade, with the reason."""
        return self.safe_of(self.units)

    def safe_of(self, units: Sequence[Unit]) -> Mapping[Ref, str]:
        """Return the same for other units."""
        return self.answers.about("safe", units, make=lambda: find_protected_units(units))

    def _blocks(
        self, frozen: StoredCompaction | None, shown: Sequence[Unit], sheet: PromptInputs
    ) -> list[Block]:
        compaction = None if frozen is None else frozen.compaction
        history = view(shown, compaction, self.lens, dead=self.dead, safe=self.safe_of(shown))
        told = self.placed.continued
        history = with_continuations(history, _cut_answers(shown) - told, self.meter, self.language)
        asked = [] if sheet.asked is None else [self.make.whole(sheet.asked, Section.HISTORY, "latest")]
        seen = {m.id for unit in shown for m in unit.messages}
        asked += [b for w in out_of_place(sheet, seen) for b in self.make.waiting(w)]
        # System messages at the start of the window precede everything beside the history.
        lead = list(takewhile(lambda block: block.role == "system", history))
        after = self._with_placed(history[len(lead) :], frozen)
        blocks = (*self._list_marked(sheet), *lead, *asked, *after)
        return [self.make.fill_placeholder(block) for block in blocks]

    def _with_placed(self, history: Sequence[Block], frozen: StoredCompaction | None) -> list[Block]:
        """Return the history with what was placed since.

        Between what was condensed and what was left unchanged stands what changes with every compaction: summaries of older
        history, what was still open and binding. So the beginning can stay unchanged.
        """
        bound = () if frozen is None else [b for b in frozen.bound if b.source not in self.dead]
        beside = [*self.make.make_far(self.far_of(frozen)), *self.make.make_binding(bound)]
        cuts = () if frozen is None else frozen.compaction.cuts
        if frozen is not None and frozen.placed_under != self.placed_under:
            return arrange(history, beside, cuts, (), {}, lambda _key, _block, _then: (), lambda _: ())
        window = self.sheet.window
        unseen = placed_unseen(self.placed.texts, window, history) if self.placed.texts else ()
        places = {m.id: m.position for m in window} if unseen else {}
        return arrange(history, beside, cuts, unseen, places, self.placed.stood_in, self.placed.behind)

    def weigh_block(self, block: Block) -> Block:
        """Return a block with its tokens, in the larger of the forms a wire may give it."""
        shelf = self.thread.engine.memo.shelf(f"weights:{self.ask.tokenizer.name}:{self.ask.wire}", 2000)
        known: int | None = shelf.get((block.section, block.text))
        if known is None:
            known = self.meter.parts((Text(words_of_insertion(block)),))
            if not is_own(block):
                known = max(known, sum(self.meter.parts((part,)) for part in as_pair(block)))
            shelf[block.section, block.text] = known
        return replace(block, tokens=known)

    def _list_marked(self, sheet: PromptInputs) -> Iterable[Block]:
        """Yield system messages and pins that precede the window."""
        for section in (Section.SYSTEM, Section.MEMORY):
            for message in sheet.marked:
                if (message.role == "system") == (section is Section.SYSTEM):
                    yield self.make.whole(
                        message, section, "system" if section is Section.SYSTEM else "pinned"
                    )

    def pinned_since(self, stable: Sequence[Block]) -> list[Block]:
        """Return pinned messages that these blocks do not show verbatim: pinned after they were condensed."""
        whole = {b.message for b in stable if b.level is Level.VERBATIM}
        late = [m for m in self.sheet.kept if m.role != "system" and m.id not in whole]
        # The text includes its author where authors are named; placed text has none.
        return [replace(self.make.whole(m, Section.MEMORY, "pinned"), author=None) for m in late]

    def far_of(self, frozen: StoredCompaction | None) -> list[FarSummary]:
        """Return the summaries of older history under a compaction."""
        if frozen is None or not frozen.far:
            return []
        far, at, after = frozen.far, frozen.at, frozen.after
        return self.answers.about(
            "far", far, at, after, make=lambda: node_summaries(self.thread, far, at, after)
        )

    # -- the minimal prompt ----------------------------------------------------------------------------------

    def fit_blocks(self, blocks: Sequence[Block], room: int) -> list[Block]:
        """Return the blocks that fit; raises BudgetTooSmall if the protected ones do not."""
        safe = find_held_messages(self.units, self.safe) | {m.id for m in self.sheet.apart}
        return fit_last(list(blocks), room, self.meter, safe)

    def least(self) -> list[Block]:
        """Return only what every prompt shows: the same blocks for every budget, whatever was condensed.

        How much history is read, and at which resolution, depends on the budget; this does not. So a budget that holds it
        is never rejected, and no larger one either.
        """
        sheet = self.sheet
        asked = next((m for m in reversed(sheet.window) if is_spoken_by_user(m)), sheet.asked)
        shown = {w.message.id for w in sheet.waiting} | ({asked.id} if asked else set[Ref]())
        placed = [
            (m.position, [self.make.whole(m, Section.HISTORY, "cropped")]) for m in sheet.window if _stands(m)
        ]
        placed += [(w.message.position, list(self.make.waiting(w))) for w in sheet.waiting]
        if asked is not None:
            placed.append((asked.position, [self.make.whole(asked, Section.HISTORY, "latest")]))
        beside = replace(sheet, marked=tuple(m for m in sheet.kept if m.id not in shown))
        ordered = [b for _, blocks in sorted(placed, key=itemgetter(0)) for b in blocks]
        return [self.make.fill_placeholder(block) for block in (*self._list_marked(beside), *ordered)]


def _stands(message: Message) -> bool:
    """Return True for a crop summary that every prompt shows."""
    return message.pinned and "backscroll" in message.content.metadata


def _cut_answers(units: Sequence[Unit]) -> set[Ref]:
    """Return text-only answers that stopped at the output limit."""
    cut = [m for u in units if u.role == "assistant" for m in u.messages if is_cut(m)]
    return {m.id for m in cut if not any(isinstance(p, ToolCall) for p in m.parts)}


def weight(blocks: Iterable[Block]) -> int:
    """Return the tokens of some blocks."""
    return sum(block.tokens for block in blocks)
