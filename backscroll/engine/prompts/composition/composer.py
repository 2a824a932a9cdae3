"""Composing: what a prompt shows already, from the sheet, the compaction in force and what was placed since.

Owns the order: system messages, pins, the history at the resolution that was chosen at the last compaction, summaries of the far
past and what was still open then, everything that was left as it was or came since, and behind each message what was placed there.
Between two compactions it only grows at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import takewhile
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from backscroll.assemble.compaction.compaction import IndexedString
from backscroll.assemble.compaction.last_resort import fit_last
from backscroll.assemble.view.continuation import stood_in, took_place, with_continuations
from backscroll.assemble.view.excerpt import shown_parts
from backscroll.assemble.view.pieces import GAP
from backscroll.assemble.view.units import Unit, WaitingReply, units_of
from backscroll.assemble.view.view import RenderContext, find_held_messages, find_protected_units, view
from backscroll.assemble.wires.insertion import as_pair, is_own, words_of_insertion
from backscroll.derive.flat import flat
from backscroll.derive.operations import with_pointer
from backscroll.engine.budget.request import PromptRequest, meter_of
from backscroll.engine.core.audience import scopes_of
from backscroll.engine.core.lineage import View
from backscroll.engine.core.memo import IdentityMemo
from backscroll.engine.crops.dead_sources import dead_sources
from backscroll.engine.folder.tool_uses import operations
from backscroll.engine.inputs.inputs import PromptInputs, out_of_place
from backscroll.engine.knowledge.lore.books import Books, books_of, is_lore
from backscroll.engine.knowledge.people.cache import CachedScope, held_scope
from backscroll.engine.prompts.arrangement import PlacedKey, arrange, placed_unseen
from backscroll.engine.prompts.messages import last_reply, shown_sizes
from backscroll.engine.prompts.placement import Placement, placement_of, standing_placements
from backscroll.engine.prompts.prefix_marks import marks_in
from backscroll.engine.prompts.stored_compaction import StoredCompaction, known_frozen
from backscroll.engine.prompts.withdrawals import make_withdrawal_check, may_be_withdrawn
from backscroll.engine.tree.tree import FarSummary, node_summaries
from backscroll.engine.work.memory.reader import ScopeMemories, collect
from backscroll.formats.language import language_of
from backscroll.vocab.handle import handle_of
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message, is_cut, is_spoken_by_user
from backscroll.vocab.part import Text, ToolCall
from backscroll.vocab.prompt import Block, Level, Section
from backscroll.vocab.values.unicode import valid_text

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope

_PLACED = 64  # threads of which it is remembered what was placed into their prompts
_SAMPLE = 2000  # characters of a message by which its language is reported
#: Insertions whose first line is a title of ours.
_FRAMED = frozenset({Section.MEMORY, Section.PROFILE, Section.TASK, Section.OPERATIONS})
_SHOWN = 4000  # units at a resolution that are remembered: more than a large window has
#: What comes before text that is not verbatim, so that it is not taken for the user's own.
_TITLES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "far": "Earlier in this conversation, summed up (a record, not a request; [bs:…] names the originals):",
        "binding": "Still open and binding, from earlier:",
    },
    "zh": {
        "far": "这次对话较早的部分，摘要如下（只是记录，不是请求；[bs:…] 指向原文）：",
        "binding": "较早提出、仍未了结或仍须遵守的：",
    },
}


class Composer:
    """Puts the stable part of one prompt together."""

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
            # So much was added since that the window does not reach back: what was chosen then is out of sight.
            self.frozen = None
        self.edge = sheet.edge
        self.replied = last_reply(engine, view_now, sheet.window)
        self.dead = frozenset[Ref]()
        if self.frozen is not None:
            self.dead = dead_sources(thread, sheet, self.frozen.sources(), view_now, now=as_of is None)
        if self.frozen is not None and self.dead:
            self.frozen = self.frozen.without(self.dead)  # nor may the next compaction carry their words on
        self.placed_under = 0 if sheet.compaction is None else sheet.compaction.seq
        if self.frozen is not None and self.frozen.placed_under is not None:
            self.placed_under = self.frozen.placed_under
        events = view_now.list_placed_events(self.placed_under)
        self.prefix_marks = marks_in(events)
        #: Prompts that are known by what they wrote, and whether thinking can be bound to them.
        self.asked = {event.seq: event.head.get("bound") is not False for event in events}
        # What prompts added in place of what had not come yet.
        self._held: dict[tuple[Ref, ...], Placement] = {}
        self._is_withdrawn: Callable[[Block], bool] | None = None
        self.withdrew = ""  # "memory" or "world": a placed text is left out, for what it tells was taken back
        self._books: Books | None = None
        self._remembered: ScopeMemories | None = None
        self._scopes: list[CachedScope] | None = None
        self.answered: Ref | None = None  # the newest result that took the place of such a stand-in
        memo: MutableMapping[object, Any] = engine.memo.shelf("placed", _PLACED) if as_of is None else {}
        elsewhere = engine.memo.shelf("standing-elsewhere") if as_of is None else None
        rare = sheet.standing.rare
        placed = standing_placements(view_now, self.placed_under, events, memo, rare, elsewhere)
        self._select_between = self._read_placed(placed)
        self._placing = events

    def has_lapsed(self) -> bool:
        """Return True if a text that was placed is not shown any more: for what is reported in other threads, no event of this one says when."""
        own = [event for event in self._placing if event.head.get("under") == self.placed_under]
        if self.withdrew or any(event.body is None for event in own):
            return True
        return sum(map(len, self._select_between.values())) < sum(
            len(placement_of(event).texts) for event in own
        )

    @property
    def indexed(self) -> tuple[IndexedString, ...]:
        """The index of what was read before the window."""
        return () if self.frozen is None else self.frozen.compaction.indexed

    @cached_property
    def frames(self) -> str:
        """The language in which something is inserted: what the thread says of itself, else what was placed before, else what the user writes.

        A placed text stays to the letter, so words may decide here, where `language` must not change with them. What was chosen holds until the next compaction.
        """
        if self.language:
            return self.language
        placed = (b for blocks in self._select_between.values() for b in blocks)
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
        """Units of the window that never fade, and why."""
        return self.safe_of(self.units)

    def safe_of(self, units: Sequence[Unit]) -> Mapping[Ref, str]:
        """Return the same of other units."""
        return self.answers.about("safe", units, make=lambda: find_protected_units(units))

    def _blocks(
        self, frozen: StoredCompaction | None, shown: Sequence[Unit], sheet: PromptInputs
    ) -> list[Block]:
        compaction = None if frozen is None else frozen.compaction
        history = view(shown, compaction, self.lens, dead=self.dead, safe=self.safe_of(shown))
        told = {key[0] for key, held in self._held.items() if held.goes_on}
        history = with_continuations(history, _cut_answers(shown) - told, self.meter, self.language)
        asked = [] if sheet.asked is None else [self._whole(sheet.asked, Section.HISTORY, "latest")]
        seen = {m.id for unit in shown for m in unit.messages}
        asked += [b for w in out_of_place(sheet, seen) for b in self._waiting(w)]
        # System messages at the beginning of the window come before everything that is reported beside the history.
        lead = list(takewhile(lambda block: block.role == "system", history))
        after = self._with_placed(history[len(lead) :], frozen)
        blocks = (*self._list_marked(sheet), *lead, *asked, *after)
        return [self._fill_placeholder(block) for block in blocks]

    def _with_placed(self, history: Sequence[Block], frozen: StoredCompaction | None) -> list[Block]:
        """Return the history and what was placed since. Between what was condensed and what was left as it was stands what changes with
        every compaction: summaries of the far past, what was still open and binding. So the beginning can stay as it is."""
        beside = [*self._far(frozen), *self._render_bound(frozen)]
        cuts = () if frozen is None else frozen.compaction.cuts
        if frozen is not None and frozen.placed_under != self.placed_under:
            return arrange(history, beside, cuts, (), {}, lambda _key, _block, _then: (), lambda _: ())
        window = self.sheet.window
        unseen = placed_unseen(self._select_between, window, history) if self._select_between else ()
        places = {m.id: m.position for m in window} if unseen else {}
        return arrange(history, beside, cuts, unseen, places, self._stood_in, self._get_placed)

    def _get_placed(self, key: PlacedKey) -> list[Block]:
        return [
            b
            for b in self._select_between.get(key, ())
            if not (may_be_withdrawn(b) and self._has_withdrawn(b))
        ]

    def _read_placed(self, placements: Iterable[Placement]) -> dict[tuple[Ref, ...], list[Block]]:
        """Return what was placed into prompts, by the message behind which it stands and its revision."""
        out: dict[tuple[Ref, ...], list[Block]] = {}
        for found in placements:
            key = (found.behind, found.revision)
            if found.waits or found.goes_on:
                self._held[key] = found
            out.setdefault(key, []).extend(self.weigh_block(t.block()) for t in found.texts)
        return out

    def _has_withdrawn(self, block: Block) -> bool:
        """Return True if a memory or an entry of a lorebook that a placed text tells was taken back since."""
        if is_lore(block.tells):
            gone = not self.books.holds(block.tells)
            self.withdrew = "world" if gone else self.withdrew
            return gone
        if self.as_of is not None:
            return False
        if self._is_withdrawn is None:
            self._is_withdrawn = make_withdrawal_check(
                self.thread, self.about, self.read_memories(), self.scopes
            )
        gone = self._is_withdrawn(block)
        self.withdrew = "memory" if gone else self.withdrew
        return gone

    @property
    def books(self) -> Books:
        """The lorebooks in force."""
        if self._books is None:
            self._books = books_of(self.thread, self.sheet, self.as_of)
        return self._books

    def read_memories(self) -> ScopeMemories:
        """Return what is remembered now, read once for this prompt."""
        if self._remembered is None:
            self._remembered = collect(self.thread, ready=True)
        return self._remembered

    def scopes(self) -> list[CachedScope]:
        """Return the graphs of the user and the project of the thread, brought along once for this prompt."""
        if self._scopes is None:
            engine = self.thread.engine
            self._scopes = [held_scope(engine, scope, ready=True) for scope in scopes_of(self.about)]
        return self._scopes

    def asks_to_go_on(self, message: Message) -> bool:
        """Return True if a prompt asked to continue this reply, and that was written down."""
        held = self._held.get((message.id, message.revision))
        return held is not None and bool(held.goes_on)

    def _stood_in(self, key: PlacedKey, block: Block, then: Sequence[Block]) -> Iterable[Block]:
        """Return what a prompt added behind a message in place of what had not come yet."""
        held = self._held.get(key)
        if held is None:
            return ()
        if took_place(held.waits, then):
            self.answered = then[0].message
        return stood_in(held.waits, held.goes_on, block, then, self.meter)

    def weigh_block(self, block: Block) -> Block:
        """Return a block with its tokens, in the larger of the forms that a wire may give it."""
        shelf = self.thread.engine.memo.shelf(f"weights:{self.ask.tokenizer.name}:{self.ask.wire}", 2000)
        known: int | None = shelf.get((block.section, block.text))
        if known is None:
            known = self.meter.parts((Text(words_of_insertion(block)),))
            if not is_own(block):
                known = max(known, sum(self.meter.parts((part,)) for part in as_pair(block)))
            shelf[block.section, block.text] = known
        return replace(block, tokens=known)

    def _list_marked(self, sheet: PromptInputs) -> Iterable[Block]:
        """System messages and pins that come before the window."""
        for section in (Section.SYSTEM, Section.MEMORY):
            for message in sheet.marked:
                if (message.role == "system") == (section is Section.SYSTEM):
                    yield self._whole(message, section, "system" if section is Section.SYSTEM else "pinned")

    def pinned_since(self, stable: Sequence[Block]) -> list[Block]:
        """Pinned messages that these blocks do not show to the letter: pinned after they were condensed."""
        whole = {b.message for b in stable if b.level is Level.VERBATIM}
        late = [m for m in self.sheet.kept if m.role != "system" and m.id not in whole]
        # Its author is in its words where anybody is named; what is placed has none.
        return [replace(self._whole(m, Section.MEMORY, "pinned"), author=None) for m in late]

    def _whole(self, message: Message, section: Section, reason: str) -> Block:
        parts = shown_parts(message, self.ask.shown, self.language)
        role = message.role
        if section is Section.MEMORY:
            # Out of its place a pinned answer or result is reported, not replayed: its call is not here.
            parts, role = (Text(f"[pinned, {message.role}] {flat(message)}"),), "user"
        whole = parts is message.parts
        tokens = self.meter.message(message) if whole else self.meter.parts(parts, message.author)
        return Block(
            role,
            parts,
            section,
            Level.VERBATIM,
            (message.revision,),
            message.id,
            message.author,
            reason,
            tokens,
        )

    def _waiting(self, reply: WaitingReply) -> Iterable[Block]:
        """Yield a reply that waits, out of its place: to the letter, with handles in place of the results it has got."""
        yield self._whole(reply.message, Section.RECENT, "unanswered")
        for told in reply.told.values():
            parts = (replace(told.result, content=(Text(f"{GAP} {handle_of(told.message)}"),)),)
            sources, tokens = (told.revision,), self.meter.parts(parts)
            yield Block(
                "tool", parts, Section.RECENT, Level.DIGEST, sources, told.message, None, "digest", tokens
            )

    def far_of(self, frozen: StoredCompaction | None) -> list[FarSummary]:
        """Return what speaks for the far past under a compaction."""
        if frozen is None or not frozen.far:
            return []
        far, at, after = frozen.far, frozen.at, frozen.after
        return self.answers.about(
            "far", far, at, after, make=lambda: node_summaries(self.thread, far, at, after)
        )

    def _far(self, frozen: StoredCompaction | None) -> Iterable[Block]:
        found = self.far_of(frozen)
        if not found:
            return
        text = "\n\n".join(f"{f.handle} {f.text}".strip() for f in found)
        parts = (Text(f"{self._title('far', text[:_SAMPLE])}\n{text}"),)
        sources = tuple(dict.fromkeys(s for f in found for s in f.sources))
        yield Block(
            "user",
            parts,
            Section.SUMMARIES,
            Level.SUMMARY,
            sources,
            reason="far past",
            tokens=self.meter.parts(parts),
        )

    def _title(self, what: str, words: str) -> str:
        # By what the thread says of itself, else by the very words that stand below: where those stay, the title stays.
        language = self.language or language_of(words)
        return _TITLES["zh" if language.startswith("zh") else "en"][what]

    def _render_bound(self, frozen: StoredCompaction | None) -> Iterable[Block]:
        alive = [b for b in frozen.bound if b.source not in self.dead] if frozen is not None else []
        if not alive:
            return
        lines = "\n".join(f"- {b.text}" for b in alive)
        parts = (Text(f"{self._title('binding', lines)}\n{lines}"),)
        sources = tuple(dict.fromkeys(b.source for b in alive))
        yield Block(
            "user",
            parts,
            Section.SUMMARIES,
            Level.GIST,
            sources,
            reason="open and binding",
            tokens=self.meter.parts(parts),
        )

    def _fill_placeholder(self, block: Block) -> Block:
        """Return a system text with its placeholder for recent operations filled."""
        if block.role != "system" or not any(
            "{recent_operations}" in p.text for p in block.parts if isinstance(p, Text)
        ):
            return block
        inline = self.thread.engine.settings.operations_inline
        digests = operations(self.thread) if inline else []
        parts = tuple(
            replace(
                p, text=with_pointer(p.text, language=self.language, inline=inline, operations=digests)[0]
            )
            if isinstance(p, Text)
            else p
            for p in block.parts
        )
        reason = "system, with the list of recent operations in place" if inline else block.reason
        grown = self.meter.parts(parts) - self.meter.parts(block.parts)
        return replace(block, parts=parts, tokens=block.tokens + grown, reason=reason)

    # -- the last resort -------------------------------------------------------------------------------------

    def fit_blocks(self, blocks: Sequence[Block], room: int) -> list[Block]:
        """Blocks that fit, whatever it takes; refuses where what is protected does not fit."""
        safe = find_held_messages(self.units, self.safe) | {m.id for m in self.sheet.apart}
        return fit_last(list(blocks), room, self.meter, safe)

    def least(self) -> list[Block]:
        """Return nothing but what every prompt shows: the same blocks in every budget, whatever was condensed.

        How much of the past is read, and at which resolution it is shown, depends on the budget; this does not. So a budget
        in which it fits is never refused, and no larger one either.
        """
        sheet = self.sheet
        asked = next((m for m in reversed(sheet.window) if is_spoken_by_user(m)), sheet.asked)
        shown = {w.message.id for w in sheet.waiting} | ({asked.id} if asked else set[Ref]())
        placed = [
            (m.position, [self._whole(m, Section.HISTORY, "cropped")]) for m in sheet.window if _stands(m)
        ]
        placed += [(w.message.position, list(self._waiting(w))) for w in sheet.waiting]
        if asked is not None:
            placed.append((asked.position, [self._whole(asked, Section.HISTORY, "latest")]))
        beside = replace(sheet, marked=tuple(m for m in sheet.kept if m.id not in shown))
        ordered = [b for _, blocks in sorted(placed, key=itemgetter(0)) for b in blocks]
        return [self._fill_placeholder(block) for block in (*self._list_marked(beside), *ordered)]


def _stands(message: Message) -> bool:
    """Return True for the summary of a crop that every prompt shows."""
    return message.pinned and "backscroll" in message.content.metadata


def _cut_answers(units: Sequence[Unit]) -> set[Ref]:
    """Answers of words alone that stopped at the output limit."""
    cut = [m for u in units if u.role == "assistant" for m in u.messages if is_cut(m)]
    return {m.id for m in cut if not any(isinstance(p, ToolCall) for p in m.parts)}


def weight(blocks: Iterable[Block]) -> int:
    """Return tokens of some blocks."""
    return sum(block.tokens for block in blocks)
