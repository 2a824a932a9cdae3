"""A process whose children have a scripted model read turns until they are killed. Run by `test_kill_reading`.

`python -m tests.crash.reading ADDRESS SERVER ROUNDS SEED`, in an interpreter of its own: it loads everything once and forks for each
round. One child dies between the reply and the reading, by its own hand; the others at random moments. The rest is read in
the end, and what was paid, kept and counted is told as one line of JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from typing import Any

import backscroll
from backscroll.derive.extract.assertions import rule_key
from backscroll.engine.budget.costs import UNANSWERED, calls
from backscroll.engine.models.extraction import extract_turn, failed_extractions, found_by_models
from backscroll.engine.models.recipes import RecipeRunner
from backscroll.llm.clients.retries import Patience
from tests import proof
from tests.crash.victims import PATIENCE, killed_after, stretched
from tests.testing.scripted_talk import provider_at

TURNS = 24


def read_all(address: str, server: str, name: str, begun: Callable[[], object] | None = None) -> None:
    """Have every turn read that is not read yet; `begun` is called when that begins."""
    with (
        closing(backscroll.open(address, background=False)) as engine,
        # One try for a call, so that a child is killed in calls and not in pauses.
        RecipeRunner(engine, provider_at(server), patience=Patience(tries=1)) as working,
    ):
        if begun is not None:
            begun()
        for turn in engine.thread(name).turns():
            # Who was killed still holds the lease, for a quarter of an hour; here nobody else is about.
            engine.store.write(lambda tx: tx.set_meta(f"extracting {name}", ""))
            extract_turn(working, name, turn.messages, stand_in=(), turn=turn.sequence)


def victim(address: str, server: str, name: str, pipe: int) -> None:
    """Read as fast as possible; never comes back."""
    read_all(address, server, name, lambda: os.write(pipe, b"begun\n"))
    os.write(pipe, b"done\n")
    signal.pause()


def suicide(address: str, server: str, name: str) -> None:
    """Die where the reply is in the journal and the reading is not written yet."""

    def die(*_: Any, **__: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    RecipeRunner._keep = die
    read_all(address, server, name)


def main(address: str, server: str, rounds: int, seed: int) -> None:
    """Kill, read the rest, and say how it went."""
    os.environ["PLANTED"] = "sk-planted-0001"
    chance = random.Random(seed)
    with closing(backscroll.open(address, background=False)) as engine:
        warm = engine.create("warm")
        warm.append("user", "Everything is loaded once, before there are children.")
        thread = engine.create("read")
        for n in range(TURNS):
            thread.append("user", f"Person{n} lives in Town{n}.")
            thread.append("assistant", "I see. Thank you for telling me.")
        name = thread.id
    read_all(address, server, warm.id)
    killed_after(lambda _: suicide(address, server, name), 60.0)
    early = killed = 0
    for number in range(PATIENCE * rounds):
        # Until somebody has lived long enough to have a turn read, beside the one who died by his own hand.
        if number >= rounds and early > 1:
            break
        moment = stretched(chance.uniform(0.05, 0.6), number, rounds)
        killed_after(lambda pipe: victim(address, server, name, pipe), moment, begun=number % 2 == 0)
        killed += 1
        with closing(backscroll.open(address, background=False)) as engine:
            early = len(engine.store.read(lambda reader: reader.replies(name)))
    read_all(address, server, name)
    with closing(backscroll.open(address, background=False)) as engine:
        thread = engine.thread(name)
        keys = [rule_key(turn.messages) for turn in thread.turns() if turn.sequence]
        found = engine.store.read(lambda reader: found_by_models(reader, keys))
        failed = engine.store.read(lambda reader: failed_extractions(reader, keys))
        replies = engine.store.read(lambda reader: reader.replies(name))
        charged = [c.purpose for c in calls(engine, thread=name, limit=10_000)]
        proof.assert_sound(engine)
    told = {
        "turns": len(keys),
        "read": len(found),
        "failed": len(failed),
        "killed": killed,
        "early": early,  # replies before the rest was read
        "replies": len(replies),
        "charged": charged.count("extraction"),
        "unanswered": charged.count(UNANSWERED),  # that were under way when their caller was killed
        "other": sorted(set(charged) - {"extraction", UNANSWERED}),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
