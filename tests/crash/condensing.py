"""A process whose children ask for prompts, crop, compact, forget and derive until they are killed. Run by `test_kill_condensing`.

`python -m tests.crash.condensing ADDRESS ROUNDS SEED`, in an interpreter of its own: it loads everything once and forks for each
round. After each killing the store must verify, what was acknowledged must be there, and the derived state must come up
to date and equal a rebuild.
"""

from __future__ import annotations

import json
import os
import random
import sys
from contextlib import closing

import backscroll
from backscroll.engine.background.worker import bring_up_to_date
from backscroll.engine.tree.tree import rebuild
from backscroll.llm.encoders.encoder import encoder_of
from backscroll.vocab.prompt import WIRES
from tests import proof
from tests.crash.analysing import kinds_of
from tests.crash.victims import PATIENCE, killed_after, stretched
from tests.properties.memory import allowed, marks_in, spelled, tree_of

BUDGET = 1500
#: What must have happened to the thread, else nothing was at stake when its writers were killed.
WANTED = {"compacted", "cropped"}


def victim(address: str, name: str, seed: int, pipe: int) -> None:
    """Condense and derive as fast as possible; every event that was acknowledged is told over the pipe."""
    engine = backscroll.open(address, background=seed % 2 == 0)
    thread, chance = engine.thread(name), random.Random(seed)
    while True:
        step(thread, chance)
        os.write(pipe, f"{thread.head}\n".encode())


def step(thread: backscroll.Thread, chance: random.Random) -> None:
    """One thing of many."""
    mark = f"qz{chance.getrandbits(40)}zq"
    op = chance.choice(["say", "say", "prompt", "crop", "compact", "undo", "derive", "change", "forget"])
    try:
        if op == "say":
            thread.append("user", f"Never touch src/{mark}.py! 我们决定用 {mark}。")
            thread.append("assistant", f"{mark} " + "and so on. " * 30)
        elif op == "prompt":
            thread.prompt(BUDGET, reserve=0, wire=chance.choice(WIRES))
        elif op == "crop":
            thread.crop("top", chance.randint(1, 6))
        elif op == "compact":
            thread.compact(BUDGET)
        elif op == "undo":
            thread.undo()
        elif op == "derive":
            bring_up_to_date(thread.engine, thread.id)
        elif op == "change":
            thread.edit(chance.choice(thread.recent(20)).id, f"Changed to {mark}.")
        elif chance.random() < 0.3:
            thread.forget(chance.choice(thread.recent(20)).id)
    except (backscroll.Conflict, backscroll.NotFound, backscroll.InvalidInput, backscroll.Forgotten):
        return  # not everything can be done at every moment


def kill_once(address: str, name: str, seed: int, moment: float) -> int:
    """Let a child work for a moment and kill it; gives the last event that it had acknowledged."""
    lines = killed_after(lambda pipe: victim(address, name, seed, pipe), moment, begun=seed % 2 == 0).split()
    return int(lines[-1]) if lines else 0


def look(address: str, name: str, acknowledged: int) -> list[str]:
    """What is wrong with what the victim left."""
    wrong: list[str] = []
    with closing(backscroll.open(address, background=False)) as engine:
        thread = engine.thread(name)
        if thread.head < acknowledged:
            wrong.append(f"acknowledged {acknowledged} events, found {thread.head}")
        if not engine.verify().ok:
            wrong.append("the store does not verify")
        bring_up_to_date(engine, name)
        grown = tree_of(thread)
        made = [spelled(thread.prompt(BUDGET, reserve=0, wire=wire, dry_run=True)) for wire in WIRES]
        if gone := marks_in("".join([*made, str(grown)])) - allowed(thread):
            wrong.append(f"told what is gone: {sorted(gone)}")
        rebuild(engine, name)
        if tree_of(thread) != grown:
            wrong.append("the tree is not the one that a rebuild gives")
        if [spelled(thread.prompt(BUDGET, reserve=0, wire=wire, dry_run=True)) for wire in WIRES] != made:
            wrong.append("prompts differ after a rebuild")
    return wrong


def main(address: str, rounds: int, seed: int) -> None:
    """Kill, look, and say how it went as one line of JSON."""
    chance = random.Random(seed)
    encoder_of("wordllama")  # loaded once, before there are children
    with closing(backscroll.open(address, background=False)) as engine:
        thread = engine.create("condensed")
        for n in range(30):
            thread.append("user", f"Question qz{n}zq: never touch src/qz{n}zq.py.")
            thread.append("assistant", f"Answer {n}. " * 20)
        name = thread.id
    wrong: list[str] = []
    heads = 0
    for number in range(PATIENCE * rounds):
        # Until everything was done that is looked for: what a child does is up to chance.
        if wrong or (number >= rounds and kinds_of(address, name) >= WANTED):
            break
        moment = stretched(chance.uniform(0.05, 0.8), number, rounds)
        acknowledged = kill_once(address, name, seed * 1000 + number, moment)
        heads = max(heads, acknowledged)
        wrong += [f"round {number}: {what}" for what in look(address, name, acknowledged)]
    with closing(backscroll.open(address, background=False)) as engine:
        proof.assert_sound(engine)
    kinds = sorted(kinds_of(address, name))
    print(json.dumps({"rounds": rounds, "events": heads, "kinds": kinds, "wrong": wrong}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
