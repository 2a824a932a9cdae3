"""What `bench/starting` measures, each in a process of its own: `python starting_child.py KIND STORE` prints one line of JSON.

Uses nothing but the public names, so that an interpreter with an older Backscroll can run it as well.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from pathlib import Path

_BUDGET = 8_000
_LATER = 20  # prompts after the first
_LONG = 600  # turns of four messages
_WORDS = (
    "harbour module ledger export invoice retry parser window socket budget kernel mirror canvas engine "
    "signal packet folder branch commit review 数据库 迁移 脚本 测试 接口 日志"
).split()


def _text(number: int, words: int) -> str:
    return " ".join(_WORDS[(number * 7 + n * 13 + n * n) % len(_WORDS)] for n in range(words))


def _megabytes() -> float:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize() / 1e6


def _first(store: str) -> dict[str, float]:
    """The first prompt of a fresh process, and those after it while a worker is at work."""
    import backscroll

    with backscroll.open(store) as engine:
        thread = engine.thread(next(iter(engine.threads())).id)
        cpu, wall = time.thread_time(), time.perf_counter()
        thread.prompt(_BUDGET)
        first, first_wall = time.thread_time() - cpu, time.perf_counter() - wall
        whole, held = time.process_time(), _megabytes()
        later: list[float] = []
        waited: list[float] = []
        for number in range(_LATER):
            thread.append("user", f"Go on with step {number}.")
            cpu, wall = time.thread_time(), time.perf_counter()
            thread.prompt(_BUDGET)
            later.append(time.thread_time() - cpu)
            waited.append(time.perf_counter() - wall)
            thread.append("assistant", "Done.")
            time.sleep(0.05)
    return {
        "first": first,
        "first_wall": first_wall,
        "process": whole,
        "megabytes": held,
        "later": statistics.median(later),
        "later_wall": sorted(waited)[int(0.9 * _LATER)],
    }


def _long(store: str) -> dict[str, float]:
    """A long session in one process: what it holds at its end."""
    import backscroll

    with backscroll.open(store) as engine:
        thread = engine.create("long", kind="agent")
        for number in range(_LONG):
            thread.append("user", f"Please look at module_{number % 97}: {_text(number, 30)}")
            thread.prompt(32_000)
            thread.append("assistant", f"I look at it. {_text(number + 1, 20)}")
            thread.append("user", f"And? {_text(number + 2, 120)}")
            thread.prompt(32_000)
            thread.append("assistant", f"In module_{number % 97} {_text(number + 3, 45)}")
        return {"megabytes": _megabytes(), "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}


if __name__ == "__main__":
    print(json.dumps({"first": _first, "long": _long}[sys.argv[1]](sys.argv[2])))
