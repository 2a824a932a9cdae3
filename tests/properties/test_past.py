"""The past of a thread that was condensed: whatever is done to it, every prompt holds what it owes to the history.

The latest user message, system messages and pins are in every prompt; whatever is live is shown, summed up or counted as unseen,
exactly; a prompt is a function of log, settings and clock.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from backscroll.engine.background import bring_up_to_date
from backscroll.vocab.prompt import WIRES
from tests.properties.past import BUDGETS, OPERATIONS, World, spelled

steps = st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 99), st.integers(0, 99))


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(talk=st.integers(20, 29), acts=st.lists(steps, min_size=1, max_size=14))
def test_every_prompt_holds_what_it_owes(talk: int, acts: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        try:
            for act in (("talk", 1, talk), ("prompt", 0, 0), *acts):
                world.do(*act)
            for number, thread in enumerate(world.threads):
                for budget in BUDGETS:
                    for wire in WIRES:
                        note(f"{world.log}\nthread {number}, budget {budget}, {wire}")
                        world.owed(thread, world.prompted(thread, budget, wire))
        finally:
            world.close()


def copies_agree(world: World, folder: Path) -> None:
    """The same bytes from a second engine on the store, which remembers nothing yet, and from a native copy of it."""
    target = folder / "all.jsonl"
    world.engine.export(None, "native", str(target))
    second, copy = world.opened(folder / "world.db"), world.opened(folder / "copy.db")
    try:
        problems = [p for report in copy.import_path(target) for p in report.problems]
        assert problems == []
        for engine in (world.engine, copy):
            for thread in world.threads:  # what waits to be analysed is said later
                bring_up_to_date(engine, thread.id)
        for number, thread in enumerate(world.threads):
            for budget, wire in zip((700, 2_000, 200_000), WIRES, strict=True):
                where = f"{world.log}\nthread {number}, budget {budget}, {wire}"
                first = world.prompted(thread, budget, wire)
                for engine in (second, copy):
                    other = world.prompted(engine.thread(thread.id), budget, wire)
                    assert spelled(other) == spelled(first), where
                    assert other.receipt.compaction == first.receipt.compaction, where
                    assert other.receipt.left_out == first.receipt.left_out, where
    finally:
        second.close()
        copy.close()


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(talk=st.integers(20, 29), acts=st.lists(steps, min_size=1, max_size=14))
def test_a_prompt_is_a_function_of_log_settings_and_clock(talk: int, acts: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        try:
            for act in (("talk", 1, talk), ("prompt", 0, 0), *acts):
                world.do(*act)
            copies_agree(world, Path(folder))
        finally:
            world.close()
