"""Several agents at once: in one thread only one works, in one folder each keeps its own changes."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import backscroll
from backscroll.agent.agent import Agent
from backscroll.agent.events import Calling, Finished
from backscroll.vocab.part import ToolCall, ToolResult
from tests.agent.scripted_agent import Told, call, stage


def _another(on: Any, engine: Any) -> Agent:
    return Agent(
        engine.thread(on.thread.id), provider=on.agent._provider, root=on.root, person=Told(), budget=30_000
    )


def test_second_agent_in_the_same_thread_is_refused(tmp_path: Path) -> None:
    """The second run ends with a clear error; every call has one result, and the next run works."""
    with stage(tmp_path, call("run_command", command="echo first"), "one", "two") as on:
        run = cast("Generator[Any]", on.agent.events("go"))
        for happening in run:
            if isinstance(happening, Calling):
                break
        with (
            backscroll.open(tmp_path / "store.db", background=False) as engine,
            _another(on, engine) as other,
        ):
            before = on.thread.head
            end = other.run("me too")
            assert end.end == "failed"
            assert "another agent" in end.error
            assert on.thread.head == before
        rest = list(run)
        assert rest[-1].text == "one"
        parts = [p for m in on.thread.messages() for p in m.parts]
        assert Counter(p.call_id for p in parts if isinstance(p, ToolResult)) == Counter(
            p.id for p in parts if isinstance(p, ToolCall)
        )
        with (
            backscroll.open(tmp_path / "store.db", background=False) as engine,
            _another(on, engine) as other,
        ):
            assert other.run("now?").text == "two"


def test_abandoned_run_does_not_block_its_own_agent(tmp_path: Path) -> None:
    """An iterator that is not exhausted holds the thread for its agent; closing releases it."""
    with stage(tmp_path, call("run_command", command="echo first"), "one", "two") as on:
        run = on.agent.events("go")
        next(iter(run))
        assert on.agent.run("again").end == "answered"
        on.agent.close()
        with (
            backscroll.open(tmp_path / "store.db", background=False) as engine,
            _another(on, engine) as other,
        ):
            assert other.run("now?").end == "answered"


def test_two_agents_in_one_folder_record_each_change_once(tmp_path: Path) -> None:
    """Commands of two threads in one folder at the same time: every file is written down once."""
    script = [call("run_command", command=f"echo {n} > f{n}.txt; sleep 0.05") for n in range(4)]
    with stage(tmp_path, *script, scenario={"once": True}) as on:
        other_thread = on.engine.create("other", metadata={"workspace": str(on.root)})
        ends: list[Finished] = []

        def work(agent: Agent) -> None:
            ends.append(agent.run("go"))

        with Agent(
            other_thread, provider=on.agent._provider, root=on.root, person=Told(), budget=30_000, max_steps=2
        ) as other:
            on.agent.limits = other.limits
            both = [threading.Thread(target=work, args=(agent,)) for agent in (on.agent, other)]
            for each in both:
                each.start()
            for each in both:
                each.join(60)
            assert [end.end for end in ends] == ["limit", "limit"]
            assert on.agent.workroom is not None
            assert other.workroom is not None
            rooms = (on.agent.workroom, other.workroom)
            written = Counter(f.path for room in rooms for c in room.changes() for f in c.files)
            assert written == Counter({f"f{n}.txt": 1 for n in range(4)})
