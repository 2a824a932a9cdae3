"""The tools that put things before the person: results, questions, new tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from backscroll.agent.person import Judgement
from backscroll.vocab.part import Text, ToolCall, ToolResult
from backscroll.vocab.prompt import WIRES
from backscroll.vocab.task import TaskState
from tests.agent.workbench import Bench, bench

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 40


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path) as made:
        made.thread.append("user", "Please fix the tide table, it shows the wrong hour.")
        made.thread.append(
            "assistant", [Text("Looking."), ToolCall("x1", "read_file", {"path": "tides.csv"})]
        )
        made.thread.append("tool", [ToolResult("x1", (Text("high water 07:12"),), name="read_file")])
        yield made


def valid(at: Bench) -> str:
    """The prompt is valid on every wire; its words."""
    words = ""
    for wire in WIRES:
        words = json.dumps(at.thread.prompt(60_000, wire=wire, dry_run=True, recall=False).messages)
    return words


def test_accepted_result_completes_the_task(at: Bench) -> None:
    at.person.verdict = Judgement(True, "thanks")
    done = at.recorded("attempt_completion", result="The hour is right now.", command="cat tides.csv")
    assert done.ends == "completed"
    assert at.person.judged == [("The hour is right now.", "cat tides.csv")]
    assert "They add: thanks" in done.text
    [task] = at.thread.tasks.list()
    assert task.state is TaskState.COMPLETED
    assert task.title.startswith("Please fix the tide table")
    assert [a.verdict for a in task.attempts] == ["accepted"]
    assert done.facts["result"] == "The hour is right now."
    valid(at)


def test_rejected_result_continues_with_the_feedback(at: Bench, tmp_path: Path) -> None:
    (tmp_path / "shot.png").write_bytes(PNG)
    at.person.verdict = Judgement(
        False, "The minutes are wrong too.", (str(tmp_path / "shot.png"), str(tmp_path / "none.png"))
    )
    done = at.recorded("attempt_completion", result="The hour is right now.")
    assert done.ends is None
    assert not done.is_error
    assert "Feedback: The minutes are wrong too." in done.text
    assert "What to do next:" in done.text
    assert "none.png cannot be read" in done.text
    assert done.media[0].data == PNG
    [task] = at.thread.tasks.list()
    assert task.state is TaskState.INCOMPLETE
    assert task.feedback == ("The minutes are wrong too.",)
    assert "The minutes are wrong too." in valid(at)
    at.person.verdict = Judgement(True)
    assert at.recorded("attempt_completion", result="Minutes too.").ends == "completed"
    [task] = at.thread.tasks.list()
    assert [a.verdict for a in task.attempts] == ["refused", "accepted"]
    valid(at)


def test_rejected_result_without_feedback_ends_the_run(at: Bench) -> None:
    at.person.verdict = Judgement(False)
    done = at.recorded("attempt_completion", result="Done.")
    assert done.ends == "incomplete"
    assert at.thread.tasks.list()[0].state is TaskState.INCOMPLETE


def test_attempt_stays_open_without_a_person(at: Bench) -> None:
    done = at.recorded("attempt_completion", result="Done.")
    assert done.ends == "incomplete"
    [task] = at.thread.tasks.list()
    assert task.state is TaskState.IN_PROGRESS
    assert [a.verdict for a in task.attempts] == [""]
    at.thread.tasks.complete(task)  # the verdict can come later
    assert at.thread.tasks.list()[0].state is TaskState.COMPLETED


def test_verdict_applies_to_the_running_task(at: Bench) -> None:
    at.thread.tasks.start("tides", keep=True)
    at.person.verdict = Judgement(True)
    at.recorded("attempt_completion", result="Done.")
    assert [t.title for t in at.thread.tasks.list()] == ["tides"]


def test_interrupt_during_review_leaves_the_attempt_open(at: Bench) -> None:
    class Leaves(type(at.person)):
        def judge(self, result: str, command: str = "") -> Judgement:
            raise KeyboardInterrupt

    at.person = Leaves()
    with pytest.raises(KeyboardInterrupt):
        at.call("attempt_completion", result="Done.")
    assert [a.verdict for a in at.thread.tasks.list()[0].attempts] == [""]


def test_empty_result_is_refused(at: Bench) -> None:
    assert at.call("attempt_completion", result=" ").text.startswith(
        "[attempt_completion] the result is empty"
    )
    assert at.thread.tasks.list() == []


def test_followup_question_is_answered(at: Bench) -> None:
    at.person.words = "夏令时"
    done = at.recorded("ask_followup_question", question="Which time zone?", options=["UTC", "CET"])
    assert at.person.asked == [("Which time zone?", ("UTC", "CET"))]
    assert done.text == "The person answers: 夏令时"
    assert done.ends is None
    valid(at)


def test_followup_question_stays_open_without_a_person(at: Bench) -> None:
    done = at.recorded("ask_followup_question", question="Which time zone?")
    assert done.ends == "asked"
    assert done.facts["result"] == "Which time zone?"


def test_new_task_summarizes_earlier_messages(at: Bench) -> None:
    at.thread.append("assistant", "The table is a CSV file. " * 200)
    at.thread.append("user", "Now paint the lighthouse.")
    seen = at.preview("start_new_task", title="lighthouse", context="blue paint, two coats")
    assert seen.line == "new task: lighthouse"
    assert seen.text == "blue paint, two coats"
    done = at.recorded("start_new_task", title="lighthouse", context="blue paint, two coats")
    assert done.text.endswith("begins: lighthouse\nblue paint, two coats")
    current = at.thread.tasks.current()
    assert current is not None
    assert current.title == "lighthouse"
    words = valid(at)
    assert "blue paint, two coats" in words
    assert words.count("The table is a CSV file.") < 100
    assert at.call("start_new_task", title=" ").is_error
