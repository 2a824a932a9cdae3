"""Rendering of a prompt's blocks as messages of a wire.

Owns: `render`, the only way from blocks to a request: paired, converted, repaired. Every decision rests on earlier blocks, so
later blocks only add to the end: the provider's cache keeps matching, and thinking stays bound to the same words. Not
here: choosing blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from backscroll.assemble.validity import RepairResult, repair
from backscroll.assemble.validity.draft import GO_ON, NO_REPLY, mint_digits, words_of
from backscroll.assemble.validity.models import gpt, takes_prefill
from backscroll.assemble.wires import anthropic, openai_chat, openai_responses
from backscroll.assemble.wires.insertion import InsertionContext, InsertionForm
from backscroll.assemble.wires.pairing import pair
from backscroll.assemble.wires.shape import Breakpoint, RenderedPrompt, SameModel, WireContext, block_kinds
from backscroll.formats.shape import Blobs
from backscroll.formats.sources.media import no_blobs
from backscroll.formats.sources.rows import as_array
from backscroll.vocab.part import Json, ToolCall, ToolResult
from backscroll.vocab.prompt import TAIL, Block, Section, Wire, checked_wire

__all__ = ["Breakpoint", "RenderedPrompt", "SameModel", "render"]

Spelling: TypeAlias = Callable[[Block, WireContext], list[dict[str, Json]]]
#: An insertion after the messages so far: separate messages, or None if the last one took it in.
Inserting: TypeAlias = Callable[[list[dict[str, Json]], Block, WireContext], list[dict[str, Json]] | None]

_WIRES: Final[Mapping[Wire, tuple[Spelling, Inserting]]] = {
    "openai-chat": (openai_chat.render_block, openai_chat.insert),
    "openai-responses": (openai_responses.render_block, openai_responses.insert),
    "anthropic": (anthropic.render_block, anthropic.insert),
}
#: Sections whose ends are good places for a cache mark.
_CLOSING: Final = (Section.MEMORY, Section.SUMMARIES, Section.HISTORY)


def render(
    blocks: Sequence[Block],
    wire: str,
    *,
    tools: Sequence[Json] | None = None,
    blobs: Blobs = no_blobs,
    model: str | None = None,
    same_model: SameModel = False,
    explicit_cache: bool = False,
    insertions: InsertionForm = "plain",
) -> RenderedPrompt:
    """Return the prompt as messages of the wire.

    `tools=None` means that the caller sends any tools there are; an empty list that there are none, in which case the
    Anthropic wire gets calls and results as text. `same_model` says whose thinking may be sent back with its proof.
    `explicit_cache` requests cache points on OpenAI's wires, for models that accept them; Anthropic's marks are always set.
    `insertions="system"` puts our own text into system messages, on Claude models that accept them in the middle.
    """
    chosen = checked_wire(wire)
    spell, insert = _WIRES[chosen]
    leading = _leading(blocks, chosen)
    places = [n for n in range(len(blocks)) if n not in leading]
    paired = pair([blocks[n] for n in places], InsertionContext(chosen, model, bool(tools)))
    flat = chosen == "anthropic" and tools is not None and not tools
    how = WireContext(blobs, model, same_model, not flat, insertions)
    raw: list[dict[str, Json]] = []
    sources: list[tuple[int, ...]] = []
    for block, number, is_inserted in paired.placed:
        if flat and any(isinstance(part, ToolCall | ToolResult) for part in block.parts):
            how = how._replace(same_model=False)  # thinking is bound to the calls as they were made
        came_from = () if number is None else (places[number],)
        spelled = insert(raw, block, how) if is_inserted else spell(block, how)
        if spelled is None:
            sources[-1] += came_from
            continue
        for message in spelled:
            if chosen == "anthropic" and _wants_reply(raw, message):
                raw.append({"role": "assistant", "content": [{"type": "text", "text": NO_REPLY}]})
                sources.append(())
            raw.append(message)
            sources.append(came_from)
    goes_on = _asks_to_go_on(chosen, raw, model)
    if goes_on:
        raw.append({"role": "user", "content": [{"type": "text", "text": GO_ON}]})
    mended = repair(raw, chosen, system=_system(blocks, leading, chosen), tools=tools, model=model)
    origins = [
        tuple(dict.fromkeys(origin for n in found if n < len(sources) for origin in sources[n]))
        for found in mended.origins
    ]
    stable = max((n for n, found in enumerate(origins) if found), default=0)
    points = _points(
        chosen, blocks, mended.messages, origins, mended, tools, explicit_cache and _explicit(model)
    )
    inserted = tuple(places[n] for n in paired.inserted)
    key = _cache_key(blocks, mended.system)
    return RenderedPrompt(
        chosen, mended.messages, mended.system, origins, tuple(sorted(leading)), points, stable, inserted, key,
        (*paired.changes, *mended.changes), mended.tools, paired.waiting, GO_ON if goes_on else "",
    )  # fmt: skip


def _leading(blocks: Sequence[Block], wire: Wire) -> set[int]:
    """Return blocks beside the messages: the system blocks before the first message."""
    out: set[int] = set()
    for n, block in enumerate(blocks):
        if block.role != "system" or wire == "openai-chat" or block.section in TAIL:
            break
        if wire == "openai-responses" and block.section is not Section.SYSTEM:
            break  # instructions are for what stays; memory and summaries are items, so that they can be cached separately
        out.add(n)
    return out


def _system(blocks: Sequence[Block], leading: set[int], wire: Wire) -> Json:
    texts = [text for n in sorted(leading) if (text := blocks[n].text).strip()]
    if not texts:
        return None
    return [{"type": "text", "text": text} for text in texts] if wire == "anthropic" else "\n\n".join(texts)


def _asks_to_go_on(wire: Wire, raw: Sequence[Json], model: str | None) -> bool:
    """Return True if a reply would come last on Anthropic's wire, and the model is not known to continue it."""
    if wire != "anthropic" or not raw or raw[-1]["role"] != "assistant" or takes_prefill(model):
        return False
    return not {"tool_use", "server_tool_use"} & set(block_kinds(raw[-1]))


