"""A model writes plans, questions and memories where somebody asks for it: paid once, checked, and rules stand in otherwise."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.budget.costs import calls
from backscroll.engine.engine import Engine
from backscroll.engine.thread import Thread
from backscroll.engine.work.memory import memories as remembering
from backscroll.engine.work.memory import plans as remembering_plans
from backscroll.engine.work.tasks import Tasks
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.testing.scenario import Fault
from backscroll.vocab.task import MemoryKind


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """An empty store, and a settings file of its own."""
    monkeypatch.setenv("BACKSCROLL_CONFIG", str(tmp_path / "config.toml"))
    with backscroll.open(str(tmp_path / "store.db"), background=False) as opened:
        yield opened


@contextmanager
def configured(folder: Path, *lines: Line) -> Iterator[ScriptedServer]:
    """A scripted model that answers in this order."""
    with ScriptedServer(Scenario(lines=lines)) as server:
        table = f'[providers.here]\nbase_url = "{server.url}"\nmodel = "m"\ntries = 1\n'
        (folder / "config.toml").write_text(table, encoding="utf-8")
        yield server


def says(text: str) -> Line:
    return Line(text=json.dumps({"text": text}))


def sent_back(engine: Engine) -> tuple[Thread, Tasks]:
    thread = engine.create("t")
    tasks = Tasks(thread)
    tasks.start("Build the page")
    thread.append("user", "Build the page with a list.")
    thread.append("assistant", "Here it is, in page.tsx. We decided to use a table because it sorts.")
    tasks.attempt("The page")
    tasks.incomplete("Still broken")
    return thread, tasks


def asked(engine: Engine) -> int:
    return len(calls(engine))


def test_model_plan_is_paid_for_once(engine: Engine, tmp_path: Path) -> None:
    """Reading a plan never calls anybody; asked for once, the model's plan is used from then on."""
    thread, tasks = sent_back(engine)
    task = tasks.list()[0]
    with configured(tmp_path, says("1. Open page.tsx\n2. Check the list [bs:3]")):
        assert remembering_plans.plan_for(thread, task).by == "rules"
        assert asked(engine) == 0
        plan = remembering_plans.plan_for(thread, task, ask=True)
        assert [s.text for s in plan.steps] == ["Open page.tsx", "Check the list"]
        assert [s.sources[0].seq for s in plan.steps] == [5, 3]
        assert remembering_plans.plan_for(thread, task, ask=True) == plan
        assert remembering_plans.plan_for(thread, task).by == "model"
    assert asked(engine) == 1


def test_outdated_model_plan_is_not_used(engine: Engine, tmp_path: Path) -> None:
    thread, tasks = sent_back(engine)
    task = tasks.list()[0]
    with configured(tmp_path, says("1. Open page.tsx [bs:4]")):
        remembering_plans.plan_for(thread, task, ask=True)
    thread.append("user", "The list is empty on phones")
    assert remembering_plans.plan_for(thread, task).by == "rules"


def test_rules_apply_if_the_model_is_down(engine: Engine, tmp_path: Path) -> None:
    thread, tasks = sent_back(engine)
    with configured(tmp_path, Line(fault=Fault(500, "down"))):
        assert remembering_plans.plan_for(thread, tasks.list()[0], ask=True).by == "rules"
        assert [q.about for q in remembering_plans.followups_for(thread, tasks.list()[0], ask=True)] == [
            "expected"
        ]


def test_model_questions_are_used_until_outdated(engine: Engine, tmp_path: Path) -> None:
    thread, tasks = sent_back(engine)
    task = tasks.list()[0]
    with configured(tmp_path, says("Which rows are missing from the list? [bs:3]")):
        found = remembering_plans.followups_for(thread, task, ask=True)
    assert [q.text for q in found] == ["Which rows are missing from the list?"]
    assert [q.text for q in remembering_plans.followups_for(thread, task)] == [q.text for q in found]
    thread.append("user", "The ones of last week are missing")
    assert remembering_plans.followups_for(thread, task) == []


