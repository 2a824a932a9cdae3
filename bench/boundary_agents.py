"""Count false alarms on recorded agent sessions, in which most threads are one task with follow-ups.

    .venv/bin/python -m bench.boundary_agents [--show]

Reads the recorded sessions beside the repository (`../shared/data`) and says so where they are not there. Every session is written into a store, and
`thread.tasks.boundaries()` is read as a user reads it. Every suggestion counts as a false alarm, although some are right: real sessions do hold several tasks
(`--show` prints what was suggested, for judging by hand).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import backscroll
from backscroll.tasks.boundary.detector import THRESHOLD
from backscroll.tasks.boundary.signals import typed_by_machine
from backscroll.vocab.message import Message
from bench.survival import SHARED, imported, replayed


def threads() -> Iterator[tuple[str, list[Message]]]:
    """Yield every thread of the recorded sessions, with its source."""
    for file in sorted((SHARED / "replay").glob("*.jsonl")):
        for messages in replayed(file):
            yield file.stem, messages
    for folder in ("claude-code", "aider", "exports"):
        for messages in imported(SHARED / "transcripts" / folder):
            yield f"transcripts/{folder}", messages


def main() -> None:
    """Print a table: threads, turns of the person, suggestions, and suggestions in 100 turns."""
    parser = argparse.ArgumentParser(prog="python -m bench.boundary_agents", description=__doc__)
    parser.add_argument("--show", action="store_true", help="print every suggestion")
    parser.add_argument("--threshold", type=float, default=THRESHOLD)
    options = parser.parse_args()
    if not SHARED.exists():
        sys.exit(f"the recorded sessions are not there: {SHARED}")
    counts: dict[str, list[int]] = {}
    with (
        tempfile.TemporaryDirectory(prefix="backscroll-bench-") as folder,
        backscroll.open(Path(folder) / "store.db", background=False) as store,
    ):
        for source, messages in threads():
            row = counts.setdefault(source, [0, 0, 0])
            row[0] += 1
            thread = store.create()
            said = {thread.append(m.role, m.content, at=m.at or None).id: m for m in messages}
            asked = [m for m in messages if m.role == "user" and m.text.strip()]
            row[1] += sum(1 for m in asked if not typed_by_machine(m.text))
            for found in thread.tasks.boundaries(threshold=options.threshold):
                row[2] += 1
                if options.show:
                    why = ", ".join(f"{r.name} {r.weight:+.1f}" for r in found.reasons[:4])
                    text = said[found.message].text[:160]
                    print(f"{source} {found.score:.2f} {found.explicit} [{why}] {text!r}")
    print(f"{'source':28s} threads  turns  suggested  in 100 turns")
    total = [sum(row[i] for row in counts.values()) for i in range(3)]
    for source, row in [*counts.items(), ("all", total)]:
        print(f"{source:28s} {row[0]:7d} {row[1]:6d} {row[2]:10d} {100 * row[2] / max(1, row[1]):13.1f}")


if __name__ == "__main__":
    main()
