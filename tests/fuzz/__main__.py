"""Run fuzzers with fresh seeds for as long as one likes: `make fuzz MINUTES=5 [ONLY=name] [SEED=n] [PROCESSES=2]`.

With `REQUESTS=100000` it ends when so many requests were checked, by the fuzzers that count them, instead of after a time.
The fuzzers take turns. With a seed there is one run of each (of the one named by ONLY), which is how a failure is seen again.
Ends with 1 where anything failed; each failure is told with the command that reproduces it.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from types import FrameType

from tests import fuzz

_SEEDS = 2**31  # seeds are numbers that are easily copied
_SHOWN = 10  # failures that are told in full


@dataclass
class Account:
    """What was run, and what failed."""

    runs: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    counted: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, tell, and give the exit code."""
    asked = _asked(arguments)
    known = list(fuzz.fuzzers())
    names = [asked.only] if asked.only else known
    if unknown := [name for name in names if name not in known]:
        print(f"error: no fuzzer {unknown[0]!r}\nhint: there are {', '.join(known)}", file=sys.stderr)
        return 2
    if asked.seed is not None:
        return _tell(_run(names, [asked.seed] * len(names)))
    if asked.processes > 1:
        return _several(asked)
    begin = secrets.randbelow(_SEEDS)
    seconds = None if asked.requests else asked.minutes * 60
    return _tell(_run(names, range(begin, 2 * _SEEDS), seconds, asked.requests))


def _asked(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long (5)")
    parser.add_argument("--only", default="", help="one fuzzer by its name")
    parser.add_argument("--seed", type=int, default=None, help="one run with this seed")
    parser.add_argument("--requests", type=int, default=0, help="until so many requests were checked")
    parser.add_argument("--processes", type=int, default=1, help="how many at once (1)")
    asked = parser.parse_args(arguments)
    if asked.minutes <= 0 or asked.processes < 1 or asked.requests < 0:
        parser.error("minutes and processes have to be more than 0")
    return asked


def _run(
    names: Sequence[str], seeds: Iterable[int], seconds: float | None = None, requests: int = 0
) -> Account:
    """Let the fuzzers take turns until the seeds or the time are used up, or so many requests were checked."""
    account = Account()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="backscroll-fuzz-") as folder:
        for name, seed in zip(cycle(names), seeds, strict=False):
            before = time.monotonic()
            if seconds is not None and before - begun >= seconds:
                break
            try:
                account.counted[name] += fuzz.run(name, seed, Path(folder))
            except Exception as error:  # noqa: BLE001  # the outermost boundary: whatever it is, it is told
                account.failed.append(fuzz.command(name, seed))
                if len(account.failed) <= _SHOWN:
                    print(f"\n{name}, seed {seed}:\n{''.join(traceback.format_exception(error))}", flush=True)
            account.runs[name] += 1
            account.seconds[name] = account.seconds.get(name, 0.0) + time.monotonic() - before
            if requests and account.counted.total() >= requests:
                break
    return account


def _tell(account: Account) -> int:
    for name, runs in account.runs.items():
        failed = sum(f"ONLY={name} " in line for line in account.failed)
        counted = f", {account.counted[name]:,} requests" if account.counted[name] else ""
        print(f"{name}: {runs} runs in {account.seconds[name]:.0f} s{counted}, {failed} failed")
    for line in account.failed:
        print(f"reproduce: {line}")
    return 1 if account.failed else 0


def _several(asked: argparse.Namespace) -> int:
    """The same in several processes, each with seeds of its own; Ctrl-C ends all of them."""
    more = ["--only", asked.only] if asked.only else []
    share = -(-asked.requests // asked.processes)
    command = [sys.executable, "-m", "tests.fuzz", "--minutes", str(asked.minutes), *more]
    command += ["--requests", str(share)] if share else []
    children = [subprocess.Popen(command) for _ in range(asked.processes)]
    try:
        codes = [child.wait() for child in children]
    finally:
        for child in children:
            child.terminate()
            child.wait()
    return max(1 if code else 0 for code in codes)


def _stop(_signal: int, _frame: FrameType | None) -> None:
    """Asked to end: not without removing the folders of the runs under way."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.path.insert(0, os.fspath(Path(__file__).resolve().parents[2]))
    signal.signal(signal.SIGTERM, _stop)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
