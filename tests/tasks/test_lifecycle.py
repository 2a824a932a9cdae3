"""The lifecycle of tasks: legal steps, and the state that follows from them."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import Conflict, InvalidInput
from backscroll.record.order import at_end
from backscroll.tasks.lifecycle.steps import (
    ALLOWED,
    checked_link,
    checked_step,
    current_of,
    fold_tasks,
    holds,
    is_allowed,
)
from backscroll.tasks.notes import WITHHELD
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.task import Task, TaskAct, TaskState

THREAD = "a" * 32
ENDED = (TaskState.COMPLETED, TaskState.CANCELLED)


class Log:
    """Writes events as the engine would, without one."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._numbers = count(1)
        self.place = ""

    def event(self, kind: Kind, head: dict[str, Any] | None = None, body: Any = None, **more: Any) -> Event:
        words = None if body is None else json.dumps(body).encode()
        seq = next(self._numbers)
        at = f"2026-01-01T00:{seq // 60:02}:{seq % 60:02}+00:00"
        made = Event(THREAD, seq, kind, more.pop("actor", "ann"), at, head=head or {}, body=words, **more)
        self.events.append(made)
        return made

    def message(self) -> Ref:
        made = self.event(Kind.APPENDED, {"role": "user"})
        self.place = at_end(made.seq).hex()
        return made.id

    def step(self, act: str, task: str | None = None, body: Any = None, **head: Any) -> str:
        """One step at the place where the history now ends; gives the task's id."""
        name = task if task is not None else str(len(self.events) + 1)
        more = {"after": self.place} if act in ("start", "resume") else {}
        self.event(Kind.TASKED, {"act": act, "task": name, "place": self.place, **more, **head}, body)
        return name

    def tasks(self, **more: Any) -> dict[str, Task]:
        return {task.id: task for task in fold_tasks(self.events, THREAD, **more)}


def test_task_from_start_to_verdict() -> None:
    """Started, attempted, sent back, resumed, attempted again, accepted: every verdict stays with its result."""
    log = Log()
    name = log.step("start", body={"title": "parser"})
    log.message()
    log.step("attempt", name, {"result": "first try"})
    log.step("incomplete", name, {"feedback": "no tests"}, **{"as": "person"})
    log.message()
    log.step("resume", name)
    log.step("attempt", name, {"result": "second try"})
    log.step("complete", name, **{"as": "program"})
    task = log.tasks()[name]
    assert task.state is TaskState.COMPLETED
    assert [(a.result, a.verdict, a.feedback) for a in task.attempts] == [
        ("first try", "refused", "no tests"),
        ("second try", "accepted", ""),
    ]
    assert task.feedback == ("no tests",)
    assert (task.decided_by, task.decided_as) == ("ann", "program")
    assert not task.current
    assert task.ended


def test_messages_belong_to_a_task_by_position() -> None:
    """Those before the start and after the end do not; an open task goes on."""
    log = Log()
    before = at_end(log.message().seq)
    name = log.step("start")
    inside = at_end(log.message().seq)
    assert holds(log.tasks()[name].spans, inside)
    assert not holds(log.tasks()[name].spans, before)
    log.step("complete", name)
    after = at_end(log.message().seq)
    assert holds(log.tasks()[name].spans, inside)
    assert not holds(log.tasks()[name].spans, after)


def test_starting_another_task_pauses_the_first() -> None:
    """One task is current; messages in between belong to the other."""
    log = Log()
    first = log.step("start")
    one = at_end(log.message().seq)
    second = log.step("start", follows=first)
    two = at_end(log.message().seq)
    log.step("resume", first)
    three = at_end(log.message().seq)
    tasks = log.tasks()
    assert [holds(tasks[first].spans, p) for p in (one, two, three)] == [True, False, True]
    assert [holds(tasks[second].spans, p) for p in (one, two, three)] == [False, True, False]
    assert tasks[second].state is TaskState.IN_PROGRESS
    current = current_of(list(tasks.values()))
    assert current is not None
    assert current.id == first
    assert [(k.other, k.how) for k in tasks[second].links] == [(first, "follows")]


def test_planned_task_begins_when_it_is_started() -> None:
    """It keeps its id and title."""
    log = Log()
    name = log.step("plan", body={"title": "docs"})
    assert log.tasks()[name].state is TaskState.NOT_STARTED
    assert not log.tasks()[name].spans
    log.step("start", name)
    task = log.tasks()[name]
    assert (task.state, task.title, task.current) == (TaskState.IN_PROGRESS, "docs", True)


