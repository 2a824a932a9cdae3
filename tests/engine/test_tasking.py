"""Tasks in a real thread: what each step does to the context, that undo takes it back, and that nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

import backscroll
from backscroll.engine.engine import Engine
from backscroll.engine.thread import Thread
from backscroll.engine.work.task_steps import start_task
from backscroll.engine.work.tasks import Tasks
from backscroll.engine.work.verdict import refuse_task
from backscroll.errors import Conflict, InvalidInput, NotFound
from backscroll.tasks.notes import WITHHELD
from backscroll.vocab.event import Kind
from backscroll.vocab.part import Text, ToolCall, ToolResult
from backscroll.vocab.task import TaskState


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with backscroll.open(tmp_path / "store.db", background=False, task_boundaries="off") as opened:
        yield opened


@pytest.fixture
def thread(engine: Engine) -> Thread:
    made = engine.create("harbour")
    made.append("system", "You help.")
    return made


@pytest.fixture
def tasks(thread: Thread) -> Tasks:
    return Tasks(thread)


def talk(thread: Thread, name: str, turns: int = 3) -> None:
    """Turns of a request, a call with its result, and an answer, all of them telling where they belong."""
    for n in range(1, turns + 1):
        call = f"{name}-{n}"
        thread.append("user", f"{name} request {n}: please look after pier {n}")
        thread.append(
            "assistant", [Text(f"{name} looking {n}"), ToolCall(call, "Read", {"path": f"{name}{n}.py"})]
        )
        thread.append("tool", [ToolResult(call, (Text(f"{name} content {n}\n" * 30),))])
        thread.append(
            "assistant", f"{name} answer {n}: we decided to keep {name}{n}.py because the tests need it."
        )


def shown(thread: Thread) -> str:
    return json.dumps(thread.prompt(60_000, recall=False, dry_run=True).messages, ensure_ascii=False)


def everything(thread: Thread) -> list[tuple[object, str, bool]]:
    return [(m.id, m.text, m.hidden) for m in thread]


# -- starting ----------------------------------------------------------------------------------------------------


def test_new_task_clears_the_prompt(thread: Thread, tasks: Tasks) -> None:
    """What came before is summed up in its place, with a handle that expands to all of it; the history keeps every word."""
    talk(thread, "early")
    before = everything(thread)
    step = start_task(thread, "mend the crane")
    thread.append("user", "the crane squeaks")
    said = shown(thread)
    assert "early content 2" not in said
    assert "the crane squeaks" in said
    assert "You help." in said
    (release,) = step.released
    assert release.handle in said
    assert thread.expand(release.handle)[0].text == "early request 1: please look after pier 1"
    assert everything(thread)[: len(before)] == before
    assert tasks.current() == tasks.get(step.task.id)


def test_next_task_clears_a_finished_kept_task(thread: Thread, tasks: Tasks) -> None:
    """A task that was kept in the prompt when it ended leaves it when another one begins."""
    first = tasks.start("paint the shed")
    talk(thread, "paint")
    tasks.complete(keep=True)
    assert "paint content 1" in shown(thread)
    assert not tasks.get(first.id).cleared
    tasks.start("mend the crane")
    said = shown(thread)
    assert "paint content 1" not in said
    assert "paint the shed" in said
    assert "(completed)" in said
    assert tasks.get(first.id).cleared


def test_keep_leaves_the_prompt_unchanged(thread: Thread, tasks: Tasks) -> None:
    """Starting a task need not clear anything."""
    talk(thread, "early")
    tasks.start("mend the crane", keep=True)
    assert "early content 2" in shown(thread)


def test_starting_a_task_reports_the_unfinished_one(thread: Thread, tasks: Tasks) -> None:
    """The unfinished task stays open."""
    first = tasks.start("paint the shed")
    talk(thread, "paint")
    step = start_task(thread, "mend the crane")
    assert step.rests is not None
    assert step.rests.id == first.id
    assert tasks.get(first.id).state is TaskState.IN_PROGRESS
    assert [t.current for t in tasks.list()] == [False, True]
    assert [(k.other, k.how) for k in step.task.links] == [(first.id, "follows")]


def test_task_can_start_at_an_existing_message(thread: Thread, tasks: Tasks) -> None:
    """That message and what follows belong to it and stay in the prompt."""
    talk(thread, "early")
    opening = thread.append("user", "new request: the crane")
    thread.append("assistant", "which crane?")
    task = tasks.start(at=opening.id)
    assert task.first == opening.id
    assert task.title == "new request: the crane"
    assert "new request: the crane" in shown(thread)
    assert "early content 1" not in shown(thread)


def test_task_cannot_start_inside_another_task(thread: Thread, tasks: Tasks) -> None:
    """Splitting is for that."""
    tasks.start("one")
    early = thread.append("user", "one")
    tasks.start("two")
    thread.append("user", "two")
    with pytest.raises(Conflict, match="belongs to an earlier task") as caught:
        tasks.start("three", at=early.id)
    assert "split" in caught.value.hint


def test_clearing_a_task_keeps_pins_system_messages_and_open_calls(thread: Thread, tasks: Tasks) -> None:
    """Clearing takes no more than a crop may."""
    tasks.start("one")
    pinned = thread.append("user", "never forget the tide table")
    thread.pin(pinned.id)
    thread.append("user", "go")
    thread.append("assistant", [ToolCall("open", "Run", {"command": "make"})])
    tasks.start("two")
    assert "never forget the tide table" in shown(thread)
    thread.append("tool", [ToolResult("open", (Text("built"),))])
    thread.append("user", "thanks")
    said = shown(thread)
    assert "make" in said
    assert "built" in said
    tasks.complete()
    assert "built" in shown(thread), "a result never goes without its call"


def test_task_title_follows_its_first_request(thread: Thread, tasks: Tasks) -> None:
    """Editing the request renames the task; deleting it moves on to the next."""
    task = tasks.start()
    first = thread.append("user", "paint the shed")
    second = thread.append("user", "and the fence")
    assert tasks.get(task.id).title == "paint the shed"
    thread.edit(first.id, "paint the boathouse")
    assert tasks.get(task.id).title == "paint the boathouse"
    thread.delete(first.id)
    assert (tasks.get(task.id).title, tasks.get(task.id).first) == ("and the fence", second.id)


def test_restarting_a_cancelled_task_is_refused(thread: Thread, tasks: Tasks) -> None:
    """The error says when and why it was cancelled; a similar title starts with a note."""
    tasks.start("Paint the old shed red")
    thread.append("user", "paint it")
    tasks.cancel("the shed is gone")
    with pytest.raises(Conflict, match=r"was cancelled on \d{4}-\d\d-\d\d: the shed is gone") as caught:
        tasks.start("paint the old shed: RED!")
    assert "again" in caught.value.hint
    step = start_task(thread, "paint the shed red")
    assert step.cancelled is not None
    assert step.cancelled.reason == "the shed is gone"
    assert tasks.start("Paint the old shed red", again=True).state is TaskState.IN_PROGRESS
    assert [t.state for t in tasks.list("cancelled")] == [TaskState.CANCELLED]


def test_planned_task_keeps_its_id_when_started(tasks: Tasks) -> None:
    """By its id or by its title."""
    noted, other = tasks.plan_for_later("write the docs"), tasks.plan_for_later("tidy up")
    assert noted.state is TaskState.NOT_STARTED
    assert tasks.current() is None
    assert tasks.start("Write the docs").id == noted.id
    assert tasks.start(task=other.id).id == other.id
    with pytest.raises(InvalidInput, match="needs a title"):
        tasks.plan_for_later("  ")


# -- the verdict -------------------------------------------------------------------------------------------------


def test_attempt_and_verdict_keep_their_actors(thread: Thread, tasks: Tasks) -> None:
    """Who attempted and who decided, and whether that was a person or a program."""
    tasks.start("paint")
    thread.append("user", "paint it")
    attempt = tasks.attempt("painted twice", as_actor="agent:7")
    assert (attempt.by, attempt.result, attempt.verdict) == ("agent:7", "painted twice", "")
    task = tasks.complete(manual=False, note="looks good")
    assert (task.decided_by, task.decided_as) == ("user", "program")
    (kept,) = task.attempts
    assert (kept.verdict, kept.feedback, kept.decided_as) == ("accepted", "looks good", "program")


def test_completing_a_task_clears_its_messages(thread: Thread, tasks: Tasks) -> None:
    """Its summary replaces them in prompts."""
    tasks.start("paint the shed")
    talk(thread, "paint")
    task = tasks.complete()
    said = shown(thread)
    assert task.cleared
    assert "paint content 1" not in said
    assert "paint the shed (completed)" in said
    assert len(tasks.messages(task)) == 12


def test_sending_back_keeps_request_last_turn_and_essentials(thread: Thread, tasks: Tasks) -> None:
    """The middle is condensed; the feedback is verbatim."""
    tasks.start("paint the shed")
    talk(thread, "paint", 5)
    tasks.attempt("done")
    feedback = "The door is still green.\n- also oil the hinges"
    step = refuse_task(thread, feedback)
    said = shown(thread)
    assert step.task.state is TaskState.INCOMPLETE
    assert step.task.feedback == (feedback,)
    assert "paint request 1" in said
    assert "paint content 5" in said
    assert "paint content 3" not in said
    assert "we decided to keep paint3.py" in said, "a decision is essential"
    assert tasks.current() == step.task


def test_feedback_resumes_the_task(thread: Thread, tasks: Tasks) -> None:
    """Without an extra step; the log records the resumption."""
    task = tasks.start("paint")
    thread.append("user", "paint it")
    tasks.incomplete("too dark")
    tasks.incomplete("and too thick")
    tasks.attempt("lighter now")
    assert tasks.get(task.id).state is TaskState.IN_PROGRESS
    assert tasks.get(task.id).feedback == ("too dark", "and too thick")
    assert tasks.complete().state is TaskState.COMPLETED


def test_feedback_images_are_stored(engine: Engine, thread: Thread, tasks: Tasks) -> None:
    """Their bytes can be read back by the digests that the task names."""
    tasks.start("paint")
    thread.append("user", "paint it")
    picture = b"\x89PNG\r\n\x1a\n green door"
    task = tasks.incomplete("", images=[picture])
    (name,) = task.attempts[-1].media
    assert engine.blob(name) == picture
    with pytest.raises(InvalidInput, match=r"images takes Sequence\[bytes\]"):
        tasks.incomplete("look", images=["door.png"])  # type: ignore[list-item]


def test_feedback_with_images_becomes_a_user_message(thread: Thread, tasks: Tasks) -> None:
    """As the user's message, part of the task and of the step: undo takes it out again."""
    task = tasks.start("paint")
    thread.append("user", "paint it")
    before = everything(thread)
    tasks.incomplete("the door", images=[b"\x89PNG\r\n\x1a\n"])
    said = tasks.messages(task.id)[-1]
    assert (said.role, said.text) == ("user", "the door")
    assert "image/png" in shown(thread)
    thread.undo()
    assert everything(thread) == before
    tasks.incomplete("only a word")
    assert everything(thread) == before
    tasks.incomplete("said aloud", say=True)
    assert thread.message(-1).text == "said aloud"


