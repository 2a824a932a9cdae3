"""Fuzz that prompts only grow: the next one is the one before and something at its end, unless a listed cause happened."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backscroll import Wire
from backscroll.assemble.view.continuation import STOOD_IN
from backscroll.errors import BudgetTooSmall
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.part import ToolResult, part_to_json
from tests.fuzz import acts, promises
from tests.fuzz.acts import Act
from tests.fuzz.growing import begins, could_be_sent
from tests.fuzz.talk import Talk

#: The fourth lost a call that waits, shown in front, once the user spoke; the fifth a pin that was set after a compaction at the next one; the sixth took
#: the summary of a crop in a fork for one in the thread it came from.
SEEDS = (1, 2, 3, 33, 53, 62)
OPERATIONS = 60
#: Mostly what happens between two calls of a model; now and then a change to the past.
ACTS: Mapping[Act, int] = {
    acts.speak: 40,
    acts.task: 10,
    acts.memory: 8,
    acts.graph: 8,
    acts.lore: 8,
    acts.ask: 6,
    acts.wait: 4,
    acts.flag: 4,
    acts.reword: 3,
    acts.fork: 2,
    acts.take_back: 2,
    acts.crop: 2,
    acts.compact: 2,
    acts.forget: 1,
}
#: Events after which a prompt may differ from the one before: somebody changed the past, or it was condensed.
CAUSES = frozenset(
    {
        Kind.INSERTED,
        Kind.EDITED,
        Kind.REGENERATED,
        Kind.CHOSEN,
        Kind.DELETED,
        Kind.RESTORED,
        Kind.HIDDEN,
        Kind.UNHIDDEN,
    }
    | {
        Kind.MOVED,
        Kind.REWOUND,
        Kind.CROPPED,
        Kind.UNCROPPED,
        Kind.COMPACTED,
        Kind.UNDONE,
        Kind.REDONE,
        Kind.FORGOTTEN,
        Kind.REMEMBERED,  # a memory that was told is hidden or reworded
        Kind.LIFTED,
        Kind.WORLD_TOLD,  # a lorebook took the place of another one
    }
)


def fuzz(seed: int, folder: Path) -> None:
    """Talk, and ask for a prompt after everything that happens."""
    with Talk(seed, folder / "store.db").told() as talk:
        dice = talk.dice
        name = talk.create(project=dice.choice(("", "harbour")), language=dice.choice(("", "en", "zh")))
        talk.say(name, "system")
        ways: list[tuple[int, Wire]] = [
            (dice.choice((900, 2000, 6000, 20_000)), wire) for wire in promises.WIRES
        ]
        before: dict[tuple[str, str], Sent] = {}
        for _ in range(OPERATIONS):
            touched = acts.act(talk, ACTS)
            budget, wire = dice.choice(ways)
            sent = asked(talk, touched, budget, wire)
            if sent is None:
                continue
            known = before.get((touched, wire))
            if known is not None:
                assert_grows(talk, touched, known, sent)
            before[touched, wire] = sent


class Sent:
    """A prompt that was sent."""

    def __init__(self, made: Any, head: int, answered: frozenset[str]) -> None:
        self.made, self.head = made, head
        self.answered = answered  # calls that had a result
        self.blocks = [json.dumps([b.role, [part_to_json(p) for p in b.parts]]) for b in made.blocks]


def asked(talk: Talk, name: str, budget: int, wire: Wire) -> Sent | None:
    """A prompt as it is sent, with all it leaves behind."""
    talk.note(f"send {name[:8]} {budget} {wire}")
    thread = talk.thread(name)
    try:
        made = thread.prompt(budget, wire=wire, reserve=0, tools=promises.tools_for(wire))
    except BudgetTooSmall as refused:
        talk.trail[-1] += f"  (refused: {refused})"
        return None
    promises.assert_valid(made)
    promises.assert_fits(made)
    promises.assert_holds(talk, name, made)
    promises.assert_lore(talk, name, made)
    return Sent(made, thread.head, frozenset(call for line in talk.lines[name] for call in line.answers))


def assert_grows(talk: Talk, name: str, before: Sent, now: Sent) -> None:
    """The earlier prompt is the beginning of the later one, unless something that may change it happened."""
    # What was placed may rest on messages of other threads.
    happened = {
        e.kind
        for each in talk.lines
        for e in talk.thread(each).events()
        if e.at > before.made.receipt.at
        and (e.kind is not Kind.REMEMBERED or e.head.get("act") in ("hide", "edit"))
        and (e.kind is not Kind.WORLD_TOLD or _replaces(talk, each, e))
    }
    if happened & CAUSES or before.made.receipt.cut or now.made.receipt.cut:
        return
    at = _parted(before, now)
    if at < len(before.blocks) and _was_answered(before.made.blocks[at], now.answered - before.answered):
        return  # a result came right behind its call, in place of what stood in for it
    assert at == len(before.blocks), _first(before, now)
    # What stood in for a result, or asked to go on, stays too, unless a result came in its place.
    spoken = any(block.role != "system" for block in before.made.blocks)
    if spoken and (could_be_sent(before.made.blocks) or before.answered == now.answered):
        assert before.made.system == now.made.system, "another system text"
        assert begins(plain(before.made.messages), plain(now.made.messages)), (
            "the messages of the wire differ"
        )


def _replaces(talk: Talk, name: str, told: Event) -> bool:
    """True where a book of the same name was told before."""
    book = _book(told)
    return any(
        e.kind is Kind.WORLD_TOLD and e.seq < told.seq and _book(e) == book
        for e in talk.thread(name).events()
    )


def _book(told: Event) -> str:
    return json.loads(told.body)["name"] if told.body else ""


def plain(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages without the marks for a cache, which move; one that has none is written as text or as a list."""
    out: list[dict[str, Any]] = []
    for message in messages:
        content: Any = message.get("content")
        if isinstance(content, list):
            content = [{k: v for k, v in block.items() if k != "cache_control"} for block in content]
        out.append({**message, "content": content} if "content" in message else message)
    return out


def _parted(before: Sent, now: Sent) -> int:
    """The first block of the earlier prompt that the later one does not have there."""
    pairs = enumerate(zip(before.blocks, now.blocks, strict=False))
    least = min(len(before.blocks), len(now.blocks))
    return next((n for n, (a, b) in pairs if a != b), least)


def _was_answered(block: Any, answers: frozenset[str]) -> bool:
    waits = {part.call_id for part in block.parts if isinstance(part, ToolResult)}
    return block.reason == STOOD_IN and bool(waits & answers)


def _first(before: Sent, now: Sent) -> str:
    at = _parted(before, now)
    return f"block {at} of {len(before.blocks)}\nwas {_shown(before, at)}\nis {_shown(now, at)}"


def _shown(sent: Sent, at: int) -> str:
    if at >= len(sent.blocks):
        return "nothing"
    block = sent.made.blocks[at]
    return f"{block.section} {block.reason} {block.level.name} {block.message}\n  {sent.blocks[at][:300]}"
