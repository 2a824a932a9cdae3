"""False alarms on raw agent transcripts: how often the detector suggests a new task where most threads are one task with follow-ups.

    .venv/bin/python -m bench.boundary_agents [--show]

Reads the recorded sessions beside the repository (`../shared/data`) and says so where they are not there. Every suggestion counts as a false
alarm, although some are right: real sessions do hold several tasks (`--show` prints what was suggested, for judging by hand).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from backscroll.llm.encoder import encoder_of
from backscroll.tasks.boundary import THRESHOLD, Detector, placed_signals
from backscroll.vocab.message import Message
from bench.survival import SHARED, imported, replayed


def threads() -> Iterator[tuple[str, list[Message]]]:
    """Every thread of the recorded sessions, with where it comes from."""
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
    encoder = encoder_of("wordllama")
    encode = None if encoder is None else lambda texts: encoder.encode(texts).tolist()
    counts: dict[str, list[int]] = {}
    for source, messages in threads():
        row = counts.setdefault(source, [0, 0, 0, 0])
        row[0] += 1
        signals = placed_signals(messages)
        row[1] += sum(1 for _, s in signals if s.role == "user" and not s.machine)
        for column, coder in ((2, encode), (3, None)):
            detector = Detector(encode=coder)
            for ref, signal in signals:
                score = detector.step(signal)
                if score.value > options.threshold:
                    row[column] += 1
                    if options.show and column == 2:
                        why = ", ".join(f"{r.name} {r.weight:+.1f}" for r in score.reasons[:4])
                        print(
                            f"{source} {ref.seq} {score.value:.2f} {score.explicit} [{why}] {signal.text[:160]!r}"
                        )
    print(f"{'source':28s} threads  turns  with vectors  in 100 turns  by words  in 100 turns")
    total = [sum(row[i] for row in counts.values()) for i in range(4)]
    for source, row in [*counts.items(), ("all", total)]:
        print(
            f"{source:28s} {row[0]:7d} {row[1]:6d} {row[2]:13d} {100 * row[2] / max(1, row[1]):13.1f} "
            f"{row[3]:9d} {100 * row[3] / max(1, row[1]):13.1f}"
        )


if __name__ == "__main__":
    main()
