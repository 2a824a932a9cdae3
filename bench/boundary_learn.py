"""Learn the weighing of boundaries anew: the dialogues of the development sets in, `boundary_weights.json` out.

    .venv/bin/python -m bench.boundary_learn OUT.json
    .venv/bin/python -m bench.boundary_learn --check sets     # each set scored by weights learned from the other sets
    .venv/bin/python -m bench.boundary_learn --check folds    # each half of the dialogues scored by weights learned from the other half

Reads the shared dialogues beside the repository; needs numpy alone. Only numbers leave this program: no word of the dialogues is written down.
Sets whose licence allows no more than evaluation (`HELD`) are scored, and weights learned from them are only ever used to score another set:
what is written down is not learned from them. Two of the sets share messages (`TWINS`): one is not
learned from where the other is scored.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from backscroll.llm.encoder import encoder_of
from backscroll.tasks.boundary import THRESHOLD, Detector, Signal
from backscroll.tasks.boundary_features import VECTOR_NAMES, WORD_NAMES, Course
from backscroll.tasks.boundary_model import Model, model_of
from bench.boundary_trees import Learned, learn

SHARED = Path(__file__).resolve().parents[2] / "shared" / "bench" / "boundary"
#: Licences "none stated" and share-alike: for evaluation only.
HELD = ("dialseg711", "sgd")
TWINS = {"dialseg711": "multiwoz21", "multiwoz21": "dialseg711"}
#: Where the learned score is cut; the weights are written down shifted, so that the package says 0.5 for it.
CUT = 0.39
#: Chats without a desk and a customer: with the roles exchanged they are as good, and teach that either may open a subject.
EVEN = ("tiage", "kdconv")
EXCHANGED = 0.5  # how much they count then
KINDS = {"vectors": VECTOR_NAMES, "words": WORD_NAMES}
EACH = 3_000.0  # every set counts as so many messages, however large it is


@dataclass
class Rows:
    """The messages of one set as numbers; the first of each dialogue is not among them."""

    numbers: np.ndarray
    gold: np.ndarray
    dialogue: np.ndarray
    counts: float = 1.0


def encode_with_memory() -> Any:
    """What the engine encodes with, with a memory: the same messages come again and again here."""
    encoder = encoder_of("wordllama")
    if encoder is None:
        return None
    known: dict[str, list[float]] = {}

    def encode(texts: Sequence[str]) -> list[list[float]]:
        for text in texts:
            if text not in known:
                known[text] = [float(x) for x in encoder.encode([text])[0]]
        return [known[text] for text in texts]

    return encode


def rows_of(dialogues: Sequence[Any], encode: Any, *, exchanged: bool = False) -> Rows:
    """The numbers of every message but the first of each dialogue; with the roles exchanged where that is wanted."""
    numbers: list[list[float]] = []
    gold: list[bool] = []
    dialogue: list[int] = []
    for k, d in enumerate(dialogues):
        course = Course(encode)
        starts = set(d.boundaries)
        for i, message in enumerate(d.messages):
            user = (message["role"] == "user") != exchanged
            row, _ = course.measure("user" if user else "assistant", message["text"])
            if i:
                numbers.append(row)
                gold.append(i in starts)
                dialogue.append(k)
    return Rows(np.array(numbers), np.array(gold, float), np.array(dialogue), EXCHANGED if exchanged else 1.0)


def learned_from(parts: Sequence[Rows], columns: int) -> Learned:
    """Weights from some sets, each of which counts the same."""
    weight = np.concatenate([np.full(len(p.gold), p.counts * EACH / len(p.gold)) for p in parts])
    numbers = np.concatenate([p.numbers[:, :columns] for p in parts])
    return learn(numbers, np.concatenate([p.gold for p in parts]), weight)


def as_model(found: Learned, names: tuple[str, ...]) -> Model:
    """The weights as the package would read them."""
    return model_of(json.loads(json.dumps(found.to_json(names, float(np.log(CUT / (1 - CUT)))))))


def called(dialogues: Sequence[Any], model: Model, encode: Any) -> list[list[int]]:
    """What the detector calls a boundary, message by message."""
    out: list[list[int]] = []
    for d in dialogues:
        detector = Detector(d.lang, encode, model)
        scores = [detector.step(Signal(m["role"], m["text"])).value for m in d.messages]
        out.append([i for i, value in enumerate(scores) if i and value > THRESHOLD])
    return out


def figures(run: Any, name: str, dialogues: Sequence[Any], hypotheses: list[list[int]]) -> str:
    """One line: ours, and whether it is above every baseline that is not fitted on the same set."""
    metrics = importlib.import_module("metrics")
    got = metrics.aggregate(metrics.rows(dialogues, hypotheses))
    reference = json.loads((SHARED / "reference.json").read_text(encoding="utf-8"))
    foes = [r[name] for n, r in reference.items() if n not in run.OWN and name in r]
    f1, pk = max(r["f1_exact"] for r in foes), min(r["pk"] for r in foes)
    above = "above" if got["f1_exact"] > f1 and got["pk"] < pk else "NOT above both"
    return (
        f"{name:14s} F1 {got['f1_exact']:.3f} ({f1:.3f})  Pk {got['pk']:.3f} ({pk:.3f})  F1 ±1 {got['f1_tol1']:.3f}  "
        f"Score {got['score']:.3f}  {above}"
    )


def check(run: Any, sets: dict[str, Any], rows: dict[str, list[Rows]], how: str, encode: Any) -> None:
    """Score what was not learned from."""
    for kind, names in KINDS.items():
        if kind == "vectors" and encode is None:
            continue
        print(f"\n{kind}, {'without the set (and its twin)' if how == 'sets' else 'without the half'}")
        coder = encode if kind == "vectors" else None
        halves = {n: [[] for _ in sets[n]] for n in sets}
        for fold in (0, 1) if how == "folds" else ():
            parts = [half(r, 1 - fold) for n in sets if n not in HELD for r in rows[n]]
            model = as_model(learned_from(parts, len(names)), names)
            for n in sets:
                for k, found in enumerate(called(sets[n][fold::2], model, coder)):
                    halves[n][fold + 2 * k] = found
        for n, dialogues in sets.items():
            found = halves[n]
            if how == "sets":
                others = [r for o in sets if o not in (n, TWINS.get(n)) for r in rows[o]]
                found = called(dialogues, as_model(learned_from(others, len(names)), names), coder)
            print("  " + figures(run, n, dialogues, found), flush=True)


def half(rows: Rows, which: int) -> Rows:
    """Every second dialogue."""
    some = rows.dialogue % 2 == which
    return Rows(rows.numbers[some], rows.gold[some], rows.dialogue[some], rows.counts)


def main() -> None:
    """Learn and write down, or check."""
    parser = argparse.ArgumentParser(prog="python -m bench.boundary_learn", description=__doc__)
    parser.add_argument("out", nargs="?", type=Path)
    parser.add_argument("--check", choices=("sets", "folds"))
    options = parser.parse_args()
    if not SHARED.exists():
        sys.exit(f"the shared dialogues are not there: {SHARED}")
    sys.path.insert(0, str(SHARED))
    run = importlib.import_module("run")
    sets = {name: run.load(name) for name in run.SETS}
    encode = encode_with_memory()
    rows = {name: [rows_of(dialogues, encode)] for name, dialogues in sets.items()}
    for name in EVEN:
        rows[name].append(rows_of(sets[name], encode, exchanged=True))
    if options.check:
        check(run, sets, rows, options.check, encode)
    if options.out:
        parts = [r for n in sets if n not in HELD for r in rows[n]]
        shift = float(np.log(CUT / (1 - CUT)))
        data: dict[str, Any] = {"about": "learned by bench/boundary_learn.py; numbers only", "cut": CUT}
        for kind, names in KINDS.items():
            data[kind] = learned_from(parts, len(names)).to_json(names, shift)
        options.out.write_text(json.dumps(data, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