def test_undone_step_has_no_effect() -> None:
    """Undo and redo apply to the events they name."""
    log = Log()
    name = log.step("start")
    log.step("cancel", name, {"reason": "no time"})
    gone = log.events[-1].seq
    assert log.tasks()[name].reason == "no time"
    undone = log.event(Kind.UNDONE, {"of": [gone]})
    assert log.tasks()[name].state is TaskState.IN_PROGRESS
    log.event(Kind.REDONE, {"of": [undone.seq]})
    assert log.tasks()[name].state is TaskState.CANCELLED


def test_splitting_divides_messages_and_results() -> None:
    """From the given place on, messages, results and being current move to the new task."""
    log = Log()
    old = log.step("start", body={"title": "both"})
    one = at_end(log.message().seq)
    log.step("attempt", old, {"result": "early"})
    edge = log.place
    two = at_end(log.message().seq)
    log.step("attempt", old, {"result": "late"})
    new = log.step("split", body={"title": "other"}, other=old, after=edge)
    tasks = log.tasks()
    assert holds(tasks[old].spans, one)
    assert not holds(tasks[old].spans, two)
    assert holds(tasks[new].spans, two)
    assert [a.result for a in tasks[old].attempts] == ["early"]
    assert [a.result for a in tasks[new].attempts] == ["late"]
    assert tasks[new].current
    assert not tasks[old].current
    assert [(k.other, k.how) for k in tasks[new].links] == [(old, "split from")]


def test_merging_reverts_a_split_and_loses_nothing() -> None:
    """One task with the messages and results of both, in the place of the later one."""
    log = Log()
    first = log.step("start", body={"title": "one"})
    one = at_end(log.message().seq)
    log.step("attempt", first, {"result": "r1"})
    log.step("complete", first)
    second = log.step("start", body={"title": "two"}, follows=first)
    two = at_end(log.message().seq)
    log.step("attempt", second, {"result": "r2"})
    log.step("merge", first, other=second)
    (task,) = log.tasks().values()
    assert (task.id, task.title, task.state, task.current) == (first, "one", TaskState.IN_PROGRESS, True)
    assert task.merged == (second,)
    assert task.links == ()
    assert [a.result for a in task.attempts] == ["r1", "r2"]
    assert holds(task.spans, one)
    assert holds(task.spans, two)


def test_links_to_a_merged_task_follow_it() -> None:
    """To the task it was merged into; no link is left dangling."""
    log = Log()
    first, second, third = (log.step("start") for _ in range(3))
    log.step("link", third, other=second, how="related")
    log.step("merge", first, other=second)
    assert [k.other for k in log.tasks()[third].links] == [first]


def test_result_is_withheld_once_its_source_changed() -> None:
    """Deleting a source hides the text; if the source is restored, so is the text."""
    log = Log()
    name = log.step("start")
    said = log.message()
    log.step("attempt", name, {"result": "the secret is 42"}, runs=[[said.seq, said.seq]])
    log.event(Kind.DELETED, target=said)
    (attempt,) = log.tasks()[name].attempts
    assert (attempt.result, attempt.note) == ("", WITHHELD)
    (again,) = log.tasks(intact=lambda _ref, _seq: True)[name].attempts
    assert again.result == "the secret is 42"


def test_other_messages_do_not_affect_a_result() -> None:
    """Only its own sources count, and only changes after it."""
    log = Log()
    other = log.message()
    name = log.step("start")
    said = log.message()
    log.event(Kind.EDITED, target=said)
    log.step("attempt", name, {"result": "done"}, runs=[[said.seq, said.seq]])
    log.event(Kind.DELETED, target=other)
    assert log.tasks()[name].attempts[0].result == "done"


def test_crop_in_effect_marks_a_task_as_cleared() -> None:
    """Lifting it by any means clears the mark."""
    log = Log()
    name = log.step("start")
    crop = log.event(Kind.CROPPED, {"task": name, "whole": True, "runs": [], "places": [], "count": 0})
    assert log.tasks()[name].cleared
    log.event(Kind.UNCROPPED, {"of": [crop.seq]})
    assert not log.tasks()[name].cleared


def test_steps_of_a_newer_version_are_skipped() -> None:
    """An unknown act, or one about a missing task, breaks nothing."""
    log = Log()
    name = log.step("start")
    log.step("teleport", name)
    log.step("complete", "999")
    log.event(Kind.TASKED, {})
    assert log.tasks()[name].state is TaskState.IN_PROGRESS


def test_forgotten_step_still_happened() -> None:
    """Only its text is gone."""
    log = Log()
    name = log.step("start", body={"title": "secret"})
    log.step("cancel", name, {"reason": "secret"})
    log.events = [replace(e, body=None, commit=b"x") for e in log.events]
    task = log.tasks()[name]
    assert (task.title, task.state, task.reason) == ("", TaskState.CANCELLED, "")


