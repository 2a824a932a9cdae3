"""Living memory that a model reads: given log and journal, a rebuild and another store come to the same, without another call.

A scripted model over real HTTP says something about every mark in a turn. Between its readings everything happens that happens
elsewhere. What it said of deleted words is not told, and of forgotten ones no byte is left, in artefacts or in the journal.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from backscroll.engine.background.worker import Worker, bring_up_to_date
from backscroll.engine.engine import Engine
from backscroll.engine.knowledge.model_turns import read_pending
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.testing.request import ScriptedRequest
from tests.only_provider import configure_only_provider
from tests.properties.living import living
from tests.properties.memory import opened, without_derived
from tests.properties.test_living import MARK, explore, places
from tests.properties.test_living_more import Busier

_MESSAGE = re.compile(r"^\[(\d+)\] [^\n]*:\n(.*?)(?=\n\n\[|\n</)", re.MULTILINE | re.DOTALL)
SAYING = "modelled"


def read_by_model(asked: ScriptedRequest) -> Line:
    """What the model answers: a statement about every mark; other requests get a word."""
    if '"assertions"' not in asked.system:
        return Line(text="Read.")
    said = [
        {
            "kind": "attribute",
            "subject": mark,
            "type": "person",
            "predicate": "mood",
            "value": SAYING,
            "object": "",
            "object_type": "",
            "quote": line,
            "message": int(number),
        }
        for number, text in _MESSAGE.findall(asked.last[1])
        for line in text.splitlines()
        for mark in MARK.findall(line)
    ]
    return Line(text=json.dumps({"assertions": said}, ensure_ascii=False))


class Reading(Busier):
    """The same with a model that reads turns now and then."""

    def __init__(self, folder: Path, server: ScriptedServer) -> None:
        super().__init__(folder)
        self.server = server

    @rule(which=places, limit=st.integers(1, 6))
    def read_some(self, which: int, limit: int) -> None:
        thread = self.thread(which)
        read_pending(self.engine, thread.id, limit)

    @rule()
    def work(self) -> None:
        """A worker that asks the model too."""
        worker = Worker(self.engine, models=True)
        worker.run()
        assert worker.progress.last_error == ""

    def everything_read(self, engine: Engine) -> None:
        for name in self.ids:
            bring_up_to_date(engine, name)
        for name in self.ids:
            read_pending(engine, name)

    def what_must_hold(self) -> None:
        for _ in range(2):
            self.everything_read(self.engines[0])
            for name in self.ids:  # after a long silence looking at the graph makes the last turns due
                self.engines[0].thread(name).graph.nodes(limit=1)
        self.everything_read(self.engines[0])
        super().what_must_hold()

    def equals_a_rebuild(self, held: dict[str, Any]) -> None:
        """Nothing derived, but the journal: the same, and nobody is asked again."""
        paid = len(self.server.asked)
        copy = self.folder / "again.db"
        without_derived(self.folder / "store.db", copy)
        with opened(copy, self.clock, 3, **self.how) as fresh:
            self.same(fresh, held)
        copy.unlink()
        self.equals_elsewhere(held)
        assert len(self.server.asked) == paid

    def same(self, engine: Engine, held: dict[str, Any]) -> None:
        self.everything_read(engine)
        for name in self.ids:
            found = living(engine.thread(name))
            for what in held[name]:
                assert found[what] == held[name][what], what


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The model, as the only provider."""
    running = ScriptedServer(Scenario(cache=False))
    running.service.answering = read_by_model
    with running:
        configure_only_provider(running.url, tmp_path, monkeypatch)
        yield running


def test_living_memory_read_by_a_model(tmp_path: Path, server: ScriptedServer) -> None:
    """What a model said follows the history like all the rest, and is paid for once."""
    folder = tmp_path / "runs"
    folder.mkdir()
    explore(
        lambda: Reading(Path(tempfile.mkdtemp(dir=folder)), server), max(4, settings().max_examples // 12), 25
    )
    assert any('"assertions"' in asked.system for asked in server.asked)
