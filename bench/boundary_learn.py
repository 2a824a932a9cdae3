"""Relearn the boundary weights from the development sets; writes `boundary_weights.json`.

    .venv/bin/python -m bench.boundary_learn OUT.json
    .venv/bin/python -m bench.boundary_learn --check sets     # each set scored by weights learned from the other sets
    .venv/bin/python -m bench.boundary_learn --check folds    # each half of the dialogues scored by weights learned from the other half

Part, not product: weights are scored through the detector itself. Reads the shared dialogues beside the repository, the sessions of LongMemEval (MIT) there, the
chats of `bench/texts` that are not sealed, and with `--mtbench FILE` the dialogues of MT-Bench-101 (Apache-2.0); needs numpy alone. Only numbers leave this program: no word of the dialogues is written down.
Sets whose licence allows no more than evaluation (`HELD`) are scored, and weights learned from them are only ever used to score another set:
what is written down is not learned from them. Two of the sets share messages (`TWINS`): one is not
learned from where the other is scored.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from backscroll.tasks.boundary.detector import THRESHOLD, Detector, Signal
from backscroll.tasks.boundary.features import NAMES, ConversationState
from backscroll.tasks.boundary.model import BoundaryModel, model_of
from bench.boundary_trees import Learned, learn

SHARED = Path(__file__).resolve().parents[2] / "shared" / "bench" / "boundary"
#: Licences "none stated" and share-alike: for evaluation only.
HELD = ("dialseg711", "sgd")
LONGMEMEVAL = SHARED.parents[1] / "data" / "retrieval" / "longmemeval-sessions.jsonl"
TEXTS = Path(__file__).with_name("texts")
#: Chats with an assistant, and how much each counts.
ASSISTANT = {"longmemeval": 1.0, "mtbench": 1.33, "chats": 0.2}
SHIFTING = ("TS", "CC")  # tasks of MT-Bench-101 that change the subject on purpose
SEED = 5
TWINS = {"dialseg711": "multiwoz21", "multiwoz21": "dialseg711"}
#: Where the learned score is cut; the weights are written down shifted, so that the package says 0.5 for it.
CUT = 0.39
#: Chats without a desk and a customer: with the roles exchanged they are as good, and teach that either may open a subject.
EVEN = ("tiage", "kdconv")
EXCHANGED = 0.5  # how much they count then
EACH = 3_000.0  # every set counts as so many messages, however large it is


@dataclass
class Rows:
    """The messages of one set as numbers; the first of each dialogue is not among them."""

    numbers: np.ndarray
    gold: np.ndarray
    dialogue: np.ndarray
    counts: float = 1.0


def rows_of(dialogues: Sequence[Any], *, counts: float = 1.0, exchanged: bool = False) -> Rows:
    """The numbers of every message but the first of each dialogue; with the roles exchanged where that is wanted."""
    numbers: list[list[float]] = []
    gold: list[bool] = []
    dialogue: list[int] = []
    for k, d in enumerate(dialogues):
        course = ConversationState()
        starts = set(d.boundaries)
        for i, message in enumerate(d.messages):
            user = (message["role"] == "user") != exchanged
            row, _ = course.measure("user" if user else "assistant", message["text"])
            if i:
                numbers.append(row)
                gold.append(i in starts)
                dialogue.append(k)
    return Rows(
        np.array(numbers), np.array(gold, float), np.array(dialogue), EXCHANGED if exchanged else counts
    )


def learned_from(parts: Sequence[Rows]) -> Learned:
    """Learn weights from some sets, each with equal weight."""
    weight = np.concatenate([np.full(len(p.gold), p.counts * EACH / len(p.gold)) for p in parts])
    numbers = np.concatenate([p.numbers for p in parts])
    return learn(numbers, np.concatenate([p.gold for p in parts]), weight)


def as_model(found: Learned) -> BoundaryModel:
    """Return the weights in the form that the package reads."""
    return model_of(json.loads(json.dumps(found.to_json(NAMES, float(np.log(CUT / (1 - CUT)))))))


def called(dialogues: Sequence[Any], model: BoundaryModel) -> list[list[int]]:
    """Return the detector's boundaries, message by message."""
    out: list[list[int]] = []
    for d in dialogues:
        detector = Detector(d.lang, model)
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


