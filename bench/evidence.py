"""Adapter of the ranking behind recall for the shared retrieval benchmark (part, not product).

    cd ../shared/bench/retrieval && PYTHONPATH=<this repository> python run.py --system bench.evidence:Recall

The product's own row is `bench.evidence_product` (`--system bench.evidence_product:Product`). The same pure modules as there: `recall/index/candidate`, `recall/index/index`, `recall/clues`, `recall/fuse`, `recall/selection`. The benchmark packs
the turns itself, in the order given; `now` is the day of the last turn, because the data has no time of the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any, Protocol

import numpy as np

from backscroll.llm.encoders.encoder import encoder_of
from backscroll.recall.clues import measure
from backscroll.recall.fuse import fusion
from backscroll.recall.index.candidate import Candidate, prepare
from backscroll.recall.index.index import RecallIndex
from backscroll.recall.question.analysis import understand
from backscroll.recall.question.times import find_times
from backscroll.recall.selection import in_order

_ASSISTANTS = frozenset({"assistant", "ai", "bot"})


class Said(Protocol):
    """A turn of the benchmark."""

    id: str
    session: str
    date: str
    speaker: str
    text: str


def first_day(text: str) -> date | None:
    """Return the first full date in the heading of a session."""
    return next((days.first for days in find_times(text) if days.first == days.last), None)


def candidate_of(turn: Said) -> Candidate:
    """A turn as recall sees it."""
    day = first_day(turn.date) if turn.date else None
    assistant = turn.speaker.casefold() in _ASSISTANTS
    return Candidate(turn.id, turn.text, turn.speaker, assistant, day, turn.session)


class Recall:
    """One conversation."""

    budget_free = True  # the order is by value per token, the same for every budget
    encoder = "wordllama"

    def __init__(self, lang: str = "en") -> None:
        self.lang = lang  # not used: one setting for every language
        found = encoder_of(self.encoder)
        self.encode = None if found is None else found.encode
        fusion(vectors=self.encode is not None)
        if self.encode is not None:
            self.encode(["warm", "热"])

    def ingest(self, turns: Sequence[Said]) -> None:
        """Take in a conversation."""
        self.index = RecallIndex(self.encode)
        self.index.extend([prepare(candidate_of(turn)) for turn in turns])
        days = [text.candidate.day for text in self.index.texts if text.candidate.day is not None]
        self.now = max(days, default=None)
        self.prices = np.asarray([text.price for text in self.index.texts])
        _ = self.index.space, self.index.shape

    def context(self, question: str, budget: int) -> list[Any]:
        """Turn ids, the best value first."""
        del budget
        clues = measure(self.index, understand(question, self.now))
        scores = fusion(vectors=self.encode is not None).score(clues)
        return [self.index.texts[number].candidate.key for number in in_order(scores, self.prices)]


class Words(Recall):
    """The same without vectors."""

    encoder = "none"
