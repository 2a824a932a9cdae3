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
