"""What a model has still to write for a thread: steady turns, then spans; imported ones only on request; edits make one path due."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.engine import Engine
from backscroll.engine.thread import Thread
from backscroll.engine.tree.model_summaries import estimate, node_words, write_all, write_pending
from backscroll.engine.tree.tree import catch_up
from backscroll.errors import Conflict, InvalidInput
from backscroll.record.derived import SummaryNode
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.testing.scenario import Fault
from backscroll.vocab.values.moment import microseconds

GOOD = Line(text=json.dumps({"text": "A model wrote this."}))


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setenv("BACKSCROLL_CONFIG", str(tmp_path / "config.toml"))
    with backscroll.open(tmp_path / "s.db", background=False) as engine:
        yield engine


def talk(engine: Engine, turns: int, said: str | None = None) -> Thread:
    """A thread of turns long enough to be condensed; `said` is when, for those that are imported."""
    thread = engine.create("Talk")
    for n in range(turns):
        words = " ".join(f"Harbour {n}-{k} reports {n * k} centimetres of water." for k in range(40))
        thread.append("user", f"Read page {n}. {words}", at=said)
        thread.append("assistant", f"Page {n} is read. {words}", at=said)
    catch_up(engine, thread.id)
    return thread


@contextmanager
def configured(tmp_path: Path, *lines: Line, more: str = "") -> Iterator[ScriptedServer]:
    """A scripted model as the provider of the settings file."""
    with ScriptedServer(Scenario(lines=lines or (GOOD,))) as server:
        table = f'[providers.here]\nbase_url = "{server.url}"\nmodel = "m"\ntries = 1\n{more}'
        (tmp_path / "config.toml").write_text(table, encoding="utf-8")
        yield server


def nodes(engine: Engine, thread: Thread) -> list[SummaryNode]:
    return engine.store.read(lambda reader: [n for level in range(4) for n in reader.nodes(thread.id, level)])


def written(engine: Engine, thread: Thread) -> set[tuple[int, int]]:
    """Level and opening of the nodes for which a model wrote something."""
    found = nodes(engine, thread)
    words = engine.store.read(lambda reader: node_words(reader, found))
    return {(n.level, n.opening.seq) for n in found if n.key in words}


def test_no_model_is_asked_without_a_provider(engine: Engine) -> None:
    """An explicit request says what is missing."""
    thread = talk(engine, 6)
    assert write_pending(engine, thread.id, 10) == 0
    with pytest.raises(InvalidInput) as caught:
        write_all(engine, thread.id)
    assert "providers" in caught.value.hint


def test_steady_turns_are_summarized_in_the_background(engine: Engine, tmp_path: Path) -> None:
    """The last turns, which may still be edited, cost nothing; a second look finds nothing to do."""
    thread = talk(engine, 8)
    with configured(tmp_path) as server:
        made = write_pending(engine, thread.id, 100)
        assert made == len(server.asked) > 0
        assert write_pending(engine, thread.id, 100) == 0
        assert len(server.asked) == made
        asked = "\n".join(a.everything for a in server.asked)
    assert "Read page 0." in asked
    for recent in (5, 6, 7):
        assert f"Read page {recent}." not in asked
    assert len([n for level, n in written(engine, thread) if level == 0]) >= 3


def test_new_turns_are_summarized_once_steady(engine: Engine, tmp_path: Path) -> None:
    """Existing summaries stay."""
    thread = talk(engine, 6)
    with configured(tmp_path):
        write_pending(engine, thread.id, 100)
        before = written(engine, thread)
        words = " ".join(f"Word {k}." for k in range(300))
        for n in range(4):
            thread.append("user", f"More {n}. {words}")
            thread.append("assistant", f"Fine {n}. {words}")
        catch_up(engine, thread.id)
        write_pending(engine, thread.id, 100)
    assert {n for n in before if n[0] == 0} < written(engine, thread)


def test_imported_turns_wait_for_consent(engine: Engine, tmp_path: Path) -> None:
    """Old threads cost nothing until requested; the price is estimated first."""
    thread = talk(engine, 8, said="2020-01-01T12:00:00+00:00")
    with configured(tmp_path) as server:
        assert write_pending(engine, thread.id, 100) == 0
        told = estimate(engine, thread.id)
        assert server.asked == []
        assert told.texts > 0
        assert told.input > 1000
        assert told.dollars is None  # nobody knows what this model costs
        done = write_all(engine, thread.id)
        assert 0 < done.texts <= told.texts  # short gists may leave a span nothing to merge
        assert done.calls == len(server.asked)
        assert estimate(engine, thread.id).texts == 0


def test_edit_makes_only_one_path_due(engine: Engine, tmp_path: Path) -> None:
    """Only the edited turn and its ancestors in the tree are summarized again; undo costs nothing."""
    thread = talk(engine, 30)
    with configured(tmp_path) as server:
        write_all(engine, thread.id)
        first = len(server.asked)
        message = thread.message(0)
        words = " ".join(f"Other {k} words." for k in range(200))
        thread.edit(message.id, f"Read another page. {words}")
        catch_up(engine, thread.id)
        write_pending(engine, thread.id, 100)
        again = server.asked[first:]
        assert 0 < len(again) <= 4
        assert "Read another page." in again[0].everything
        thread.undo()
        catch_up(engine, thread.id)
        write_pending(engine, thread.id, 100)
        assert len(server.asked) == first + len(again)


def test_deleted_turn_leaves_no_summary_text(engine: Engine, tmp_path: Path) -> None:
    """Summaries after a delete are written without it."""
    thread = talk(engine, 12)
    echo = Line(contains=("Read page 2.",), text=json.dumps({"text": "Page two says xylophone."}))
    with configured(tmp_path, echo, GOOD):
        write_all(engine, thread.id)
        found = nodes(engine, thread)
        words = engine.store.read(lambda reader: node_words(reader, found))
        assert any("xylophone" in w.text for w in words.values())
        for message in thread.turn(3).messages:
            thread.delete(message.id)
        catch_up(engine, thread.id)
        write_all(engine, thread.id)
        found = nodes(engine, thread)
        words = engine.store.read(lambda reader: node_words(reader, found))
    assert words
    assert not any("xylophone" in w.text for w in words.values())


def test_failing_service_stops_the_work_after_one_call(engine: Engine, tmp_path: Path) -> None:
    """Not one call per text; the work continues when the service is back."""
    thread = talk(engine, 10)
    with configured(tmp_path, Line(fault=Fault(500, "down"))) as server:
        assert write_pending(engine, thread.id, 100) == 0
        assert len(server.asked) == 1
        done = write_all(engine, thread.id)
        assert (done.texts, done.rules) == (0, 1)
        assert "down" in done.why
    with configured(tmp_path):
        assert write_pending(engine, thread.id, 100) > 0


def test_unusable_answers_are_retried_once_only(engine: Engine, tmp_path: Path) -> None:
    """After two attempts, the rule-based text stays."""
    thread = talk(engine, 6)
    with configured(tmp_path, Line(text="{no")) as server:
        assert write_pending(engine, thread.id, 100) == 0
        first = len(server.asked)
        write_all(engine, thread.id)
        assert len(server.asked) == first
    assert written(engine, thread) == set()


def test_summaries_can_be_switched_off(engine: Engine, tmp_path: Path) -> None:
    """A provider that only answers writes no summaries."""
    thread = talk(engine, 8)
    with configured(tmp_path, more="summaries = false\n") as server:
        assert write_pending(engine, thread.id, 100) == 0
        assert server.asked == []


def test_summaries_after_a_moment_can_be_excluded(engine: Engine, tmp_path: Path) -> None:
    """So that an already compacted prompt keeps its prefix."""
    thread = talk(engine, 8)
    before = engine.means.now()
    with configured(tmp_path):
        write_pending(engine, thread.id, 100)
    found = nodes(engine, thread)
    assert engine.store.read(lambda reader: node_words(reader, found, before)) == {}
    assert engine.store.read(lambda reader: node_words(reader, found, engine.means.now()))


def test_summaries_are_written_for_the_state_of_the_tree(engine: Engine, tmp_path: Path) -> None:
    """Words that came after the tree last looked are never written under an older key."""
    thread = talk(engine, 8)
    message = thread.message(0)
    thread.edit(message.id, "Read a quite different page. " + " ".join(f"Zebra {k}." for k in range(200)))
    with configured(tmp_path) as server:
        write_pending(engine, thread.id, 100)
        assert not any("Zebra" in a.everything for a in server.asked)


def test_one_writer_per_thread_at_a_time(engine: Engine, tmp_path: Path) -> None:
    """Other workers skip a claimed thread; the claim of a dead worker expires."""
    thread = talk(engine, 8)
    name = f"modelling {thread.id}"
    until = microseconds(engine.means.now()) + 60_000_000
    engine.store.write(lambda tx: tx.set_meta(name, f"somebody {until}"))
    with configured(tmp_path) as server:
        assert write_pending(engine, thread.id, 100) == 0
        with pytest.raises(Conflict):
            write_all(engine, thread.id)
        assert server.asked == []
        engine.store.write(lambda tx: tx.set_meta(name, f"somebody {until - 120_000_000}"))
        assert write_pending(engine, thread.id, 100) > 0
    assert not engine.store.read(lambda reader: reader.meta(name))


@pytest.mark.postgres
def test_concurrent_writers_pay_once_on_postgresql(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same where the store is a server."""
    monkeypatch.setenv("BACKSCROLL_CONFIG", str(tmp_path / "config.toml"))
    with backscroll.open(database_url, background=False) as engine:
        test_concurrent_writers_pay_once(engine, tmp_path)


def test_concurrent_writers_pay_once(engine: Engine, tmp_path: Path) -> None:
    """Threads of this process that want the same texts make each call once."""
    thread = talk(engine, 8)
    with configured(tmp_path, Line(text="Fine.", delay=0.02)) as server:
        workers = [threading.Thread(target=write_pending, args=(engine, thread.id, 100)) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        asked = [a.last[1] for a in server.asked]
    assert len(asked) == len(set(asked)) > 0


def test_work_can_be_stopped_between_two_calls(engine: Engine, tmp_path: Path) -> None:
    """Stopping waits for at most one call; the rest stays due."""
    thread = talk(engine, 8)
    with configured(tmp_path) as server:
        assert write_pending(engine, thread.id, 100, lambda: len(server.asked) >= 2) == 2
        assert len(server.asked) == 2
        assert write_pending(engine, thread.id, 100) > 0