def test_put_before_completes_or_sends_back(thread: Thread, tasks: Tasks) -> None:
    """True accepts, words send back."""
    tasks.start("paint")
    thread.append("user", "paint it")
    assert tasks.put_before("first", lambda _task: "no, blue").feedback == ("no, blue",)
    assert tasks.put_before("second", lambda _task: True).state is TaskState.COMPLETED


def test_task_result_is_withheld_while_its_source_is_deleted(thread: Thread, tasks: Tasks) -> None:
    """And is back, word for word, when the deletion is undone."""
    task = tasks.start("paint")
    said = thread.append("user", "the code is swordfish")
    tasks.attempt("I used swordfish")
    thread.delete(said.id)
    assert tasks.get(task.id).attempts[0].result == ""
    assert tasks.get(task.id).attempts[0].note == WITHHELD
    thread.undo()
    assert tasks.get(task.id).attempts[0].result == "I used swordfish"


def test_summary_of_a_cleared_task_follows_deletions(thread: Thread, tasks: Tasks) -> None:
    """Nothing of a deleted message lives on in it."""
    tasks.start("paint")
    thread.append("user", "the password is swordfish and it must never be written down anywhere, please")
    talk(thread, "paint", 2)
    tasks.complete()
    assert "swordfish" in shown(thread)
    secret = next(m for m in thread if "swordfish" in m.text)
    thread.delete(secret.id)
    assert "swordfish" not in shown(thread)