def check(run: Any, sets: dict[str, Any], rows: dict[str, list[Rows]], how: str) -> None:
    """Score on held-out data."""
    print("without the set (and its twin)" if how == "sets" else "without the half")
    halves = {n: [[] for _ in sets[n]] for n in sets}
    for fold in (0, 1) if how == "folds" else ():
        parts = [half(r, 1 - fold) for n in sets if n not in HELD for r in rows[n]]
        model = as_model(learned_from(parts))
        for n in sets:
            for k, found in enumerate(called(sets[n][fold::2], model)):
                halves[n][fold + 2 * k] = found
    for n, dialogues in sets.items():
        found = halves[n]
        if how == "sets":
            others = [r for o in sets if o not in (n, TWINS.get(n)) for r in rows[o]]
            found = called(dialogues, as_model(learned_from(others)))
        line = alarms(n, dialogues, found) if n in ASSISTANT else figures(run, n, dialogues, found)
        print("  " + line, flush=True)


def alarms(name: str, dialogues: Sequence[Any], hypotheses: list[list[int]]) -> str:
    """One line for chats with an assistant: follow-ups of the user that are called a boundary, and starts that are found."""
    follow = starts = false = found = 0
    for d, called_ in zip(dialogues, hypotheses, strict=True):
        for i, message in enumerate(d.messages):
            if i and message["role"] == "user":
                start = i in d.boundaries
                starts, follow = starts + start, follow + (not start)
                found, false = found + (start and i in called_), false + (not start and i in called_)
    return f"{name:14s} false alarms {false} of {follow} ({false / follow:.3f})  found {found} of {starts} ({found / starts:.3f})"


# -- chats with an assistant -------------------------------------------------------------------------------------


def assistant_sets(run: Any, mtbench: Path | None) -> dict[str, list[Any]]:
    """Sessions of assistants, three in a row: where one ends and the next begins is a boundary, all else goes on."""
    sessions = [json.loads(line)["turns"] for line in LONGMEMEVAL.read_text(encoding="utf-8").splitlines()]
    talks = [[(t["speaker"], t["text"]) for t in turns] for turns in sessions]
    out = {"longmemeval": _in_a_row(run, talks)}
    if mtbench is not None:
        read = [json.loads(line) for line in mtbench.read_text(encoding="utf-8").splitlines()]
        out["mtbench"] = _in_a_row(
            run,
            [
                [
                    said
                    for turn in row["history"]
                    for said in (("user", turn["user"]), ("assistant", turn["bot"]))
                ]
                for row in read
                if row["task"] not in SHIFTING
            ],
        )
    texts = [
        json.loads(line) for line in (TEXTS / "chats.seen.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    out["chats"] = [
        run.Dialogue(r["name"], r["lang"], [{"role": a, "text": t} for a, t in r["says"]], r["starts"])
        for r in texts
    ]
    return out


def _in_a_row(run: Any, talks: list[list[tuple[str, str]]]) -> list[Any]:
    random.Random(SEED).shuffle(talks)
    out: list[Any] = []
    for at in range(0, len(talks) - 2, 3):
        said: list[dict[str, str]] = []
        starts: list[int] = []
        for talk in talks[at : at + 3]:
            starts += [len(said)] if said else []
            said += [{"role": role, "text": text} for role, text in talk]
        out.append(run.Dialogue(str(at), "en", said, starts))
    return out


def half(rows: Rows, which: int) -> Rows:
    """Every second dialogue."""
    some = rows.dialogue % 2 == which
    return Rows(rows.numbers[some], rows.gold[some], rows.dialogue[some], rows.counts)


def main() -> None:
    """Learn and write down, or check."""
    parser = argparse.ArgumentParser(prog="python -m bench.boundary_learn", description=__doc__)
    parser.add_argument("out", nargs="?", type=Path)
    parser.add_argument("--check", choices=("sets", "folds"))
    parser.add_argument("--mtbench", type=Path, help="the file mtbench101.jsonl of MT-Bench-101")
    options = parser.parse_args()
    if not SHARED.exists():
        sys.exit(f"the shared dialogues are not there: {SHARED}")
    sys.path.insert(0, str(SHARED))
    run = importlib.import_module("run")
    sets = {name: run.load(name) for name in run.SETS}
    rows = {name: [rows_of(dialogues)] for name, dialogues in sets.items()}
    for name in EVEN:
        rows[name].append(rows_of(sets[name], exchanged=True))
    for name, dialogues in assistant_sets(run, options.mtbench).items():
        sets[name] = dialogues
        rows[name] = [rows_of(dialogues, counts=ASSISTANT[name])]
    if options.check:
        check(run, sets, rows, options.check)
    if options.out:
        parts = [r for n in sets if n not in HELD for r in rows[n]]
        shift = float(np.log(CUT / (1 - CUT)))
        learned = learned_from(parts).to_json(NAMES, shift)
        data: dict[str, Any] = {
            "about": "learned by bench/boundary_learn.py; numbers only",
            "cut": CUT,
            "words": learned,
        }
        options.out.write_text(json.dumps(data, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
