"""A conversation of hundreds of turns: every prompt fits, compactions are few, nothing required is lost."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.assemble.validity import check
from backscroll.config import Settings
from backscroll.engine.core.clock import ClockAndIds
from backscroll.engine.engine import Engine
from backscroll.stores.sqlite.store import SqliteStore
from backscroll.vocab.event import Kind
from backscroll.vocab.part import Text, ToolCall, ToolResult
from backscroll.vocab.prompt import WIRES
from tests.properties.memory import Clock, opened, spelled

TURNS, BUDGET = 300, 8000
RULE = "Never delete the ledger_2019 table, whatever happens!"
TODO = "TODO: renew the certificate of harbour.example before Friday."
SAID = (
    "Please look at src/part{n}.py and mend it.",
    "请看一下第{n}个文件，测试失败了。",
    "Why does test_{n} fail?",
    "我们决定把超时改成 {n} 秒，因为网络很慢。",
)


def turn(thread: backscroll.Thread, n: int, chance: random.Random) -> None:
    """A question, some steps, some of them with giant results, an answer."""
    thread.append("user", SAID[n % len(SAID)].format(n=n))
    for step in range(chance.choice([0, 1, 1, 2])):
        call = ToolCall(f"c{n}_{step}", chance.choice(["Read", "Bash"]), {"path": f"src/part{n}.py"})
        thread.append("assistant", [Text(f"Step {step} of {n}."), call])
        lines = chance.choice([3, 20, 20, 900 if n % 20 == 7 else 40])
        text = "\n".join(f"line {i} of part {n}: value_{n * i} = {i} 值" for i in range(lines))
        thread.append("tool", [ToolResult(call.id, (Text(text),), name=call.name)])
    thread.append("assistant", f"Done with {n}. 完成了。" + " It took a while." * chance.randint(1, 12))


def compactions(thread: backscroll.Thread) -> list[int]:
    return [e.seq for e in thread.events() if e.kind is Kind.COMPACTED]


def test_three_hundred_turns_stay_within_the_budget(tmp_path: Path) -> None:
    """Every prompt fits and is valid; compactions come in batches, never twice without new messages."""
    clock, chance = Clock(), random.Random(5)
    with opened(tmp_path / "store.db", clock) as engine:
        thread = engine.create("long")
        thread.append("system", "You are careful.")
        pinned = thread.append("user", f"{RULE} {TODO}", pinned=True)
        made: Any = None
        for n in range(TURNS):
            turn(thread, n, chance)
            clock.wait(20)
            if n % 2:
                continue
            before = thread.head
            wire = WIRES[n // 100 % len(WIRES)]
            made = thread.prompt(BUDGET, wire=wire, reserve=500, recall=n % 25 == 0)
            assert made.receipt.total <= BUDGET
            written = [e.kind for e in thread.events() if e.seq > before]
            assert written in ([], [Kind.COMPACTED], [Kind.PLACED], [Kind.COMPACTED, Kind.PLACED])
            if n % 10 == 0:
                assert check(made.messages, wire, system=made.system) == []
                assert RULE in spelled(made)
                assert SAID[n % len(SAID)].format(n=n) in spelled(made)
        found = compactions(thread)
        assert len(found) <= TURNS / 3
        messages = {m.id.seq for m in thread}
        for first, second in pairwise(found):
            assert any(first < seq < second for seq in messages)
        assert pinned.id in {block.message for block in made.blocks}


def test_second_prompt_never_compacts_again(tmp_path: Path) -> None:
    """Whatever the budget was before, the second prompt in the same budget has nothing to condense."""
    chance = random.Random(9)
    clock = Clock()
    with opened(tmp_path / "store.db", clock) as engine:
        thread = engine.create("again")
        for n in range(40):
            turn(thread, n, chance)
        for budget in (128_000, 8000, 3000, 8000, 128_000, 1500):
            first = thread.prompt(budget, reserve=0, recall=False)
            count = len(compactions(thread))
            clock.wait(3600)  # the cache is cold, and compacting is free
            second = thread.prompt(budget, reserve=0, recall=False)
            clock.wait(3600)
            third = thread.prompt(budget, reserve=0, recall=False)
            assert max(p.receipt.total for p in (first, second, third)) <= budget
            assert len(compactions(thread)) - count <= 1
            assert spelled(third) == spelled(second)


def test_budget_can_shrink_from_128k_to_8k_and_grow_back(tmp_path: Path) -> None:
    """Window, wire and tools change between prompts: each fits; undo restores everything."""
    chance = random.Random(3)
    tool = {"type": "function", "function": {"name": "Read", "parameters": {"type": "object"}}}
    with opened(tmp_path / "store.db", Clock()) as engine:
        thread = engine.create("windows")
        for n in range(80):
            turn(thread, n, chance)
        whole = thread.prompt(128_000, recall=False)
        small = thread.prompt(
            8000, recall=False, wire="anthropic", tools=[{"name": "Read", "input_schema": {"type": "object"}}]
        )
        back = thread.prompt(128_000, recall=False, wire="openai-responses")
        again = thread.prompt(8000, recall=False, tools=[tool])
        for made, budget in ((whole, 128_000), (small, 8000), (back, 128_000), (again, 8000)):
            assert made.receipt.total <= budget
            assert check(made.messages, made.wire, system=made.system) == []
        while (
            compactions(thread)
            and thread.prompt(128_000, recall=False, dry_run=True).messages != whole.messages
        ):
            thread.as_actor("backscroll").undo()
        assert spelled(thread.prompt(128_000, recall=False, dry_run=True)) == spelled(whole)


def test_useless_compaction_is_not_made(tmp_path: Path) -> None:
    """A short conversation stays as it is, whoever asks; so does one of protected messages only."""
    with opened(tmp_path / "store.db", Clock()) as engine:
        thread = engine.create("short")
        for n in range(4):
            thread.append("user", f"Keep {n}: " + "word " * 50, pinned=True)
        head = thread.head
        done = thread.compact(300)
        assert (done.event, done.before, done.saved, thread.head) == (None, done.after, 0, head)


def test_refused_prompt_leaves_nothing_behind(tmp_path: Path) -> None:
    """If the protected messages do not fit, nothing is written, and the budget it names does fit."""
    chance = random.Random(2)
    with opened(tmp_path / "store.db", Clock()) as engine:
        thread = engine.create("too small")
        for n in range(30):
            turn(thread, n, chance)
            call = ToolCall(f"open_{n}", "Read", {"path": "x" * 40})
            thread.append("assistant", [Text("Not answered."), call])
        thread.append("user", "A long question. " * 60)
        head = thread.head
        with pytest.raises(backscroll.BackscrollError) as refused:
            thread.prompt(200, reserve=0)
        assert thread.head == head
        least = json.loads(json.dumps(refused.value.facts))["minimum"]
        assert thread.prompt(least, reserve=0).receipt.total <= least


def test_concurrent_delete_is_respected_by_a_compaction(tmp_path: Path) -> None:
    """What one engine deletes while another condenses is in no recorded compaction."""
    place, clock = tmp_path / "store.db", Clock()
    with opened(place, clock) as engine, opened(place, clock, 1) as other:
        thread = engine.create("race")
        for n in range(20):
            turn(thread, n, random.Random(n))
        secret = thread.append("user", "Never mention src/walrus_cave.py in public; we decided so.")
        for n in range(20, 26):
            turn(thread, n, random.Random(n))

        def meddling() -> str:
            if other.thread(thread.id).message(secret.id).text and not meddled:
                meddled.append(1)
                other.thread(thread.id).delete(secret.id)
            return clock()

        meddled: list[int] = []
        own = Engine(SqliteStore(place), Settings(background=False), ClockAndIds(meddling))
        with own:
            # The clock is asked for in the middle of making a prompt: after reading, before writing.
            own.thread(thread.id).prompt(3000, reserve=0)
        assert meddled
        bodies = [str(e.body) for e in thread.events() if e.kind is Kind.COMPACTED]
        assert not any("walrus" in body for body in bodies)
        assert "walrus" not in spelled(thread.prompt(3000, reserve=0))