def test_cancelling_clears_the_task_and_keeps_the_reason(thread: Thread, tasks: Tasks) -> None:
    """It stays known as cancelled."""
    tasks.start("paint")
    talk(thread, "paint")
    task = tasks.cancel("too expensive")
    assert (task.state, task.reason, task.cleared) == (TaskState.CANCELLED, "too expensive", True)
    assert "paint content 1" not in shown(thread)
    assert tasks.current() is None


@pytest.mark.parametrize("end", ["complete", "incomplete", "cancel"])
def test_ending_a_task_flushes_the_graph(thread: Thread, tasks: Tasks, end: str) -> None:
    """A flush is part of the same stroke."""
    tasks.start("paint")
    thread.append("user", "paint it")
    {
        "complete": tasks.complete,
        "incomplete": lambda: tasks.incomplete("no"),
        "cancel": tasks.cancel,
    }[end]()
    written = list(thread.events())
    flushed = [e for e in written if e.kind is Kind.FLUSHED]
    tasked = [e for e in written if e.kind is Kind.TASKED]
    assert len(flushed) == 1
    assert flushed[0].head["group"] == tasked[-1].head["group"]


def test_illegal_task_steps_are_refused(thread: Thread, tasks: Tasks) -> None:
    """Nothing to attempt, nothing to complete, an ended task, one that is already in progress."""
    before = thread.head
    for step in (lambda: tasks.attempt("x"), tasks.complete, tasks.cancel):
        with pytest.raises(Conflict, match="has no current task"):
            step()
    assert thread.head == before
    task = tasks.start("paint")
    with pytest.raises(Conflict, match="already in progress"):
        tasks.resume(task)
    thread.append("user", "paint it")
    tasks.complete()
    head = thread.head
    with pytest.raises(Conflict, match="is completed: resume is not possible"):
        tasks.resume(task)
    with pytest.raises(Conflict, match="is completed: cancel is not possible"):
        tasks.cancel(task=task)
    with pytest.raises(InvalidInput, match="feedback is empty"):
        tasks.incomplete(" ")
    with pytest.raises(NotFound, match="task 999 not found"):
        tasks.get("999")
    assert thread.head == head


