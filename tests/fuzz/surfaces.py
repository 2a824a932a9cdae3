"""Everything that a thread tells: prompts, graph, states of turns, tasks, plans, memories, search, lists. As plain data.

Two stores with the same log tell the same; times at which work was done are left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import backscroll
from backscroll.errors import BackscrollError, BudgetTooSmall, StoreError

WIRES = ("openai-chat", "openai-responses", "anthropic")
BUDGETS = (1500, 6000, 40_000)
#: When something was worked out or used is no part of what it says.
UNTOLD = ("processed_at", "uses")


def everything(
    engine: backscroll.Engine,
    name: str,
    words: Sequence[str] = (),
    wires: Sequence[backscroll.Wire] = WIRES,
    budgets: Sequence[int] = BUDGETS,
) -> dict[str, Any]:
    """All surfaces of one thread, as JSON would have them."""
    thread = engine.thread(name)
    readers: dict[str, Callable[[], Any]] = {
        **_graph(thread),  # analyses what is due, and so comes before the states of turns
        "turn states": lambda: [_plain(s) for s in thread.window.states()],
        "messages": lambda: [
            [str(m.id), m.role, str(m.revision), m.text, m.hidden, m.pinned] for m in thread.messages()
        ],
        "tasks": lambda: [_plain(task) for task in thread.tasks.list()],
        "memories": lambda: [_plain(memory) for memory in thread.memory.list(hidden=True)],
        "plan": lambda: _plain(thread.tasks.plan()),
        "questions": lambda: [_plain(q) for q in thread.tasks.questions()],
        "preferences": lambda: [_plain(p) for p in thread.memory.preferences()],
        "boundaries": lambda: [_plain(b) for b in thread.tasks.boundaries()],
        "operations": lambda: [_plain(digest) for digest in thread.operations()],
        "summary": thread.summary,
        **{f"search {word}": lambda word=word: _hits(engine, name, word) for word in words},
        **_prompts(thread, wires, budgets),
    }
    return {what: _told(read) for what, read in readers.items()}


def _told(read: Callable[[], Any]) -> Any:
    try:
        return json.loads(json.dumps(read(), default=str))
    except BudgetTooSmall as refused:
        return f"refused: {refused}"
    except StoreError:
        raise
    except BackscrollError as refused:
        return f"refused: {type(refused).__name__}"


def _plain(value: Any) -> Any:
    out = asdict(value)
    return {key: told for key, told in out.items() if key not in UNTOLD}


def _hits(engine: backscroll.Engine, name: str, word: str) -> Any:
    return sorted(
        [str(hit.message), str(hit.revision), hit.snippet] for hit in engine.search(word, thread=name).hits
    )


def _graph(thread: backscroll.Thread) -> dict[str, Callable[[], Any]]:
    graph = thread.graph
    return {
        "graph": lambda: [_plain(node) for node in graph.nodes()],
        "graph history": lambda: {n.id: [_plain(f) for f in graph.history(n.id)] for n in graph.nodes()},
        "graph conflicts": lambda: [_plain(c) for c in graph.conflicts()],
        "graph questions": lambda: [_plain(q) for q in graph.questions()],
    }


def _prompts(
    thread: backscroll.Thread, wires: Sequence[backscroll.Wire], budgets: Sequence[int]
) -> dict[str, Callable[[], Any]]:
    return {
        f"prompt {wire} {budget}": lambda wire=wire, budget=budget: (
            thread.prompt(budget, wire=wire, reserve=0, dry_run=True).request
        )
        for wire in wires
        for budget in budgets
    }


def texts_in(value: Any) -> Iterator[str]:
    """Every text in plain data, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from texts_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_in(inner)


def assert_same(one: dict[str, Any], other: dict[str, Any], what: str) -> None:
    """Two accounts are equal; says where they part."""
    assert list(one) == list(other)
    for name, told in one.items():
        assert told == other[name], f"{what}: {name} differs\n{parting(told, other[name])}"


def parting(one: Any, other: Any) -> str:
    """The first place at which two values differ, with what stands around it."""
    first, second = (json.dumps(v, ensure_ascii=False, indent=1, sort_keys=True) for v in (one, other))
    at = next(
        (n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b),
        min(len(first), len(second)),
    )
    return "\n".join(repr(text[max(0, at - 200) : at + 300]) for text in (first, second))
