"""One of several processes that talk, ask for prompts, crop and derive at once. Run as `python -m tests.load.background_crowd`.

Arguments: address, seconds, number, ids of the shared conversations. Says as one line of JSON what it did and what it
saw that must not be.
"""

from __future__ import annotations

import json
import random
import sys
import time
from contextlib import closing

import backscroll
from backscroll import Wire
from backscroll.assemble.validity import check
from backscroll.engine.background.worker import Worker
from backscroll.vocab.prompt import WIRES

BUDGET = 2500
#: Seconds after which somebody gives up who has not asked for a prompt yet, as happens on a busy machine.
PATIENCE = 300


def asked(thread: backscroll.Thread, wire: Wire) -> list[str]:
    """What is wrong with a prompt, asked for now."""
    made = thread.prompt(BUDGET, wire=wire, reserve=0)
    flaws = [str(flaw) for flaw in check(made.messages, wire, system=made.system)]
    if made.receipt.total > BUDGET:
        flaws.append(f"{made.receipt.total} tokens in a budget of {BUDGET}")
    return flaws


def main(address: str, seconds: float, number: int, shared: list[str]) -> None:
    """Work until the time is up."""
    chance = random.Random(number)
    written, prompts, refused = 0, 0, 0
    wrong: list[str] = []
    with closing(backscroll.open(address, actor=f"process:{number}", background=number % 2 == 0)) as engine:
        worker = Worker(engine)
        end = time.monotonic() + seconds
        while time.monotonic() < end or (not prompts and time.monotonic() < end + PATIENCE):
            thread = engine.thread(chance.choice(shared))
            thread.append("user", f"qz{number}_{written}zq: never touch src/part{written}.py; 不要动它。")
            thread.append("assistant", f"Understood, {number} {written}. " + "It is done. " * 20)
            written += 1
            dice = chance.random()
            try:
                if dice < 0.5:
                    wrong += asked(thread, chance.choice(WIRES))
                    prompts += 1
                elif dice < 0.6:
                    thread.crop("top", 2)
                elif dice < 0.7:
                    thread.compact(BUDGET)
                elif dice < 0.8:
                    thread.undo()
                elif dice < 0.9:
                    worker.run(1)
                else:
                    thread.delete(chance.choice(thread.recent(8)).id)
            except (backscroll.Conflict, backscroll.NotFound, backscroll.InvalidInput):
                refused += 1
        if worker.progress.last_error:
            wrong.append(worker.progress.last_error)
    said = {"number": number, "written": written, "prompts": prompts, "refused": refused, "wrong": wrong}
    print(json.dumps(said, ensure_ascii=False))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