# -- undo --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "step",
    ["start", "attempt", "complete", "incomplete", "cancel", "resume", "split", "merge", "title", "link"],
)
def test_undo_and_redo_of_every_task_step(thread: Thread, tasks: Tasks, step: str) -> None:
    """Tasks and prompt are exactly as before, then exactly as after."""
    first = tasks.start("paint")
    talk(thread, "paint", 4)
    middle = next(m for m in thread if m.text.startswith("paint request 3"))
    if step in ("resume", "merge", "link"):
        tasks.start("crane")
        talk(thread, "crane", 2)
    do = {
        "start": lambda: tasks.start("crane"),
        "attempt": lambda: tasks.attempt("done"),
        "complete": tasks.complete,
        "incomplete": lambda: tasks.incomplete("not yet"),
        "cancel": lambda: tasks.cancel("no"),
        "resume": lambda: tasks.resume(first),
        "split": lambda: tasks.split(middle.id, "late"),
        "merge": lambda: tasks.merge(first, tasks.list()[-1]),
        "title": lambda: tasks.rename("other"),
        "link": lambda: tasks.link(first, tasks.list()[-1]),
    }[step]
    before = (tasks.list(), shown(thread))
    do()
    after = (tasks.list(), shown(thread))
    assert after != before
    thread.undo()
    assert (tasks.list(), shown(thread)) == before
    thread.redo()
    assert (tasks.list(), shown(thread)) == after


# -- resting, splitting, merging ---------------------------------------------------------------------------------


def test_resuming_restores_a_task_and_clears_the_other(thread: Thread, tasks: Tasks) -> None:
    """Its own messages are in the prompt again in full, those of the other are summed up."""
    first = tasks.start("paint")
    talk(thread, "paint")
    second = tasks.start("crane")
    talk(thread, "crane")
    tasks.resume(first)
    said = shown(thread)
    assert "paint content 2" in said
    assert "crane content 2" not in said
    last = thread.append("user", "back to painting")
    assert [m.id for m in tasks.messages(first.id)][-1] == last.id
    assert last.id not in [m.id for m in tasks.messages(second.id)]


