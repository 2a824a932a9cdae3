"""`/task`, `/todos`."""

from __future__ import annotations

from backscroll.surfaces import i18n
from backscroll.vocab.part import Text, ToolCall, ToolResult
from tests.surfaces.chat.slash.hand import HandTalk


def test_task_from_start_to_done(talk: HandTalk) -> None:
    """Each step reports what it did; the state follows."""
    assert "No task" in talk.run("/task") or talk.run("/task").strip()
    assert "Book the hotel" in talk.run("/task start Book the hotel")
    talk.say("book it")
    assert "in progress" in talk.run("/task")
    assert "Completed" in talk.run("/task complete all fine")
    assert "completed" in talk.run("/task list")
    assert "Book the hotel" in talk.run("/task show")
    talk.run("/undo")
    assert "in progress" in talk.run("/task")


def test_feedback_continues_the_work(talk: HandTalk) -> None:
    """It is the user's message, and the model reads it at once if wanted."""
    talk.run("/task start Book the hotel")
    talk.say("book it")
    talk.yeses = [True]
    talk.run("/task incomplete the room has no window")
    assert talk.finished[-1].end == "answered"
    assert "the room has no window" in str(talk.parrot.asked[-1].messages)


def test_missing_feedback_is_asked_for(talk: HandTalk) -> None:
    """Cancelling leaves the task as it is."""
    talk.run("/task start Book the hotel")
    talk.say("book it")
    head = talk.thread.head
    assert "nothing was changed" in talk.run("/task not-yet")
    assert talk.thread.head == head
    talk.asks = ["too loud"]
    assert "too loud" in str(talk.run("/task not-yet")) or "too loud" in talk.texts()


def test_cancelled_task_is_restarted_only_on_purpose(talk: HandTalk) -> None:
    """What was given up is started again only on purpose."""
    talk.run("/task start Book the hotel")
    assert talk.run("/task cancel too dear").strip()
    assert "nothing was changed" in talk.run("/task start Book the hotel")
    talk.yeses = [True]
    assert "Started" in talk.run("/task start Book the hotel")


def test_task_is_resumed_by_picker_or_id(talk: HandTalk) -> None:
    """Paused tasks are offered, newest first."""
    assert "no other task" in talk.run("/task resume")
    talk.run("/task start One")
    talk.say("go")
    talk.run("/task start Two")
    talk.say("go")
    talk.picks = [0]
    assert "One" in talk.run("/task resume")
    assert talk.thread.tasks.current().title == "One"  # type: ignore[union-attr]
    assert "One" not in talk.offers("/task resume ")
    two = next(x.id for x in talk.thread.tasks.list() if x.title == "Two")
    assert two in talk.offers("/task resume ")
    talk.run(f"/task resume {two}")
    assert talk.thread.tasks.current().title == "Two"  # type: ignore[union-attr]
    assert talk.run("/task resume 99999").strip()


def test_completed_task_is_not_offered_for_resuming(talk: HandTalk) -> None:
    """It cannot continue; undo names the step that it reverts."""
    talk.run("/task start One")
    talk.say("go")
    talk.run("/task done")
    talk.picks = [0]
    assert "no other task" in talk.run("/task resume")
    assert "completed" in talk.run("/undo")
    assert talk.thread.tasks.current().title == "One"  # type: ignore[union-attr]


def test_planned_task_can_be_renamed(talk: HandTalk) -> None:
    """Planned task, renamed."""
    assert "Paint" in talk.run("/task later Paint the wall")
    talk.run("/task start One")
    assert "Uno" in talk.run("/task rename Uno")


def test_steps_without_a_task_are_refused_with_a_hint(talk: HandTalk) -> None:
    """Nothing to complete, nothing to cancel."""
    for line in ("/task done", "/task cancel", "/task not-yet x", "/task title x"):
        assert "Error" in talk.run(line) or "error" in talk.run(line).lower()


def test_task_commands_speak_chinese(talk: HandTalk) -> None:
    """The steps under their Chinese names."""
    i18n.use("zh")
    assert "订酒店" in talk.run("/任务 开始 订酒店")
    talk.say("订吧")
    assert talk.run("/任务 完成").strip()
    assert talk.thread.tasks.list()[0].state.value == "completed"


def test_todos_come_from_the_tool_and_from_text(talk: HandTalk) -> None:
    """The model's list with its marks, and what messages left open."""
    assert "nothing open" in talk.run("/todos")
    todos = [{"text": "find a room", "status": "completed"}, {"text": "pack", "status": "in_progress"},
             {"text": "go", "status": "pending"}]  # fmt: skip
    talk.thread.append("assistant", ToolCall("t1", "update_todos", {"todos": todos}))
    talk.thread.append("tool", ToolResult("t1", (Text("1/3 done"),), name="update_todos"))
    said = talk.run("/todos")
    assert "☑ find a room" in said
    assert "▸ pack" in said
    assert "☐ go" in said


def test_malformed_todo_lists_do_not_crash(talk: HandTalk) -> None:
    """Whatever a model put there."""
    for arguments in (
        "{broken",
        {"todos": "x"},
        {"todos": [1, None, {"done": True, "title": "a"}]},
        [],
        None,
    ):
        talk.thread.append("assistant", ToolCall("t1", "update_todos", arguments))
        talk.thread.append("tool", ToolResult("t1", (Text("?"),), name="update_todos"))
        assert "fault" not in talk.run("/todos")
