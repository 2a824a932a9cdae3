"""A second process on a store: it answers what a thread tells there, and keeps in memory what it read before.

Started with `python -m tests.fuzz.second STORE SETTINGS`; a line with `{"now": …, "thread": …, "words": […]}` is answered by
a line with everything that the thread tells (`tests/fuzz/surfaces`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

import backscroll
from backscroll.engine.core.clock import ClockAndIds
from tests.fuzz import surfaces

ROOT = Path(__file__).resolve().parents[2]


class Second:
    """The other process, as the first one holds it."""

    def __init__(self, store: Path, settings: dict[str, Any]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.second", str(store), json.dumps(settings)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Second:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self.process:  # closes its input, at which it ends
            pass

    def everything(self, now: str, thread: str, words: list[str]) -> dict[str, Any]:
        """What a thread tells over there."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"now": now, "thread": thread, "words": words}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the second process ended"
        told = json.loads(line)
        assert "failed" not in told, f"the second process failed:\n{told['failed']}"
        return told


def main() -> None:
    """Answer until the input ends."""
    store, settings = sys.argv[1], json.loads(sys.argv[2])
    with backscroll.open(store, **settings) as engine:
        for line in sys.stdin:
            asked = json.loads(line)
            now = asked["now"]
            engine.means = ClockAndIds(lambda now=now: now)
            try:
                told = surfaces.everything(engine, asked["thread"], asked["words"])
            except Exception:  # noqa: BLE001  # whatever it is, the first process reports it
                told = {"failed": traceback.format_exc()}
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
