"""What the properties of derived things share: a store with a clock of its own, marked words, and ways to look for them.

Every message carries a mark of its own, so what may and what may not be told can be looked for in any text.
"""

from __future__ import annotations

import json
import random
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import backscroll
from backscroll.config import Settings
from backscroll.engine.background.worker import bring_up_to_date
from backscroll.engine.budget.counts import counts_for, flush_counts
from backscroll.engine.core.clock import ClockAndIds
from backscroll.engine.core.lineage import View
from backscroll.engine.engine import Engine
from backscroll.engine.search.recall_pool import encoder_for
from backscroll.engine.tree.texts import Texts
from backscroll.llm.tokens.tokens import tokenizer_for
from backscroll.stores.sqlite.store import SqliteStore

MARK = re.compile(r"qz\d+zq")
SENTENCES = (
    "The quick brown fox reads src/{m}.py and decides that {m} is right.",
    "我们决定先把 {m} 调到三十秒，因为网络很慢。",
    "TODO: write a test for {m}.",
    "Never touch the {m} table!",
    "It fails with ValueError: {m} is not known.",
    "What about {m}?",
    "不要删除 {m}；下周三之前完成。",
    "{m} = [1, 2, 3]",
)


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

    def __call__(self) -> str:
        return self.moment.isoformat(timespec="microseconds")

    def wait(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


class Marks:
    """Words of one's own, and texts around them."""

    def __init__(self) -> None:
        self.count = 0

    def text(self, size: int = 1, kind: int | None = None) -> str:
        """A text with a new mark in each of its sentences."""
        self.count += 1
        mark = f"qz{self.count}zq"
        start = self.count if kind is None else kind
        lines = [SENTENCES[(start + n) % len(SENTENCES)].format(m=mark) for n in range(max(1, size))]
        return " ".join(lines) if size < 20 else "\n".join(lines)


def marks_in(value: Any) -> set[str]:
    """All marks in anything that can be shown as text."""
    return set(
        MARK.findall(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
    )


def opened(place: Path, clock: Clock, seed: int = 0, **more: Any) -> Engine:
    """An engine of one's own on a file: nothing in its memory yet."""
    given = replace(Settings(background=False, compress_above=1 << 40), **more)
    return Engine(SqliteStore(place), given, ClockAndIds(clock, random.Random(seed).randbytes))


def allowed(thread: backscroll.Thread) -> set[str]:
    """Marks that may be told: those of the live words that are not hidden."""
    return {mark for m in thread if not m.hidden for mark in marks_in(str(m.content))}


def spelled(made: Any) -> str:
    """A prompt as it is sent."""
    return json.dumps(made.request, ensure_ascii=False)


def tree_of(thread: backscroll.Thread) -> list[Any]:
    """Every node of every level with what it says."""

    def look(view: View) -> list[Any]:
        texts = Texts("", view.reader, view)
        out: list[Any] = []
        level = 0
        while nodes := view.reader.nodes(thread.id, level):
            out += [(node, texts.of(node)) for node in nodes]
            level += 1
        return out

    return thread.reading(look)


def vectors_of(engine: Engine, thread: backscroll.Thread) -> dict[Any, bytes]:
    """The stored vector of every revision that a thread shows."""
    refs, encoder = [m.revision for m in thread], encoder_for(engine)
    assert encoder is not None
    return engine.store.read(lambda reader: reader.vectors(refs, encoder.name))


def sizes_of(engine: Engine, thread: backscroll.Thread) -> dict[Any, int]:
    """Tokens of every message, as they are counted and kept."""
    found = counts_for(engine, list(thread), tokenizer_for(""))
    flush_counts(engine)
    return found


def derived(engine: Engine, thread: backscroll.Thread, questions: list[str]) -> dict[str, Any]:
    """Everything that is derived from a thread, by content."""
    bring_up_to_date(engine, thread.id)
    return {
        "tree": tree_of(thread),
        "vectors": vectors_of(engine, thread),
        "sizes": sizes_of(engine, thread),
        "operations": thread.operations(),
        "summary": thread.summary(),
        "recall": [thread.recall(q, 400).items for q in questions],
    }


def without_derived(place: Path, copy: Path) -> None:
    """A copy of a store from which everything derived was dropped; accounts stay, for they are history too."""
    with closing(sqlite3.connect(place)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
        for table in (
            "made",
            "made_from",
            "signs",
            "vectors",
            "nodes",
            "progress",
            "tokens",
            "turn_marks",
            "turn_states",
        ):
            target.execute(f"DELETE FROM {table}")
        target.commit()