def _wants_reply(raw: Sequence[dict[str, Json]], message: dict[str, Json]) -> bool:
    """Return True if a reply is required between a system message in the middle and the user's message after it."""
    return bool(raw) and raw[-1].get("role") == "system" and message.get("role") == "user"


def _explicit(model: str | None) -> bool:
    version = gpt(model)
    return version is not None and version >= (5, 6)


def _points(
    wire: Wire,
    blocks: Sequence[Block],
    messages: Sequence[dict[str, Json]],
    origins: Sequence[tuple[int, ...]],
    mended: RepairResult,
    tools: Sequence[Json] | None,
    explicit: bool,
) -> tuple[Breakpoint, ...]:
    sections = [blocks[places[-1]].section if places else None for places in origins]
    ends = [
        n for n, (here, after) in enumerate(pairwise([*sections, None])) if here in _CLOSING and here != after
    ]
    if wire == "anthropic":
        real = max(
            (n + 1 for n, places in enumerate(origins) if places), default=0
        )  # additions may not recur
        return anthropic.breakpoints(messages[:real], mended.system, tools, ends)
    if not explicit:
        return ()
    first = [n for n, here in enumerate(sections) if here == Section.SYSTEM][-1:]
    newest = range(len(messages) - 1, -1, -1)
    allowed = [
        n
        for n in (*first, *ends, *newest)
        if messages[n].get("role") in ("system", "developer", "user", "tool")
    ]
    chosen = sorted({*allowed[: len(first) + len(ends)][:2], *[n for n in newest if n in allowed][:1]})
    return tuple(Breakpoint("messages", n, max(0, len(block_kinds(messages[n])) - 1)) for n in chosen)


def _cache_key(blocks: Sequence[Block], system: Json) -> str:
    """Return the same key for all prompts of a thread, so that a provider routes them to the same machine."""
    thread = next((source.thread for block in blocks for source in block.sources), None)
    seed = thread or words_of(as_array(system) or system)
    return f"bs-{mint_digits(seed)[:24]}"
