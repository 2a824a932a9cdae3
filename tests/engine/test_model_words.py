"""What a model wrote stands in prompts: from the next compaction on, so that what was sent before stays as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

import backscroll
from backscroll.engine.engine import Engine
from backscroll.engine.thread import Thread
from backscroll.engine.tree.model_summaries import write_pending
from backscroll.engine.tree.tree import catch_up
from backscroll.testing import Line, Scenario, ScriptedServer


def talk(engine: Engine, turns: int) -> Thread:
    thread = engine.create("Talk")
    read_pages(thread, 0, turns)
    return thread


def read_pages(thread: Thread, first: int, last: int) -> None:
    for n in range(first, last):
        words = " ".join(f"Harbour {n}-{k} reports {n * k} centimetres of water." for k in range(40))
        thread.append("user", f"Read page {n}. {words}")
        thread.append("assistant", f"Page {n} is read. {words}")


def test_model_summaries_appear_with_the_next_compaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then prompts keep their bytes."""
    monkeypatch.setenv("BACKSCROLL_CONFIG", str(tmp_path / "config.toml"))
    with backscroll.open(tmp_path / "s.db", background=False) as engine:
        thread = talk(engine, 60)
        thread.compact(budget=24_000)
        before = thread.prompt(24_000).messages
        with ScriptedServer(Scenario((Line(text="A model wrote this."),))) as server:
            (tmp_path / "config.toml").write_text(f'[providers.a]\nbase_url = "{server.url}"\nmodel = "m"\n')
            catch_up(engine, thread.id)
            assert write_pending(engine, thread.id, 100) > 0
            assert server.asked
        assert thread.prompt(24_000).messages == before
        assert "A model wrote this." not in str(before)
        read_pages(thread, 60, 68)
        assert thread.compact(budget=20_000).event is not None
        assert "A model wrote this." in str(thread.prompt(24_000).messages)
