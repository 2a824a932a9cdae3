"""Prefixes: the beginning of earlier prompts, which determines what thinking can still be sent back.

Services bind the thinking of a reply to everything before it: tools, system text, messages. Owns detecting that a prompt
does not continue the previous one, from which place on, and the mark that records it in the log (part of a placement), so
that a copy of the log leaves out the same thinking. Thinking before that place stays; earlier thinking after it is left out
permanently, because it may not be added back in the middle. A reply from before any mark answered a prompt that is not
ours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from backscroll.assemble.receipt import Receipt, ReceiptItem, same_prefix
from backscroll.assemble.view.continuation import CONTINUED, STOOD_IN
from backscroll.engine.prompts.composition.placement import PrefixMark
from backscroll.formats.sources.json_text import dumps
from backscroll.record.content import blobs_of
from backscroll.vocab.event import Kind
from backscroll.vocab.handle import handle_of
from backscroll.vocab.message import Content, Message
from backscroll.vocab.part import Json, Opaque, Part, Reasoning, ToolCall, ToolResult
from backscroll.vocab.prompt import Block

if TYPE_CHECKING:
    from backscroll.engine.budget.request import PromptRequest
    from backscroll.engine.prompts.composition.composer import Composer

#: The cause on the receipt if a prompt continues the previous one and thinking is left out anyway.
DOUBTED = "doubted"
#: The wire on which thinking is bound to what precedes it.
BINDING = "anthropic"


def offered_digest(ask: PromptRequest, form: str) -> str:
    """Return a digest of what precedes all messages: the tools, and the format of our additions."""
    tools = [{key: value for key, value in tool.items() if key != "cache_control"} for tool in ask.tools]
    return _digest([tools, form, ask.handles])


def _digest(value: Json) -> str:
    return hashlib.sha256(dumps(value).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def with_absent(
    blocks: Sequence[Block], items: Sequence[ReceiptItem], blobs: Callable[[str], bytes | None]
) -> tuple[ReceiptItem, ...]:
    """Return the items, marked where bytes of an attachment are forgotten: its name is sent instead until they are available again."""
    out: list[ReceiptItem] = []
    for block, item in zip(blocks, items, strict=True):
        gone = [blob for blob in blobs_of(Content(block.parts)) if blobs(blob) is None]
        out.append(replace(item, mark=_digest([item.mark, gone]), absent=True) if gone else item)
    return tuple(out)


def _head(blocks: Sequence[Block], items: Sequence[ReceiptItem], offered: str) -> str:
    system: list[str] = []
    for block in blocks:
        if block.role != "system":
            break
        system.append(block.text)
    # Forgotten bytes can return with a later message; no event of this thread records that.
    absent = [item.mark for item in items if item.absent]
    return _digest([offered, system, absent] if absent else [offered, system])


def parted_at(blocks: Sequence[Block], items: Sequence[ReceiptItem], last: Receipt) -> int | None:
    """Return the first block that differs from the previous prompt or is not in its place; None if this prompt continues it.

    Nothing may come between what was sent and the reply to it, except what the previous prompt added without counting it as
    a block.
    """
    same = same_prefix([i.mark for i in items], [i.mark for i in last.items])
    if same < len(last.items):
        return same
    late = range(same, len(blocks))
    fresh = next((n for n in late if (b := blocks[n].message) is not None and b.seq > last.event), same)
    return next((n for n in range(same, fresh) if blocks[n].reason not in (CONTINUED, STOOD_IN)), None)


def doubted_from(blocks: Sequence[Block], last: Receipt) -> int | None:
    """Return the first block from which thinking added since the previous prompt may belong to another prompt; None: all is certain.

    A prompt has one reply, and it comes right after what was sent. Messages that the user wrote meanwhile were not visible
    to the model, nor was the reply to another request; if two requests were open at once, it is unknown which was answered.
    """
    new = [
        n for n, block in enumerate(blocks) if block.message is not None and block.message.seq > last.event
    ]
    replies = [n for n in new if blocks[n].role == "assistant"]
    if not replies:
        return None
    sure = replies[0] == new[0] and not last.doubted
    doubted = replies[1:] if sure else replies
    if not any(_thinks(blocks[n].parts) for n in doubted):
        return None
    return doubted[0] if sure else new[0]


def unsure_from(window: Iterable[Message], mark: PrefixMark, asked: Mapping[int, bool]) -> bytes | None:
    """Return the same if the prompts are unknown, as in a fork: from the log since the newest mark. None: all is certain.

    `asked`: the events that prompts wrote, and whether thinking can be bound to them. A prompt that adds nothing leaves no
    trace, so a reply is certain only if there was just one moment to request it: right before it, as such an event shows,
    or after one message, or after the last result of the calls before it.
    """
    said: list[Message] = []  # since the previous reply
    waits: set[str] = set()
    before, once = 0, True
    for message in window:
        made = message.id.seq
        if message.role == "assistant":
            if made > mark.event and _thinks(message.parts):
                known = [seq for seq in asked if before < seq < made]
                sure = all(m.id.seq < known[0] for m in said) if known else bool(said) and once
                sure = sure and all(asked[seq] for seq in known)
                if (
                    not sure or mark.doubted
                ):  # two requests were open, and any later reply may belong to the second
                    return min(m.position for m in (*said, message))
            said, before, once = [], made, True
            waits = {part.id for part in message.parts if isinstance(part, ToolCall)}
            continue
        answers = {part.call_id for part in message.parts if isinstance(part, ToolResult)}
        once = once and (not said or bool(answers and waits))  # a prompt made while a call waits records that
        said.append(message)
        waits -= answers
    return None


def is_doubted(blocks: Sequence[Block], items: Sequence[ReceiptItem], last: Receipt | None) -> bool:
    """Return True if the previous prompt is unanswered and differs: the next reply may belong to either."""
    if last is None:
        return False
    if any(b.role == "assistant" and b.message is not None and b.message.seq > last.event for b in blocks):
        return False
    return last.doubted or [i.mark for i in items] != [i.mark for i in last.items]


def why_broken(
    composer: Composer,
    blocks: Sequence[Block],
    items: Sequence[ReceiptItem],
    last: Receipt | None,
    offered: str,
    *,
    compacted: bool,
    cut: bool,
) -> dict[str, Json]:
    """Return why a prompt does not continue the previous one, and what is rewritten for it; empty if it does."""
    ask, changes = composer.ask, composer.sheet.changes
    if last is None:
        # Forgetting erases receipts too: what was sent before is unknown.
        erased = [c.event for c in changes if c.kind is Kind.FORGOTTEN]
        known = bool(erased and composer.replied)
        facts: dict[str, Json] = {"cause": Kind.FORGOTTEN.value, "event": max(erased, default=0)}
        return {**facts, "tokens": sum(i.tokens for i in items)} if known else {}
    at = parted_at(blocks, items, last) if goes_on_from(ask, last, offered) else 0
    same = len(last.items) if at is None else at
    replaced = composer.placed.answered
    answered = replaced is not None and replaced.seq > last.event
    if replaced is not None and answered:
        same = min(same, next((n for n, i in enumerate(items) if i.handle == handle_of(replaced)), same))
    elif at is None:
        return {}
    facts = {"tokens": sum(i.tokens for i in items[same:])}
    if last.offered not in ("", offered):
        return {"cause": "tools", "tokens": sum(i.tokens for i in items) + ask.tools_tokens}
    if compacted:
        return {"cause": "compacted", **facts}
    change = next((c for c in changes if c.event > last.event), None)
    if change is not None:
        return {"cause": change.kind.value, "event": change.event, **facts}
    if (last.wire, last.model, last.budget) != (ask.wire, ask.model, ask.budget):
        return {"cause": "another request", **facts}
    if answered:
        return {"cause": "answered", **facts}
    if cut or last.cut:
        return {"cause": "no room", **facts}
    if composer.placed.withdrew:
        return {"cause": composer.placed.withdrew, **facts}
    return {"cause": _what_went(items[same : same + 1], last.items[same:]), **facts}


def _what_went(now: Sequence[ReceiptItem], then: Sequence[ReceiptItem]) -> str:
    """Return why a prompt differs from the previous one if no event of the thread explains it, from what each contains."""
    if any(i.reason == "far past" for i in then[:1]):
        return "summaries"  # another process had made fewer, or more, of them
    if any(one.absent != other.absent for one, other in zip(now, then, strict=False)):
        return "attachment"  # bytes were forgotten in another thread, or are available again
    # A call waits only until the user writes; out of place, it is not shown afterwards.
    return "interrupted" if any(i.reason == "unanswered" for i in then) else "another thread"


def with_lost(broken: dict[str, Json], lost: int) -> dict[str, Json]:
    """Return the reason with the number of replies that lose their thinking; a prompt that continues can lose some too."""
    if not lost:
        return broken
    return {**(broken or {"cause": DOUBTED, "tokens": 0}), "thinking": lost}


def goes_on_from(ask: PromptRequest, last: Receipt, offered: str) -> bool:
    """Return True if a service may have the beginning of a prompt cached from the previous one."""
    return (last.wire, last.model) == (ask.wire, ask.model) and last.offered in ("", offered)


class Prefix:
    """The beginning of one prompt, compared with that of the previous one."""

    def __init__(
        self,
        composer: Composer,
        blocks: Sequence[Block],
        items: Sequence[ReceiptItem],
        last: Receipt | None,
        offered: str,
        *,
        rewritten: bool,
    ) -> None:
        """`last` is the newest receipt of this wire; `rewritten`: a compaction or a cut will be recorded with this prompt."""
        self._window = composer.sheet.window
        self._marks = composer.placed.prefix_marks
        known = self._marks[-1] if self._marks else None
        frozen = composer.frozen
        shown = 0 if frozen is None else frozen.event or 0
        head = _head(blocks, items, offered)
        same = known is not None and (known.head, known.shown) == (head, shown) and not rewritten
        changed = [c.place for c in composer.sheet.changes if known is None or c.event > known.event]
        end = self._window[-1].position + b"\0" if self._window else b""
        self.since: bytes | None = None  # the place from which this prompt differs; None: it continues
        if known is None or known.head != head:
            self.since = b""
        elif last is not None:
            places = {m.id: m.position for m in self._window}
            at = parted_at(blocks, items, last)
            at = doubted_from(blocks, last) if at is None else at
            if at is not None:
                behind = (places[b.message] for b in blocks[at:] if b.message and b.message in places)
                self.since = next(behind, end)
        else:  # what was sent is unknown: use what the log records since
            # Cuts by the budget are not recorded: whether the previous prompt cut something too is unknown.
            sure = (
                same
                and not composer.placed.has_lapsed()
                and not any(block.reason == "cut" for block in blocks)
            )
            unsure = unsure_from(self._window, known, composer.placed.asked)
            places = changed if unsure is None else [*changed, unsure]
            self.since = min(places, default=None) if sure else b""
        if (edited := self._edited_from(composer)) is not None:
            self.since = edited if self.since is None else min(self.since, edited)
        begun = end if self.since is None else self.since
        #: The mark to be recorded; None if the previous mark is still accurate.
        self.mark = None
        #: The next reply may belong to this prompt or to the previous one.
        self.doubted = is_doubted(blocks, items, last)
        doubts = self.doubted and last is not None and not last.doubted
        if not same or changed or self.since is not None or doubts:
            kept = (m.id for m in self._window if _thinks(m.parts) and self.binds(m)) if rewritten else ()
            self.mark = PrefixMark(0, head, shown, begun, self.doubted, frozenset(kept))

    def _edited_from(self, composer: Composer) -> bytes | None:
        """Return the first reply that the user edited since the newest mark: its thinking may no longer be the model's."""
        known = self._marks[-1].event if self._marks else 0
        edits = {c.event for c in composer.sheet.changes if c.kind is Kind.EDITED and c.event > known}
        found = (m.position for m in self._window if m.revision.seq in edits and _thinks(m.parts))
        return next(found, None) if edits else None

    def binds(self, message: Message) -> bool:
        """Return True if everything that preceded a reply when it was made is unchanged: otherwise its thinking is useless."""
        return not self._is_cut_off(message) and self._was_bound(message)

    def count_lost_reasoning(self, model: str) -> int:
        """Return how many replies of a model lose their thinking in this prompt."""
        thought = (m for m in self._window if m.content.metadata.get("model") == model and _thinks(m.parts))
        return sum(self._is_cut_off(m) and self._was_bound(m) for m in thought)

    def _is_cut_off(self, message: Message) -> bool:
        return self.since is not None and self.since <= message.position

    def _was_bound(self, message: Message) -> bool:
        made, place = message.id.seq, message.position
        if not self._marks or (made <= self._marks[0].event and message.id not in self._marks[0].bound):
            return False
        return not any(mark.event > made and mark.since <= place for mark in self._marks)


def _thinks(parts: Iterable[Part]) -> bool:
    return any(
        isinstance(part, Reasoning) or (isinstance(part, Opaque) and "thinking" in part.kind)
        for part in parts
    )
