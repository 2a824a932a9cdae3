"""The tail: what a prompt says after the newest message, anew at every call.

The task at hand, recent operations, recalled details, what the graph knows. It stands behind everything that a provider may cache, so it can change without
costing anything but itself. Text in it is data from earlier, and says so. Before: `engine/tooling`, `engine/recalling`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backscroll.assemble.view_meter import Meter
from backscroll.derive.operations import recent_operations, render_operations
from backscroll.record.turns import into_turns
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import is_spoken_by_user
from backscroll.vocab.part import Text
from backscroll.vocab.prompt import Block, Level, Section

if TYPE_CHECKING:
    from backscroll.derive.digest import Digest
    from backscroll.engine.composing import Composer


@dataclass(frozen=True, slots=True)
class Tail:
    """The blocks, and why details were recalled or not."""

    blocks: tuple[Block, ...]
    why: str


def operations_block(composer: Composer, room: int) -> Block | None:
    """What tools did lately, as many of the newest as fit; without what was cropped.

    Once a history has to be condensed, room is dear, and the tail is paid in full at every call: what it shows then, to the
    letter or as a line, is not told twice. Only the newest one always is, so that there is a list where a system prompt points to one.
    """
    crops, shown = composer.sheet.crops, _shown(composer)
    lately = [d for d in _lately(composer) if not any(c.holds(d.call) for c in crops)]
    digests = [d for d in lately if d is lately[-1] or d.call not in shown]
    while digests:
        block = _operations(digests, composer.meter, composer.language)
        if block.tokens <= room:
            return block
        digests = digests[max(1, len(digests) // 4) :]
    return None


def _shown(composer: Composer) -> set[Ref]:
    """Messages that a condensed history shows at any resolution; nothing where there is room for all."""
    if composer.frozen is None:
        return set()
    levels: Mapping[Ref, Level] = composer.frozen.compaction.levels
    units = (u for u in composer.units if levels.get(u.id, Level.VERBATIM) < Level.SUMMARY)
    return {message.id for unit in units for message in unit.messages}


def _lately(composer: Composer) -> list[Digest]:
    """The operations of the last rounds; of an earlier moment, those that its window shows."""
    if composer.as_of is None:
        return composer.thread.operations()
    settings = composer.thread.engine.settings
    turns = list(into_turns(composer.thread.id, composer.sheet.window))
    return recent_operations(turns, rounds=settings.operations_rounds, max_summaries=settings.max_summaries)


def _operations(digests: list[Digest], meter: Meter, language: str) -> Block:
    parts = (Text(render_operations(digests, language)),)
    sources = tuple(dict.fromkeys(d.call for d in digests))
    return Block(
        "user",
        parts,
        Section.OPERATIONS,
        Level.DIGEST,
        sources,
        reason="recent operations",
        tokens=meter.parts(parts),
    )


def tail_of(composer: Composer, room: int, shown: Collection[Ref], *, recall: bool) -> Tail:
    """The tail of a prompt, within `room` tokens. `shown` are revisions that the prompt has in full anyway."""
    thread, ask = composer.thread, composer.ask
    settings = thread.engine.settings
    blocks: list[Block] = []
    from backscroll.engine.tasking_block import task_block

    task = task_block(composer, min(room, int(settings.share_task * ask.room)))
    if task is not None:
        blocks.append(task)
        room -= task.tokens
    if not settings.operations_inline:
        most = min(room, int(settings.share_operations * ask.room))
        block = operations_block(composer, most)
        if block is not None:
            blocks.append(block)
            room -= block.tokens
    why = "recall is off"
    if recall:
        most = min(room, int(settings.share_recalled * ask.room))
        recalled, why = _recalled(composer, most, shown)
        if recalled is not None:
            blocks.append(recalled)
            room -= recalled.tokens
        from backscroll.engine.graph_block import graph_block

        known = graph_block(composer, min(room, int(settings.share_graph * ask.room)), shown)
        if known is not None:
            blocks.append(known)
    return Tail(tuple(blocks), why)


def _recalled(composer: Composer, room: int, shown: Collection[Ref]) -> tuple[Block | None, str]:
    # For the whole turn, not only its first call: the question stands until it is answered.
    window = composer.sheet.window
    newest = next((m for m in reversed(window) if is_spoken_by_user(m)), composer.sheet.asked)
    if newest is None or not newest.text.strip():
        return None, "there is nothing to look for"
    if room < 60:
        return None, "there is no room for recalled details"
    from backscroll.engine.recalling import recall_for_prompt

    frame = composer.meter.parts((Text(""),))
    found = recall_for_prompt(
        composer.thread, newest, room - frame, composer.ask.tokenizer.count, exclude=frozenset(shown)
    )
    if found is None or not found.items:
        return None, "nothing older is needed, or nothing good enough was found"
    parts = (Text(found.text),)
    tokens = composer.meter.parts(parts)
    if tokens > room:
        return None, "there is no room for recalled details"
    block = Block(
        "user",
        parts,
        Section.RECALLED,
        Level.VERBATIM,
        found.sources,
        reason="the newest message asks for it",
        tokens=tokens,
    )
    return block, f"{len(found.items)} details recalled"
