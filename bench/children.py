"""Start processes at the same moment and collect their measurements."""

from __future__ import annotations

import json
import subprocess
import sys

#: Appends to a store for some seconds without a pause: address, seconds, text. Prints how long each append took.
APPENDING = """
import json, sys, time
import backscroll
with backscroll.open(sys.argv[1], background=False) as store:
    thread = store.create("bench")
    print("ready", flush=True)
    sys.stdin.readline()
    times, until = [], time.perf_counter() + float(sys.argv[2])
    while time.perf_counter() < until:
        start = time.perf_counter()
        thread.append("user", sys.argv[3])
        times.append(time.perf_counter() - start)
print(json.dumps(times))
"""
#: What they append.
TEXT = "a message of some words that is written while others write theirs"


def at_once(script: str, count: int, *arguments: str) -> list[float]:
    """Return the measurements of `count` processes. A script prints a line when it is ready, waits for one, and prints a list
    of seconds at its end."""
    command = [sys.executable, "-c", script, *arguments]
    children = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    for child in children:
        assert child.stdout is not None
        child.stdout.readline()
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    out: list[float] = []
    for child in children:
        said, _ = child.communicate()
        assert child.returncode == 0
        out += json.loads(said.strip().splitlines()[-1])
    return out
