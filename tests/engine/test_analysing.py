"""The window and the delay in real threads: the example of the design notes, edits inside and outside, what waits costs nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.engine.background.worker import Worker
from backscroll.engine.knowledge.analysis import catch_up, rebuild
from backscroll.engine.knowledge.idle import flush_idle
from backscroll.engine.knowledge.model_turns import read_pending
from backscroll.engine.thread import Thread
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.vocab.assertion import TurnState
from backscroll.vocab.event import Kind
from tests.only_provider import configure_only_provider
from tests.properties.living import graph_dump, marked, reference
from tests.properties.memory import Clock, opened

WAITING, DUE, PROCESSED = TurnState.WAITING, TurnState.DUE, TurnState.PROCESSED
OUTDATED, SETTLED, FAILED = TurnState.OUTDATED, TurnState.SETTLED, TurnState.FAILED
PLACES = ("Aldermoor", "Brackwater", "Coldharbour", "Dunmere", "Eastvale", "Fernhollow", "Greywick")


@pytest.fixture(
    params=[
        pytest.param("sqlite_url", id="sqlite"),
        pytest.param("prepared_url", id="postgres", marks=pytest.mark.postgres),
    ]
)
def url(request: pytest.FixtureRequest) -> str:
    """An empty store of each kind."""
    return request.getfixturevalue(request.param)


def told(url: str, turns: int = 6, **more: Any) -> Iterator[Thread]:
    """A thread in which Ellie moves on with every turn; the window has size 3."""
    how = {"background": False, "sliding_window_size": 3, **more}
    with backscroll.open(url, **how) as engine:
        thread = engine.create("Ellie's travels")
        for n in range(turns):
            say(thread, n)
        yield thread


def say(thread: Thread, n: int) -> None:
    """One turn."""
    thread.append("user", f"Where is Ellie now? I am {20 + n} years old.")
    thread.append("assistant", f"Ellie lives in {PLACES[n]}.")


@pytest.fixture
def thread(url: str) -> Iterator[Thread]:
    """Six turns."""
    yield from told(url)


def states(thread: Thread) -> dict[int, TurnState]:
    return {s.number: s.state for s in thread.window.states()}


def home(thread: Thread) -> str:
    """Where Ellie lives, as the graph has it."""
    found = [f.object for f in thread.graph.node("Ellie").relations if f.predicate == "lives_in"]
    return found[0] if found else ""


def reply(thread: Thread, turn: int) -> Any:
    return thread.turn(turn).messages[1].id


# -- the example of the design notes -----------------------------------------------------------------------------


def test_window_of_three_over_six_turns(thread: Thread) -> None:
    """The window is turns 3 to 5, and sending turn 6 made turn 4 due."""
    assert thread.window.span == (3, 5)
    assert thread.window.target == 4
    assert [thread.window.eligible(n) for n in range(1, 7)] == [False, False, True, True, True, True]
    catch_up(thread.engine, thread.id)
    assert states(thread) == {1: SETTLED, 2: SETTLED, 3: PROCESSED, 4: PROCESSED, 5: WAITING, 6: WAITING}
    assert home(thread) == "dunmere"


def test_next_turn_makes_another_turn_due(thread: Thread) -> None:
    """When turn 7 is sent, turn 5 is analysed, and turn 3 leaves the window."""
    catch_up(thread.engine, thread.id)
    say(thread, 6)
    assert states(thread) == {
        1: SETTLED,
        2: SETTLED,
        3: SETTLED,
        4: PROCESSED,
        5: DUE,
        6: WAITING,
        7: WAITING,
    }
    assert home(thread) == "eastvale"
    assert states(thread)[5] is PROCESSED


def test_edit_inside_the_window_is_analysed_again(thread: Thread) -> None:
    """The last version wins, and only that turn is due."""
    catch_up(thread.engine, thread.id)
    thread.edit(reply(thread, 4), "Ellie lives in Greywick.")
    assert states(thread) == {1: SETTLED, 2: SETTLED, 3: PROCESSED, 4: OUTDATED, 5: WAITING, 6: WAITING}
    assert home(thread) == "greywick"
    thread.regenerate(reply(thread, 4), "Ellie lives in Fernhollow.")
    assert home(thread) == "fernhollow"
    thread.choose(reply(thread, 4), 0)
    assert home(thread) == "greywick"
    thread.undo()
    thread.undo()
    thread.undo()
    assert home(thread) == "dunmere"


def test_edit_outside_the_window_is_ignored(thread: Thread) -> None:
    """The history and the prompt change, the graph does not."""
    thread.delete(thread.turn(4).messages[0].id, reply(thread, 4))
    thread.delete(thread.turn(3).messages[0].id, reply(thread, 3))
    for n in (6, 5, 6):
        say(thread, n)
    thread.graph.flush()
    before = graph_dump(thread)
    thread.edit(reply(thread, 1), "Ellie lives in Nowhere Bay.")
    assert graph_dump(thread) == before
    assert states(thread)[1] is SETTLED


def test_reconcile_analyses_only_the_edited_settled_turn(url: str) -> None:
    """`settled_edits: reconcile`: the edited turn is read again, the others are not."""
    for thread in told(url, conflict_resolution_settled_edits="reconcile"):
        catch_up(thread.engine, thread.id)
        seen = {s.number: s.processed_at for s in thread.window.states()}
        thread.edit(reply(thread, 1), "Ellie lives in Greywick.")
        assert states(thread)[1] is OUTDATED
        first = thread.graph.at(1).node("Ellie")
        assert [f.object for f in first.relations] == ["greywick"]
        now = {s.number: s.processed_at for s in thread.window.states()}
        assert {n for n in now if now[n] != seen[n]} == {1}


def test_deleted_settled_turn_is_retracted(thread: Thread) -> None:
    """Its facts are in no view, and the facts that follow it apply."""
    catch_up(thread.engine, thread.id)
    thread.delete(*(m.id for m in thread.turn(1).messages))
    assert PLACES[0].casefold() not in repr(graph_dump(thread)).casefold()
    thread.restore(*(m.id for m in thread.messages(deleted=True) if m.deleted))
    assert PLACES[0].casefold() in repr(graph_dump(thread)).casefold()


def test_deleted_settled_turn_is_kept_if_configured(url: str) -> None:
    """`settled_deletes: ignore`: as the design notes would have it."""
    for thread in told(url, conflict_resolution_settled_deletes="ignore"):
        catch_up(thread.engine, thread.id)
        before = graph_dump(thread)["nodes"]
        thread.delete(*(m.id for m in thread.turn(1).messages))
        assert [n["name"] for n in graph_dump(thread)["nodes"]] == [n["name"] for n in before]
        assert PLACES[0].casefold() in repr(graph_dump(thread)).casefold()


def test_deleting_a_newer_fact_restores_the_old_one(thread: Thread) -> None:
    """Inside the window deleting is an edit."""
    assert home(thread) == "dunmere"
    thread.delete(*(m.id for m in thread.turn(4).messages))
    assert home(thread) == "coldharbour"


def test_turns_back_in_the_window_follow_edits_again(thread: Thread) -> None:
    """After deleting the newest turns, older turns are in the window again."""
    catch_up(thread.engine, thread.id)
    for number in (6, 5, 4, 3):
        thread.delete(*(m.id for m in thread.turn(number).messages))
    assert thread.window.eligible(1)
    thread.edit(reply(thread, 1), "Ellie lives in Greywick.")
    assert home(thread) == PLACES[1].casefold()
    thread.delete(*(m.id for m in thread.turn(2).messages))
    assert home(thread) == "greywick"


def test_sync_triggers_analysis_of_changed_turns(thread: Thread) -> None:
    """SillyTavern sends the whole list every time; changed messages are analysed again."""
    catch_up(thread.engine, thread.id)
    theirs = [{"role": m.role, "content": m.text} for m in thread]
    theirs[7] = {"role": "assistant", "content": "Ellie lives in Greywick."}
    thread.sync(theirs)
    assert states(thread)[4] is OUTDATED
    assert home(thread) == "greywick"


def test_turns_that_depend_on_an_edited_turn_are_marked_affected(url: str) -> None:
    """Until the edited turn is analysed again; then facts without support are separated."""
    with backscroll.open(url, background=False, sliding_window_size=5) as engine:
        thread = engine.create("Mira")
        for user, answer in (
            ("Who is here?", "Mira is a blacksmith."),
            ("What does Mira do?", "Mira works at the Old Forge."),
            ("And the weather?", "It rains."),
            ("Go on.", "Fine."),
        ):
            thread.append("user", user)
            thread.append("assistant", answer)
        thread.graph.nodes()
        thread.edit(reply(thread, 1), "Nobody is here.")
        told_ = {s.number: (s.state, s.affected) for s in thread.window.states()}
        assert told_[1] == (OUTDATED, False)
        assert told_[2] == (PROCESSED, True)
        thread.graph.nodes()
        assert not any(s.affected for s in thread.window.states())


def test_fork_has_its_own_window(thread: Thread) -> None:
    """Turns settled by later turns of the parent are open in the fork."""
    catch_up(thread.engine, thread.id)
    fork = thread.fork(reply(thread, 2))
    assert fork.window.span == (0, 1)
    assert states(fork) == {1: WAITING, 2: WAITING}
    fork.edit(reply(fork, 1), "Ellie lives in Greywick.")
    say(fork, 4)
    assert home(fork) == "greywick"
    assert home(thread) == "dunmere"


def test_flush_analyses_the_last_turns_and_records_an_event(thread: Thread) -> None:
    """A rebuild comes to the same; turns that come later wait again."""
    assert thread.graph.flush() == 2
    assert thread.graph.flush() == 0
    assert set(states(thread).values()) == {SETTLED, PROCESSED}
    assert [e.kind for e in thread.events()][-1] is Kind.FLUSHED
    say(thread, 6)
    assert states(thread)[7] is WAITING
    catch_up(thread.engine, thread.id)
    before = marked(thread)
    rebuild(thread.engine, thread.id)
    assert marked(thread) == before == reference(thread)


def test_greeting_is_analysed_as_turn_zero(url: str) -> None:
    """Messages before the first user message are analysed like any turn."""
    with backscroll.open(url, background=False) as engine:
        thread = engine.create("Greeting")
        thread.append("assistant", "Ellie is a forest elf.")
        for n in range(2):
            say(thread, n)
        assert thread.graph.node("Ellie").attribute("race") == "forest elf"
        assert states(thread) == {0: PROCESSED, 1: WAITING, 2: WAITING}


def test_window_settings_have_separate_marks(url: str) -> None:
    """Two programs with different windows on one store do not disturb each other."""
    name = ""
    for thread in told(url):
        catch_up(thread.engine, thread.id)
        name = thread.id
    with backscroll.open(
        url, background=False, sliding_window_size=2, sliding_window_processing_delay=0
    ) as engine:
        other = engine.thread(name)
        assert states(other)[5] is OUTDATED or states(other)[5] is DUE
        catch_up(engine, name)
        assert states(other)[5] is PROCESSED
        assert marked(other) != {}
    with backscroll.open(url, background=False, sliding_window_size=3) as engine:
        assert states(engine.thread(name))[5] is WAITING


# -- a model -----------------------------------------------------------------------------------------------------


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """A scripted model that is configured as the only provider and finds nothing in any turn."""
    answer = Line(text=json.dumps({"assertions": []}), times=10_000)
    with ScriptedServer(Scenario(lines=(answer,))) as running:
        configure_only_provider(running.url, tmp_path, monkeypatch)
        yield running


def asked(server: ScriptedServer) -> int:
    return len(server.asked)


def test_regenerating_a_turn_before_it_is_due_costs_no_call(url: str, server: ScriptedServer) -> None:
    """Ten regenerations of the newest turns cost nothing; a due turn costs one call."""
    for thread in told(url, turns=2):
        for n in range(10):
            thread.regenerate(reply(thread, 2), f"Ellie lives in {PLACES[n % 7]} with her {n} cats.")
            read_pending(thread.engine, thread.id)
        assert asked(server) == 0
        say(thread, 2)
        read_pending(thread.engine, thread.id)
        assert asked(server) == 1
        read_pending(thread.engine, thread.id)
        rebuild(thread.engine, thread.id)
        read_pending(thread.engine, thread.id)
        assert asked(server) == 1
        assert {s.number: (s.state, s.by) for s in thread.window.states()}[1] == (PROCESSED, "m")


def test_undo_of_an_edit_costs_no_call(url: str, server: ScriptedServer) -> None:
    """The reading of the old words is still there."""
    for thread in told(url, turns=3):
        read_pending(thread.engine, thread.id)
        thread.edit(reply(thread, 1), "Ellie lives in Greywick.")
        assert states(thread)[1] is OUTDATED
        read_pending(thread.engine, thread.id)
        assert asked(server) == 2
        thread.undo()
        read_pending(thread.engine, thread.id)
        assert asked(server) == 2


def test_each_due_turn_costs_one_call(url: str, server: ScriptedServer) -> None:
    """No more: not for looking, not for background work that comes by, not for turns that wait."""
    for thread in told(url, turns=0):
        for n in range(30):
            say(thread, n % 7)
            if n % 3 == 0:
                read_pending(thread.engine, thread.id)
            thread.graph.nodes()
        read_pending(thread.engine, thread.id)
        assert asked(server) <= 28


# -- silence -----------------------------------------------------------------------------------------------------


def test_idle_thread_is_flushed(tmp_path: Path) -> None:
    """A worker flushes a thread once after a long silence; an active thread is left alone."""
    clock = Clock()
    with opened(tmp_path / "store.db", clock, 1) as engine:
        thread = engine.create("Ellie's travels")
        for n in range(3):
            say(thread, n)
        worker = Worker(engine)
        worker.run()
        assert flush_idle(engine) == 0
        assert states(thread)[3] is WAITING
        clock.wait(31 * 60)
        assert flush_idle(engine) == 1
        assert flush_idle(engine) == 0
        worker.run()
        assert states(thread)[3] is PROCESSED
        assert [e.actor for e in thread.events() if e.kind is Kind.FLUSHED] == ["backscroll"]


def test_imported_old_thread_is_analysed_completely(tmp_path: Path) -> None:
    """Unless `flush_minutes` is 0."""
    for minutes, last in ((30.0, PROCESSED), (0.0, WAITING)):
        clock = Clock()
        with opened(tmp_path / f"{minutes}.db", clock, 1, flush_minutes=minutes) as engine:
            thread = engine.create("Old")
            for n in range(3):
                thread.append("user", f"I am {n} years old.", at="2020-01-01T00:00:00+00:00")
            Worker(engine).run()
            assert states(thread)[3] is last