def test_model_memories_need_sources(engine: Engine, tmp_path: Path) -> None:
    """A line with marks is remembered, one without is not; what people wrote down stays beside it."""
    thread, tasks = sent_back(engine)
    task = tasks.list()[0]
    answer = """Summary: A page with a list was built and sent back. [bs:3]
Outcome: A table, because it sorts [bs:4]
Lesson: invented out of thin air
Lesson: made up mark [bs:77]"""
    with configured(tmp_path, says(answer)):
        assert remembering_plans.write_memory(thread, task) == "model"
        assert remembering_plans.write_memory(thread, task) == "model"
    assert asked(engine) == 1
    found = remembering.memories(thread)
    by_model = {m.kind: m for m in found if m.by == "model"}
    assert by_model[MemoryKind.OUTCOME].text == "A table, because it sorts"
    assert [s.seq for s in by_model[MemoryKind.OUTCOME].sources] == [4]
    assert "was built and sent back" in by_model[MemoryKind.SUMMARY].text
    texts = " ".join(m.text for m in found)
    assert "thin air" not in texts
    assert "made up mark" not in texts
    assert "Still broken" in texts
    assert "was built and sent back" in remembering.task_summary(thread, task)[0]


def test_forgetting_a_message_erases_model_memories_about_it(engine: Engine, tmp_path: Path) -> None:
    thread, tasks = sent_back(engine)
    with configured(tmp_path, says("Summary: x [bs:3]\nOutcome: A zebra table [bs:4]")):
        remembering_plans.write_memory(thread, tasks.list()[0])
    assert "zebra" in str(remembering.memories(thread))
    gone = next(m for m in thread if "table" in m.text)
    thread.delete(gone.id)
    assert "zebra" not in str(remembering.memories(thread))
    thread.undo()
    assert "zebra" in str(remembering.memories(thread))
    thread.forget(gone.id)
    assert "zebra" not in str(remembering.memories(thread))
    assert b"zebra" not in (tmp_path / "store.db").read_bytes()


def test_memories_of_all_tasks_can_be_written(engine: Engine, tmp_path: Path) -> None:
    thread, tasks = sent_back(engine)
    tasks.start("Another", keep=True)
    thread.append("user", "Now the other page.")
    tasks.complete()
    with configured(tmp_path, Line(text="{no")):
        broken = remembering_plans.write_all(thread)
    assert (broken.by_model, broken.by_rules) == (0, 2)
    assert not any(m.by == "model" for m in remembering.memories(thread))


@pytest.mark.parametrize(
    ("text", "asks"), [("感觉不太对，再改改", True), ("hmm, not quite", True), ("make the title blue", False)]
)
def test_vague_complaint_raises_a_question(engine: Engine, text: str, asks: bool) -> None:
    """The question stays until the user gives details."""
    thread = engine.create("t")
    tasks = Tasks(thread)
    task = tasks.start("Build the page")
    thread.append("user", "Build the page with a list.")
    thread.append("assistant", "Here it is.")
    thread.append("user", text)
    assert [q.about for q in tasks.questions(task)] == (["expected"] if asks else [])
    thread.append("user", "The list should scroll.")
    assert [q.about for q in tasks.questions(task)] == []


def test_relevant_history_is_found_by_meaning(engine: Engine) -> None:
    """A different description of the same problem finds the earlier work, in Chinese too."""
    done = engine.create(project="shop")
    done.tasks.start()
    for number, text in enumerate(
        (
            "首页列表往下滑的时候特别卡，安卓上更明显。",
            "原因是每次滚动都会把整个列表重新渲染一遍。",
            "有什么办法",
            "我给列表项加了 memo，这样只会更新变化的那一项。",
            "帧率从 20 提到了 58，不卡了",
        )
    ):
        done.append("assistant" if number % 2 else "user", text)
    done.tasks.complete()
    thread = engine.create(project="shop")
    for asked_ in ("首页列表滚动很卡", "手机上滑动商品列表掉帧"):
        found = thread.memory.load_relevant_history(asked_).memories
        assert done.id in {m.thread for m in found}
    assert thread.memory.load_relevant_history("帮我写一首诗").memories == ()
