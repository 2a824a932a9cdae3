"""Placeholders in prompts: requests to continue a cut answer, stand-ins for missing results.

Owns them. A part that was cut is followed by a request to continue, wherever the model speaks next: so the prompt that is
sent for the continuation ends with the user on every wire, and later prompts begin with the same bytes. None of this is in the
log: it follows from the mark of the cut, unless a prompt that ended with it was never answered (`engine/prompts/composition/placement` writes
that down). Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from backscroll.assemble.validity.draft import NO_RESULT
from backscroll.assemble.view.meter import Meter
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Text, ToolResult
from backscroll.vocab.prompt import Block, Level

#: The reasons of a request to continue, and of a missing result.
CONTINUED, STOOD_IN = "continued", "no result yet"
_GO_ON = {
    "en": "[Your answer reached the output limit and was cut off here. Continue exactly where it stopped; repeat nothing.]",
    "zh": "[你的回答到了输出上限，在这里被截断。请从中断的地方接着写，不要重复。]",
}


def with_continuations(
    blocks: Sequence[Block], cut: Collection[Ref], meter: Meter, language: str = ""
) -> list[Block]:
    """Return the blocks of a history, with a request between a part that was cut and its continuation."""
    return list(_insert_continuations(blocks, cut, meter, language)) if cut else list(blocks)


def _insert_continuations(
    blocks: Sequence[Block], cut: Collection[Ref], meter: Meter, language: str
) -> Iterator[Block]:
    for n, block in enumerate(blocks):
        yield block
        goes_on = n + 1 == len(blocks) or blocks[n + 1].role == "assistant"
        if goes_on and block.role == "assistant" and block.message in cut and block.level <= Level.DIGEST:
            parts = (Text(_GO_ON["zh" if language.startswith("zh") else "en"]),)
            yield Block(
                "user",
                parts,
                block.section,
                block.level,
                block.sources,
                reason=CONTINUED,
                tokens=meter.parts(parts),
            )


def took_place(waits: Collection[str], then: Sequence[Block]) -> bool:
    """Return True if the next block contains the result of a call that had a stand-in."""
    return any(isinstance(p, ToolResult) and p.call_id in waits for b in then for p in b.parts)


def stood_in(
    waits: Sequence[str], goes_on: str, block: Block, then: Sequence[Block], meter: Meter
) -> Iterator[Block]:
    """Yield the placeholders that a prompt added after a block.

    They stay where the conversation continued without the results. Results right after their calls replace the stand-ins: no
    reply answered the prompt that ended with these.
    """
    for call in () if took_place(waits, then) else waits:
        parts = (ToolResult(call, (Text(NO_RESULT),), is_error=True),)
        yield Block("tool", parts, block.section, reason=STOOD_IN, tokens=meter.parts(parts))
    if goes_on:
        words = (Text(goes_on),)
        yield Block("user", words, block.section, reason=CONTINUED, tokens=meter.parts(words))
