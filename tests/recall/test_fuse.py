"""The weights: trees evaluated per clue give what walking them one by one gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.llm.encoders.encoder import encoder_of
from backscroll.recall.clues import measure, measure_best
from backscroll.recall.fuse import MOST_LEAVES, fusion, laid_out
from backscroll.recall.index.candidate import Candidate, prepare
from backscroll.recall.index.index import RecallIndex
from backscroll.recall.question.analysis import understand

CLUES = ("a", "b", "c")
VALUES = st.floats(-4, 4, width=32)


@st.composite
def trees(draw: st.DrawFn) -> dict[str, Any]:
    """A tree of up to 16 leaves, of any shape."""
    clue: list[int] = []
    limit: list[float] = []
    yes: list[int] = []
    no: list[int] = []
    points: list[float] = []

    def grow(leaves: int) -> int:
        if leaves == 1:
            points.append(draw(st.floats(-2, 2)))
            return -len(points)
        node = len(clue)
        clue.append(draw(st.integers(0, len(CLUES) - 1)))
        limit.append(draw(VALUES))
        yes.append(0)
        no.append(0)
        left = draw(st.integers(1, leaves - 1))
        yes[node] = grow(left)
        no[node] = grow(leaves - left)
        return node

    grow(draw(st.integers(1, MOST_LEAVES)))
    return {"clue": clue, "limit": limit, "yes": yes, "no": no, "points": points}


def walked(tree: dict[str, Any], row: dict[str, float]) -> float:
    """The points of a text by following the answers."""
    if not tree["clue"]:
        return tree["points"][0]
    node = 0
    while node >= 0:
        below = row[CLUES[tree["clue"][node]]] <= tree["limit"][node]
        node = tree["yes"][node] if below else tree["no"][node]
    return tree["points"][-node - 1]


@given(
    st.lists(trees(), min_size=1, max_size=4),
    st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=8),
)
def test_all_at_once_is_as_one_by_one(grown: list[dict[str, Any]], rows: list[tuple[float, ...]]) -> None:
    """The score is the sum of the points at which a text ends up in each tree."""
    columns = {name: np.asarray([row[i] for row in rows]) for i, name in enumerate(CLUES)}
    wanted = [sum(walked(tree, dict(zip(CLUES, row, strict=True))) for tree in grown) for row in rows]
    assert laid_out(CLUES, grown).score(columns) == pytest.approx(wanted)


@given(
    st.lists(trees(), max_size=2),
    st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=8),
    st.tuples(VALUES, VALUES, VALUES),
    VALUES,
)
def test_the_sum_stands_beside_the_trees(
    grown: list[dict[str, Any]],
    rows: list[tuple[float, ...]],
    weights: tuple[float, ...],
    start: float,
) -> None:
    """Each clue counts within its range only: a text with a thousand numbers is not a thousand times as likely."""
    columns = {name: np.asarray([row[i] for row in rows]) for i, name in enumerate(CLUES)}
    made = laid_out(CLUES, grown, {n: (w, -1.0, 2.0) for n, w in zip(CLUES, weights, strict=True)}, start)
    wanted = [
        start
        + sum(walked(tree, dict(zip(CLUES, row, strict=True))) for tree in grown)
        + sum(weight * min(max(value, -1), 2) for weight, value in zip(weights, row, strict=True))
        for row in rows
    ]
    assert made.score(columns) == pytest.approx(wanted)


def test_plausible_texts_among_many_are_weighed() -> None:
    """Those among the best of some order, with their clues among all texts."""
    index = RecallIndex()
    index.extend([prepare(Candidate(n, f"roses and tulips number {n}")) for n in range(2_000)])
    index.extend([prepare(Candidate("answer", "the staging port is 8443"))])
    asked = understand("which port does staging use?")
    found, every = measure_best(index, asked, [77]), measure(index, asked)
    assert len(found.rows) < 1_000
    assert {77, 2_000} <= set(found.rows.tolist())
    for name, values in every.items():
        assert found.clues[name].tolist() == values[found.rows].tolist(), name
    scores = fusion(vectors=False).score(found.clues)
    assert found.rows[scores.argmax()] == 2_000


@pytest.mark.parametrize("vectors", [True, False])
def test_text_with_the_words_is_the_best_of_a_few(vectors: bool) -> None:
    """Habits of long conversations (the user said what is asked for) do not outweigh it."""
    encoder = encoder_of("wordllama" if vectors else "none")
    index = RecallIndex(None if encoder is None else encoder.encode)
    talk = [
        "The tide table is wrong around midnight: it lists the high water of 00:00 twice, once for today and once for tomorrow.",
        "Looking at tides.py. The day is cut at midnight UTC minus a fixed hour. I'll cut the day in the harbour's own zone.",
        "Good. Add a test.",
        "Added: the tests pass.",
    ]
    index.extend([prepare(Candidate(n, text, assistant=n % 2 == 1)) for n, text in enumerate(talk)])
    scores = fusion(vectors=vectors).score(measure(index, understand("why was the day cut wrong?")))
    assert scores.argmax() == 1


@pytest.mark.parametrize("vectors", [True, False])
def test_weights_use_measured_clues_only(vectors: bool) -> None:
    """Data file and code match."""
    index = RecallIndex()
    index.extend([prepare(Candidate(1, "the port is 8443")), prepare(Candidate(2, "roses are red"))])
    clues = measure(index, understand("which port?"))
    made = fusion(vectors=vectors)
    assert {steps.clue for steps in made.steps} | set(made.weights) <= set(clues)
    assert all(low <= high for _, low, high in made.weights.values())
    scores = fusion(vectors=vectors).score(clues)
    assert np.isfinite(scores).all()
