"""Compacting inside one long turn: giants, the newest step, warm turns, and what the tail repeats."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.assemble.validity import check
from backscroll.engine.engine import Engine
from backscroll.engine.thread import Thread
from backscroll.vocab.event import Kind
from backscroll.vocab.part import Text, ToolCall, ToolResult
from backscroll.vocab.prompt import Section

BUDGET = 8_000


@pytest.fixture
def thread(tmp_path: Path) -> Iterator[Thread]:
    with backscroll.open(tmp_path / "store.db", background=False) as engine:
        made = engine.create("one long turn")
        made.append("system", "You are careful.")
        made.append("user", "Read all the files and say which one is broken.")
        yield made


def step(thread: Thread, n: int, lines: int, calls: int = 1) -> None:
    """A reply with some calls and their results, each result with a word of its own at its end."""
    names = [f"c{n}_{k}" for k in range(calls)]
    asked = [ToolCall(name, "Read", {"path": f"src/part_{name}.py"}) for name in names]
    thread.append("assistant", [Text(f"Step {n}."), *asked])
    for name in names:
        body = "\n".join(f"{name} line {i}: value_{i * 7} = {i}" for i in range(lines))
        thread.append("tool", [ToolResult(name, (Text(f"{body}\nend-of-{name}"),), name="Read")])


def said(made: Any) -> str:
    return json.dumps([made.messages, made.system], ensure_ascii=False)


def condensed(thread: Thread) -> int:
    return sum(e.kind is Kind.COMPACTED for e in thread.events())


def test_giant_step_keeps_earlier_condensed_blocks(thread: Thread) -> None:
    """Parallel reads larger than the budget are cut; earlier blocks stay unchanged."""
    n, condensed_now = 0, False
    while not condensed_now:
        step(thread, n, 60)
        condensed_now = bool(thread.prompt(BUDGET, reserve=0, recall=False).receipt.compaction)
        n += 1
    before = thread.prompt(BUDGET, reserve=0, recall=False)
    step(thread, n, 300, calls=3)  # twice the budget at once
    made = thread.prompt(BUDGET, reserve=0, recall=False)
    assert made.receipt.total <= BUDGET
    assert made.receipt.compaction.get("trimmed")
    assert check(made.messages, made.wire, system=made.system) == []
    kept = [i.mark for i in before.receipt.items if i.section in ("system", "summaries", "history")]
    assert [i.mark for i in made.receipt.items][: len(kept)] == kept


def test_newest_step_is_always_shown(thread: Thread) -> None:
    """A step of several times the budget after others like it: its call and something of its result are in the prompt."""
    for n in range(4):
        step(thread, n, 900, calls=2)
    made = thread.prompt(BUDGET, reserve=0, recall=False)
    assert made.receipt.total <= BUDGET
    assert check(made.messages, made.wire, system=made.system) == []
    assert '"c3_1"' in said(made)
    assert made.messages[-1]["role"] in ("tool", "user")


def test_compactions_in_one_long_turn_come_in_batches(thread: Thread) -> None:
    """Inside one long turn compactions come in batches: each leaves room for several steps more."""
    for n in range(40):
        step(thread, n, 30)
        assert thread.prompt(BUDGET, reserve=0, recall=False).receipt.total <= BUDGET
    assert 1 <= condensed(thread) <= 13


def test_warm_turns_stay_verbatim_if_they_fit(tmp_path: Path) -> None:
    """The last turns are verbatim after a compaction if they are small enough."""
    with backscroll.open(tmp_path / "store.db", background=False, warm_turns=3) as engine:
        made = _talk(engine)
        assert made.compact(BUDGET).event is not None
        text = said(made.prompt(BUDGET, reserve=0, recall=False))
        assert all(f"end-of-c{n}_0" in text for n in (17, 18, 19))


def _talk(engine: Engine) -> Thread:
    made = engine.create("turns")
    for n in range(20):
        made.append("user", f"Now file {n}.")
        step(made, n, 30)
        made.append("assistant", f"File {n} is fine.")
    return made


def test_operations_are_listed_after_their_calls_are_condensed(tmp_path: Path) -> None:
    """While the history shows the calls there is no list; afterwards one list names only hidden calls."""
    with backscroll.open(tmp_path / "store.db", background=False) as engine:
        made = engine.create("steps")
        made.append("user", "Please go through all files.")
        for n in range(20):
            step(made, n, 30)
        whole = made.prompt(200_000, recall=False)
        assert "operations" not in whole.receipt.sections()
        assert "Recent operations" not in said(whole)
        built = made.prompt(4_000, recall=False)
        (block,) = [b for b in built.blocks if b.section is Section.OPERATIONS]
        assert built.blocks[-1] is block
        history = [b for b in built.blocks if b.section in (Section.HISTORY, Section.RECENT)]
        assert {b.message for b in history} & set(block.sources) == set()
        assert not [s for s in block.sources if any(f"[bs:{s.seq}] assistant:" in b.text for b in history)]
        told = json.dumps(built.messages, ensure_ascii=False)
        assert all(f"part_c{n}_0.py" in told for n in range(20 - 10, 20))
        step(made, 20, 1)
        after = made.prompt(4_000, recall=False)
        assert not after.receipt.compaction
        assert [b.text for b in after.blocks if b.section is Section.OPERATIONS] == [block.text]
        assert after.messages[: len(built.messages)] == built.messages
