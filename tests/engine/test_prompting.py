"""Prompts from a real store: budgets, sections, the cache, compaction, receipts, bad input."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll import Wire
from backscroll.assemble.validity import check
from backscroll.engine.engine import Engine
from backscroll.engine.prompts.builder import compare, prompt, receipts
from backscroll.engine.thread import Thread
from backscroll.errors import BudgetTooSmall, InvalidInput
from backscroll.vocab.event import Kind
from backscroll.vocab.part import Text, ToolCall, ToolResult
from backscroll.vocab.prompt import WIRES

TOOL = {"type": "function", "function": {"name": "Read", "parameters": {"type": "object"}}}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with backscroll.open(tmp_path / "store.db", background=False) as opened:
        yield opened


@pytest.fixture
def thread(engine: Engine) -> Thread:
    made = engine.create("a long one")
    made.append("system", "You are careful. {recent_operations}")
    for n in range(40):
        work(made, n)
    return made


def work(thread: Thread, n: int) -> None:
    """One turn: a question, a step with a large result, an answer."""
    thread.append("user", f"Please look at src/module{n}.py and mend function_{n}.")
    call = ToolCall(f"c{n}", "Read", {"path": f"src/module{n}.py"})
    thread.append("assistant", [Text("I read it first."), call])
    lines = "\n".join(f"def helper_{n}_{i}(): return {i}" for i in range(50))
    thread.append("tool", [ToolResult(f"c{n}", (Text(lines),), name="Read")])
    thread.append("assistant", f"Mended function_{n} in src/module{n}.py; the tests pass.")


def said(made: Any) -> str:
    return json.dumps([made.messages, made.system], ensure_ascii=False)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("budget", [4_000, 12_000, 200_000])
def test_prompt_fits_and_is_valid_on_every_wire(thread: Thread, wire: Wire, budget: int) -> None:
    made = thread.prompt(budget, wire=wire, tools=[TOOL])
    assert made.receipt.total <= budget
    assert check(made.messages, wire, system=made.system, tools=list(made.tools)) == []
    assert "function_39" in said(made)
    assert "You are careful." in said(made)


def test_prompt_contains_everything_if_it_fits(thread: Thread) -> None:
    made = thread.prompt(200_000, recall=False)
    assert all(f"helper_{n}_49" in said(made) for n in range(40))
    assert made.receipt.left_out == 0
    assert not made.receipt.compaction


def test_compaction_is_recorded_once_and_keeps_the_cache(thread: Thread) -> None:
    first = thread.prompt(12_000, recall=False)
    (event,) = [e for e in thread.events() if e.kind is Kind.COMPACTED]
    assert first.receipt.compaction["event"] == event.seq
    thread.append("assistant", "It is mended.")
    thread.append("user", "And now?")
    second = thread.prompt(12_000, recall=False)
    assert not second.receipt.compaction
    assert second.receipt.broken == {}
    assert second.messages[: len(first.messages)] == first.messages
    assert second.receipt.cached == sum(i.tokens for i in first.receipt.items)
    assert compare(first.receipt, second.receipt).cached > 0


def test_condensed_messages_have_a_handle(thread: Thread) -> None:
    made = thread.prompt(12_000, recall=False)
    assert "helper_30_49" not in said(made)
    handle = next(i.handle for i in made.receipt.items if i.level == "gist")
    assert handle.startswith("[bs:")
    assert thread.expand(handle)


def test_undo_of_a_compaction_restores_the_prompt(thread: Thread) -> None:
    before = thread.prompt(400_000, recall=False, dry_run=True)
    report = thread.compact(60_000)
    assert report.event is not None
    assert report.saved > 0
    condensed = thread.prompt(400_000, recall=False, dry_run=True)
    assert condensed.receipt.tokens < before.receipt.tokens
    thread.undo()
    assert said(thread.prompt(400_000, recall=False, dry_run=True)) == said(before)


def test_compaction_preview_reports_savings(thread: Thread) -> None:
    head = thread.head
    report = thread.compact(60_000, dry_run=True)
    assert (report.event, thread.head) == (None, head)
    assert report.before > report.after
    assert report.pays_back_after is not None
    assert report.condensed + report.digested + report.summed_up > 0


def test_useless_compaction_is_not_recorded(engine: Engine) -> None:
    made = engine.create("short")
    made.append("user", "hello")
    head = made.head
    assert made.compact(60_000).saved == 0
    assert made.head == head


def test_edited_text_replaces_the_old_text_in_prompts(thread: Thread) -> None:
    thread.prompt(12_000, recall=False)
    old = thread.message(37 * 4 + 1)
    thread.edit(old.id, "Please leave blueberry alone.")
    made = thread.prompt(12_000, recall=False)
    assert "function_37." not in said(made).replace("Mended function_37 in", "")


def test_operations_placeholder_becomes_a_fixed_pointer(thread: Thread) -> None:
    """The system text says where operations are found, in the same words at any time."""
    whole = thread.prompt(200_000, recall=False)
    assert "{recent_operations}" not in said(whole)
    assert "recent operations are the tool calls" in json.dumps(whole.messages[0])
    assert "operations" not in whole.receipt.sections()  # the calls themselves are in view
    assert all(f'src/module{n}.py\\"' in json.dumps(whole.messages) for n in (35, 36, 37, 38, 39))
    small = thread.prompt(6_000, recall=False)
    work(thread, 40)
    later = thread.prompt(6_000, recall=False)
    assert whole.messages[0] == small.messages[0] == later.messages[0]


def test_operations_can_be_listed_inline(tmp_path: Path) -> None:
    with backscroll.open(tmp_path / "inline.db", background=False, operations_inline=True) as engine:
        made = engine.create("inline")
        made.append("system", "Lately: {recent_operations}")
        work(made, 1)
        built = made.prompt(20_000, recall=False)
        assert "module1.py" in json.dumps(built.messages[0])
        assert "operations" not in built.receipt.sections()
        assert "in place" in built.receipt.items[0].reason


def test_receipts_are_kept_without_message_text(thread: Thread) -> None:
    for _ in range(3):
        thread.prompt(12_000, recall=False)
    kept = receipts(thread)
    assert len(kept) == 3
    assert kept[0].total <= 12_000
    assert "helper_" not in kept[0].to_bytes().decode()
    assert sum(i.tokens for i in kept[0].items) <= kept[0].tokens


def test_dry_run_writes_nothing(thread: Thread) -> None:
    head = thread.head
    thread.prompt(12_000, dry_run=True, recall=False)
    assert thread.head == head
    assert receipts(thread) == []


def test_prompt_as_of_an_earlier_event(thread: Thread) -> None:
    moment = thread.message(4).id.seq
    early = prompt(thread, 200_000, as_of=moment, recall=False)
    assert "function_0" in said(early)
    assert "function_1." not in said(early)
    assert thread.head != moment


def test_prompt_near_the_limit_warns(engine: Engine) -> None:
    made = engine.create("full")
    made.append("user", "word " * 900)
    assert made.prompt(1100, reserve=100).receipt.warnings
    assert not made.prompt(20_000).receipt.warnings


def test_same_history_gives_the_same_prompt(thread: Thread) -> None:
    one, two = (thread.prompt(12_000, recall=False, dry_run=True) for _ in range(2))
    assert said(one) == said(two)


def test_fork_keeps_the_compaction_of_its_parent(thread: Thread) -> None:
    thread.prompt(12_000, recall=False)
    fork = thread.fork()
    assert said(fork.prompt(12_000, recall=False, dry_run=True)) == said(
        thread.prompt(12_000, recall=False, dry_run=True)
    )


# -- bad input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [0, -5, 1.5, "many", True])
def test_budget_must_be_a_positive_integer(thread: Thread, budget: object) -> None:
    with pytest.raises(InvalidInput):
        thread.prompt(budget)  # type: ignore[arg-type]


def test_prompt_without_budget_and_model_is_refused(thread: Thread) -> None:
    with pytest.raises(InvalidInput, match="no budget and no model"):
        thread.prompt()


def test_unknown_model_needs_a_budget(thread: Thread) -> None:
    with pytest.raises(InvalidInput, match="context size of model"):
        thread.prompt(model="no-such-model-9")
    assert thread.prompt(20_000, model="no-such-model-9").receipt.exact is False


def test_known_model_sets_the_budget(thread: Thread) -> None:
    made = thread.prompt(model="gpt-4o", recall=False)
    assert made.receipt.budget == 128_000
    assert made.receipt.money.cold


def test_unknown_wire_is_refused(thread: Thread) -> None:
    with pytest.raises(InvalidInput, match="unknown wire"):
        thread.prompt(20_000, wire="smoke-signals")  # type: ignore[arg-type]


def test_tools_larger_than_the_budget_are_refused(thread: Thread) -> None:
    huge = {"name": "x", "description": "word " * 3000}
    with pytest.raises(BudgetTooSmall, match="tools") as caught:
        thread.prompt(1000, tools=[huge])
    assert caught.value.minimum > 1000
    with pytest.raises(InvalidInput):
        thread.prompt(1000, tools=["not a tool"])  # type: ignore[list-item]


def test_budget_below_the_minimum_names_the_minimum(engine: Engine) -> None:
    made = engine.create("big question")
    made.append("user", "word " * 3000)
    with pytest.raises(BudgetTooSmall) as caught:
        made.prompt(1000, reserve=0)
    least = caught.value.minimum
    assert str(least) in str(caught.value)
    assert made.prompt(least, reserve=0).receipt.total <= least


@pytest.mark.parametrize("reserve", [-1, 1.5, "x"])
def test_reserve_must_be_a_whole_number(thread: Thread, reserve: object) -> None:
    with pytest.raises(InvalidInput, match="reserve"):
        thread.prompt(20_000, reserve=reserve)  # type: ignore[arg-type]
