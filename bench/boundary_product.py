"""Measure task boundaries through the public call: write every dialogue into a store and read `thread.tasks.boundaries()`.

    .venv/bin/python -m bench.boundary_product [--sets tiage,chats] [--half seen|sealed] [--most 100]

Rows of the shared dialogue sets: exact F1 and Pk over all messages. Rows of chats with an assistant (`bench/texts`, and the sessions of LongMemEval three in a
row): how many follow-ups of the user are called a boundary, and how many starts are found.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import backscroll
from bench.boundary_learn import SHARED, alarms, assistant_sets
from bench.preferences import rows


class Dialogue(NamedTuple):
    """A dialogue in the shape of the shared harness."""

    id: str
    lang: str
    messages: Sequence[dict[str, str]]
    boundaries: Sequence[int]


def suggested(dialogues: Sequence[Any], folder: Path) -> list[list[int]]:
    """For every dialogue the places of messages at which the store says that another task begins."""
    out: list[list[int]] = []
    with backscroll.open(folder, background=False) as store:
        for dialogue in dialogues:
            thread = store.create()
            ids = [thread.append(m["role"], m["text"] or " ").id for m in dialogue.messages]
            found = {b.message for b in thread.tasks.boundaries()}
            out.append([place for place, name in enumerate(ids) if place and name in found])
    return out


def chats(half: str, language: str) -> list[Dialogue]:
    """The chats of the judging texts."""
    return [
        Dialogue(r["name"], r["lang"], [{"role": a, "text": t} for a, t in r["says"]], r["starts"])
        for r in rows("chats", half)
        if r["lang"] == language
    ]


def main() -> None:
    """Print one line for each set."""
    parser = argparse.ArgumentParser(prog="python -m bench.boundary_product", description=__doc__)
    parser.add_argument(
        "--sets", default="chats-en,chats-zh", help="comma-separated; all: every set there is"
    )
    parser.add_argument("--half", choices=("seen", "sealed", "late"), default="seen")
    parser.add_argument("--most", type=int, default=0, help="dialogues of each set; 0: all")
    parser.add_argument("--mtbench", type=Path, help="the file mtbench101.jsonl of MT-Bench-101")
    options = parser.parse_args()
    sets: dict[str, Sequence[Any]] = {f"chats-{name}": chats(options.half, name) for name in ("en", "zh")}
    run = metrics = None
    if SHARED.exists():
        sys.path.insert(0, str(SHARED))
        run, metrics = importlib.import_module("run"), importlib.import_module("metrics")
        found = assistant_sets(run, options.mtbench)
        sets |= {name: some for name, some in found.items() if name != "chats"}
        sets |= {name: run.load(name) for name in run.SETS}
    wanted = list(sets) if options.sets == "all" else options.sets.split(",")
    for name in wanted:
        some = sets[name][: options.most or None]
        with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as folder:
            called = suggested(some, Path(folder) / "store.db")
        if metrics is None or run is None or name not in run.SETS:
            print(alarms(name, some, called), flush=True)
        else:
            got = metrics.aggregate(metrics.rows(some, called))
            print(f"{name:14s} F1 {got['f1_exact']:.3f}  Pk {got['pk']:.3f}", flush=True)


if __name__ == "__main__":
    main()
