"""Prompts and receipts for the tests of drawings and pages, without an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backscroll.engine.prompts.builder import Money, Prompt, Receipt, ReceiptItem
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Text, ToolCall, ToolResult
from backscroll.vocab.prompt import Block, Level, Section, checked_wire

THREAD = "3f2a9c1e" + "0" * 24


def item(section: str = "recent", tokens: int = 10, **more: Any) -> ReceiptItem:
    """One item of a receipt."""
    facts: dict[str, Any] = {
        "role": "user",
        "level": "verbatim",
        "reason": "recent",
        "handle": "[bs:3]",
        "mark": "m",
        **more,
    }
    return ReceiptItem(section=section, tokens=tokens, **facts)


def receipt(items: Sequence[ReceiptItem] = (), **more: Any) -> Receipt:
    """A receipt that adds up."""
    facts: dict[str, Any] = {
        "thread": THREAD,
        "event": 9,
        "at": "2026-11-03T14:02:00+00:00",
        "wire": "openai-chat",
        "model": "",
        "tokenizer": "o200k",
        "exact": True,
        "budget": 1000,
        "reserve": 250,
        "tools": 0,
        "messages": len(items),
        "left_out": 0,
        **more,
    }
    facts.setdefault("tokens", sum(i.tokens for i in items))
    return Receipt(items=tuple(items), **facts)


def prompt(words: str = "hello", **more: Any) -> Prompt:
    """A prompt of four messages that say these words: a system text, words, a call, its result."""
    call = ToolCall("c1", "Read", {"path": words})
    blocks = (
        Block("system", (Text(words),), Section.SYSTEM, reason="system", message=Ref(THREAD, 1)),
        Block("user", (Text(words),), Section.RECENT, reason="latest", message=Ref(THREAD, 2)),
        Block("assistant", (call,), Section.HISTORY, Level.DIGEST, reason="digest", message=Ref(THREAD, 3)),
        Block("tool", (ToolResult("c1", (Text(words),)),), Section.HISTORY, reason="kept"),
    )
    items = [
        item(
            block.section.value,
            100 * number,
            role=block.role,
            level=block.level.name.lower(),
            reason=block.reason,
            handle=f"[bs:{number}]",
            cached=number < 3,
        )
        for number, block in enumerate(blocks, 1)
    ]
    account = receipt(items, **{"cached": 300, "budget": 4000, **more})
    return Prompt([], None, (), checked_wire(account.wire), account, blocks)


MONEY = Money(warm=1_000_000, cold=5_000_000)
