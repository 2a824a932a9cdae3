"""Pairing of calls and results by earlier blocks alone, so that a prompt only ever grows.

Owns: which result answers which call, ids that every wire accepts, stand-ins for missing results. Each decision rests on earlier
blocks alone: a result that comes after its step was closed is rendered as text at its own place, where it cannot change what was
sent before. Not here: the message formats of a wire.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from backscroll.assemble.validity.draft import NO_RESULT, orphan_text
from backscroll.assemble.validity.models import is_mistral
from backscroll.assemble.validity.names import CHAT_ID, MISTRAL_ID, PLAIN_ID, RESPONSES_ID, Ids
from backscroll.assemble.validity.rules import RepairAction, rules
from backscroll.assemble.wires.insertion import (
    InsertionContext,
    as_pair,
    begins_history,
    is_inserted,
    takes_pair,
)
from backscroll.assemble.wires.parts import arguments_text
from backscroll.vocab.part import Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import Block, Wire

_IDS: Final[Mapping[Wire, re.Pattern[str]]] = {
    "openai-chat": CHAT_ID,
    "openai-responses": RESPONSES_ID,
    "anthropic": PLAIN_ID,
}
_MISSING: Final[Mapping[Wire, str]] = {
    "openai-chat": "V1",
    "openai-responses": "R1",
    "anthropic": "V1",
}
_ORPHAN: Final[Mapping[Wire, str]] = {
    "openai-chat": "C1",
    "openai-responses": "V1",
    "anthropic": "A1",
}
_ODD_ID: Final[Mapping[Wire, str]] = {
    "openai-chat": "S3",
    "openai-responses": "S3",
    "anthropic": "A6",
}


class PlacedBlock(NamedTuple):
    """A block as it is sent, and the index of its source block; None for additions."""

    block: Block
    origin: int | None
    inserted: bool = False  # our own text between messages


class PairedBlocks(NamedTuple):
    """Blocks in which every call is directly followed by its result."""

    placed: list[PlacedBlock]
    changes: list[RepairAction]
    inserted: list[int]  # indexes of the blocks that are insertions
    waiting: tuple[
        str, ...
    ]  # calls, by their ids in the history, with stand-ins at the end: results may still come


class _WaitingCall(NamedTuple):
    """A call without a result so far."""

    given: str  # its id in the history
    sent: str  # its id on the wire
    origin: int
    block: Block


def pair(blocks: Sequence[Block], manner: InsertionContext) -> PairedBlocks:
    """Return blocks in the order in which they are sent.

    A step is a reply, or several without a result between them, and the results behind it. It stays open while calls wait and only
    results, system text or more of the reply come in: no request is sent then. User messages and insertions close it.
    """
    walk = _PairingWalk(manner)
    inserted: list[int] = []
    begun = False
    for number, block in enumerate(blocks):
        ours = is_inserted(block, begun=begun)
        inserted += [number] if ours else []
        walk.take(PlacedBlock(block, number, ours))
        begun = begun or begins_history(block)
    return PairedBlocks(walk.out, walk.changes, inserted, walk.end())


class _PairingWalk:
    """One pass over the blocks."""

    def __init__(self, manner: InsertionContext) -> None:
        self.manner = manner
        self.wire: Wire = manner.wire
        self.out: list[PlacedBlock] = []
        self.changes: list[RepairAction] = []
        self.waiting: list[_WaitingCall] = []
        mistral = self.wire == "openai-chat" and is_mistral(manner.model)
        self._allowed = MISTRAL_ID if mistral else _IDS[self.wire]
        self._ids = Ids(self._allowed)
        self._next: deque[PlacedBlock] = deque()  # to be processed before the next block
        self._told = False  # a result of the open step was sent
        self._held: list[PlacedBlock] = []  # what arrived while the step was open, to follow it
        self._spoke = ""  # the role of the last message, insertions aside
        self._called: dict[str, str] = {}  # names of the tools of all calls so far, by the given id

    def take(self, placed: PlacedBlock) -> None:
        """Process one more block."""
        self._next.append(placed)
        while self._next:
            self._look(self._next.popleft())

    def end(self) -> tuple[str, ...]:
        """Answer open calls with stand-ins at the end of the history. Return these calls."""
        out: list[str] = []
        while self.waiting:
            out += [call.given for call in self.waiting]
            self._close()
            while self._next:
                self._look(self._next.popleft())
        return tuple(dict.fromkeys(out))

    def _look(self, placed: PlacedBlock) -> None:
        block = placed.block
        if placed.inserted:
            if self.waiting and block.text.strip():
                self._close(placed)
            elif block.text.strip():
                self._insert(placed)
        elif block.role != "assistant":
            self._results(placed)
        elif any(isinstance(part, ToolResult) for part in block.parts):
            self._next.extendleft(reversed([PlacedBlock(piece, placed.origin) for piece in _pieces(block)]))
        elif self.waiting and self._told:
            self._held.append(placed)
        else:
            self._reply(placed)

    def _insert(self, placed: PlacedBlock) -> None:
        block, origin, _ = placed
        if not takes_pair(block, self.manner, self._spoke):
            self.out.append(placed)
            return
        call, result = as_pair(block)
        id = self._ids.next(call.id)
        asked = Block("assistant", (replace(call, id=id),), block.section, block.level, block.sources)
        told = replace(asked, role="tool", parts=(replace(result, call_id=id),))
        self.out += [PlacedBlock(asked, origin), PlacedBlock(told, origin)]

    def _send(self, block: Block, origin: int | None) -> None:
        self.out.append(PlacedBlock(block, origin))
        if block.role != "system" and any(map(_says, block.parts)):
            self._spoke = block.role

    def _close(self, *then: PlacedBlock) -> None:
        """Answer open calls with stand-ins; held blocks come next, then `then`."""
        for call in self.waiting:
            self._note(
                _MISSING, call.origin, "a call without a result", "a result says that none was recorded"
            )
            result = ToolResult(call.sent, (Text(NO_RESULT),), is_error=True)
            made = Block("tool", (result,), call.block.section, call.block.level, call.block.sources)
            self._send(made, None)
        self.waiting = []
        self._release(*then)

    def _release(self, *then: PlacedBlock) -> None:
        held, self._held, self._told = self._held, [], False
        self._next.extendleft(reversed([*held, *then]))

    # -- calls ---------------------------------------------------------------------------------------------------

    def _reply(self, placed: PlacedBlock) -> None:
        block, origin = placed.block, placed.origin
        parts: list[Part] = []
        for part in block.parts:
            if not isinstance(part, ToolCall):
                parts.append(part)
                continue
            if not part.name:
                parts.append(Text(f"[call] {arguments_text(part)}"))
                continue
            sent = self._ids.next(part.id)
            if sent != part.id:
                self._note_id(origin, part.id)
            parts.append(part if sent == part.id else replace(part, id=sent))
            self.waiting.append(_WaitingCall(part.id, sent, origin or 0, block))
            self._called[part.id] = part.name
        self._send(block if _same(parts, block.parts) else replace(block, parts=tuple(parts)), origin)

    # -- results -------------------------------------------------------------------------------------------------

    def _results(self, placed: PlacedBlock) -> None:
        """Send results of waiting calls at once."""
        block, origin = placed.block, placed.origin
        answers: list[Part] = []
        rest: list[Part] = []
        for part in block.parts:
            if not isinstance(part, ToolResult):
                rest.append(part)
                continue
            call = next((c for c in self.waiting if c.given == part.call_id), None)
            if call is None:
                rest.append(part)
                continue
            self.waiting.remove(call)
            answers.append(part if call.sent == part.call_id else replace(part, call_id=call.sent))
        if answers:
            self._told = True
            same = block.role == "tool" and _same(answers, block.parts)
            self._send(block if same else replace(block, role="tool", parts=tuple(answers)), origin)
        left = (PlacedBlock(replace(block, parts=tuple(rest)) if answers else block, origin),) if rest else ()
        if answers and not self.waiting:
            self._release(*left)
        elif left:
            self._rest(*left)

    def _rest(self, placed: PlacedBlock) -> None:
        """Handle what answers no call of the open step: user messages close it, everything else follows it."""
        block, origin, _ = placed
        speaks = block.role == "user" and any(
            _says(part) for part in block.parts if not isinstance(part, ToolResult)
        )
        if self.waiting and speaks:
            self._close(placed)
        elif self.waiting:
            self._held.append(placed)
        elif parts := tuple(told for part in block.parts for told in self._in_words(part, origin)):
            self._send(block if _same(parts, block.parts) else replace(block, parts=parts), origin)

    def _in_words(self, part: Part, origin: int | None) -> Iterator[Part]:
        """Yield a result that answers no call of the open step as text with its attachments; any other part unchanged."""
        if not isinstance(part, ToolResult):
            yield part
            return
        words = "\n".join(
            p.text if isinstance(p, Text) else p.raw for p in part.content if not isinstance(p, Media)
        )
        media = [p for p in part.content if isinstance(p, Media)]
        if not words.strip() and not media:
            self._note(_ORPHAN, origin, "an empty result whose call is not before it", "it was removed")
            return
        self._note(_ORPHAN, origin, "a result whose call is not before it", "it became text")
        name = self._called.get(part.call_id)
        yield Text(orphan_text(part.call_id, words) if name is None else late_text(name, part.call_id, words))
        yield from media

    # -- notes ---------------------------------------------------------------------------------------------------

    def _note(self, table: Mapping[Wire, str], origin: int | None, what: str, did: str) -> None:
        rule = rules()[table[self.wire]]
        self.changes.append(RepairAction(rule, f"blocks[{origin}]", what, did))

    def _note_id(self, origin: int | None, given: str) -> None:
        did = "call and result got another one"
        if self._allowed.fullmatch(given):
            self._note(_MISSING, origin, "an id that an earlier call has", did)
        elif self._allowed is MISTRAL_ID:
            self.changes.append(
                RepairAction(rules()["O2"], f"blocks[{origin}]", "an id that Mistral does not allow", did)
            )
        else:
            self._note(_ODD_ID, origin, "an id that the wire does not allow", did)


def _pieces(block: Block) -> Iterator[Block]:
    """Yield a reply that contains results in pieces: the model's text, the results, the text after them."""
    run: list[Part] = []
    results = False
    for part in block.parts:
        if run and isinstance(part, ToolResult) != results:
            yield _piece(block, run, results)
            run = []
        results = isinstance(part, ToolResult)
        run.append(part)
    yield _piece(block, run, results)


def _piece(block: Block, parts: Iterable[Part], results: bool) -> Block:
    return replace(block, role="tool" if results else block.role, parts=tuple(parts))


def _same(parts: Sequence[Part], given: Sequence[Part]) -> bool:
    return len(parts) == len(given) and all(new is old for new, old in zip(parts, given, strict=True))


def _says(part: Part) -> bool:
    """Return True for a part that a wire shows."""
    if isinstance(part, Opaque):
        return "thinking" not in part.kind
    return bool(part.text.strip()) if isinstance(part, Text) else not isinstance(part, Reasoning)


def late_text(name: str, id: str, content: str) -> str:
    """Return a late result as text: a stand-in has already answered its call."""
    return f"[late result of the call {name} {id}]\n{content}".rstrip()
