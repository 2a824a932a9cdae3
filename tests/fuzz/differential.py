"""Fuzz what is derived: whatever was done, a store tells the same as one that holds nothing but its log.

Compared with the engine that did everything step by step: the same store with everything derived dropped; a native copy; a second
process that has looked at the store before and so has something to be wrong about.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import backscroll
from backscroll.engine.core.clock import ClockAndIds
from tests.fuzz import surfaces
from tests.fuzz.acts import ACTS, act, ask
from tests.fuzz.second import Second
from tests.fuzz.talk import Talk

SEEDS = (1, 2)
OPERATIONS = 20
EVERY = 10
#: What was asked for is noted beside the log and makes its like fade later; no copy can have it.
HERE = {chosen: weight for chosen, weight in ACTS.items() if chosen is not ask}
#: Tables that hold nothing but what follows from the log.
DERIVED = (
    "made",
    "made_from",
    "signs",
    "vectors",
    "nodes",
    "progress",
    "tokens",
    "turn_marks",
    "turn_states",
)


def fuzz(seed: int, folder: Path) -> None:
    """Do things to conversations and compare what different readers are told."""
    store = folder / "store.db"
    with Talk(seed, store).told() as talk, Second(store, talk.settings) as second:
        dice = talk.dice
        project = dice.choice(("", "harbour"))
        for _ in range(dice.choice((1, 2))):
            name = talk.create(project=project)
            for _ in range(dice.choice((1, 2, 6))):
                talk.turn(name)
        for number in range(OPERATIONS):
            act(talk, HERE)
            if number % 5 == 4:
                assert_second(talk, second, [talk.some_thread()])
            if number % EVERY == EVERY - 1:
                assert_copies(talk, folder / f"at-{number}")
        assert_second(talk, second, list(talk.lines))
        verdict = talk.engine.verify()
        assert verdict.ok, verdict.flaws


def told(talk: Talk, name: str, words: list[str]) -> dict[str, Any]:
    """What a thread tells the engine that did everything; time stands still meanwhile."""
    moment = talk.clock.moment
    talk.engine.means = ClockAndIds(
        lambda: moment.isoformat(timespec="microseconds"), talk.engine.means.random
    )
    try:
        return surfaces.everything(talk.engine, name, words)
    finally:
        talk.engine.means = ClockAndIds(talk.clock, talk.engine.means.random)


def some_words(talk: Talk) -> list[str]:
    """Words to search for, gone ones among them."""
    return talk.dice.sample(sorted(talk.words.known), min(3, len(talk.words.known)))


def assert_second(talk: Talk, second: Second, names: list[str]) -> None:
    """Another process tells the same."""
    words = some_words(talk)
    for name in names:
        there = second.everything(talk.clock.moment.isoformat(timespec="microseconds"), name, words)
        surfaces.assert_same(told(talk, name, words), there, f"{name[:8]} in a second process")


def assert_copies(talk: Talk, folder: Path) -> None:
    """A rebuild and a native copy tell the same."""
    folder.mkdir()
    words = some_words(talk)
    here = {name: told(talk, name, words) for name in talk.lines}
    rebuilt, copied, native = folder / "rebuilt.db", folder / "copied.db", folder / "native.jsonl"
    talk.engine.backup(rebuilt)
    _drop_derived(rebuilt)
    talk.engine.export(None, target=str(native))
    for place, what in ((rebuilt, "a rebuild"), (copied, "a native copy")):
        with backscroll.open(place, **talk.settings) as engine:
            now = talk.clock.moment.isoformat(timespec="microseconds")
            engine.means = ClockAndIds(lambda now=now: now, talk.engine.means.random)
            if place == copied:
                engine.import_path(native)
            for name, told_here in here.items():
                surfaces.assert_same(
                    told_here, surfaces.everything(engine, name, words), f"{name[:8]} in {what}"
                )
            verdict = engine.verify()
            assert verdict.ok, (what, verdict.flaws)


def _drop_derived(store: Path) -> None:
    with closing(sqlite3.connect(store)) as connection:
        for table in DERIVED:
            connection.execute(f"DELETE FROM {table}")
        connection.commit()
