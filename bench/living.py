"""Measure living memory at size: analysing 10,000 turns, changing one, reading the graph, and the number of model calls.

`python -m bench living`. Counts are exact: how many turns are read again after a change is what the promise is about. The model
is a scripted one over real HTTP that finds nothing; what counts is how often it is asked.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import backscroll
from backscroll.engine.knowledge import analysis as analysing
from backscroll.engine.knowledge.analysis import catch_up
from backscroll.engine.knowledge.model_turns import read_pending
from backscroll.engine.thread import Thread
from backscroll.testing import Line, Scenario, ScriptedServer
from bench.table import Row

_TURNS = 10_000
_NAMES = (
    "Anna Boris Clara Daniel Erika Felix Gudrun Henry Irene Jonas Karla Leon Marta Nils Olga Peter".split()
)
_PLACES = "Aldermoor Brackwater Coldharbour Dunmere Eastvale Fernhollow Greywick Highcliff".split()
_SAYINGS = (
    "{a} lives in {p} with {b}.",
    "{a} is a teacher from {p}.",
    "{a} gave the lantern to {b}.",
    "{b} works at the Old Mill in {p}.",
    "{a} likes {b}, but {b} is angry today.",
    "{a}住在{p}，{b}是{a}的朋友。",
)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


class _Read:
    """Counts the turns that rules read."""

    def __init__(self) -> None:
        self.turns = 0
        self._extract = analysing.extract

    def __call__(self, messages: object) -> object:
        self.turns += 1
        return self._extract(messages)  # type: ignore[arg-type]


def _filled(thread: Thread, turns: int) -> None:
    from backscroll.engine.core.pen import Pen
    from backscroll.engine.log.writer import add_message
    from backscroll.vocab.foreign import ForeignMessage
    from backscroll.vocab.message import content_of

    chance = random.Random(7)

    def many(first: int) -> Callable[[Pen], None]:
        def work(pen: Pen) -> None:
            for n in range(first, min(first + 500, turns)):
                facts = {"a": chance.choice(_NAMES), "b": chance.choice(_NAMES), "p": chance.choice(_PLACES)}
                ask = f"What about {facts['a']}? I was at {facts['p']} on day {n}."
                answer = chance.choice(_SAYINGS).format(**facts)
                add_message(pen, ForeignMessage("user", content_of(ask)))
                add_message(pen, ForeignMessage("assistant", content_of(answer)))

        return work

    for first in range(0, turns, 500):
        thread.stroke(many(first))


def living(folder: Path, options: Namespace) -> list[Row]:
    """One long thread: analysed, changed, looked at."""
    rows: list[Row] = []
    read = _Read()
    with (
        mock.patch.object(analysing, "extract", read),
        backscroll.open(folder / "living.db", background=False) as store,
    ):
        thread = store.create("bench")
        _filled(thread, _TURNS)
        whole = _timed(lambda: catch_up(store, thread.id))
        rows.append(Row(f"analyse {_TURNS:,} turns by rules, for each", _milliseconds(whole / _TURNS)))
        first = _timed(thread.graph.nodes)
        rows.append(Row("first look at the graph of them, from the store", _milliseconds(first)))
        rows += _changes(thread, read, options.runs)
        looks = [_timed(lambda n=n: thread.graph.around(n)) for n in _NAMES]
        rows.append(
            Row(
                "look around a node",
                _milliseconds(statistics.median(looks)),
                bar="20 ms",
                ok=statistics.median(looks) < 0.02,
            )
        )
    return [*rows, *_calls(folder)]


def _changes(thread: Thread, read: _Read, runs: int) -> list[Row]:
    """Edit, delete and bring back a turn inside the window; then the graph is looked at."""
    rows: list[Row] = []
    message = thread.turn(_TURNS - 2).messages[1].id

    def edit() -> None:
        thread.edit(message, f"Anna lives in {random.choice(_PLACES)}.")
        thread.graph.node("Anna")

    acts: dict[str, Callable[[], object]] = {
        "edit one of them and look at the node": edit,
        "delete its answer and look": lambda: (thread.delete(message), thread.graph.node("Anna")),
        "bring it back and look": lambda: (thread.restore(message), thread.graph.node("Anna")),
    }
    for name, act in acts.items():
        before = read.turns
        times = [_timed(act) for _ in range(runs if name.startswith("edit") else 1)]
        count = (read.turns - before) / len(times)
        rows.append(
            Row(
                name,
                f"{_milliseconds(statistics.median(times))}, {count:g} turns read",
                bar="1 turn",
                ok=count <= 1,
            )
        )
    return rows


def _calls(folder: Path) -> list[Row]:
    """Model calls for 100 turns of which every third answer was made again twice before it was due."""
    line = Line(text=json.dumps({"assertions": []}))
    with ScriptedServer(Scenario(lines=(line,))) as server:
        config = folder / "living.toml"
        config.write_text(
            f'[providers.here]\nbase_url = "{server.url}"\nmodel = "m"\nkey_env = "BENCH_KEY"\n',
            encoding="utf-8",
        )
        given = {"BACKSCROLL_CONFIG": str(config), "BENCH_KEY": "none"}
        with (
            mock.patch.dict(os.environ, given),
            backscroll.open(folder / "calls.db", background=False) as store,
        ):
            thread = store.create("calls")
            for n in range(100):
                thread.append("user", f"What about {_NAMES[n % 16]} on day {n}?")
                answer = thread.append("assistant", f"{_NAMES[n % 16]} lives in {_PLACES[n % 8]}.")
                for again in range(2 if n % 3 == 0 else 0):
                    thread.regenerate(answer.id, f"{_NAMES[n % 16]} lives in {_PLACES[(n + again) % 8]} now.")
                    read_pending(store, thread.id)
                read_pending(store, thread.id)
        asked = len(server.asked)
    ok = asked <= 100
    return [Row("model calls for 100 turns, 67 answers made again meanwhile", str(asked), bar="100", ok=ok)]
