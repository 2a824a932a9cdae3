"""Graphs for prompts: turns are numbered in memory, long graphs are not waited for, a worker keeps what prompts share."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import backscroll
from backscroll.config import Settings
from backscroll.engine.background.worker import Worker
from backscroll.engine.engine import Engine
from backscroll.engine.knowledge import graph_holder as graph_holding
from backscroll.engine.knowledge.analysis import catch_up
from backscroll.engine.knowledge.graph_cache import held_graph
from backscroll.engine.knowledge.graph_holder import at_hand, graph_of, warm
from backscroll.stores.sqlite.store import SqliteStore
from tests.properties.living import graph_dump


def _told(engine: Engine, turns: int = 12) -> backscroll.Thread:
    thread = engine.create("tale")
    for n in range(turns):
        thread.append("user", f"Where is Anna on day {n}?")
        thread.append("assistant", f"Anna lives in Place{n % 5}. Toran is Anna's brother.")
    catch_up(engine, thread.id)
    return thread


def _has_graph(thread: backscroll.Thread) -> bool:
    """Whether a prompt that is built now would have a graph to look at."""
    thread.append("user", "Tell me about Anna.")
    with at_hand(thread, 60) as held:
        return held is not None


def test_cached_turn_numbers_follow_the_history(tmp_path: Path) -> None:
    """After deleting, bringing back, inserting and moving, the number in memory is that of the store."""
    with Engine(SqliteStore(tmp_path / "s.db"), Settings(background=False)) as engine:
        thread = _told(engine)
        openings = [thread.turn(n).messages[0].id for n in range(1, 13)]
        acts = (
            lambda: thread.delete(openings[3], openings[4]),
            lambda: thread.restore(openings[4]),
            lambda: thread.insert("user", "And Boris?", after=thread.turn(2).messages[-1].id),
            lambda: thread.move(openings[7], after=openings[0]),
            lambda: thread.append("user", "And now?"),
        )
        for act in acts:
            act()
            graph_of(thread)
            held = held_graph(engine, thread.id)
            assert held is not None
            number = thread.graph.numbers()
            assert [held.number(o) for o in openings] == [number(o) for o in openings]


def test_first_prompt_does_not_wait_for_a_large_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a worker it is put together at the second prompt; a short one at once."""
    monkeypatch.setattr(graph_holding, "_COLD", 5)
    with Engine(SqliteStore(tmp_path / "s.db"), Settings(background=False)) as engine:
        thread = _told(engine)
    with Engine(SqliteStore(tmp_path / "s.db"), Settings(background=False)) as engine:
        thread = engine.thread(thread.id)
        assert [_has_graph(thread) for _ in range(3)] == [False, True, True]
        short = _told(engine, turns=4)
        assert held_graph(engine, short.id) is None
        short.append("user", "Tell me about Anna.")
        with at_hand(short, 60) as held:
            assert held is not None


def test_first_prompt_includes_a_small_graph_despite_a_worker(tmp_path: Path) -> None:
    """An override set just before is in the prompt."""
    with Engine(SqliteStore(tmp_path / "s.db"), Settings(background=True)) as engine:
        thread = engine.create("tale")
        thread.graph.add("Anna")
        thread.graph.set("Anna", "mood", "grey")
        engine.worker()  # a rehearsal starts none
        thread.append("user", "Tell me about Anna.")
        assert _has_graph(thread)


def test_prompts_use_the_graph_of_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first prompt leaves a large one out, later ones have it, and it is that of a rebuild."""
    monkeypatch.setattr(graph_holding, "_SMALL", 5)
    with Engine(SqliteStore(tmp_path / "s.db"), Settings(background=False)) as engine:
        thread = _told(engine)
    with Engine(SqliteStore(tmp_path / "s.db"), Settings(background=True)) as engine:
        thread = engine.thread(thread.id)
        engine.worker()  # a rehearsal starts none
        assert not _has_graph(thread)
        for _ in range(200):
            if _has_graph(thread):
                break
            time.sleep(0.05)
        else:
            pytest.fail("the worker never put the graph together")
        thread.delete(thread.turn(12).messages[1].id)
        with at_hand(thread, 10_000) as held:
            assert held is not None
            assert held.graph.node("Anna") == graph_of(thread).node("Anna")
    with Engine(SqliteStore(tmp_path / "s.db"), Settings(background=False)) as engine:
        thread = engine.thread(thread.id)
        warm(thread)
        before = graph_dump(thread)
        engine.memo.clear()
        assert before == graph_dump(thread)


def test_unanalysed_deletion_reaches_the_next_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Overrides may be read up to an event that the analysis has not reached: the shared graph is not up to date by that."""
    for name in ("start", "tell", "warm"):  # a worker lives, and is busy elsewhere
        monkeypatch.setattr(Worker, name, lambda *_: None)
    monkeypatch.setattr(Worker, "working", True)
    with Engine(SqliteStore(tmp_path / "s.db"), Settings(background=True)) as engine:
        thread = _told(engine)
        engine.worker()
        warm(thread)
        thread.delete(thread.turn(5).messages[1].id)
        warm(thread)  # as a worker does that was in the middle of it
        with at_hand(thread, 10_000) as held:
            assert held is not None
            assert held.graph.node("Anna") == graph_of(thread).node("Anna")


def test_cached_graph_is_dropped_after_a_forget(tmp_path: Path) -> None:
    """After a forget the shared graph is another one, without the words."""
    with Engine(SqliteStore(tmp_path / "s.db"), Settings(background=False)) as engine:
        thread = _told(engine)
        thread.append("user", "Who else?")
        thread.append("assistant", "Xerxes is Anna's uncle.")
        thread.graph.flush()
        warm(thread)
        with at_hand(thread, 60) as held:
            assert held is not None
            assert held.graph.find("Xerxes") is not None
        thread.forget(thread.turn(13).messages[1].id)
        warm(thread)
        catch_up(engine, thread.id)
        with at_hand(thread, 10_000) as held:
            assert held is not None
            assert held.graph.find("Xerxes") is None
