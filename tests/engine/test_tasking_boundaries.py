"""Where another task seems to begin: suggested, acted on where the settings say so, and put right without loss."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.thread import Thread
from backscroll.engine.work.boundaries import suggestion
from backscroll.errors import InvalidInput
from backscroll.vocab.task import TaskState

NEW = "Great, thanks. Now let's start a new task: write the invoice for the mayor of Antwerp."


def talk(thread: Thread) -> None:
    for n in range(4):
        thread.append("user", f"Please paint plank {n} of the old shed red")
        thread.append("assistant", f"Plank {n} of the shed is red now.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def test_boundary_is_suggested_by_default(folder: Path) -> None:
    """The newest request is pointed out; no task is started."""
    with backscroll.open(folder, background=False) as engine:
        thread = engine.create("harbour")
        talk(thread)
        assert suggestion(thread) is None
        new = thread.append("user", NEW)
        found = suggestion(thread)
        assert found is not None
        assert (found.what, found.message) == ("start", new.id)
        assert new.id in [b.message for b in thread.tasks.boundaries()]
        assert thread.tasks.act_on_boundary() is None
        assert thread.tasks.list() == []


def test_known_task_start_is_not_suggested(folder: Path) -> None:
    """Starting the task there settles the matter."""
    with backscroll.open(folder, background=False) as engine:
        thread = engine.create("harbour")
        talk(thread)
        new = thread.append("user", NEW)
        thread.tasks.start(at=new.id)
        assert suggestion(thread) is None
        assert new.id not in [b.message for b in thread.tasks.boundaries()]


def test_act_mode_starts_a_task_that_can_be_undone(folder: Path) -> None:
    """The message that began it belongs to the new task; undo leaves no trace of it, merging loses nothing."""
    with backscroll.open(folder, background=False, task_boundaries="act") as engine:
        thread = engine.create("harbour")
        first = thread.tasks.start("paint the shed")
        talk(thread)
        assert thread.tasks.act_on_boundary() is None
        new = thread.append("user", NEW)
        made = thread.tasks.current()
        assert made is not None
        assert (made.first, made.by) == (new.id, "user")
        assert thread.tasks.get(first.id).last != new.id
        assert thread.tasks.act_on_boundary() is None, "once is enough"
        one = thread.tasks.merge(first, made)
        assert len(thread.tasks.messages(one)) == 9
        thread.undo()
        thread.undo()
        assert [t.id for t in thread.tasks.list()] == [first.id]
        assert thread.tasks.current() is not None


def test_message_can_end_one_task_and_start_another(folder: Path) -> None:
    """The message belongs to the new task; the old one is completed without it."""
    with backscroll.open(folder, background=False, task_boundaries="act") as engine:
        thread = engine.create("harbour")
        first = thread.tasks.start("paint the shed")
        talk(thread)
        new = thread.append("user", "That's done. Let's start on the login page.")
        made = thread.tasks.current()
        assert made is not None
        assert made.first == new.id
        assert thread.tasks.get(first.id).state is TaskState.COMPLETED
        assert new.id not in [m.id for m in thread.tasks.messages(first.id)]


def test_follow_up_questions_are_not_boundaries(folder: Path) -> None:
    """Asking on, doubting, wanting another form of the answer: in the store as in the detector."""
    with backscroll.open(folder, background=False) as engine:
        thread = engine.create()
        for asked in ("什么是复利？", "举个例子", "二十年呢", "为什么大家说要早点开始", "什么是复利？"):
            thread.append("user", asked)
            thread.append("assistant", "复利就是利息也会产生利息，本金和利息一起滚动增长，时间越长差别越大。")
        assert thread.tasks.boundaries() == []
        new = thread.append("user", "换个话题，我家猫最近老是吐毛球，怎么办？")
        assert [b.message for b in thread.tasks.boundaries()] == [new.id]


def test_closing_words_complete_the_task_by_program(folder: Path) -> None:
    """Its messages stay in the prompt until another task starts."""
    with backscroll.open(folder, background=False, task_boundaries="act") as engine:
        thread = engine.create("港口", language="zh")
        thread.tasks.start("刷棚子")
        for n in range(3):
            thread.append("user", f"请把第 {n} 块木板刷成红色")
            thread.append("assistant", f"第 {n} 块木板已经是红色了。")
        thread.append("user", "这个任务完成了。")
        (made,) = thread.tasks.list()
        assert (made.state, made.decided_as, made.cleared) == (TaskState.COMPLETED, "program", False)


def test_boundaries_can_be_switched_off(folder: Path) -> None:
    """No message is examined."""
    with backscroll.open(folder, background=False, task_boundaries="off") as engine:
        thread = engine.create("harbour")
        talk(thread)
        thread.append("user", NEW)
        assert suggestion(thread) is None
        assert thread.tasks.boundaries() == []


def test_unknown_boundary_setting_is_refused(folder: Path) -> None:
    """The hint lists the valid values."""
    with pytest.raises(InvalidInput, match="task_boundaries") as caught:
        backscroll.open(folder, background=False, task_boundaries="maybe")  # type: ignore[arg-type]
    assert "suggest" in caught.value.hint


def test_append_in_act_mode_switches_tasks(folder: Path) -> None:
    """With `act`, appending is enough: both languages, decided by the program, and undo takes each step back."""
    with backscroll.open(folder, background=False, task_boundaries="act") as engine:
        thread = engine.create("login")
        thread.tasks.start("Fix the login")
        thread.append("user", "登录页面打不开，请修一下。")
        thread.append("assistant", "修好了：会话里缺少用户。")
        thread.append("user", "好的，这个任务完成了，谢谢。")
        (done,) = thread.tasks.list()
        assert (done.state, done.decided_as) == (TaskState.COMPLETED, "program")
        thread.append("assistant", "不客气。")
        thread.append("user", "Let's start a new feature: export as CSV.")
        assert [task.state for task in thread.tasks.list()] == [TaskState.COMPLETED, TaskState.IN_PROGRESS]
        thread.undo()
        assert [task.state for task in thread.tasks.list()] == [TaskState.COMPLETED]
        thread.undo()
        assert [task.state for task in thread.tasks.list()] == [TaskState.IN_PROGRESS]


def test_cached_boundary_scores_equal_fresh_ones(tmp_path: Path) -> None:
    """After every message, after an edit, and across blocks of events."""
    chance = random.Random(3)
    topics = (
        "the login form fails",
        "book a hotel in Rome",
        "写一首关于秋天的诗",
        "now the tests of the parser",
    )
    with backscroll.open(tmp_path / "s.db", background=False) as store:
        thread = store.create("weighed")
        found: list[object] = []
        for n in range(70):
            asked = thread.append(
                "user", f"{chance.choice(topics)}, step {n}. Next task?" if n % 9 == 8 else f"go on {n}"
            )
            if n == 40:
                thread.edit(asked.id, "Let's start a new feature.")
            warm = suggestion(thread)
            found.append(warm)
            if n % 5 == 0 or n > 60:
                store.memo.clear()
                assert suggestion(thread) == warm
            thread.append("assistant", f"Done with {chance.choice(topics)}.")
        assert any(found)
