"""Tasks on every store: steps, undo, forks, forgetting and moving house leave what the log says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import backscroll
from backscroll.errors import Conflict, InvalidInput, NotFound
from backscroll.vocab.event import Kind
from backscroll.vocab.task import TaskState


def test_task_and_verdict_are_durable(
    thread: backscroll.Thread, reopen: Callable[[], backscroll.Engine]
) -> None:
    """Another handle sees the same, attempts, feedback and messages included."""
    task = thread.tasks.start("夜车")
    for n in range(4):
        thread.append("user", f"please count the carriages of the night train, round {n} " * 12)
        thread.append("assistant", f"There are {n} carriages. " * 12)
    thread.tasks.attempt("counted")
    thread.tasks.incomplete("没数餐车", images=[b"\x89PNG\r\n\x1a\n"])
    thread.tasks.attempt("counted again")
    thread.tasks.complete(manual=False)
    again = reopen().thread(thread.id).tasks.get(task.id)
    assert again == thread.tasks.get(task.id)
    assert [(a.verdict, a.feedback, len(a.media)) for a in again.attempts] == [
        ("refused", "没数餐车", 1),
        ("accepted", "", 0),
    ]
    assert again.state is TaskState.COMPLETED


def test_fork_has_the_tasks_up_to_its_message(thread: backscroll.Thread) -> None:
    """After that, parent and fork are independent."""
    first = thread.tasks.start("one")
    edge = thread.append("user", "one")
    thread.append("assistant", "done")
    thread.tasks.complete()
    second = thread.tasks.start("two")
    thread.append("user", "two")
    early, late = thread.fork(edge.id), thread.fork()
    assert [(t.id, t.state.value) for t in early.tasks.list()] == [(first.id, "in_progress")]
    assert [t.id for t in late.tasks.list()] == [first.id, second.id]
    late.tasks.cancel("not here")
    assert thread.tasks.get(second.id).state is TaskState.IN_PROGRESS


def test_imported_copy_has_the_same_tasks(
    thread: backscroll.Thread, store: backscroll.Engine, tmp_path: Path
) -> None:
    """Export a thread and import it into another store."""
    thread.tasks.start("one")
    thread.append("user", "one")
    thread.tasks.attempt("done")
    thread.tasks.incomplete("no", images=[b"\x89PNG\r\n\x1a\n"])
    target = tmp_path / "out.jsonl"
    store.export([thread.id], "native", str(target))
    with backscroll.open(tmp_path / "copy.db", background=False) as other:
        other.import_path(str(target))
        copy = other.thread(thread.id).tasks.list()
        assert copy == thread.tasks.list()
        assert other.blob(copy[0].attempts[-1].media[0]) == b"\x89PNG\r\n\x1a\n"


STEPS = st.lists(
    st.sampled_from(
        [
            *(
                "say",
                "say",
                "say",
                "answer",
                "start",
                "attempt",
                "complete",
                "incomplete",
                "cancel",
                "resume",
            ),
            *("split", "merge", "undo", "redo", "delete", "edit", "restore", "plan", "title"),
        ]
    ),
    max_size=14,
)


def act(thread: backscroll.Thread, what: str, number: int) -> None:
    """One thing that somebody does; what cannot be done is refused and changes nothing."""
    tasks, messages, known = thread.tasks, list(thread), thread.tasks.list()
    gone = [m for m in thread.messages(deleted=True) if m.deleted]

    def word(kind: str) -> str:
        """A word of which no other one is a part: `word1` would be one of `word10`."""
        return f"{kind}{number:03}"

    deeds: dict[str, Callable[[], object]] = {
        "say": lambda: thread.append("user", f"{word('word')} please look at pier {number} " * 5),
        "answer": lambda: thread.append("assistant", f"{word('reply')} I keep pier {number}. " * 5),
        "start": lambda: tasks.start(f"job {number}"),
        "plan": lambda: tasks.plan_for_later(f"job {number}"),
        "attempt": lambda: tasks.attempt(f"result {number}"),
        "incomplete": lambda: tasks.incomplete(f"{word('feedback')} and again", say=number % 2 == 0),
        "complete": tasks.complete,
        "cancel": tasks.cancel,
        "title": lambda: tasks.rename(f"title {number}"),
        "undo": thread.undo,
        "redo": thread.redo,
        "resume": lambda: known and tasks.resume(known[number % len(known)]),
        "merge": lambda: known and tasks.merge(known[0], known[-1]),
        "split": lambda: messages and tasks.split(messages[number % len(messages)].id),
        "delete": lambda: messages and thread.delete(messages[number % len(messages)].id),
        "edit": lambda: messages and thread.edit(messages[number % len(messages)].id, word("edited")),
        "restore": lambda: gone and thread.restore(gone[number % len(gone)].id),
    }
    deeds[what]()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
@example([*["say"] * 12, "attempt", "delete"])  # the second message goes, the eleventh stays
def test_whatever_is_done_nothing_is_lost_and_everything_follows_from_the_log(
    store: backscroll.Engine, steps: list[str]
) -> None:
    """Refused steps write nothing; deleted words are in no prompt; a fresh look tells the same tasks."""
    thread = store.create("harbour")
    for number, what in enumerate(steps):
        head = thread.head
        try:
            act(thread, what, number)
        except (Conflict, NotFound, InvalidInput):
            assert thread.head == head
    known = thread.tasks.list()
    store.memo.clear()
    assert thread.tasks.list() == known
    assert sum(task.current for task in known) <= 1
    ids = [m.id for task in known for m in thread.tasks.messages(task)]
    assert len(ids) == len(set(ids)), "no message belongs to two tasks"
    said = str(thread.prompt(60_000, recall=False, dry_run=True).messages)
    for message in thread.messages(deleted=True):
        first = message.text.split()[0]
        # Feedback is kept with its task as well, whatever becomes of the message that says it.
        if message.deleted and not first.startswith("feedback"):
            assert first not in said


def test_every_task_step_is_one_undo(thread: backscroll.Thread) -> None:
    """Undo reverts the steps one by one; redo applies them again."""
    thread.append("user", "please count the carriages " * 30)
    thread.append("assistant", "There are nine. " * 30)
    states = [thread.tasks.list()]
    thread.tasks.start("count")
    states.append(thread.tasks.list())
    for step in (
        lambda: thread.tasks.attempt("nine"),
        lambda: thread.tasks.incomplete("ten", say=True),
        lambda: thread.tasks.attempt("ten"),
        lambda: thread.tasks.complete(note="yes"),
        lambda: thread.tasks.start("other"),
    ):
        step()
        states.append(thread.tasks.list())
    for before in reversed(states[:-1]):
        thread.undo()
        assert thread.tasks.list() == before
    assert [m.text[:6] for m in thread] == ["please", "There "]
    for after in states[1:]:
        thread.redo()
        assert thread.tasks.list() == after


@pytest.mark.parametrize("kind", [Kind.TASKED, Kind.FLUSHED])
def test_headers_of_task_events_hold_no_words(thread: backscroll.Thread, kind: Kind) -> None:
    """Words lie in sealed bodies, where they can be forgotten."""
    thread.tasks.start("swordfish")
    thread.append("user", "swordfish")
    thread.tasks.attempt("swordfish")
    thread.tasks.incomplete("swordfish")
    thread.tasks.cancel("swordfish")
    heads = [str(e.head) for e in thread.events() if e.kind is kind]
    assert heads
    assert not any("swordfish" in head for head in heads)
