"""Tasks go back with the conversation: after a rewind they stand as they stood at that turn, and taking it back brings them back."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import backscroll
from backscroll.engine.crops.crops import crops
from backscroll.engine.folder.rewind import rewind_words
from backscroll.errors import Conflict
from backscroll.vocab.task import TaskState
from tests.engine.workrooms import Desk

LONG = "The harbour master counts the boats and writes down what each of them brought. " * 8


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path, git=False)
    yield made
    made.close()


def standing(thread: backscroll.Thread) -> list[tuple[Any, ...]]:
    """Everything that tells how the tasks stand, and which messages they keep out of the prompt."""
    tasks = [
        (
            t.id,
            t.title,
            t.state,
            t.current,
            t.cleared,
            t.spans,
            t.links,
            [(a.result, a.feedback) for a in t.attempts],
        )
        for t in thread.tasks.list()
    ]
    out = sorted(tuple(m.runs) for m in crops(thread))
    return [*tasks, ("crops", out)]


def test_rewind_removes_a_task_started_in_the_turn(desk: Desk) -> None:
    """Task list, current task and cleared messages are as before; redo and undo restore them."""
    thread = desk.thread
    thread.tasks.start("First")
    desk.turn(f"one {LONG}", a__txt="1\n")
    before = standing(thread)
    desk.says("two")
    thread.tasks.start("Second")  # what came before is summed up and cleared
    desk.edit("a.txt", "2\n")
    thread.tasks.attempt("It is done.")
    thread.tasks.complete()
    after = standing(thread)
    assert [t.state for t in thread.tasks.list()] == [TaskState.IN_PROGRESS, TaskState.COMPLETED]
    assert crops(thread)
    desk.room.rewind(2)
    assert standing(thread) == before
    current = thread.tasks.current()
    assert current is not None
    assert current.title == "First"
    assert not crops(thread)
    desk.room.redo()
    assert [t[:5] for t in standing(thread)] == [t[:5] for t in after]
    assert standing(thread) == after
    desk.room.rewind(2)
    assert standing(thread) == before
    thread.undo()
    assert standing(thread) == after


def test_rewind_clears_a_task_resumed_in_the_turn(desk: Desk) -> None:
    """A task that rested was taken up again in the turn that leaves: it rests again, and its messages are out of prompts."""
    thread = desk.thread
    first = thread.tasks.start("First")
    desk.turn(f"one {LONG}")
    thread.tasks.start("Second")
    desk.turn(f"two {LONG}")
    before = standing(thread)
    desk.says("three")
    thread.tasks.resume(first.id)
    thread.append("assistant", "on with the first")
    after = standing(thread)
    desk.room.rewind(3, "conversation")
    assert [t[:-3] for t in standing(thread)] == [t[:-3] for t in before]
    assert standing(thread) == before
    desk.room.redo()
    assert standing(thread) == after


def test_rewind_of_files_leaves_tasks(desk: Desk) -> None:
    desk.turn("one", a__txt="1\n")
    desk.says("two")
    desk.thread.tasks.start("Second")
    desk.edit("a.txt", "2\n")
    before = standing(desk.thread)
    desk.room.rewind(2, "files")
    assert standing(desk.thread) == before


def test_rewind_without_a_folder_keeps_the_users_crop(tmp_path: Path) -> None:
    """The conversation alone, by one function; the person's own crop is theirs and stays."""
    with backscroll.open(tmp_path / "s.db") as engine:
        thread = engine.create("t")
        for number in range(3):
            thread.append("user", f"{number} {LONG}")
            thread.append("assistant", f"yes {LONG}")
        before = standing(thread)
        thread.append("user", "go")
        thread.tasks.start("Later", keep=True)
        assert rewind_words(thread, 4) == 1
        assert standing(thread) == before
        assert len(thread) == 6
        thread.undo()
        assert [t.title for t in thread.tasks.list()] == ["Later"]


def test_rewind_of_tasks_in_a_fork_leaves_the_parent(tmp_path: Path) -> None:
    """Shared task steps are reverted in the fork only."""
    with backscroll.open(tmp_path / "s.db") as engine:
        thread = engine.create("t")
        thread.append("user", "one")
        thread.append("assistant", "yes")
        thread.append("user", "two")
        thread.tasks.start("Shared", keep=True)
        thread.append("assistant", "yes")
        fork = thread.fork()
        fork.append("user", "three")
        fork.tasks.start("Own", keep=True)
        assert rewind_words(fork, 3) == 1
        assert [t.title for t in fork.tasks.list()] == ["Shared"]
        assert rewind_words(fork, 2) == 2
        assert fork.tasks.list() == []
        assert [t.title for t in thread.tasks.list()] == ["Shared"]


ACTS = st.sampled_from(
    ["start", "plan", "attempt", "refuse", "complete", "cancel", "resume", "title", "keep"]
)


def act(thread: backscroll.Thread, name: str, number: int) -> None:
    """One step, where it leads on from how things stand."""
    tasks = thread.tasks
    try:
        match name:
            case "start" | "keep":
                tasks.start(f"Task {number}", keep=name == "keep")
            case "plan":
                tasks.plan_for_later(f"Later {number}")
            case "attempt":
                tasks.attempt(f"result {number}")
            case "refuse":
                tasks.incomplete(f"not yet {number}")
            case "complete":
                tasks.complete()
            case "cancel":
                tasks.cancel(reason="no")
            case "resume":
                open_ones = [t for t in tasks.list() if t.state is TaskState.IN_PROGRESS]
                if open_ones:
                    tasks.resume(open_ones[0].id)
            case _:
                found = tasks.current()
                if found is not None:
                    tasks.rename(f"Title {number}", found.id)
    except Conflict:
        return


@settings(max_examples=25, deadline=None)
@given(turns=st.lists(st.lists(ACTS, max_size=3), min_size=1, max_size=4), choice=st.integers(0, 3))
def test_at_any_turn_the_tasks_stand_as_they_stood(turns: list[list[str]], choice: int) -> None:
    """Whatever steps were taken in whichever turns; and back again, by redo of the whole stroke and by undo."""
    with tempfile.TemporaryDirectory() as folder, backscroll.open(Path(folder) / "s.db") as engine:
        thread = engine.create("t")
        stood: list[list[tuple[Any, ...]]] = []
        number = 0
        for words, acts in enumerate(turns):
            stood.append(standing(thread))
            thread.append("user", f"turn {words} {LONG}")
            for name in acts:
                number += 1
                act(thread, name, number)
            thread.append("assistant", f"answer {words} {LONG}")
        whole = standing(thread)
        turn = choice % len(turns) + 1
        rewind_words(thread, turn)
        assert standing(thread) == stood[turn - 1]
        thread.undo()
        assert standing(thread) == whole
        thread.redo()
        assert standing(thread) == stood[turn - 1]
