"""The compaction policy of the product as a policy of the replay harness.

Owns the translation only: the harness's messages become units, blocks become messages again (recorded ones the same objects).
What is decided is decided by `backscroll/assemble`.
"""

from __future__ import annotations

from typing import Any

import bpe_openai

from backscroll.assemble.compaction import Compaction
from backscroll.assemble.fade_trail import Trail
from backscroll.assemble.marks import Prices, decide
from backscroll.assemble.policy import Plan, compact, trim
from backscroll.assemble.policy_fit import fit_last
from backscroll.assemble.units import Unit, units_of
from backscroll.assemble.view import Lens, protected, view
from backscroll.assemble.view_meter import Meter
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message, checked_role
from backscroll.vocab.part import Part, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import Block, Level

THREAD = "0" * 32
_ENCODING = bpe_openai.get_encoding("o200k_base")
_known: dict[str, int] = {}


def count(text: str) -> int:
    """Tokens of a text, as the harness counts them."""
    tokens = _known.get(text)
    if tokens is None:
        tokens = _known[text] = len(_ENCODING.encode(text, disallowed_special=()))
    return tokens


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

    low = 0.4
    cap = 0.3
    plan = Plan()
    prices = Prices()

    def reset(self, meta: dict[str, Any]) -> None:
        """A new trajectory."""
        del meta
        self.units: list[Unit] = []
        self.seen = 0
        self.calls = 0
        self.meter = Meter(count)
        self.lens = Lens(self.meter, memo={})
        self.trail = Trail(self.meter)
        self.compaction: Compaction | None = None

    def prompt(self, history: list[dict[str, Any]], budget: int) -> tuple[list[dict[str, Any]], list[Any]]:
        """The prompt for this call."""
        fresh = [message_of(i, history[i]) for i in range(self.seen, len(history))]
        units = list(units_of(fresh))
        self.units += units
        self.trail.extend(units)
        self.seen = len(history)
        self.calls += 1
        free = budget - sum(self.trail.by_id[u].tokens for u in protected(self.units))
        cut = trim(self.units, self.compaction, self.lens, cap=int(max(self.cap * free, 300)), trail=self.trail)
        self.compaction = cut or self.compaction
        blocks = view(self.units, self.compaction, self.lens)
        now = sum(b.tokens for b in blocks)
        growth = self.trail.tokens / self.calls
        fixed = sum(self.trail.by_id[u].tokens for u in protected(self.units))
        target = int(fixed + self.low * max(budget - fixed, 0))
        kept = self.compaction.after if self.compaction else target
        reason = decide(now, budget, growth, kept, self.prices)
        if reason:
            made = compact(
                self.units,
                self.compaction,
                self.lens,
                target=target,
                reason=reason,
                trail=self.trail,
                plan=self.plan,
            )
            if made:
                self.compaction = made
                blocks = view(self.units, self.compaction, self.lens)
        blocks = fit_last(blocks, budget, self.meter, protected(self.units))
        return [self._spelled(b, history) for b in blocks], []

    def _spelled(self, block: Block, history: list[dict[str, Any]]) -> dict[str, Any]:
        if block.level is Level.VERBATIM and block.message is not None:
            return history[block.message.seq - 1]
        return recorded_of(block)
