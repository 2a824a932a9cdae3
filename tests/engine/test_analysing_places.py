"""Where the words of a settled turn are known by old places, in one step or many, and what a prompt may still tell of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.derive.window import window_of
from backscroll.engine.knowledge.analysis import catch_up
from backscroll.engine.thread import Thread
from backscroll.vocab.ids import Ref
from tests.properties.living import graph_dump, marked, reference
from tests.properties.memory import Clock, opened


@pytest.fixture(
    params=[
        pytest.param("sqlite_url", id="sqlite"),
        pytest.param("prepared_url", id="postgres", marks=pytest.mark.postgres),
    ]
)
def thread(request: pytest.FixtureRequest) -> Iterator[Thread]:
    """A thread whose window is two turns."""
    how: dict[str, Any] = {"background": False, "sliding_window_size": 2}
    with backscroll.open(request.getfixturevalue(request.param), **how) as engine:
        yield engine.create("places")


def say(thread: Thread, *places: str) -> None:
    """A turn for each."""
    for place in places:
        thread.append("user", "Where is Ellie now, and how is she?")
        thread.append("assistant", f"Ellie lives in {place}.")


def known(thread: Thread) -> str:
    """Everything that the graph tells."""
    return repr(graph_dump(thread)).casefold()


def test_settled_turn_keeps_facts_of_a_moved_message_until_it_is_deleted(thread: Thread) -> None:
    """Moved into a settling turn, moved out, then deleted, with an analysis after each step."""
    say(thread, "Aldermoor", "Brackwater")
    stray = thread.append("assistant", "Ellie likes Quincewood.")
    thread.move(stray.id, after=thread.turn(1).messages[1].id)
    catch_up(thread.engine, thread.id)
    say(thread, "Coldharbour", "Dunmere", "Eastvale", "Fernhollow")
    assert "quincewood" in known(thread)
    thread.move(stray.id, after=list(thread)[-1].id)
    assert "quincewood" in known(thread)
    thread.delete(stray.id)
    assert "quincewood" not in known(thread)
    assert marked(thread) == reference(thread)


def test_turn_settled_before_analysis_keeps_its_words_at_that_time(thread: Thread) -> None:
    """All at once or one by one: the words that a turn had when it left the window count."""
    say(thread, "Aldermoor", "Brackwater", "Coldharbour", "Dunmere", "Eastvale")
    thread.edit(thread.turn(1).messages[1].id, "Ellie lives in Quincewood.")
    assert "aldermoor" in known(thread)
    assert "quincewood" not in known(thread)
    assert marked(thread) == reference(thread)


def test_deleting_the_first_user_message_makes_turn_zero(thread: Thread) -> None:
    """Restoring it reverts that."""
    say(thread, "Aldermoor", "Brackwater", "Coldharbour", "Dunmere")
    catch_up(thread.engine, thread.id)
    first = thread.turn(1).messages[0].id
    beginning = Ref(thread.id, 0)
    thread.delete(first)
    catch_up(thread.engine, thread.id)
    assert marked(thread) == reference(thread)
    assert beginning in marked(thread)
    thread.restore(first)
    catch_up(thread.engine, thread.id)
    assert marked(thread) == reference(thread)
    assert "aldermoor" in known(thread)


def test_forget_drops_the_marks_of_the_whole_family(thread: Thread) -> None:
    """Versions and keys of forgotten words leave the store at once, not with the next analysis."""
    say(thread, "Aldermoor", "Brackwater", "Coldharbour", "Dunmere")
    fork = thread.fork()
    for each in (thread, fork):
        catch_up(thread.engine, each.id)
    thread.forget(thread.turn(1).messages[1].id)
    rule = window_of(thread.engine.settings).rule
    for each in (thread, fork):
        assert thread.store.read(lambda reader, name=each.id: reader.turn_marks(name, rule)) == []
        assert "aldermoor" not in known(each)
        assert marked(each) == reference(each)


def test_cached_graph_catches_up_on_missed_turns(tmp_path: Path) -> None:
    """Two engines analyse alternate turns; the cached graph has both."""
    clock, place = Clock(), tmp_path / "store.db"
    with opened(place, clock, 1) as one, opened(place, clock, 2) as other:
        thread = one.create("two")
        say(thread, "Aldermoor")
        thread.graph.flush()
        assert "aldermoor" in known(thread)
        far = other.thread(thread.id)
        say(far, "Brackwater")
        far.graph.flush()
        say(thread, "Coldharbour")
        thread.graph.flush()
        assert "brackwater" in known(thread)
        assert graph_dump(thread) == graph_dump(far)


def graph_said(thread: Thread) -> str:
    """What the graph section of a prompt says when Ellie is asked about and the old turns are out of it."""
    made = thread.prompt(6000, reserve=0, dry_run=True)
    rows = [str(m["content"]) for m in made.messages]
    return "\n".join(rows).casefold()


def test_prompt_leaves_out_words_edited_out_of_a_settled_turn(thread: Thread) -> None:
    """The graph keeps facts of a settled turn; prompts show them only while the history does."""
    say(thread, "Aldermoor")
    for n in range(6):
        thread.append("user", f"What is {n} and {n}?")
        thread.append("assistant", f"That is {2 * n}.")
    thread.crop("top", 10, "Old talk.")
    thread.append("user", "What do you know about Ellie?")
    assert "aldermoor" in graph_said(thread)
    thread.edit(thread.turn(1).messages[1].id, "I cannot say.")
    assert "aldermoor" in known(thread)
    assert "aldermoor" not in graph_said(thread)
    thread.undo()
    assert "aldermoor" in graph_said(thread)
    thread.hide(thread.turn(1).messages[1].id)
    assert "aldermoor" not in graph_said(thread)
