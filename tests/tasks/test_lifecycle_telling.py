"""What a prompt says about the current task, as far as it fits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backscroll.tasks.lifecycle.words import TaskBriefing, headline, tell, words_in
from backscroll.vocab.ids import Ref
from backscroll.vocab.task import Attempt, Task, TaskState

REF = Ref("d" * 32, 7)


def standing(**more: object) -> TaskBriefing:
    refused = Attempt(REF, "2026-01-02T03:04:05+00:00", "ann", "done", "refused", "still green", ("ab",))
    task = Task(
        "7",
        REF,
        "paint",
        TaskState.INCOMPLETE,
        REF.thread,
        None,
        None,
        "2026-01-01T00:00:00+00:00",
        attempts=(refused,),
        feedback=("still green",),
    )
    return TaskBriefing(task, plan=("sand", "paint"), reminders=("- last time it rained",), **more)  # type: ignore[arg-type]


def test_everything_is_in_order_where_there_is_room() -> None:
    """State, feedback, plan, reminders, suggestion."""
    text = tell(standing(suggestion="end"), "en", lambda _text: True)
    places = [
        text.index(w) for w in ("paint", "still green", "Plan:", "1. sand", "last time", "seems to say")
    ]
    assert places == sorted(places)


def test_both_languages_have_the_same_texts() -> None:
    """None is missing, and every state has its word."""
    assert words_in("en").keys() == words_in("zh-CN").keys()
    assert {state.value for state in TaskState} <= words_in("en").keys()


def test_heading_of_a_summary_names_task_and_state() -> None:
    """The state the task will be in; messages of no task say so."""
    task = standing().task
    assert headline(task, "en", TaskState.COMPLETED) == "Task 7 paint (completed)"
    outside = Task("", Ref(REF.thread, 0), "", TaskState.IN_PROGRESS, REF.thread, None, None, "")
    assert headline(outside, "zh") == "不属于任何任务"


@given(st.integers(0, 600))
def test_no_more_than_fits_and_no_heading_without_lines(room: int) -> None:
    """Whatever the room."""
    text = tell(standing(), "en", lambda said: len(said) <= room)
    assert len(text) <= room
    assert not text or "Task 7" in text
    assert not text.endswith(("Plan:", "From earlier times:"))
    assert "Plan:\nFrom" not in text