def test_split_and_merge_keep_every_message(thread: Thread, tasks: Tasks) -> None:
    """Every message belongs to exactly one of them, and in the end to the one."""
    task = tasks.start("both")
    talk(thread, "paint", 2)
    whole = [m.id for m in tasks.messages(task.id)]
    edge = whole[4]
    new = tasks.split(edge, "second half")
    assert [m.id for m in tasks.messages(task.id)] == whole[:4]
    assert [m.id for m in tasks.messages(new)] == whole[4:]
    assert tasks.current() == new
    one = tasks.merge(task.id, new.id)
    assert [m.id for m in tasks.messages(one)] == whole
    assert tasks.get(new.id).id == task.id, "the other name still finds it"
    assert len(tasks.list()) == 1


def test_merging_a_wrong_start_restores_the_prompt(thread: Thread, tasks: Tasks) -> None:
    """Nothing is lost when the guess was wrong."""
    first = tasks.start("paint")
    talk(thread, "paint")
    before = shown(thread)
    second = tasks.start("still paint")
    one = tasks.merge(first, second)
    assert one.current
    assert not one.cleared
    assert shown(thread) == before


def test_split_at_an_invalid_message_is_refused(thread: Thread, tasks: Tasks) -> None:
    """The hints say what to do instead."""
    loose = thread.append("user", "hello")
    with pytest.raises(Conflict, match="belongs to no task"):
        tasks.split(loose.id)
    tasks.start("paint")
    first = thread.append("user", "paint it")
    with pytest.raises(Conflict, match="begins with message"):
        tasks.split(first.id)


def test_task_steps_keep_crops_of_the_user(thread: Thread, tasks: Tasks) -> None:
    """Own words of a crop survive clearing, merging and resuming."""
    first = tasks.start("paint")
    talk(thread, "paint", 3)
    found = tasks.messages(first.id)
    thread.crop(summary="My own words.", first=found[0].id, last=found[3].id)
    tasks.start("crane")
    talk(thread, "crane", 1)
    assert "My own words." in shown(thread)
    tasks.resume(first.id)
    said = shown(thread)
    assert "My own words." in said
    assert "paint content 1" not in said
    assert "paint content 2" in said


# -- forks, edits, other hands -----------------------------------------------------------------------------------


def test_fork_inherits_tasks_up_to_its_message(thread: Thread, tasks: Tasks) -> None:
    """Later steps do not exist in the fork, and both continue independently."""
    first = tasks.start("paint")
    talk(thread, "paint", 2)
    edge = next(m for m in thread if m.text.startswith("paint answer 1"))
    tasks.complete()
    tasks.start("crane")
    talk(thread, "crane", 1)
    fork = Tasks(thread.fork(edge.id))
    (inherited,) = fork.list()
    assert (inherited.id, inherited.state, inherited.current) == (first.id, TaskState.IN_PROGRESS, True)
    assert [m.text for m in fork.messages(inherited)][-1] == edge.text
    assert not inherited.cleared
    assert "paint content 1" in shown(cast("backscroll.Thread", fork.thread)), (
        "there it is still being worked on"
    )
    fork.cancel("another way")
    assert fork.get(first.id).state is TaskState.CANCELLED
    assert tasks.get(first.id).state is TaskState.COMPLETED
    whole = Tasks(thread.fork())
    assert [t.state for t in whole.list()] == [TaskState.COMPLETED, TaskState.IN_PROGRESS]


def test_task_messages_follow_inserts_moves_and_deletions(thread: Thread, tasks: Tasks) -> None:
    """All messages within the range of a task belong to it."""
    task = tasks.start("paint")
    one = thread.append("user", "one")
    two = thread.append("user", "two")
    other = tasks.start("crane")
    three = thread.append("user", "three")
    between = thread.insert("user", "between", after=one.id)
    assert [m.id for m in tasks.messages(task.id)] == [one.id, between.id, two.id]
    thread.move(two.id, after=three.id)
    assert [m.id for m in tasks.messages(other.id)] == [three.id, two.id]
    thread.delete(one.id)
    assert tasks.get(task.id).first == between.id


