"""Run one measurement of `bench/starting` in a process of its own: `python starting_child.py KIND STORE` prints one line of JSON.

Uses nothing but the public names, so that an interpreter with an older Backscroll can run it as well.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

_BUDGET = 8_000
_LATER = 20  # prompts after the first
_LONG = 600  # turns of four messages
_TURNS = {8_000: 60, 128_000: 90}  # measured by budget: enough for several compactions
_BEFORE = 5  # … after some that warm up
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


def _lines(number: int, lines: int) -> str:
    return "\n".join(f"{n}: {_text(number + n, 9)} {number * 31 + n}" for n in range(lines))


def _step(thread: object, number: int, lines: int, budget: int) -> Iterator[tuple[float, bool]]:
    """A question, a call with a large result, an answer: two prompts, each with its processor time and whether it condensed the past."""
    append, prompt = thread.append, thread.prompt  # type: ignore[attr-defined]
    import backscroll

    def asked() -> tuple[float, bool]:
        before = time.thread_time()
        made = prompt(budget)
        return time.thread_time() - before, bool(made.receipt.compaction)

    append("user", f"Please look at module_{number % 97}: {_text(number, 30)}")
    yield asked()
    call = backscroll.ToolCall(f"call_{number}", "Read", {"path": f"src/module_{number % 97}.py"})
    append("assistant", [backscroll.Text("I look at it."), call])
    result = backscroll.ToolResult(call.id, (backscroll.Text(_lines(number, lines)),), name="Read")
    append("tool", [result])
    yield asked()
    append("assistant", f"In module_{number % 97} {_text(number + 3, 45)}")


def _warm(store: str) -> dict[str, float]:
    """Prompts of a process that has made some before, with and without a compaction; processor time of the calling thread."""
    import backscroll

    out: dict[str, float] = {}
    with backscroll.open(store) as engine:
        thread = engine.thread(next(iter(engine.threads())).id)
        for budget, turns in _TURNS.items():
            plain: list[float] = []
            looked_up: list[float] = []  # a question of the user: details are recalled for it
            condensed: list[float] = []
            for number in range(turns):
                for place, (spent, compacted) in enumerate(_step(thread, number, 60, budget)):
                    if number >= _BEFORE:
                        (condensed if compacted else plain if place else looked_up).append(spent)
            name = f"{budget // 1000}k"
            out[f"{name}_question"] = statistics.median(looked_up)
            out[name], out[f"{name}_p95"] = (
                statistics.median(plain),
                sorted(plain)[int(0.95 * (len(plain) - 1))],
            )
            out[f"{name}_compaction"] = statistics.median(condensed) if condensed else 0.0
            out[f"{name}_compactions"] = len(condensed)
    return out


def _long(store: str) -> dict[str, float]:
    """A long session in one process: what it holds at its end."""
    import backscroll

    with backscroll.open(store) as engine:
        thread = engine.create("long", kind="agent")
        for number in range(_LONG):
            for _ in _step(thread, number, 60, 32_000):
                pass
        return {"megabytes": _megabytes(), "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}


if __name__ == "__main__":
    print(json.dumps({"first": _first, "warm": _warm, "long": _long}[sys.argv[1]](sys.argv[2])))
