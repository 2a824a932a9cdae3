"""A process whose children analyse, correct and work on tasks until they are killed. Run by `test_kill_analysing`.

`python -m tests.crash.analysing ADDRESS ROUNDS SEED`, in an interpreter of its own: it loads everything once and forks for each
round. After each killing the store verifies, what was acknowledged is there and as far analysed as was said, and graph, marks,
states, tasks and memories come to what a rebuild gives.
"""

from __future__ import annotations

import json
import os
import random
import sys
from contextlib import closing

import backscroll
from backscroll.derive.window import window_of
from backscroll.engine.background.worker import bring_up_to_date
from backscroll.engine.engine import Engine
from backscroll.engine.knowledge.analysis import catch_up, progress_name, rebuild
from backscroll.llm.encoders.encoder import encoder_of
from tests import proof
from tests.crash.victims import PATIENCE, killed_after, stretched
from tests.properties.living import Tales, living, marked, reference

OPS = (
    "say",
    "say",
    "analyse",
    "analyse",
    "analyse",
    "change",
    "change",
    "delete",
    "undo",
    "override",
    "task",
    "look",
    "flush",
)

#: What must have happened to a thread, else nothing was at stake when its writers were killed.
WANTED = {"overridden", "edited"}


def progress(engine: Engine, name: str) -> int:
    """The event up to which a thread is analysed."""
    job = progress_name(window_of(engine.settings))
    return engine.store.read(lambda reader: reader.progress(name, job))


def victim(address: str, name: str, seed: int, pipe: int) -> None:
    """Work as fast as possible; how long the log is and how far it is analysed is told over the pipe."""
    engine = backscroll.open(address, background=seed % 2 == 0)
    thread, chance, words = engine.thread(name), random.Random(seed), Tales()
    words.count = seed * 100
    while True:
        step(thread, chance, words)
        os.write(pipe, f"{thread.head} {progress(engine, name)}\n".encode())


def step(thread: backscroll.Thread, chance: random.Random, words: Tales) -> None:
    """One thing of many."""
    op = chance.choice(OPS)

    def start() -> None:
        thread.tasks.start(f"task {words.count}")

    try:
        if op == "say":
            thread.append("user", words.text())
            thread.append("assistant", words.text())
        elif op == "analyse":
            catch_up(thread.engine, thread.id, chance.choice([None, 1, 7]))
        elif op == "change":
            thread.edit(chance.choice(thread.recent(40)).id, words.text())
        elif op == "delete":
            thread.delete(chance.choice(thread.recent(40)).id)
        elif op == "undo":
            thread.undo()
        elif op == "override":
            thread.graph.set(chance.choice(thread.graph.nodes()).id, "mood", f"mood {words.count}")
        elif op == "task":
            chance.choice([start, lambda: thread.tasks.attempt("done"), thread.tasks.complete])()
        elif op == "look":
            thread.graph.nodes(limit=5)
        else:
            thread.graph.flush()
    except (backscroll.Conflict, backscroll.NotFound, backscroll.InvalidInput, IndexError):
        return  # not everything can be done at every moment


def look(address: str, name: str, told: bytes) -> list[str]:
    """What is wrong with what the victim left."""
    wrong: list[str] = []
    lines = [tuple(map(int, line.split())) for line in told.splitlines()]
    head, seen = lines[-1] if lines else (0, 0)
    with closing(backscroll.open(address, background=False)) as engine:
        thread = engine.thread(name)
        if thread.head < head or progress(engine, name) < seen:
            wrong.append(f"acknowledged {head}, {seen}; found {thread.head}, {progress(engine, name)}")
        bring_up_to_date(engine, name)
        grown = living(thread)
        rebuild(engine, name)
        wrong += [
            f"{what} is not what a rebuild gives"
            for what, was in grown.items()
            if living(thread)[what] != was
        ]
    return wrong


def kinds_of(address: str, name: str) -> set[str]:
    """What happened to a thread."""
    with closing(backscroll.open(address, background=False)) as engine:
        return {event.kind.value for event in engine.thread(name).events()}


def main(address: str, rounds: int, seed: int) -> None:
    """Kill, look, and say how it went as one line of JSON."""
    chance, words = random.Random(seed), Tales()
    encoder_of("wordllama")  # loaded once, before there are children
    with closing(backscroll.open(address, background=False)) as engine:
        thread = engine.create("analysed")
        for _ in range(40):
            thread.append("user", words.text())
            thread.append("assistant", words.text())
        name = thread.id
    wrong: list[str] = []
    for number in range(PATIENCE * rounds):
        # Until everything was done that is looked for: what a child does is up to chance.
        if wrong or (number >= rounds and kinds_of(address, name) >= WANTED):
            break
        work, moment = seed * 1000 + number, stretched(chance.uniform(0.05, 0.7), number, rounds)
        told = killed_after(
            lambda pipe, n=work: victim(address, name, n, pipe), moment, begun=number % 2 == 0
        )
        wrong += [f"round {number}: {what}" for what in look(address, name, told)]
    with closing(backscroll.open(address, background=False)) as engine:
        thread = engine.thread(name)
        if marked(thread) != reference(thread):
            wrong.append("the marks are not those of the reference")
        proof.assert_sound(engine)
        events = thread.head
    kinds = sorted(kinds_of(address, name))
    print(json.dumps({"rounds": rounds, "events": events, "kinds": kinds, "wrong": wrong}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
