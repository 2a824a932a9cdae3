"""Measure prompt building: time, growth with the history, and comparison with `langchain_core.trim_messages`.

A turn is measured as an application pays for it: two messages are appended, a prompt is built. The history is an agent's: a
question, a call with a large result, an answer. Recall is measured apart.
"""

from __future__ import annotations

import statistics
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import backscroll
from backscroll.engine.core.pen import Pen
from backscroll.engine.log.writer import add_message
from backscroll.engine.tree.tree import catch_up
from backscroll.llm.tokens.tokens import tokenizer_for
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.message import Content
from backscroll.vocab.part import Part, Text, ToolCall, ToolResult
from bench.corpus import Corpus
from bench.table import Row

_TURNS = 25  # measured, after some that warm up
_BUDGETS = (8_000, 128_000)


def _turn(corpus: Corpus, n: int) -> list[tuple[backscroll.Role, tuple[Part, ...]]]:
    call = ToolCall(f"call_{n}", "Read", {"path": f"src/module_{n % 97}.py"})
    return [
        ("user", (Text(corpus.message(200)),)),
        ("assistant", (Text("I look at it."), call)),
        ("tool", (ToolResult(call.id, (Text(corpus.message(800)),), name="Read"),)),
        ("assistant", (Text(corpus.message(300)),)),
    ]


def filled(store: backscroll.Engine, messages: int) -> backscroll.Thread:
    """A thread of an agent of which nothing is derived, as another process leaves it."""
    thread = store.create(f"{messages} messages", kind="agent")
    corpus = Corpus(3)
    n = 0
    while n < messages:
        batch: list[tuple[str, tuple[Part, ...]]] = []
        while len(batch) < 1000 and n + len(batch) < messages:
            batch += _turn(corpus, n + len(batch))

        def work(tx: Any, batch: list[tuple[str, tuple[Part, ...]]] = batch) -> None:
            pen = Pen(tx, thread.id, store.means, "bench")
            for role, parts in batch:
                add_message(pen, ForeignMessage(role, Content(parts)))  # type: ignore[arg-type]
            pen.save()

        store.store.write(work)
        n += len(batch)
    return thread


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"


def _per_turn(thread: backscroll.Thread, budget: int, *, recall: bool) -> tuple[float, float]:
    """Median and 95th percentile of building a prompt, a turn after the other."""
    corpus, spent = Corpus(5), []
    for n in range(_TURNS + 5):
        for role, parts in _turn(corpus, 1_000_000 + n):
            thread.append(role, list(parts))
        thread.append("user", corpus.message(120))
        start = time.perf_counter()
        thread.prompt(budget, recall=recall)
        if n >= 5:
            spent.append(time.perf_counter() - start)
        thread.append("assistant", corpus.message(100))
    spent.sort()
    return statistics.median(spent), spent[int(0.95 * (len(spent) - 1))]


def _trimmed(thread: backscroll.Thread, budget: int) -> float:
    """The same with `trim_messages` over the whole history, as its users call it; counts are remembered as ours are."""
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, trim_messages

    count = tokenizer_for("").count
    history: list[BaseMessage] = []
    for message in thread:
        calls = [p for p in message.parts if isinstance(p, ToolCall)]
        if message.role == "user":
            history.append(HumanMessage(message.text))
        elif message.role == "assistant":
            asked = [{"name": c.name, "args": c.arguments, "id": c.id} for c in calls]
            history.append(AIMessage(message.text, tool_calls=asked))
        else:
            result = next(p for p in message.parts if isinstance(p, ToolResult))
            text = "\n".join(p.text for p in result.content if isinstance(p, Text))
            history.append(ToolMessage(text, tool_call_id=result.call_id))
    known: dict[int, int] = {}

    def counter(messages: list[BaseMessage]) -> int:
        total = 0
        for message in messages:
            if id(message) not in known:
                known[id(message)] = count(str(message.content)) + 4
            total += known[id(message)]
        return total

    spent: list[float] = []
    for _ in range(4):
        start = time.perf_counter()
        trim_messages(
            history,
            max_tokens=budget,
            strategy="last",
            token_counter=counter,
            start_on="human",
            include_system=True,
        )
        spent.append(time.perf_counter() - start)
    return statistics.median(spent[1:])


def prompts(folder: Path, options: Namespace) -> list[Row]:
    """A prompt of 8k and of 128k tokens, from small and large histories."""
    rows: list[Row] = []
    small: dict[int, float] = {}
    with backscroll.open(folder / "prompts.db", background=False) as store:
        for size in (1_000, 10_000, options.messages):
            thread = filled(store, size)
            catch_up(store, thread.id)  # what a worker would have done in the background
            for budget in _BUDGETS:
                median, p95 = _per_turn(thread, budget, recall=False)
                small.setdefault(budget, median)
                ratio = median / small[budget]
                large = size == options.messages
                rows.append(
                    Row(
                        f"prompt of {budget // 1000}k tokens from {size:,} messages (p95 {_milliseconds(p95)}; floor: from 1,000)",
                        _milliseconds(median),
                        _milliseconds(small[budget]),
                        ratio,
                        "under 1.5x" if large else "",
                        ratio < 1.5 if large else None,
                    )
                )
            if size >= 10_000:
                for budget in _BUDGETS:
                    theirs, ours = _trimmed(thread, budget), _per_turn(thread, budget, recall=False)[0]
                    rows.append(
                        Row(
                            f"… beside langchain_core.trim_messages, {budget // 1000}k from {size:,} (floor: theirs)",
                            _milliseconds(ours),
                            _milliseconds(theirs),
                            ours / theirs,
                        )
                    )
        median, p95 = _per_turn(thread, 8_000, recall=True)
        rows.append(
            Row(
                f"with recall, 8k from {options.messages:,} (p95 {_milliseconds(p95)})", _milliseconds(median)
            )
        )
    return rows
