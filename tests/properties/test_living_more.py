"""Living memory under more of what people do: prompts, crops, tools, memories by hand, worlds that go, other stores.

The same promise as in `test_living`, on both engines, with everything else between the steps: prompts that are written down,
crops and compactions, coding turns, memories that people write, change and hide, relations by hand, titles and links of tasks.
Besides: a native file brought into an empty store comes to the same graph, marks, tasks and memories.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

import backscroll
from backscroll.config import Settings
from backscroll.engine.background.worker import Worker, bring_up_to_date
from backscroll.engine.core.clock import ClockAndIds
from backscroll.engine.crops.crops import crops
from backscroll.engine.engine import Engine
from backscroll.engine.knowledge.analysis import rebuild
from backscroll.stores.postgres.store import PostgresStore
from backscroll.vocab.part import Part, Text, ToolCall, ToolResult
from tests import proof
from tests.properties.living import living
from tests.properties.living_overrides import standing
from tests.properties.memory import opened
from tests.properties.test_living import Living, explore, marks_in, places

BUDGETS = (700, 2000, 8000)


class Busier(Living):
    """Somebody who does everything else as well."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.calls = 0

    # -- the history -----------------------------------------------------------------------------------------

    @rule(which=places, count=st.integers(1, 3), answered=st.integers(0, 3), kind=places)
    def use_tools(self, which: int, count: int, answered: int, kind: int) -> None:
        """A coding turn: calls, some of them answered."""
        thread = self.thread(which)
        names = [f"call_{self.calls + n}" for n in range(count)]
        self.calls += count
        path = f"src/part{kind}.py"
        calls: list[Part] = [ToolCall(name, "Read", {"path": path}) for name in names]
        thread.append("assistant", [Text(f"Reading {path}. {self.words.text(kind)}"), *calls])
        for name in names[:answered]:
            said = f"def load_{kind}():\n    raise ValueError('{self.words.text(kind)}')"
            thread.append("tool", [ToolResult(name, (Text(said),), name="Read", is_error=kind % 2 == 0)])

    @rule(which=places, drop=places, at=places)
    def sync(self, which: int, drop: int, at: int) -> None:
        """Only where nobody used tools: a list of words alone would say a call's words in a message of its own."""
        if not any(isinstance(p, ToolCall | ToolResult) for m in self.thread(which) for p in m.parts):
            super().sync(which, drop, at)

    @rule(which=places, way=st.sampled_from(["top", "bottom"]), amount=st.integers(1, 9))
    def crop(self, which: int, way: str, amount: int) -> None:
        thread = self.thread(which)
        self.tried(lambda: thread.crop(way, amount))

    @rule(which=places, at=places)
    def uncrop(self, which: int, at: int) -> None:
        thread = self.thread(which)
        if found := crops(thread):
            self.tried(lambda: thread.uncrop(found[at % len(found)].handle))

    @rule(which=places, budget=st.sampled_from(BUDGETS))
    def compact(self, which: int, budget: int) -> None:
        thread = self.thread(which)
        self.tried(lambda: thread.compact(budget))

    @rule(which=places, budget=st.sampled_from(BUDGETS))
    def prompt(self, which: int, budget: int) -> None:
        """A prompt that is written down: it tells nothing that is gone."""
        thread = self.thread(which)
        made = self.tried(lambda: thread.prompt(budget, reserve=0))
        if made is not None:
            shown = {mark for m in thread if not m.hidden for mark in marks_in(str(m.content))}
            told = marks_in(repr(made.request))
            assert told <= shown | self.by_hand(thread), told - shown

    # -- the person ------------------------------------------------------------------------------------------

    @rule(which=places, at=places, predicate=st.sampled_from(["friend_of", "lives_in", "mood"]))
    def relate(self, which: int, at: int, predicate: str) -> None:
        """A relation by hand, to somebody known or new."""
        graph = self.thread(which).graph
        nodes = graph.nodes()
        if nodes:
            node, other = nodes[at % len(nodes)].id, nodes[(at * 7) % len(nodes)].id
            self.tried(lambda: graph.set(node, predicate, other=other if at % 3 else f"Friend {at}"))

    @rule(which=places, kind=st.integers(0, 2))
    def drop_world(self, which: int, kind: int) -> None:
        self.tried(lambda: self.thread(which).graph.drop_world(f"book {kind}"))

    @rule(
        which=places,
        at=places,
        how=st.sampled_from(["add", "edit", "pin", "unpin", "hide", "erase", "restore"]),
    )
    def remember(self, which: int, at: int, how: str) -> None:
        thread = self.thread(which)
        known = thread.memory.list(hidden=True)
        name = known[at % len(known)].id if known else ""
        message = self.message(thread, at)
        if how == "add":
            words = f"Remember {sorted(marks_in(str(message.content)))}" if message else "Remember this."
            self.tried(lambda: thread.memory.add(words, sources=[message.id] if message else []))
        elif name:
            acts: dict[str, Callable[[], Any]] = {
                "edit": lambda: thread.memory.edit(name, f"words {at}"),
                "pin": lambda: thread.memory.pin(name),
                "unpin": lambda: thread.memory.unpin(name),
                "hide": lambda: thread.memory.forget(name),
                "erase": lambda: thread.memory.forget(name, erase=True),
                "restore": lambda: thread.memory.restore(name),
            }
            self.tried(acts[how])

    @rule(
        which=places, at=places, how=st.sampled_from(["link", "title", "plan", "plan_for_later", "questions"])
    )
    def tidy_tasks(self, which: int, at: int, how: str) -> None:
        tasks = self.thread(which).tasks
        known = list(tasks.list())
        if how == "plan_for_later":
            self.tried(lambda: tasks.plan_for_later(f"later {at}"))
        elif known:
            one, other = known[at % len(known)], known[(at + 1) % len(known)]
            acts: dict[str, Callable[[], Any]] = {
                "link": lambda: tasks.link(one, other, "follows"),
                "title": lambda: tasks.rename(f"title {at}", one),
                "plan": lambda: tasks.plan(one),
                "questions": lambda: tasks.questions(one),
            }
            self.tried(acts[how])

    @rule()
    def work(self) -> None:
        """A worker that does all there is to do."""
        worker = Worker(self.engine)
        worker.run()
        assert worker.progress.last_error == ""

    @precondition(lambda self: self.words.count > 20)
    @rule(seconds=st.sampled_from([30, 4000, 90_000]))
    def wait(self, seconds: int) -> None:
        self.clock.wait(seconds)

    # -- what must hold --------------------------------------------------------------------------------------

    def overrides_stand(self, thread: backscroll.Thread) -> None:
        standing(thread)

    def equals_a_rebuild(self, held: dict[str, Any]) -> None:
        super().equals_a_rebuild(held)
        self.equals_elsewhere(held)

    def equals_elsewhere(self, held: dict[str, Any]) -> None:
        """The log in an empty store: the same."""
        file = self.folder / "all.jsonl"
        self.engines[0].export(None, target=str(file))
        with opened(self.folder / "elsewhere.db", self.clock, 4, **self.how) as other:
            for report in other.import_path(str(file)):
                assert not report.problems
            self.same(other, held)
            proof.assert_sound(other)
        file.unlink()

    def same(self, engine: Engine, held: dict[str, Any]) -> None:
        """An engine that begins with nothing but the log comes to the same."""
        for name in self.ids:
            bring_up_to_date(engine, name)
            found = living(engine.thread(name))
            for what in held[name]:
                assert found[what] == held[name][what], what


