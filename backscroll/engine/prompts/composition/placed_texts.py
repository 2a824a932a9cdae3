"""Texts that earlier prompts placed after messages of a window, and which of them may still be shown.

A text names the memories it contains. Hiding, rewording or correcting one of them withdraws the text at once, as deleting a
message withdraws what quotes it; so do a correction of a fact about the user, and moving a thread to another user or
project. A stand-in is withdrawn when what it replaced arrives. Memories that only fade, facts superseded by later messages,
and what the rules no longer derive stay until the next compaction. Order is decided in `arrangement`, new placements in
`prompts/insertions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any

from backscroll.assemble.view.continuation import stood_in, took_place
from backscroll.assemble.view.meter import Meter
from backscroll.engine.core.lineage import View
from backscroll.engine.core.thread_scope import ThreadScope
from backscroll.engine.inputs.inputs import PromptInputs
from backscroll.engine.knowledge.lore.books import is_lore
from backscroll.engine.knowledge.people.cache import CachedScope
from backscroll.engine.knowledge.people.retractions import overruled_in
from backscroll.engine.prompts.composition.arrangement import PlacedKey
from backscroll.engine.prompts.composition.placement import (
    Placement,
    marks_in,
    placement_of,
    standing_placements,
)
from backscroll.engine.prompts.composition.prompt_memory import PromptMemory
from backscroll.engine.work.memory.reader import ScopeMemories
from backscroll.record.thread_info import ThreadDescription
from backscroll.tasks.memory.words import told_as
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.prompt import Block, Section

_PLACED = 64  # threads whose placements are cached


class PlacedTexts:
    """What was placed under the compaction in force, as one prompt may show it."""

    def __init__(
        self,
        view_now: View,
        sheet: PromptInputs,
        under: int,
        memory: PromptMemory,
        weigh: Callable[[Block], Block],
        meter: Meter,
    ) -> None:
        self.under, self._memory, self._weigh, self._meter = under, memory, weigh, meter
        events = view_now.list_placed_events(under)
        self.prefix_marks = marks_in(events)
        #: Prompts known from their placements, and whether thinking can be bound to them.
        self.asked = {event.seq: event.head.get("bound") is not False for event in events}
        # What prompts added in place of results that had not arrived.
        self._held: dict[PlacedKey, Placement] = {}
        self._is_withdrawn: Callable[[Block], bool] | None = None
        self.withdrew = ""  # "memory" or "world": a placed text is left out because its content was withdrawn
        self.answered: Ref | None = None  # the newest result that replaced such a stand-in
        shelf = memory.thread.engine.memo.shelf
        memo: MutableMapping[object, Any] = shelf("placed", _PLACED) if memory.as_of is None else {}
        elsewhere = shelf("standing-elsewhere") if memory.as_of is None else None
        rare = sheet.standing.rare
        placed = standing_placements(view_now, under, events, memo, rare, elsewhere)
        self.texts: Mapping[PlacedKey, Sequence[Block]] = self._read_placed(placed)
        self._events = events

    @property
    def continued(self) -> set[Ref]:
        """Replies that a prompt asked the model to continue."""
        return {key[0] for key, held in self._held.items() if held.goes_on}

    def has_lapsed(self) -> bool:
        """Return True if a placed text is no longer shown: for text from other threads, no event of this one records that."""
        own = [event for event in self._events if event.head.get("under") == self.under]
        if self.withdrew or any(event.body is None for event in own):
            return True
        return sum(map(len, self.texts.values())) < sum(len(placement_of(event).texts) for event in own)

    def behind(self, key: PlacedKey) -> list[Block]:
        """Return what was placed after a message in this revision and may be shown."""
        return [b for b in self.texts.get(key, ()) if not (may_be_withdrawn(b) and self._has_withdrawn(b))]

    def _read_placed(self, placements: Iterable[Placement]) -> dict[tuple[Ref, ...], list[Block]]:
        """Return what was placed in prompts, by the message that precedes it and its revision."""
        out: dict[tuple[Ref, ...], list[Block]] = {}
        for found in placements:
            key = (found.behind, found.revision)
            if found.waits or found.goes_on:
                self._held[key] = found
            out.setdefault(key, []).extend(self._weigh(t.block()) for t in found.texts)
        return out

    def _has_withdrawn(self, block: Block) -> bool:
        """Return True if a memory or a lorebook entry in a placed text was withdrawn since."""
        if is_lore(block.tells):
            gone = not self._memory.books.holds(block.tells)
            self.withdrew = "world" if gone else self.withdrew
            return gone
        if self._memory.as_of is not None:
            return False
        if self._is_withdrawn is None:
            self._is_withdrawn = make_withdrawal_check(
                self._memory.thread, self._memory.about, self._memory.read_memories(), self._memory.scopes
            )
        gone = self._is_withdrawn(block)
        self.withdrew = "memory" if gone else self.withdrew
        return gone

    def asks_to_go_on(self, message: Message) -> bool:
        """Return True if a recorded prompt asked the model to continue this reply."""
        held = self._held.get((message.id, message.revision))
        return held is not None and bool(held.goes_on)

    def stood_in(self, key: PlacedKey, block: Block, then: Sequence[Block]) -> Iterable[Block]:
        """Return what a prompt placed after a message in place of a result that had not arrived."""
        held = self._held.get(key)
        if held is None:
            return ()
        if took_place(held.waits, then):
            self.answered = then[0].message
        return stood_in(held.waits, held.goes_on, block, then, self._meter)


# -- withdrawal ---------------------------------------------------------------------------------------------------


def may_be_withdrawn(block: Block) -> bool:
    """Return True if the user can withdraw what a text contains."""
    return bool(block.tells) or block.section is Section.PROFILE


def make_withdrawal_check(
    thread: ThreadScope,
    about: ThreadDescription,
    found: ScopeMemories,
    scopes: Callable[[], Sequence[CachedScope]],
) -> Callable[[Block], bool]:
    """Return a function that says whether something in a block was withdrawn; `found` are the current memories."""
    hidden = {memory.id for memory in found.hidden}
    worded = {memory.id: told_as(memory) for memory in found.memories if memory.by == "person"}
    overruled: Callable[[Block], bool] | None = None

    def is_withdrawn(block: Block) -> bool:
        nonlocal overruled
        for told in block.tells:
            name = told.partition(":")[0]
            id = found.aliases.get(name, name)
            if id in hidden or worded.get(id, told) != told:
                return True
        if block.section is not Section.PROFILE:
            return False
        if overruled is None:
            overruled = overruled_in(thread, about, scopes())
        return overruled(block)

    return is_withdrawn
