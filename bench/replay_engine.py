"""The whole engine as a policy of the replay harness: what a thread's own prompts cost and keep.

    cd ../shared/bench/replay && PYTHONPATH=<this repository> python run.py --policy bench.replay_engine:Engine --source specstory

Where `bench/replay_policy` asks the pure rooms alone, this one writes the recorded session into a store and asks `Thread.prompt` before
every recorded call: the sheet, compactions that are written down, the summary tree, what is still binding, the volatile tail. The tail
stands in a message of its own at the end, so the harness's column `tail` counts the calls that have one.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import backscroll
from backscroll.vocab.prompt import Level
from bench.replay_policy import message_of, recorded_of


class Engine:
    """A thread that is written call by call, and asked for a prompt before each."""

    recall = True

    def reset(self, meta: dict[str, Any]) -> None:
        """A new trajectory, in a store of its own."""
        self.folder = tempfile.TemporaryDirectory(prefix="backscroll-replay-")
        self.engine = backscroll.open(Path(self.folder.name) / "replay.db", background=False)
        self.thread = self.engine.create(str(meta["id"]))
        self.places: dict[Any, int] = {}  # message -> its number in the recorded history
        self.compactions = 0

    def prompt(self, history: list[dict[str, Any]], budget: int) -> tuple[list[dict[str, Any]], list[Any]]:
        """The prompt for this call."""
        for number in range(len(self.places), len(history)):
            recorded = message_of(number, history[number])
            made = self.thread.append(recorded.role, list(recorded.parts))
            self.places[made.id] = number
        made_now = self.thread.prompt(budget, wire="openai-chat", reserve=0, recall=self.recall)
        self.compactions += bool(made_now.receipt.compaction)
        out: list[dict[str, Any]] = []
        for block in made_now.blocks:
            whole = block.level is Level.VERBATIM and block.message in self.places
            number = self.places.get(block.message, -1)
            same = whole and history[number]["role"] == block.role
            out.append(history[number] if same else recorded_of(block))
        return out, []


class Plain(Engine):
    """The same without recalled details and without the graph."""

    recall = False
