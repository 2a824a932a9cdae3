"""Measure whether recall recognises questions that nothing is about: two small conversations, and foreign questions of the
shared data.

    python -m bench.recall_nothing [--held] [--shared]

Each question is put to `thread.recall(question, 500)`. An own question should get items, best the one that answers; a foreign one the
sentence that nothing is about it. The questions are in `recall_nothing.toml`, in two halves: improvements are made by looking
at the first; `--held` asks the other. `--shared` writes conversations of the shared retrieval data into stores, and asks each
some questions of its own, of others of its set, and of other sets in the same language.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import backscroll
from backscroll import Thread
from bench.evidence_product import Product, harness

_SEED = 11
_BUDGET = 500
#: Every so many conversations of a set are asked, and so many questions of each kind.
_SOME = {"qmsum": (5, 4), "longmemeval": (31, 4), "memdaily-zh": (12, 4), "beam": (2, 4), "madial-zh": (1, 6)}
_OTHERS = (2, 8)


def material() -> list[dict[str, Any]]:
    """Talks and questions."""
    return tomllib.loads(Path(__file__).with_name("recall_nothing.toml").read_text(encoding="utf-8"))["talk"]


def _silent(thread: Thread, questions: Sequence[str]) -> list[str]:
    """The questions that are said to be about nothing."""
    return [question for question in questions if not thread.recall(question, _BUDGET).items]


def small(half: str) -> None:
    """Ask about the two small conversations."""
    with (
        tempfile.TemporaryDirectory(prefix="backscroll-nothing-") as folder,
        backscroll.open(Path(folder, "nothing.db"), background=False) as store,
    ):
        for talk in material():
            thread = store.create(talk["language"])
            for number, text in enumerate(talk["said"]):
                thread.append("assistant" if number % 2 else "user", text)
            for kind in ("own", "foreign"):
                questions = talk[f"{kind}_{half}"]
                silent = _silent(thread, questions)
                print(f"{talk['language']} {half} {kind}: nothing said of {len(silent)} of {len(questions)}")
                told = silent if kind == "own" else [q for q in questions if q not in silent]
                for question in told:
                    print(f"    {question}")


def shared() -> None:
    """Ask conversations of the shared data."""
    run, dice = harness(), random.Random(_SEED)
    questions = {
        name: [(number, q.text) for number, c in enumerate(run.load(name)) for q in c.questions if q.main]
        for name in run.SETS
    }
    for name in run.SETS:
        step, many = _SOME.get(name, _OTHERS)
        silent: Counter[str] = Counter()
        asked: Counter[str] = Counter()
        for number, conversation in enumerate(run.load(name)):
            if number % step:
                continue
            alike = [n for n in run.SETS if n != name and n.endswith("-zh") == name.endswith("-zh")]
            kinds = {
                "own": [q.text for q in conversation.questions if q.main],
                "same set": [text for other, text in questions[name] if other != number],
                "other set": [text for n in alike for _, text in questions[n]],
            }
            product = Product(conversation.lang)
            product.ingest(conversation.turns)
            for kind, every in kinds.items():
                some = dice.sample(every, min(len(every), many * (4 if kind == "own" else 1)))
                silent[kind] += len(_silent(product.thread, some))
                asked[kind] += len(some)
            product.close()
        print(name, "; ".join(f"{kind} {silent[kind]} of {asked[kind]}" for kind in asked), flush=True)


def main() -> None:
    """Print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--held", action="store_true")
    parser.add_argument("--shared", action="store_true")
    given = parser.parse_args()
    if given.shared:
        shared()
    else:
        small("held" if given.held else "seen")


if __name__ == "__main__":
    main()
