"""Answers that stopped at the output limit and were continued: the words that stand between their parts.

Owns them. A part that was cut is followed by a message that asks to go on, wherever the model speaks next: so the prompt that is sent
for the continuation ends with the user on every wire, and later prompts begin with the same bytes. Nothing of it is in the log: it
follows from the mark of the cut. Pure. Before: `assemble/view`. After: `engine/composing`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from backscroll.assemble.view_meter import Meter
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Text
from backscroll.vocab.prompt import Block, Level

#: Why such a word is in a prompt, and why a result that nobody has is.
CONTINUED, STOOD_IN = "continued", "no result yet"
_GO_ON = {
    "en": "[Your answer reached the output limit and was cut off here. Continue exactly where it stopped; repeat nothing.]",
    "zh": "[你的回答到了输出上限，在这里被截断。请从中断的地方接着写，不要重复。]",
}


def with_continuations(
    blocks: Sequence[Block], cut: Collection[Ref], meter: Meter, language: str = ""
) -> list[Block]:
    """The blocks of a history, with a word between a part that was cut and what the model says next."""
    return list(_joined(blocks, cut, meter, language)) if cut else list(blocks)


def _joined(blocks: Sequence[Block], cut: Collection[Ref], meter: Meter, language: str) -> Iterator[Block]:
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
