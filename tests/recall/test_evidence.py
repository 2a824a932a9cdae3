"""The adapter of the evidence benchmark: the product's own modules, called by another harness."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.evidence import Recall, Words, candidate_of

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "retrieval"


@dataclass
class Turn:
    """A turn as the harness hands it over."""

    id: str
    session: str
    date: str
    speaker: str
    text: str


TURNS = [
    Turn("1", "a", "2:14 pm on 13 October, 2022", "John", "I bought headphones from a small shop."),
    Turn("2", "a", "2:14 pm on 13 October, 2022", "James", "Which ones?"),
    Turn("3", "a", "2:14 pm on 13 October, 2022", "John", "The blue ones, for gaming."),
    Turn("4", "b", "2024年04月05日 周五 13:43", "assistant", "今天天气很好。"),
]


@pytest.mark.parametrize("system", [Recall, Words])
def test_every_turn_is_listed_once_best_first(system: type[Recall]) -> None:
    """The harness packs what it gets; what answers comes first."""
    made = system("en")
    made.ingest(TURNS)
    order = made.context("Which headphones did John buy?", 512)
    assert sorted(order) == ["1", "2", "3", "4"]
    assert order.index("1") < order.index("4")
    assert order == made.context("Which headphones did John buy?", 4096)


def test_turns_have_dates_and_speakers() -> None:
    """Dates are read from headings of any shape; the assistant is known by its name."""
    seen = [candidate_of(turn) for turn in TURNS]
    assert [str(one.day) for one in seen] == ["2022-10-13"] * 3 + ["2024-04-05"]
    assert [one.assistant for one in seen] == [False, False, False, True]


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared retrieval data are not beside the repository")
def test_evidence_is_found_in_real_conversations() -> None:
    """A small set of questions: nearly always within the first ten of seventy turns."""
    hits = total = 0
    with (DATA / "memorybank-zh.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            conversation = json.loads(line)
            made = Recall("zh")
            made.ingest([Turn(**turn) for turn in conversation["turns"]])
            for question in conversation["questions"]:
                first = made.context(question["text"], 512)[:10]
                hits += sum(gold in first for gold in question["gold"])
                total += len(question["gold"])
    assert hits >= 0.9 * total
