"""The task section of a prompt: what it says, within its room, and that it follows what happens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.engine import Engine
from backscroll.engine.thread import Thread
from backscroll.vocab.prompt import Block, Level, Section


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with backscroll.open(tmp_path / "store.db", background=False, task_boundaries="off") as opened:
        yield opened


@pytest.fixture
def thread(engine: Engine) -> Thread:
    made = engine.create("harbour")
    made.append("system", "You help.")
    return made


def block_of(thread: Thread, budget: int = 60_000) -> Block | None:
    made = thread.prompt(budget, recall=False, dry_run=True)
    return next((b for b in made.blocks if b.section is Section.TASK), None)


def test_no_task_section_without_a_task(thread: Thread) -> None:
    """Threads that do not use tasks pay nothing."""
    thread.append("user", "hello")
    assert block_of(thread) is None


def test_task_section_names_title_and_state(thread: Thread) -> None:
    """Title, state and since when, at the end of the prompt, marked as no request."""
    task = thread.tasks.start("paint the shed")
    thread.append("user", "please paint it")
    block = block_of(thread)
    assert block is not None
    assert f"Task {task.id} “paint the shed”: in progress" in block.text
    assert "not a request" in block.text
    assert task.began[:10] in block.text


def test_task_section_shows_verdict_feedback_and_plan(thread: Thread) -> None:
    """The verdict that is due, and after feedback what to do about it."""
    thread.tasks.start("paint the shed")
    thread.append("user", "please paint it red")
    thread.append("assistant", "I painted it.")
    thread.tasks.attempt("It is red now.")
    waiting = block_of(thread)
    assert waiting is not None
    assert "waits for the verdict: It is red now." in waiting.text
    thread.tasks.incomplete("The door is still green.\nAlso oil the hinges.", images=[b"\x89PNG"])
    back = block_of(thread)
    assert back is not None
    assert "The door is still green.\nAlso oil the hinges." in back.text
    assert "1 pictures" in back.text
    assert "Plan:\n1. " in back.text
    assert "hinges" in back.text.partition("Plan:")[2]
    assert back.sources


def test_task_section_lists_open_todos(thread: Thread) -> None:
    """Only those of the current task whose message is not shown in the prompt."""
    thread.append("user", "TODO: wash the windows of the office")
    thread.tasks.start("paint the shed")
    thread.append("user", "please paint it")
    said = thread.append("assistant", "Painted.\n- [ ] oil the rusty hinges\n- [x] sand the door")
    shown = block_of(thread)
    assert shown is not None
    assert "hinges" not in shown.text  # the message itself is in view
    for n in range(6):
        thread.append("user", f"And coat number {n}? " + "It should be thick and even. " * 20)
        thread.append("assistant", f"Coat {n} is on. " + "It is thick and even. " * 20)
    assert thread.compact(3_000).event is not None
    made = thread.prompt(3_000, recall=False, reserve=0)
    assert said.id not in {b.message for b in made.blocks if b.level is Level.VERBATIM}
    blocks = [b for b in made.blocks if b.section is Section.TASK]
    todo = "\n".join(b.text for b in blocks).partition("Still to do:")[2]
    assert "oil the rusty hinges" in todo
    assert "sand the door" not in todo
    assert "windows" not in todo
    assert said.revision in blocks[-1].sources
    thread.delete(said.id)
    after = thread.prompt(3_000, recall=False, reserve=0)
    assert not [b for b in after.blocks if "hinges" in b.text]
    assert any(b.section is Section.TASK and "paint the shed" in b.text for b in after.blocks)
    thread.restore(said.id)
    back = thread.prompt(3_000, recall=False, reserve=0)
    assert any("hinges" in b.text for b in back.blocks)


def test_task_section_adds_only_news(thread: Thread) -> None:
    """A task is described once; feedback adds lines, and its end adds one line."""
    task = thread.tasks.start("paint the shed")
    thread.append("user", "please paint it red")
    first = thread.prompt(60_000, recall=False)
    thread.append("assistant", "I painted it.")
    thread.append("user", "Show me.")
    second = thread.prompt(60_000, recall=False)
    told = [b.text for b in second.blocks if b.section is Section.TASK]
    assert told == [b.text for b in first.blocks if b.section is Section.TASK]
    assert len(told) == 1
    thread.tasks.incomplete("The door is still green.")
    third = thread.prompt(60_000, recall=False)
    new = [b.text for b in third.blocks if b.section is Section.TASK][1:]
    assert len(new) == 1
    assert "The door is still green." in new[0]
    assert new[0].startswith("Since then")
    assert third.messages[: len(second.messages) - 1] == second.messages[:-1]
    assert str(task.id) in told[0]


def test_task_section_reminds_of_a_similar_cancelled_task(thread: Thread) -> None:
    """With when and why."""
    thread.tasks.start("paint the old shed red")
    thread.append("user", "paint")
    thread.tasks.cancel("the shed belongs to the museum")
    thread.tasks.start("paint the shed red")
    thread.append("user", "paint")
    block = block_of(thread)
    assert block is not None
    assert "the shed belongs to the museum" in block.text


def test_task_section_reminds_of_earlier_failures(thread: Thread) -> None:
    """A lesson of an earlier task with its sources; removed if its source is deleted."""
    thread.tasks.start("paint the shed red")
    thread.append("user", "please paint the shed red")
    thread.append("assistant", "I painted the shed red.")
    thread.tasks.attempt("The shed is red.")
    thread.tasks.incomplete("The paint peels off because the wood was wet.")
    thread.tasks.complete()
    thread.tasks.start("paint the boathouse red")
    thread.append("user", "please paint the boathouse red")
    block = block_of(thread)
    assert block is not None
    assert "the wood was wet" in block.text
    assert block.reason == "the task at hand, with reminders"
    assert block.sources


def test_task_section_stays_within_its_share(thread: Thread) -> None:
    """Long feedback is cut; the state is shown if there is any room."""
    thread.tasks.start("paint the shed")
    thread.append("user", "please paint it")
    thread.tasks.incomplete("no\n" + "it is far too dark and much too thick in every corner\n" * 80)
    for budget in (6_000, 9_000, 20_000):
        block = block_of(thread, budget)
        if block is not None:
            assert block.tokens <= thread.engine.settings.share_task * budget
            assert "paint the shed" in block.text
    assert block_of(thread, 20_000) is not None


def test_task_section_as_of_an_earlier_event(thread: Thread) -> None:
    """Looking back shows the task of that time."""
    from backscroll.engine.work.task_reader import tasks_of

    task = thread.tasks.start("paint the shed")
    thread.append("user", "please paint it")
    then = thread.head
    thread.tasks.complete()
    now = thread.at(then).reading(tasks_of)
    assert [t.state.value for t in now] == ["in_progress"]
    assert thread.tasks.get(task.id).state.value == "completed"


def test_task_section_in_chinese(engine: Engine) -> None:
    """Our own words are in the language of the thread."""
    thread = engine.create("港口", language="zh")
    thread.tasks.start("修理起重机")
    thread.append("user", "请修理起重机")
    thread.tasks.incomplete("还是有响声")
    block = block_of(thread)
    assert block is not None
    assert "当前任务" in block.text
    assert "已退回" in block.text
    assert "还是有响声" in block.text