def test_task_step_on_an_outdated_state_is_a_conflict(
    thread: Thread, tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another process completed the task in between, nothing is written."""
    task = tasks.start("paint")
    thread.append("user", "paint it")
    stale = tasks.list()
    tasks.complete()
    head = thread.head
    monkeypatch.setattr("backscroll.engine.work.verdict.all_tasks", lambda _thread: stale)
    with pytest.raises(Conflict, match="conflict: another step was taken since"):
        tasks.cancel("no", task=task)
    assert thread.head == head


def test_another_process_sees_the_same_tasks(tmp_path: Path, thread: Thread, tasks: Tasks) -> None:
    """Everything follows from the log."""
    tasks.start("paint")
    talk(thread, "paint", 4)
    tasks.attempt("done")
    tasks.incomplete("not yet")
    here = tasks.list()
    thread.engine.close()
    with backscroll.open(tmp_path / "store.db", background=False) as again:
        assert Tasks(again.thread(thread.id)).list() == here
        assert not again.verify().flaws


def test_chinese_thread_has_chinese_task_summaries(engine: Engine) -> None:
    """The line above a summary is in the language of the thread."""
    thread = engine.create("港口", language="zh")
    tasks = Tasks(thread)
    tasks.start("修理起重机")
    talk(thread, "起重机")
    tasks.complete()
    assert "修理起重机（已完成）" in shown(thread)


def test_odd_characters_in_tasks(thread: Thread, tasks: Tasks) -> None:
    """Control characters, lone surrogates and long titles."""
    task = tasks.start("a\u0000b \ud800 \u202e\n c")
    assert "\n" not in task.title
    thread.append("user", "x\ud800")
    tasks.attempt("\udfff done \u0007")
    assert tasks.complete().state is TaskState.COMPLETED
    with pytest.raises(InvalidInput, match="characters"):
        tasks.start("x" * 201)


def test_clearing_a_long_past_uses_the_summary_tree(thread: Thread, tasks: Tasks) -> None:
    """Text deleted later is not shown."""
    for n in range(90):
        thread.append("user", f"request {n}: the crane of pier {n} must never lift more than {n}17 kg")
        thread.append("assistant", f"answer {n}: noted, crane {n} is limited to {n}17 kg.")
    (release,) = start_task(thread, "paint the shed").released
    assert release.messages == 180
    assert "crane" in release.words
    told = [m for m in thread if m.role == "user" and f"{m.text.split()[-2]} kg" in release.words]
    assert told
    for message in told:
        thread.delete(message.id)
    said = shown(thread)
    assert not any(message.text in said for message in told)


def test_forgetting_a_message_erases_results_and_keeps_the_verdict(
    thread: Thread, tasks: Tasks, tmp_path: Path
) -> None:
    """The words are erased from the file too; the task is still completed."""
    task = tasks.start("paint")
    said = thread.append("user", "the code is swordfish-9431")
    thread.append("assistant", "thanks")
    tasks.attempt("I used swordfish-9431 to open the door")
    tasks.complete(note="good")
    thread.forget(said.id)
    known = tasks.get(task.id)
    assert (known.state, known.title) == (TaskState.COMPLETED, "paint")
    assert [a.result for a in known.attempts] == [""]
    assert "swordfish" not in shown(thread)
    thread.engine.close()
    assert b"swordfish-9431" not in (tmp_path / "store.db").read_bytes()


def test_task_summary_plan_questions_and_history(thread: Thread, tasks: Tasks) -> None:
    """Summary, essentials, plan, questions, what matters from before, how near it is."""
    first = tasks.start("paint the shed")
    talk(thread, "paint", 3)
    tasks.incomplete("the door is green. also oil the hinges")
    assert "paint" in tasks.summary()
    assert any("paint2.py" in e.text for e in tasks.essentials())
    plan = tasks.plan()
    assert any("hinges" in step.text for step in plan.steps)
    assert all(step.sources for step in plan.steps if "hinges" in step.text)
    assert len(tasks.questions()) <= 3
    tasks.complete()
    second = tasks.start("paint the shed again, and the door")
    thread.append("user", "please paint the shed and its door")
    assert tasks.tiers() == {first.id: "middle", second.id: "short"}
    found = tasks.relevant_history(second)
    assert "door" in found.text or "hinges" in found.text
    assert second.relevant
