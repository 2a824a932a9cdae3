"""The receipt of a prompt: what was included, at which level, why, what it costs, what was left out.

Contains no words of the conversation (handles, counts and hashes only), so that it may be stored and shown. Two consecutive receipts
show how much of the prompt is in the provider's cache.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import cast

from backscroll.errors import StoreCorrupt
from backscroll.formats.sources.json_text import dumps
from backscroll.record.chain import to_bytes, words_from_bytes
from backscroll.vocab.handle import Handle, handle_of
from backscroll.vocab.part import Json, part_to_json
from backscroll.vocab.prompt import Block, Level, Section

#: Shares of the budget from which the window monitor warns, and from which it alerts.
NEAR, FULL = 0.85, 0.97


@dataclass(frozen=True, slots=True)
class ReceiptItem:
    """One message of the prompt."""

    section: str
    role: str
    level: str
    tokens: int
    reason: str
    handle: str  # what it represents; empty for what is not part of the history
    mark: str  # hash of its content: equal marks, equal bytes
    cached: bool = False  # part of the prefix shared with the last prompt
    sources: tuple[str, ...] = ()  # for text from other conversations: the messages that state it
    absent: bool = False  # the bytes of an attachment were forgotten: its name replaces them


@dataclass(frozen=True, slots=True)
class Money:
    """The cost of sending the prompt, in billionths of a US dollar; None if the price is unknown."""

    warm: int | None = None  # with the prefix in the provider's cache
    cold: int | None = None  # with nothing cached


def _none() -> Mapping[str, Json]:
    return {}


@dataclass(frozen=True, slots=True)
class Receipt:
    """The account of one prompt."""

    thread: str
    event: int  # the history as of this event
    at: str
    wire: str
    model: str
    tokenizer: str
    exact: bool  # False: the vendor's tokenizer is unknown; counts are estimates
    budget: int
    reserve: int  # of the budget, reserved for the answer
    tools: int  # tokens of tool schemas
    tokens: int  # of the messages, system text included
    items: tuple[ReceiptItem, ...]
    messages: int  # live messages of the thread
    left_out: int  # of these, not shown individually
    compaction: Mapping[str, Json] = field(
        default_factory=_none
    )  # compaction of this prompt: event, reason, before, after
    cached: int = 0  # tokens of the prefix shared with the last prompt
    money: Money = field(default_factory=Money)
    recall: str = ""  # why details were recalled, or not
    repairs: tuple[str, ...] = ()  # rules by which the prompt was repaired
    warnings: tuple[str, ...] = ()
    summarised: int = 0  # of those left out, how many a summary in the prompt covers
    broken: Mapping[str, Json] = field(
        default_factory=_none
    )  # why this prompt does not continue the last one: cause, event, rewritten tokens
    cut: bool = False  # the budget forced cuts that no compaction recorded: the next prompt may differ
    pending: int = 0  # messages before the window that are not summarised yet: a handle represents them
    offered: str = ""  # a hash of the tools and of the form of our additions: everything before the messages
    doubted: bool = False  # another prompt was waiting for its reply when this one was built: the next reply may belong to either

    @property
    def unseen(self) -> int:
        """Live messages neither shown nor summarised: hidden ones, and those that did not fit."""
        return self.left_out - self.summarised

    @property
    def total(self) -> int:
        """Everything that counts against the budget."""
        return self.tokens + self.tools + self.reserve

    @property
    def room(self) -> int:
        """The free part of the budget."""
        return self.budget - self.total

    @property
    def usage(self) -> float:
        """The share of the budget that is used."""
        return self.total / self.budget if self.budget else 1.0

    def sections(self) -> dict[str, int]:
        """Return tokens by section, in the order of the prompt; tools and reserve included."""
        out: dict[str, int] = {"tools": self.tools} if self.tools else {}
        for section in Section:
            tokens = sum(i.tokens for i in self.items if i.section == section.value)
            if tokens:
                out[section.value] = tokens
        if self.reserve:
            out["reserve"] = self.reserve
        return out

    def to_json(self) -> dict[str, Json]:
        """Return the receipt as plain data."""
        return {
            **self._plain(),
            "unseen": self.unseen,
            "total": self.total,
            "sections": self.sections(),
        }

    def to_bytes(self) -> bytes:
        """Return the bytes that are stored."""
        return to_bytes(self._plain())

    def _plain(self) -> dict[str, Json]:
        """Return the fields of an object; `asdict` would copy every string of every item."""
        out: dict[str, Json] = {f.name: getattr(self, f.name) for f in fields(self)}
        names = [f.name for f in fields(ReceiptItem)]
        out["items"] = [{name: getattr(item, name) for name in names} for item in self.items]
        out["money"] = {"warm": self.money.warm, "cold": self.money.cold}
        return out


def receipt_from_bytes(data: bytes) -> Receipt:
    """Read a stored receipt; raise an error if it is damaged."""
    raw = cast("dict[str, Json]", words_from_bytes(data))
    try:
        known = {f.name for f in fields(Receipt)}
        kept = {name: value for name, value in raw.items() if name in known}
        items = [ReceiptItem(**item) for item in kept["items"]]
        kept["items"] = tuple(replace(item, sources=tuple(item.sources)) for item in items)
        kept["money"] = Money(**kept["money"])
        kept["repairs"], kept["warnings"] = tuple(kept["repairs"]), tuple(kept["warnings"])
        return Receipt(**kept)
    except (KeyError, TypeError) as error:
        raise StoreCorrupt(
            "a receipt is damaged", hint="it can be made again: build the prompt once more"
        ) from error


def item_of(block: Block, home: str = "") -> ReceiptItem:
    """Return the receipt item of a block in a prompt of the thread `home`."""
    first, last = (min(block.sources), max(block.sources)) if block.sources else (None, None)
    if block.message is not None:
        handle = handle_of(block.message)
    elif first is not None and last is not None and first.thread == last.thread:
        handle = handle_of(first, last)
    else:
        handle = ""
    sources: tuple[str, ...] = ()
    if block.section is Section.PROFILE:
        handle = ""
        sources = tuple(
            str(Handle(s.seq, s.seq, None if s.thread == home else s.thread)) for s in block.sources
        )
    level = Level(block.level).name.lower()
    mark = mark_of(block)
    return ReceiptItem(
        block.section.value, block.role, level, block.tokens, block.reason, handle, mark, sources=sources
    )


def mark_of(block: Block) -> str:
    """Return a hash of the block's content."""
    facts = dumps([block.role, block.author, [part_to_json(p) for p in block.parts]])
    return hashlib.sha256(facts.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def with_cached(items: Sequence[ReceiptItem], before: Receipt | None) -> tuple[tuple[ReceiptItem, ...], int]:
    """Return the items with the common prefix of the last prompt marked as cached, and its tokens."""
    same = same_prefix([i.mark for i in items], [i.mark for i in before.items] if before else [])
    marked = [_mark_cached(item) if n < same else item for n, item in enumerate(items)]
    return tuple(marked), sum(i.tokens for i in marked if i.cached)


def _mark_cached(item: ReceiptItem) -> ReceiptItem:
    return replace(item, cached=True)


def same_prefix(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many leading marks two prompts share."""
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


@dataclass(frozen=True, slots=True)
class PromptDifference:
    """The changes from one prompt to the next."""

    same: int  # number of leading items that are unchanged
    cached: int  # their tokens
    gone: tuple[ReceiptItem, ...]  # after the common prefix, only in the earlier prompt
    new: tuple[ReceiptItem, ...]  # only in the later one


def compare(before: Receipt, after: Receipt) -> PromptDifference:
    """Compare the later prompt with the earlier one."""
    same = same_prefix([i.mark for i in after.items], [i.mark for i in before.items])
    old, new = before.items[same:], after.items[same:]
    had, has = {i.mark for i in old}, {i.mark for i in new}
    return PromptDifference(
        same,
        sum(i.tokens for i in after.items[:same]),
        tuple(i for i in old if i.mark not in has),
        tuple(i for i in new if i.mark not in had),
    )


def warnings_for(usage: float, extra: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the warnings of the window monitor."""
    said = list(extra)
    if usage >= FULL:
        said.append("the context window is full")
    elif usage >= NEAR:
        said.append("the context window is nearly full")
    return tuple(said)