def test_feedback_may_have_pictures() -> None:
    """Their hashes are in the header, with or without an attempt."""
    log = Log()
    name = log.step("start")
    log.step("incomplete", name, {"feedback": "看图"}, media=["ab"])
    (said,) = log.tasks()[name].attempts
    assert (said.result, said.verdict, said.feedback, said.media) == ("", "refused", "看图", ("ab",))


def test_illegal_steps_are_refused_with_what_is_possible() -> None:
    """The hint names the legal steps."""
    task = Task("7", Ref(THREAD, 7), "", TaskState.COMPLETED, THREAD, None, None, "")
    with pytest.raises(Conflict, match="task 7 is completed: attempt is not possible") as caught:
        checked_step(task, TaskAct.ATTEMPT)
    assert "split" in caught.value.hint
    assert "undo" in caught.value.hint


def test_ended_tasks_stay_ended() -> None:
    """Only their description can change."""
    for state in ENDED:
        assert {act for act in TaskAct if is_allowed(state, act)} == {
            TaskAct.PLAN,
            TaskAct.TITLE,
            TaskAct.LINK,
            TaskAct.SPLIT,
            TaskAct.MERGE,
        }


def test_unknown_kind_of_link_is_refused() -> None:
    """A word that nobody knows is refused."""
    assert checked_link("part of") == "part of"
    with pytest.raises(InvalidInput, match="unknown link"):
        checked_link("loves")


STEPS = st.lists(
    st.tuples(
        st.sampled_from([*(a.value for a in TaskAct), "message", "undo"]),
        st.integers(0, 5),
        st.integers(0, 5),
    ),
    max_size=25,
)


def written(steps: list[tuple[str, int, int]]) -> Log:
    """A log of arbitrary steps, legal or not, about arbitrary tasks, as several hands could leave it."""
    log = Log()
    names = ["0"]
    for act, which, other in steps:
        name = names[which % len(names)]
        if act == "message":
            log.message()
        elif act == "undo":
            log.event(Kind.UNDONE, {"of": [max(1, len(log.events) - which)]})
        elif act in ("plan", "start", "split"):
            fresh = log.step(
                act, body={"title": "t"}, other=name, **({"after": log.place} if act == "split" else {})
            )
            names.append(fresh)
        else:
            log.step(act, name, {"result": "r", "feedback": "f"}, other=names[other % len(names)])
    return log


@given(STEPS)
def test_whatever_was_done_the_fold_holds_together(steps: list[tuple[str, int, int]]) -> None:
    """At most one task is worked on, only that one is open, ended ones are closed, no id twice, no link to nowhere."""
    log = written(steps)
    tasks = fold_tasks(log.events, THREAD)
    assert len({t.id for t in tasks}) == len(tasks)
    assert sum(t.current for t in tasks) <= 1
    for task in tasks:
        is_open = any(high is None for _, high in task.spans)
        assert is_open == task.current
        if task.state in ENDED or task.state is TaskState.NOT_STARTED:
            assert not task.current
        if task.current:
            assert task.state in (TaskState.IN_PROGRESS, TaskState.INCOMPLETE)
        assert all(link.other != task.id for link in task.links)


@given(STEPS)
def test_no_message_belongs_to_two_tasks(steps: list[tuple[str, int, int]]) -> None:
    """Stretches of different tasks never overlap."""
    log = written(steps)
    tasks = fold_tasks(log.events, THREAD)
    for event in log.events:
        if event.kind is Kind.APPENDED:
            assert sum(holds(t.spans, at_end(event.seq)) for t in tasks) <= 1


@given(STEPS)
def test_the_fold_needs_only_the_rare_events(steps: list[tuple[str, int, int]]) -> None:
    """New messages may be left out, as stores do."""
    log = written(steps)
    rare = [e for e in log.events if e.kind is not Kind.APPENDED]
    assert fold_tasks(rare, THREAD) == fold_tasks(log.events, THREAD)


@given(st.sampled_from(list(TaskState)), st.sampled_from(list(TaskAct)))
def test_the_check_and_the_table_agree(state: TaskState, act: TaskAct) -> None:
    """What the table allows is not refused, and the other way round."""
    task = Task("1", Ref(THREAD, 1), "", state, THREAD, None, None, "")
    if is_allowed(state, act):
        checked_step(task, act)
        assert act in ALLOWED[state] or act is TaskAct.PLAN
    else:
        with pytest.raises(Conflict):
            checked_step(task, act)
