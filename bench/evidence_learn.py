"""Relearn the weights of recall from the clues of all questions of the development sets; writes `fusion.json`.

    .venv/bin/python -m bench.evidence_learn OUT.json [--words] [--check folds|sets|product]

Part, not product: reads the pure modules of recall. Needs the shared retrieval data beside the repository, and lightgbm,
which is not a dependency of the package (the trees are written down and asked by `recall/fuse`). `--check folds` learns five
times, each time without a fifth of the conversations, and scores on those; `--check sets` leaves out one whole set at a time,
which shows what to expect of conversations of another kind; `--check product` does the same through `thread.recall`
(`bench.evidence_product`).
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from backscroll.llm.encoders.encoder import encoder_of
from backscroll.recall import fuse
from backscroll.recall.clues import measure
from backscroll.recall.index.candidate import prepare
from backscroll.recall.index.index import RecallIndex
from backscroll.recall.question.analysis import understand
from backscroll.recall.selection import in_order
from bench.evidence import candidate_of
from bench.evidence_product import asked, harness, print_set

ROUNDS = 100
HOW = {
    "objective": "lambdarank",
    "lambdarank_truncation_level": 20,
    "learning_rate": 0.08,
    "num_leaves": 15,
    "min_child_samples": 100,
    "feature_fraction": 0.35,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 5,
    "seed": 7,
    "num_threads": 1,
    "verbose": -1,
}
TREES, SUM = 0.63, 0.4  # what the trees and the plain sum count
RIDGE = 1e-4  # how much large weights in the sum are held against it
#: Clues that rest on vectors; without an encoder they say nothing.
BY_VECTORS = ("near", "apart", "piece", "sentence", "like_best")
#: Clues that are measured and not learned from: what is a standing wish of the user is not an answer for that, and what is only a nod never is one.
BY_HAND = frozenset({"standing", "idle"})
#: Clues that are the same for all texts of a question or of a sitting: they tell kinds of conversation apart, and stay out of the sum.
OF_QUESTIONS = frozenset(
    "q_terms q_letters q_second_person c_letters c_spread c_assistant top_words top_soft top_near top_even top_near_z session_size".split()
)
NEGATIVES, BY_LOT = 14, 20  # best wrong texts by each of some orders; of the others by lot
QUESTIONS = 135  # about as many of a set, evenly over it: more of one kind teach nothing about the others


@dataclass
class Row:
    """One question: the clues of all texts, and which of them hold the evidence."""

    name: str  # of the set
    conversation: int
    clues: np.ndarray
    gold: np.ndarray
    prices: np.ndarray
    packer: Any
    ids: list[str]


def rows_of(run: Any, encoder: str) -> tuple[list[str], list[Row]]:
    """The clues of every question of every set."""
    found = encoder_of(encoder)
    names: list[str] = []
    rows: list[Row] = []
    for name in run.SETS:
        for number, conversation in enumerate(run.load(name)):
            index = RecallIndex(None if found is None else found.encode)
            index.extend([prepare(candidate_of(turn)) for turn in conversation.turns])
            days = [text.candidate.day for text in index.texts if text.candidate.day is not None]
            ids = [turn.id for turn in conversation.turns]
            packer = run.Packer(conversation.turns)
            for question in (q for q in conversation.questions if q.main):
                clues = measure(index, understand(question.text, max(days, default=None)))
                names = [
                    n
                    for n in clues
                    if n not in BY_HAND and (found is not None or not any(part in n for part in BY_VECTORS))
                ]
                gold = np.isin(ids, question.gold)
                prices = np.asarray([text.price for text in index.texts])
                matrix = np.stack([clues[n] for n in names], axis=1).astype(np.float32)
                rows.append(Row(name, number, matrix, gold, prices, packer, ids))
        print(name, len(rows), file=sys.stderr, flush=True)
    return names, rows


@dataclass
class Taught:
    """Training data: the right texts, tempting wrong ones, and a sample of the others."""

    clues: np.ndarray
    right: np.ndarray
    weight: np.ndarray  # questions of a set, and sets, count the same
    sizes: list[int]  # texts of each question


def _taught(names: list[str], rows: list[Row]) -> Taught:
    lot = np.random.default_rng(3)
    orders = [names.index(n) for n in ("rank_first", "rank_words", "rank_soft", "rank_near") if n in names]
    around = names.index("first_around")
    of_set = Counter(row.name for row in rows)
    step = {name: max(1, round(many / QUESTIONS)) for name, many in of_set.items()}
    seen: Counter[str] = Counter()
    some: list[Row] = []
    for row in rows:
        if seen[row.name] % step[row.name] == 0:
            some.append(row)
        seen[row.name] += 1
    questions = Counter(row.name for row in some)
    matrices: list[np.ndarray] = []
    answers: list[np.ndarray] = []
    weights: list[np.ndarray] = []
    for row in some:
        keep = row.gold.copy()
        for order in orders:
            keep |= row.clues[:, order] < np.log1p(NEGATIVES)
        keep[np.argsort(-row.clues[:, around], kind="stable")[:NEGATIVES]] = True
        rest, weight = np.flatnonzero(~keep), np.ones(len(keep))
        if len(rest) > BY_LOT:
            picked = lot.choice(rest, BY_LOT, replace=False)
            weight[picked] = len(rest) / BY_LOT
            rest = picked
        keep[rest] = True
        matrices.append(row.clues[keep])
        answers.append(row.gold[keep].astype(np.float32))
        weights.append(weight[keep] / row.gold.sum() / questions[row.name])
    weight = np.concatenate(weights)
    return Taught(
        np.concatenate(matrices),
        np.concatenate(answers),
        weight * len(weight) / weight.sum(),
        [len(matrix) for matrix in matrices],
    )


def learned(names: list[str], rows: list[Row]) -> dict[str, Any]:
    """The weighing from these questions, in the shape that `recall/fuse` reads; clues that no tree asks for are left out of the trees."""
    lightgbm = importlib.import_module("lightgbm")
    taught = _taught(names, rows)
    data = lightgbm.Dataset(taught.clues, taught.right, weight=taught.weight, group=taught.sizes)
    model = lightgbm.train(HOW, data, ROUNDS)
    trees = [_tree(tree["tree_structure"]) for tree in model.dump_model()["tree_info"]]
    asked = sorted({clue for tree in trees for clue in tree["clue"]})
    for tree in trees:
        tree["clue"] = [asked.index(clue) for clue in tree["clue"]]
    about = {
        "what": "decision trees (gradient boosting, order within a question) and a weighted sum (logistic loss; each clue held within the range that was seen) over the clues of recall/clues",
        "learned_from": "the eight development sets of the shared retrieval benchmark, each with the same weight",
        "with": "bench/evidence_learn.py",
        "validation": "docs/recall.md",
    }
    weights = _sum(names, taught)
    made = {"about": about, "clues": [names[clue] for clue in asked], "weights": weights, "trees": trees}
    columns = {name: taught.clues[:, place].astype(float) for place, name in enumerate(names)}
    scores = weighing_of(made | {"start": 0.0}).score(columns)
    made["start"] = round(_start(scores, taught), 4)
    return made


def weighing_of(data: dict[str, Any]) -> fuse.Fusion:
    """What was learned, ready to be asked."""
    return fuse.laid_out(data["clues"], data["trees"], data["weights"], data["start"])


def _sum(names: list[str], taught: Taught) -> dict[str, list[float]]:
    """For each clue that tells texts of one question apart: its weight in the sum, and between which values it counts."""
    use = [place for place, name in enumerate(names) if name not in OF_QUESTIONS]
    clues = taught.clues[:, use]
    low, high = np.quantile(clues, 0.002, axis=0), np.quantile(clues, 0.998, axis=0)
    clues = np.clip(clues, low, high)
    spread = clues.std(axis=0) + 1e-6
    fitted = ((clues - clues.mean(axis=0)) / spread).astype(np.float32)
    weight = taught.weight / taught.weight.sum()

    def loss(point: np.ndarray) -> tuple[float, np.ndarray]:
        odds = fitted @ point[:-1] + point[-1]
        wrong = weight * (1 / (1 + np.exp(-odds)) - taught.right)
        cost = (weight * (np.logaddexp(0, odds) - taught.right * odds)).sum() + RIDGE * (
            point[:-1] ** 2
        ).sum()
        return float(cost), np.append(fitted.T @ wrong + 2 * RIDGE * point[:-1], wrong.sum())

    optimize = importlib.import_module("scipy.optimize")
    found = optimize.minimize(
        loss, np.zeros(len(use) + 1), jac=True, method="L-BFGS-B", options={"maxiter": 80}
    )
    return {
        names[place]: [float(f"{SUM * value:.5g}"), float(f"{least:.5g}"), float(f"{most:.5g}")]
        for place, value, least, most in zip(use, found.x[:-1] / spread, low, high, strict=True)
    }


def _start(scores: np.ndarray, taught: Taught) -> float:
    """What is added to all, so that as many texts are held to be right as are."""
    weight = taught.weight / taught.weight.sum()
    low, high = -40.0, 40.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        held = (weight / (1 + np.exp(-(scores + middle)))).sum()
        low, high = (middle, high) if held < (weight * taught.right).sum() else (low, middle)
    return low


def _tree(root: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {"clue": [], "limit": [], "yes": [], "no": [], "points": []}

    def walk(node: dict[str, Any]) -> int:
        if "leaf_value" in node:
            out["points"].append(round(TREES * node["leaf_value"], 5))
            return -len(out["points"])
        place = len(out["clue"])
        out["clue"].append(node["split_feature"])
        out["limit"].append(float(f"{node['threshold']:.6g}"))
        out["yes"].append(0)
        out["no"].append(0)
        out["yes"][place] = walk(node["left_child"])
        out["no"][place] = walk(node["right_child"])
        return place

    walk(root)
    return out


def checked(run: Any, names: list[str], rows: list[Row], by: str) -> None:
    """Score questions with trees that never saw their conversation (or their set)."""
    groups = [row.name if by == "sets" else row.conversation % 5 for row in rows]
    recall: dict[str, list[list[float]]] = {name: [] for name in run.SETS}
    for group in dict.fromkeys(groups):
        weighing = weighing_of(
            learned(names, [row for row, mine in zip(rows, groups, strict=True) if mine != group])
        )
        for row in (row for row, mine in zip(rows, groups, strict=True) if mine == group):
            scores = weighing.score({name: row.clues[:, place] for place, name in enumerate(names)})
            order = [row.ids[number] for number in in_order(scores, row.prices)]
            gold = {row.ids[number] for number in np.flatnonzero(row.gold)}
            kept = [row.packer.pack(order, budget) for budget in run.SETS[row.name]]
            recall[row.name].append([len(gold & some) / len(gold) for some in kept])
    means = {name: np.mean(cells, axis=0) for name, cells in recall.items()}
    for name, cells in means.items():
        print(f"{name:16s}", " ".join(f"{cell:.3f}" for cell in cells))
    print(f"average {np.mean([cells.mean() for cells in means.values()]):.4f}")


def _always(made: fuse.Fusion) -> Any:
    def fusion(*, vectors: bool = True) -> fuse.Fusion:
        del vectors
        return made

    return fusion


def through_the_product(run: Any, names: list[str], rows: list[Row]) -> None:
    """Put the questions of each set to `thread.recall`, with trees that never saw the set."""
    known, over = fuse.fusion, list[float]()
    try:
        for name, budgets in run.SETS.items():
            weighing = weighing_of(learned(names, [row for row in rows if row.name != name]))
            fuse.fusion = _always(weighing)
            over.append(print_set(name, asked(run.load(name), budgets, run), budgets, cats=False))
    finally:
        fuse.fusion = known
    print(f"mean over the best baseline per cell {np.mean(over):+.4f}")


def main() -> None:
    """Learn, and say how well it does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("--words", action="store_true", help="without vectors")
    parser.add_argument("--check", choices=["folds", "sets", "product"])
    given = parser.parse_args()
    run = harness()
    names, rows = rows_of(run, "none" if given.words else "wordllama")
    if given.check == "product":
        through_the_product(run, names, rows)
    elif given.check:
        checked(run, names, rows, given.check)
    data = learned(names, rows)
    trees = ",\n".join("  " + json.dumps(tree, separators=(",", ":")) for tree in data.pop("trees"))
    head = json.dumps(data, indent=1, ensure_ascii=False)[:-2]
    Path(given.out).write_text(f'{head},\n "trees": [\n{trees}\n ]\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
