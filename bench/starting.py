"""Measure cold and warm prompts: the first of a process on a small thread and on a long one without derived data, later ones
with and without a compaction, and resident memory.

Each figure is measured in a process of its own (`bench/starting_child`). `BACKSCROLL_BESIDE` may name the interpreter of another
version: it does the same on copies of the same stores, in the same run, and its figures are in the floor column.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import backscroll
from bench.prompts import filled
from bench.table import Row

#: Figures of warm prompts on 10,000 messages: what each is, its bar, its unit.
_WARM = {
    "8k": ("warm prompt of 8k, processor time", 0.005, "ms"),
    "8k_question": ("… with a question that is looked up in 10,000 messages", 0.05, "ms"),
    "8k_compaction": ("… with a compaction", 0.06, "ms"),
    "128k": ("warm prompt of 128k, processor time", 0.04, "ms"),
    "128k_question": ("… with a question that is looked up in 10,000 messages", 0.1, "ms"),
    "128k_compaction": ("… with a compaction", 0.06, "ms"),
}
_CHILD = Path(__file__).with_name("starting_child.py")


def _run(python: str, kind: str, store: Path) -> dict[str, float]:
    """One measurement, on a copy of the store."""
    own = store.with_name(f"copy-{store.name}")
    if store.exists():
        shutil.copy(store, own)
    done = subprocess.run([python, str(_CHILD), kind, str(own)], capture_output=True, text=True, check=True)
    for left in own.parent.glob(f"{own.name}*"):
        left.unlink()
    return json.loads(done.stdout.splitlines()[-1])


def _rows(store: Path, kind: str, figures: dict[str, tuple[str, float, str]]) -> list[Row]:
    """Rows for some figures of a run: name -> what it is, its bar, its unit."""
    ours = _run(sys.executable, kind, store)
    beside = os.environ.get("BACKSCROLL_BESIDE")
    theirs = _run(beside, kind, store) if beside else {}
    out: list[Row] = []
    for name, (what, bar, unit) in figures.items():
        found, floor = ours[name], theirs.get(name)
        scale = 1e3 if unit == "ms" else 1.0
        ratio = None if not floor else found / floor
        shown = "" if floor is None else f"{floor * scale:.0f} {unit}"
        out.append(
            Row(
                what,
                f"{found * scale:.0f} {unit}",
                shown,
                ratio,
                f"under {bar * scale:.0f} {unit}",
                found <= bar,
            )
        )
    return out


def starting(folder: Path, options: Namespace) -> list[Row]:
    """First prompts and resident memory."""
    small = folder / "starting-small.db"
    with backscroll.open(small, background=False) as store:
        filled(store, 20)
    rows = _rows(
        small,
        "first",
        {
            "process": (
                "fresh process, first prompt on 20 messages: processor time from its start",
                0.3,
                "ms",
            ),
            "megabytes": ("… resident memory", 150, "MB"),
        },
    )
    for size in (10_000, options.messages):
        long = folder / f"starting-{size}.db"
        with backscroll.open(long, background=False) as store:
            filled(store, size)
        rows += _rows(
            long,
            "first",
            {
                "first": (
                    f"first prompt of 8k on an unseen thread of {size:,} messages, processor time",
                    0.5,
                    "ms",
                ),
                "later": ("… later ones while the worker catches up, processor time", 0.03, "ms"),
                "later_wall": ("… the same on the clock, 90th percentile", 0.1, "ms"),
            },
        )
        if size == 10_000:
            rows += _rows(long, "warm", _WARM)
        long.unlink()
    rows += _rows(
        folder / "starting-long.db",
        "long",
        {
            "megabytes": (
                "session of 2,400 messages with tool results and 1,200 prompts of 32k: resident memory",
                250,
                "MB",
            )
        },
    )
    return rows
