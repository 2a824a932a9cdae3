"""Measure outcomes and lessons through the public calls: write each session as one task, complete it, read `thread.memory.list`.

    .venv/bin/python -m bench.outcomes [--half seen|sealed|late|fresh|away|last] [--show]
    .venv/bin/python -m bench.outcomes --ordinary [--most 100]

The sessions are in `bench/texts`. A memory names a part (cause, fix, evidence) where it holds the words that the session's author marked for it.
Idle: an outcome or lesson that names none of the three.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import backscroll
from bench.boundary_learn import LONGMEMEVAL
from bench.preferences import rows

PARTS = ("cause", "fix", "evidence")
KINDS = ("outcome", "lesson", "summary")


def measure(half: str, folder: Path, *, show: bool) -> dict[str, dict[str, int]]:
    """Write every session into a store and read back what is remembered of it."""
    out: dict[str, dict[str, int]] = {"en": {}, "zh": {}}
    with backscroll.open(folder / f"outcomes-{half}") as store:
        for row in rows("sessions", half):
            thread = store.create()
            thread.tasks.start()
            _write(thread, row["says"])
            thread.tasks.complete()
            tally = out[row["lang"]]
            tally["sessions"] = tally.get("sessions", 0) + 1
            for kind in KINDS:
                kept = [m.text for m in thread.memory.list(kinds=[kind], scope="thread")]
                named = [{p for p in PARTS if all(_named(word, text) for word in row[p])} for text in kept]
                tally[kind] = tally.get(kind, 0) + any(len(parts) == len(PARTS) for parts in named)
                best = max(map(len, named), default=0)
                tally[f"{kind} parts"] = tally.get(f"{kind} parts", 0) + best
                if kind != "summary":
                    tally["idle"] = tally.get("idle", 0) + sum(not parts for parts in named)
                if show:
                    print(row["name"], kind, best, kept)
    return out


def ordinary(folder: Path, *, most: int, show: bool) -> tuple[int, int]:
    """Measure chats with an assistant in which hardly anything is fixed (LongMemEval): how many there are, and how many teach
    a cause with a fix."""
    taught = count = 0
    with backscroll.open(folder / "ordinary", background=False) as store:
        for line in LONGMEMEVAL.read_text(encoding="utf-8").splitlines()[: most or None]:
            thread = store.create()
            thread.tasks.start()
            thread.extend([{"role": t["speaker"], "content": t["text"]} for t in json.loads(line)["turns"]])
            thread.tasks.complete()
            kept = [m.text for m in thread.memory.list(kinds=["lesson"], scope="thread") if " → " in m.text]
            count, taught = count + 1, taught + bool(kept)
            if show and kept:
                print(kept)
    return count, taught


def _write(thread: backscroll.Thread, says: Sequence[str | Mapping[str, Any]]) -> None:
    """Append what was said: user and assistant in turns, or each message with its author, its call and the result of it."""
    calls = 0
    for number, said in enumerate(says):
        if isinstance(said, str):
            thread.append("assistant" if number % 2 else "user", said)
        elif said["by"] == "tool":
            thread.append("tool", backscroll.ToolResult(f"c{calls}", (backscroll.Text(said["text"]),)))
        elif "call" in said:
            calls += 1
            call = backscroll.ToolCall(f"c{calls}", said["call"]["name"], said["call"]["arguments"])
            thread.append("assistant", [backscroll.Text(said["text"]), call] if said["text"] else [call])
        else:
            thread.append(said["by"], said["text"])


def _named(word: str, text: str) -> bool:
    """Return True if one of the words separated by `|` is in a text."""
    return any(one in text for one in word.split("|"))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.outcomes", description=__doc__)
    parser.add_argument("--half", choices=("seen", "sealed", "late", "fresh", "away", "last"), default="seen")
    parser.add_argument("--ordinary", action="store_true", help="lessons of chats in which nothing is mended")
    parser.add_argument("--most", type=int, default=0, help="sessions of --ordinary; 0: all")
    parser.add_argument("--show", action="store_true", help="print every memory")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as folder:
        if options.ordinary:
            count, taught = ordinary(Path(folder), most=options.most, show=options.show)
            print(f"{taught} of {count} chats teach a cause and a fix")
            return
        for language, tally in measure(options.half, Path(folder), show=options.show).items():
            print(f"{options.half} {language}: " + ", ".join(f"{k} {v}" for k, v in tally.items()))


if __name__ == "__main__":
    main()
