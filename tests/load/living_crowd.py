"""One of several processes that tell, change, analyse, correct and work on tasks at once. Run as `python -m tests.load.living_crowd`.

Arguments: address, steps, number, ids of the shared conversations. Says as one line of JSON what it did.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from contextlib import closing
from typing import Any

import backscroll
from backscroll.engine.background.worker import Worker
from backscroll.engine.knowledge.analysis import catch_up
from tests.properties.living import Tales

OPS = (
    "change", "change", "delete", "restore", "undo", "redo", "analyse", "analyse", "override", "lift", "task", "flush",
    "look", "states", "prompt", "work", "remember", "forget", "hide", "memories",
)  # fmt: skip


def step(thread: backscroll.Thread, op: str, chance: random.Random, words: Tales) -> None:
    """One thing of many."""
    engine, graph, tasks = thread.engine, thread.graph, thread.tasks
    message = chance.choice(list(thread.messages(deleted=True))[-14:]).id
    task = [lambda: tasks.start(f"task {words.count}"), lambda: tasks.attempt("done"), tasks.complete]
    acts: dict[str, Callable[[], Any]] = {
        "change": lambda: thread.edit(message, words.text()),
        "delete": lambda: thread.delete(message),
        "restore": lambda: thread.restore(message),
        "hide": lambda: thread.hide(message),
        "undo": thread.undo,
        "redo": thread.redo,
        "analyse": lambda: catch_up(engine, thread.id, chance.choice([None, 1, 5])),
        "override": lambda: graph.set(chance.choice(graph.nodes()).id, "mood", f"mood {words.count}"),
        "lift": lambda: graph.lift(chance.choice(graph.overrides()).id or 0),
        "task": chance.choice(task),
        "flush": thread.graph.flush,
        "look": lambda: (graph.nodes(), graph.questions()),
        "states": thread.window.states,
        "prompt": lambda: thread.prompt(2500, reserve=0),
        "work": lambda: Worker(engine).run(1),
        "remember": lambda: thread.memory.add(f"Remember {words.count}.", sources=[message]),
        "memories": thread.memory.list,
        "forget": lambda: thread.forget(message) if chance.random() < 0.3 else None,
    }
    acts[op]()


def main(address: str, steps: int, number: int, shared: list[str]) -> None:
    """Do so many steps."""
    chance, words = random.Random(number), Tales()
    words.count = 100_000 * (number + 1)
    written = refused = 0
    with closing(backscroll.open(address, actor=f"process:{number}", background=number % 2 == 0)) as engine:
        for _ in range(steps):
            thread = engine.thread(chance.choice(shared))
            thread.append("user", words.text())
            thread.append("assistant", words.text())
            written += 2
            for op in chance.sample(OPS, 4):
                try:
                    step(thread, op, chance, words)
                except (
                    backscroll.Conflict,
                    backscroll.NotFound,
                    backscroll.InvalidInput,
                    backscroll.Forgotten,
                ):
                    refused += 1
                except IndexError:
                    refused += 1  # nothing to choose from yet
    print(json.dumps({"number": number, "written": written, "refused": refused}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
