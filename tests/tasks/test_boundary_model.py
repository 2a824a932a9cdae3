"""The learned weights: they match the measured numbers, add up, and stay within the training range."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from backscroll.tasks.boundary.features import NAMES, ConversationState
from backscroll.tasks.boundary.model import load_model, model_of
from bench.boundary_trees import learn


def test_shipped_weights_match_the_measured_numbers() -> None:
    model = load_model()
    assert model.names == NAMES
    course = ConversationState()
    for role, text in (("user", "hello"), ("assistant", "你好！"), ("user", "")):
        row, _ = course.measure(role, text)
        assert len(row) == len(model.names)
        assert all(math.isfinite(x) for x in row)


def test_contributions_add_up_to_the_score() -> None:
    model = load_model()
    course = ConversationState()
    course.measure("user", "I need a train to Bern.")
    row, _ = course.measure("assistant", "When do you want to leave?")
    total, parts = model.weigh(row)
    roots = sum(tree.values[0] for tree in model.trees)
    assert total == pytest.approx(model.base + roots + sum(parts))


def test_numbers_beyond_the_training_range_are_clipped() -> None:
    """A message of a million words is weighed as a long message."""
    model = load_model()
    assert model.weigh([1e9] * len(model.names)) == model.weigh(list(model.most))


def test_training_finds_the_deciding_numbers_and_round_trips() -> None:
    """Two of five numbers decide, one of them only together with the other."""
    lots = np.random.default_rng(3)
    rows = lots.random((4_000, 5))
    gold = ((rows[:, 0] > 0.5) & (rows[:, 3] > 0.4)).astype(float)
    found = learn(rows, gold, np.ones(len(rows)), trees=30)
    model = model_of(json.loads(json.dumps(found.to_json(("a", "b", "c", "d", "e"), 0.25))))
    scores = found.scores(rows[:50])
    assert [model.weigh(list(row))[0] for row in rows[:50]] == pytest.approx(list(scores - 0.25), abs=1e-3)
    right = (found.scores(rows) > 0) == (gold > 0.5)
    assert right.mean() > 0.95
    _, parts = model.weigh([0.9, 0.5, 0.5, 0.9, 0.5])
    assert {n for n, part in zip(model.names, parts, strict=True) if abs(part) > 0.5} == {"a", "d"}