class OnAServer(Busier):
    """The same on PostgreSQL; a rebuild is another engine that makes the marks again."""

    def __init__(self, folder: Path, address: str) -> None:
        super().__init__(folder)
        self.address = address

    def opened(self, seed: int) -> backscroll.Engine:
        given = replace(Settings(background=False, compress_above=1 << 40), **self.how)
        return Engine(
            PostgresStore(self.address), given, ClockAndIds(self.clock, random.Random(seed).randbytes)
        )

    def equals_a_rebuild(self, held: dict[str, Any]) -> None:
        with self.opened(5) as fresh:
            for name in self.ids:
                rebuild(fresh, name)
                assert living(fresh.thread(name)) == held[name]
        self.equals_elsewhere(held)


def test_living_memory_mixed_with_everything_else(tmp_path: Path) -> None:
    """Prompts, crops, tools, memories and worlds in between: equal to a rebuild, and to an import."""
    explore(lambda: Busier(Path(tempfile.mkdtemp(dir=tmp_path))), max(5, settings().max_examples // 10), 30)


def test_living_memory_on_postgres(tmp_path: Path, new_database: Callable[[], str]) -> None:
    """The same, with fewer runs."""
    explore(lambda: OnAServer(Path(tempfile.mkdtemp(dir=tmp_path)), new_database()), 3, 25)
