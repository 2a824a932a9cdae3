"""Adapter of the product's compaction policy for the replay harness.

Owns the translation only: the harness's messages become units, blocks become messages again (recorded ones the same objects).
All decisions are made by `backscroll/assemble`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

from backscroll.assemble.compaction.cuts import answered_giants, count_results, with_cuts
from backscroll.assemble.compaction.last_resort import fit_last
from backscroll.assemble.compaction.marks import (
    Prices,
    aim,
    cap,
    compute_full_budget,
    decide,
    fits_whole,
    part,
)
from backscroll.assemble.compaction.policy import compact, trim
from backscroll.assemble.compaction.trail import Trail
from backscroll.assemble.compaction.tuning import MUST, CompactionRoom
from backscroll.assemble.view.compaction import Compaction
from backscroll.assemble.view.meter import Meter
from backscroll.assemble.view.units import Unit, fresh_units, units_of
from backscroll.assemble.view.view import RenderContext, find_protected_units, view
from backscroll.derive.recipe import Count
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message, checked_role
from backscroll.vocab.part import Part, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import Block, Level

THREAD = "0" * 32
AT_ONCE = 20_000  # letters looked at in a call that has nothing else to do


def _harness() -> Count:
    """The count of the harness: what it has counted already is known, as it is from the store in the product."""
    try:
        return import_module("tokens").count
    except ImportError:
        import bpe_openai

        encoding = bpe_openai.get_encoding("o200k_base")
        return cache(lambda text: len(encoding.encode(text, disallowed_special=())))


count = _harness()


def message_of(number: int, recorded: dict[str, Any]) -> Message:
    """A recorded message as a message of a thread."""
    ref = Ref(THREAD, number + 1)
    parts: tuple[Part, ...]
    if recorded["role"] == "tool":
        parts = (ToolResult(recorded["call_id"], (Text(recorded["text"]),)),)
    else:
        words: tuple[Part, ...] = (Text(recorded["text"]),) if recorded["text"] else ()
        parts = words + tuple(ToolCall(c["id"], c["name"], c["args"]) for c in recorded["calls"])
    return Message(ref, checked_role(recorded["role"]), ref, Content(parts), "")


def recorded_of(block: Block) -> dict[str, Any]:
    """A block as a message of the harness."""
    calls = [
        {"id": p.id, "name": p.name, "args": p.arguments} for p in block.parts if isinstance(p, ToolCall)
    ]
    results = [p for p in block.parts if isinstance(p, ToolResult)]
    text = block.text
    if results:
        text = "\n".join(c.text for p in results for c in p.content if isinstance(c, Text))
    return {
        "role": block.role,
        "text": text,
        "calls": calls,
        "call_id": results[0].call_id if results else None,
    }


class Policy:
    """Batches between marks; old units as lines with the pieces that are likely to be needed, and notes."""

    plan = CompactionRoom()
    prices = Prices()

    def reset(self, meta: dict[str, Any]) -> None:
        """Start a new trajectory."""
        del meta
        self.units: list[Unit] = []
        self.waiting: list[Unit] = []  # not looked at yet: the product does that in the background
        self.tokens = 0
        self.seen = 0
        self.calls = 0
        self.meter = Meter(count)
        self.lens = RenderContext(self.meter, memo={})
        self.trail = Trail(self.meter, self.lens.slots)
        self.compaction: Compaction | None = None

    def prompt(self, history: list[dict[str, Any]], budget: int) -> tuple[list[dict[str, Any]], list[Any]]:
        """Return the prompt for this call."""
        fresh = [message_of(i, history[i]) for i in range(self.seen, len(history))]
        units = list(units_of(fresh))
        self.units += units
        self.waiting += units
        self.seen = len(history)
        self.calls += 1
        safe = find_protected_units(self.units)
        self.tokens += sum(self.meter.message(m) for unit in units for m in unit.messages)
        fixed = sum(self.meter.message(m) for u in self.units if u.id in safe for m in u.messages)
        new = {u.id for u in fresh_units(self.units)} - set(safe)
        most = cap(budget, fixed)
        self._shorten(most, budget, safe, new)
        blocks = view(self.units, self.compaction, self.lens, safe=safe)
        now, unseen = sum(b.tokens for b in blocks), self._unseen(new)
        if now > MUST * budget and compute_full_budget(budget) - (now - unseen) >= most:
            blocks = self._trimmed(blocks, budget, new, safe)
            now, unseen = sum(b.tokens for b in blocks), self._unseen(new)
        growth = self.tokens / self.calls
        kept = self.compaction.kept if self.compaction else 0
        reason = decide(now, budget, growth, kept or aim(budget, fixed), self.prices, fresh=unseen)
        self._look(None if reason else AT_ONCE)
        if reason:
            made = compact(
                self.units,
                self.compaction,
                self.lens,
                target=aim(budget, fixed, fresh=unseen, whole=fits_whole(budget, fixed, unseen)),
                reason=reason,
                trail=self.trail,
                plan=self.plan,
                safe=safe,
                before=now,
                fresh=new,
                cap=most,
                limit=compute_full_budget(budget),
            )
            if made:
                self.compaction = made
                blocks = view(self.units, self.compaction, self.lens, safe=safe)
            if sum(b.tokens for b in blocks) > MUST * budget:
                blocks = self._trimmed(blocks, budget, new, safe)
        blocks = fit_last(blocks, budget, self.meter, safe)
        return [self._spelled(b, history) for b in blocks], []

    def _unseen(self, new: Collection[Ref]) -> int:
        """Return the tokens of messages that no prompt has shown yet, as shown now."""
        made = self.compaction or Compaction()
        total = 0
        for unit in self.units:
            if unit.id in new:
                shown = self.lens.show_unit(unit, made.levels.get(unit.id, Level.VERBATIM), made.keeps)
                total += sum(b.tokens for b in shown if isinstance(b, Block))
        return total

    def _shorten(self, most: int, budget: int, safe: Mapping[Ref, str], new: Collection[Ref]) -> None:
        """Giants that were answered are cut where that pays."""
        places = answered_giants(
            self.units, self.compaction, self.lens, cap=most, room=budget, safe=safe, fresh=new
        )
        if places:
            self._look(None)
            made = with_cuts(
                self.units, self.compaction, self.lens, places, cap=most, trail=self.trail, safe=safe
            )
            self.compaction = made or self.compaction

    def _trimmed(
        self, blocks: Sequence[Block], budget: int, new: Collection[Ref], safe: Mapping[Ref, str]
    ) -> list[Block]:
        """The newest step cut to what is free."""
        now, unseen = sum(b.tokens for b in blocks), self._unseen(new)
        fixed = sum(self.meter.message(m) for u in self.units if u.id in safe for m in u.messages)
        most = part(
            budget, fixed, compute_full_budget(budget) - (now - unseen), count_results(self.units, new)
        )
        cut = trim(self.units, self.compaction, self.lens, cap=most, trail=self.trail, safe=safe)
        if cut is None:
            return list(blocks)
        self.compaction = cut
        self.compaction = replace(cut, fresh=self._unseen(new))
        return view(self.units, self.compaction, self.lens, safe=safe)

    def _look(self, letters: int | None) -> None:
        """Look at what is waiting, at so many letters of it (None: all)."""
        done = 0
        while self.waiting and (letters is None or done < letters):
            unit = self.waiting.pop(0)
            done += sum(
                len(piece) for m in unit.messages for slot in self.lens.slots(m) for piece in slot.pieces
            )
            self.trail.extend([unit])

    def _spelled(self, block: Block, history: list[dict[str, Any]]) -> dict[str, Any]:
        if block.level is Level.VERBATIM and block.message is not None:
            return history[block.message.seq - 1]
        return recorded_of(block)
