"""Results that the model has not seen yet: shown whole if they fit, otherwise shared out."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import backscroll
from backscroll.assemble.compaction.retention import water_level
from backscroll.assemble.validity import check
from backscroll.assemble.view.excerpt import MOST, size_of
from backscroll.engine.prompts.builder import Prompt
from backscroll.llm.tokens.tokens import tokenizer_for
from backscroll.vocab.event import Kind
from backscroll.vocab.part import Text, ToolCall, ToolResult
from backscroll.vocab.prompt import WIRES
from tests.properties.memory import Clock, opened

WORDS = (
    "value_{n} = compute(item_{m})",
    "第{n}行：结果是 {m}",
    "ERROR {n}: file_{m}.py is not there",
    "{n},{m},ok",
)
NO_SHRINKING = (Phase.explicit, Phase.generate)  # a smaller seed is no simpler history
_count = tokenizer_for("").count


def body(chance: random.Random, tokens: int) -> str:
    """Lines of so many tokens, no two results alike."""
    line, out, left = chance.choice(WORDS), list[str](), tokens
    while left > 0:
        out.append(line.format(n=chance.randrange(10**6), m=chance.randrange(10**4)))
        left -= _count(out[-1]) + 1
    return "\n".join(out)


def step(thread: backscroll.Thread, name: str, texts: Sequence[str], joined: bool) -> None:
    """A reply with parallel calls, and their results in one message or in several."""
    calls = [ToolCall(f"{name}_{k}", "Read", {"path": f"src/{name}_{k}.py"}) for k in range(len(texts))]
    thread.append("assistant", [Text(f"Now {name}."), *calls])
    results = [ToolResult(c.id, (Text(t),), name="Read") for c, t in zip(calls, texts, strict=True)]
    for group in [results] if joined else [[r] for r in results]:
        thread.append("tool", group)


def shown(made: Prompt) -> dict[str, str]:
    """The text of every result in a prompt, by its call."""
    parts = [p for b in made.blocks for p in b.parts if isinstance(p, ToolResult)]
    return {p.call_id: "".join(c.text for c in p.content if isinstance(c, Text)) for p in parts}


def called(made: Prompt) -> set[str]:
    return {p.id for b in made.blocks for p in b.parts if isinstance(p, ToolCall)}


@given(seed=st.integers(0, 2**32), budget=st.sampled_from([3_000, 8_000, 20_000]))
@settings(max_examples=8, phases=NO_SHRINKING)
def test_a_fresh_result_that_fits_is_shown_whole(
    tmp_path_factory: pytest.TempPathFactory, seed: int, budget: int
) -> None:
    """What is free in the prompt before it is its own; nothing is cut that the model has not seen."""
    chance = random.Random(seed)
    taken = 0
    with opened(tmp_path_factory.mktemp("fresh") / "store.db", Clock()) as engine:
        thread = engine.create("fresh")
        thread.append("system", "You are careful.")
        for n in range(10):
            if n % 4 == 0:
                thread.append("user", f"Look at part {n} and say what is wrong with it.")
            most = chance.choice([0.02, 0.1, 0.3, 0.7])
            texts = [
                body(chance, int(chance.uniform(0, most * budget))) for _ in range(chance.choice([1, 1, 3]))
            ]
            step(thread, f"c{n}", texts, chance.random() < 0.5)
            wire = chance.choice(WIRES)
            made = thread.prompt(budget, reserve=0, recall=False, wire=wire)
            assert made.receipt.total <= budget
            assert check(made.messages, wire, system=made.system) == []
            free = 0.9 * budget - taken
            taken = made.receipt.total
            if sum(_count(t) + 60 for t in texts) <= free and max(map(size_of, texts)) <= MOST:
                told = shown(made)
                assert [told.get(f"c{n}_{k}") for k in range(len(texts))] == texts
            assert thread.prompt(budget, reserve=0, recall=False, wire=wire).messages == made.messages


@given(seed=st.integers(0, 2**32), budget=st.sampled_from([4_000, 8_000, 16_000]))
@settings(max_examples=8, phases=NO_SHRINKING)
def test_a_step_larger_than_the_budget_is_shared_out(
    tmp_path_factory: pytest.TempPathFactory, seed: int, budget: int
) -> None:
    """Every call is there, every result has a share that is as large as any other's or whole, and the budget is used: for one result
    two fifths of it at the least."""
    chance = random.Random(seed)
    with opened(tmp_path_factory.mktemp("giant") / "store.db", Clock()) as engine:
        thread = engine.create("giant")
        thread.append("system", "You are careful.")
        for n in range(chance.choice([0, 3, 9])):
            thread.append("user", f"Request {n}: look at module_{n}.py.")
            step(thread, f"old{n}", [body(chance, int(chance.uniform(0, 0.3 * budget)))], joined=False)
            thread.append("assistant", f"Module {n} is fine.")
            if chance.random() < 0.5:
                thread.prompt(budget, reserve=0, recall=False)
        thread.append("user", "Now read all the files.")
        many = chance.randint(1, 12)
        sizes = [chance.choice([0.01, 0.5, 1.0, 3.0]) * budget for _ in range(many)]
        sizes[chance.randrange(many)] = 1.5 * budget
        texts = [body(chance, int(size)) for size in sizes]
        step(thread, "new", texts, chance.random() < 0.5)
        wire = chance.choice(WIRES)
        made = thread.prompt(budget, reserve=0, recall=False, wire=wire)
        assert min(0.85, 0.4 * many) * budget <= made.receipt.total <= budget
        assert check(made.messages, wire, system=made.system) == []
        names = [f"new_{k}" for k in range(many)]
        assert set(names) <= called(made)
        told = shown(made)
        counts = [_count(told[name]) for name in names]
        fair = water_level([_count(t) for t in texts], sum(counts))
        for name, count, text in zip(names, counts, texts, strict=True):
            assert told[name] == text or count >= 0.6 * fair
        again = thread.prompt(budget, reserve=0, recall=False, wire=wire)
        assert again.messages == made.messages


def test_fresh_result_is_condensed_by_the_next_compaction(tmp_path: Path) -> None:
    """A giant is whole in the first prompt that shows it, and is the first to go once room is short."""
    chance, budget = random.Random(7), 8_000
    with opened(tmp_path / "store.db", Clock()) as engine:
        thread = engine.create("giant")
        thread.append("user", "Read them all.")
        step(thread, "small", [body(chance, 300)], joined=False)
        giant = body(chance, 5_000)
        step(thread, "big", [giant], joined=False)
        assert shown(thread.prompt(budget, reserve=0, recall=False))["big_0"] == giant
        written = sum(e.kind is Kind.COMPACTED for e in thread.events())
        assert written == 0  # it fits, so nothing is condensed for it
        made = thread.prompt(budget, reserve=0, recall=False)
        for n in range(5):
            step(thread, f"later{n}", [body(chance, 500)], joined=False)
            made = thread.prompt(budget, reserve=0, recall=False)
            assert shown(made)[f"later{n}_0"]
        assert sum(e.kind is Kind.COMPACTED for e in thread.events()) == 1
        assert shown(made).get("big_0") != giant
