"""Fuzz what a process keeps between prompts: whatever was done, here or by another process, it builds what a new one builds.

Three engines on one store: the one that does everything, one that only looks now and then (what it kept is out of date), and one
that was opened just now and knows nothing. All three must give the same bytes and the same receipt.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backscroll import Wire
from backscroll.engine.core.clock import ClockAndIds
from backscroll.engine.engine import Engine
from backscroll.errors import BudgetTooSmall
from backscroll.stores.sqlite.store import SqliteStore
from tests.fuzz import acts, promises
from tests.fuzz.acts import Act
from tests.fuzz.talk import Talk

SEEDS = (1, 2, 3, 4)
OPERATIONS = 40
#: Everything that can change what a prompt shows; mostly talk, so that there is something to keep.
ACTS: Mapping[Act, int] = {
    acts.speak: 40,
    acts.task: 5,
    acts.memory: 6,
    acts.flag: 8,
    acts.reword: 6,
    acts.fork: 3,
    acts.take_back: 5,
    acts.crop: 5,
    acts.compact: 4,
    acts.wait: 3,
    acts.forget: 3,
}


def fuzz(seed: int, folder: Path) -> None:
    """Talk, ask for prompts, and compare them with those of others."""
    store = folder / "store.db"
    with Talk(seed, store).told() as talk, another(talk) as second:
        dice = talk.dice
        name = talk.create(project=dice.choice(("", "harbour")), language=dice.choice(("", "en", "zh")))
        talk.say(name, "system")
        for _ in range(dice.choice((2, 12, 30))):
            talk.turn(name)
        ways: list[tuple[int, Wire]] = [
            (dice.choice((900, 2000, 6000, 20_000)), wire) for wire in promises.WIRES
        ]
        for _ in range(OPERATIONS):
            touched = acts.act(talk, ACTS)
            budget, wire = dice.choice(ways)
            if dice.random() < 0.7:
                send(talk, touched, budget, wire)
            if dice.random() < 0.5:
                assert_same(talk, second, talk.some_thread(), budget, wire)


def another(talk: Talk) -> Engine:
    """Another engine on the store, as another process has one: `backscroll.open` would give the same."""
    return Engine(SqliteStore(Path(talk.place)), talk.engine.settings)


def send(talk: Talk, name: str, budget: int, wire: Wire) -> None:
    """A prompt as it is sent: it writes down what it condensed and placed."""
    talk.note(f"send {name[:8]} {budget} {wire}")
    try:
        talk.thread(name).prompt(budget, wire=wire, reserve=0, tools=promises.tools_for(wire))
    except BudgetTooSmall as refused:
        talk.trail[-1] += f"  (refused: {refused})"


def assert_same(talk: Talk, second: Engine, name: str, budget: int, wire: Wire) -> None:
    """The engine that did everything, one that looks now and then and a new one build the same prompt."""
    talk.note(f"compare {name[:8]} {budget} {wire}")
    moment = talk.clock.moment.isoformat(timespec="microseconds")
    usual = talk.engine.means
    with another(talk) as fresh:
        told: dict[str, Any] = {}
        for who, engine in (("new", fresh), ("first", talk.engine), ("second", second)):
            engine.means = ClockAndIds(lambda: moment, random.Random(0).randbytes)
            told[who] = _told(engine, name, budget, wire)
    talk.engine.means = usual
    for who in ("first", "second"):
        for what, expected in told["new"].items():
            assert told[who].get(what) == expected, (
                f"{what} of the {who} engine in {name[:8]} ({budget}, {wire}):\n"
                f"is {told[who].get(what)}\nnot {expected}"
            )


def _told(engine: Engine, name: str, budget: int, wire: Wire) -> dict[str, Any]:
    """A rehearsed prompt as plain data; written down is nothing, so that the next one has the same to start from."""
    thread = engine.thread(name)
    try:
        made = thread.prompt(budget, wire=wire, reserve=0, tools=promises.tools_for(wire), dry_run=True)
    except BudgetTooSmall as refused:
        return {"refused": str(refused)}
    told = {"system": made.system, "messages": made.messages, "receipt": made.receipt.to_json()}
    return json.loads(json.dumps(told, default=str))
