"""Measure preferences through the public call: append each message to its own thread and read `thread.memory.list`.

    .venv/bin/python -m bench.preferences [--half seen|sealed] [--show]

The messages are in `bench/texts`. Found: a stored preference keeps the words that matter. False: anything is stored for a message that states
no lasting preference. Whole: the stored text holds words of the message that are not part of the preference.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import backscroll

TEXTS = Path(__file__).with_name("texts")


@dataclass(slots=True)
class Tally:
    """Figures of one language."""

    stated: int = 0
    found: int = 0
    whole: int = 0
    others: int = 0
    false: int = 0
    notes: list[str] = field(default_factory=list[str])


def rows(name: str, half: str) -> Iterator[dict[str, Any]]:
    """The rows of a file of judging texts."""
    for line in (TEXTS / f"{name}.{half}.jsonl").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def measure(half: str, folder: Path) -> dict[str, Tally]:
    """Write every message into a store and read back what is remembered."""
    out = {"en": Tally(), "zh": Tally()}
    with backscroll.open(folder / f"preferences-{half}") as store:
        for row in rows("preferences", half):
            thread = store.create()
            thread.append("user", row["text"])
            kept = [m.text for m in thread.memory.list(kinds=["preference"], scope="thread")]
            tally = out[row["lang"]]
            if not row["preference"]:
                tally.others += 1
                tally.false += bool(kept)
                if kept:
                    tally.notes.append(f"false  {row['text']!r} -> {kept}")
                continue
            tally.stated += 1
            good = [text for text in kept if all(word in text for word in row["keep"])]
            tally.found += bool(good)
            if not good:
                tally.notes.append(f"missed {row['text']!r} -> {kept}")
            elif any(word in text for text in good for word in row["drop"]):
                tally.whole += 1
                tally.notes.append(f"whole  {row['text']!r} -> {good}")
    return out


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.preferences", description=__doc__)
    parser.add_argument("--half", choices=("seen", "sealed"), default="seen")
    parser.add_argument("--show", action="store_true", help="print every message that went wrong")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as folder:
        for language, tally in measure(options.half, Path(folder)).items():
            print(
                f"{options.half} {language}: found {tally.found} of {tally.stated}, false {tally.false} of {tally.others}, "
                f"whole {tally.whole}"
            )
            if options.show:
                print("\n".join(f"  {note}" for note in tally.notes))


if __name__ == "__main__":
    main()
