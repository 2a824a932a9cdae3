"""Plans: made from feedback, open items, errors and preferences; every step names its sources."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.tasks.lifecycle.plans import (
    PlanInput,
    SourcedText,
    plan_by_model,
    plan_from,
    render_state,
)
from backscroll.tasks.lifecycle.points import is_vague, points_of
from backscroll.tasks.lifecycle.tuning import STEPS
from backscroll.vocab.ids import Ref
from backscroll.vocab.task import Memory, MemoryKind
from tests.tasks.builders import HOME


def said(text: str, seq: int = 7) -> SourcedText:
    return SourcedText(text, Ref(HOME, seq))


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("1. fix the footer\n2. add dark mode", ["fix the footer", "add dark mode"]),
        (
            "The button does nothing, and also the title is wrong. Add tests; remove the prints.",
            ["The button does nothing", "the title is wrong.", "Add tests", "remove the prints."],
        ),
        ("标题要改成“首页”，另外加上测试；登录报错", ["标题要改成“首页”", "加上测试", "登录报错"]),
        ("还有，页脚太大。", ["页脚太大。"]),
        ("一、改标题\n二、加测试", ["改标题", "加测试"]),
        ("Thanks, looks good! But the date format should be ISO.", ["the date format should be ISO."]),
        ("Still broken. The list is empty.", ["The list is empty."]),
        ("谢谢", []),
        ("Also add a title.", ["add a title."]),
        ("但是颜色不对劲，太暗", ["颜色不对劲，太暗"]),
        ("It fails:\n```\nTraceback\nValueError: bad date\n```", ["It fails:", "ValueError: bad date"]),
    ],
)
def test_feedback_is_split_into_points(text: str, points: list[str]) -> None:
    assert [p.text for p in points_of(text)] == points


@pytest.mark.parametrize(
    "text", ["Still broken", "it doesn't work", "不对", "还是不行啊", "有问题", "Not what I wanted.", "no"]
)
def test_verdicts_without_a_reason_are_vague(text: str) -> None:
    assert is_vague(text)
    assert [p.wish for p in points_of(text)] == ["unclear"]


@pytest.mark.parametrize(
    "text", ["login.py is broken", "The list is still empty", "第 3 行不对", "登录按钮没反应"]
)
def test_feedback_that_names_something_is_not_vague(text: str) -> None:
    assert not is_vague(text)


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("The export crashes", "error"),
        ("Add a test for it", "missing"),
        ("Remove the debug output", "remove"),
        ("The title should be Home", "change"),
        ("Why is it blue?", "question"),
        ("导出会崩溃", "error"),
        ("请加一个按钮", "missing"),
        ("去掉这行字", "remove"),
        ("标题改成首页", "change"),
        ("为什么是蓝色的？", "question"),
    ],
)
def test_point_has_a_kind_of_wish(text: str, wish: str) -> None:
    assert [p.wish for p in points_of(text)] == [wish]


def test_every_point_is_a_step_that_cites_the_feedback() -> None:
    plan = plan_from(PlanInput("Page", feedback=(said("The button does nothing. Add a footer."),)))
    assert [s.text for s in plan.steps[:2]] == [
        "Find the cause and fix: The button does nothing.",
        "Add what is missing: Add a footer.",
    ]
    assert all(s.sources == (Ref(HOME, 7),) for s in plan.steps)


def test_plan_changes_with_the_feedback() -> None:
    """Earlier points are checked, not forgotten."""
    first = plan_from(PlanInput("Page", feedback=(said("The button does nothing."),)))
    second = plan_from(
        PlanInput("Page", feedback=(said("The button does nothing."), said("The colours are wrong.", 9)))
    )
    assert first.steps != second.steps
    assert "colours" in second.steps[0].text
    assert any("button" in s.text and s.sources == (Ref(HOME, 7),) for s in second.steps[1:])


def test_plan_is_in_the_language_of_the_feedback() -> None:
    plan = plan_from(PlanInput("登录页", feedback=(said("按钮没反应，另外加上测试"),), language="en"))
    assert plan.language == "zh"
    assert plan.steps[0].text.startswith("找出原因")


def test_open_to_dos_and_errors_are_steps() -> None:
    plan = plan_from(
        PlanInput("x", todos=(said("write the docs", 3),), errors=(said("pytest: 1 failed", 4),))
    )
    assert [(s.text, s.sources) for s in plan.steps[1:3]] == [
        ("Resolve: pytest: 1 failed", (Ref(HOME, 4),)),
        ("Still to do: write the docs", (Ref(HOME, 3),)),
    ]


def test_duplicate_points_are_one_step_with_all_sources() -> None:
    plan = plan_from(
        PlanInput(
            "x",
            feedback=(said("The footer is missing on the login page"),),
            todos=(said("footer on the login page", 3),),
        )
    )
    steps = [s for s in plan.steps if "footer" in s.text]
    assert [s.sources for s in steps] == [(Ref(HOME, 7), Ref(HOME, 3))]


def test_earlier_attempts_are_listed_with_the_step() -> None:
    plan = plan_from(
        PlanInput(
            "x",
            feedback=(said("The export to Excel is still slow"),),
            tried=(said("Bash: export to Excel with pandas: took 90 s", 5),),
        )
    )
    assert "with pandas" in plan.steps[0].why
    assert Ref(HOME, 5) in plan.steps[0].sources
    assert [s.text for s in plan.avoid] == ["Bash: export to Excel with pandas: took 90 s"]


def test_preferences_and_lessons_are_cited() -> None:
    liked = Memory("p", MemoryKind.PREFERENCE, "Always use pnpm.", HOME, sources=(Ref(HOME, 1),))
    lesson = Memory(
        "l", MemoryKind.LESSON, "The export to Excel failed: no memory", HOME, sources=(Ref(HOME, 2),)
    )
    plan = plan_from(
        PlanInput("x", feedback=(said("The export to Excel fails"),), preferences=(liked,), lessons=(lesson,))
    )
    assert any("Always use pnpm." in s.text and Ref(HOME, 1) in s.sources for s in plan.steps)
    assert "no memory" in plan.steps[0].why


def test_last_step_is_a_check() -> None:
    plan = plan_from(
        PlanInput("x", feedback=(said("Wrong colour of the title"),), check=said("pytest -q", 6))
    )
    assert "`pytest -q`" in plan.steps[-2].text
    assert "point by point" in plan.steps[-1].text


def test_vague_verdict_alone_starts_with_an_investigation() -> None:
    plan = plan_from(PlanInput("x", feedback=(said("还是不行"),)))
    assert "先弄清楚" in plan.steps[0].text


def test_answer_replaces_the_vague_verdict() -> None:
    plan = plan_from(
        PlanInput("x", feedback=(said("Still broken"),), answers=(said("The list is empty on phones", 9),))
    )
    assert plan.steps[0].sources == (Ref(HOME, 9),)
    assert not any("Still broken" in s.text for s in plan.steps)


def test_plan_without_feedback_is_what_was_asked() -> None:
    plan = plan_from(PlanInput("Page", asked=said("Add a footer. Remove the banner.")))
    assert [s.text for s in plan.steps[:2]] == [
        "Add what is missing: Add a footer.",
        "Take out: Remove the banner.",
    ]


def test_plan_has_a_limited_number_of_steps() -> None:
    many = tuple(said(f"todo number {n} about thing{n}", n + 1) for n in range(40))
    assert len(plan_from(PlanInput("x", todos=many)).steps) <= STEPS


def test_model_plan_is_parsed_with_its_handles() -> None:
    rules = plan_from(PlanInput("x", feedback=(said("Wrong"),)))
    known = {7: Ref(HOME, 7), 9: Ref(HOME, 9)}
    plan = plan_by_model("1. Look at the page [bs:7]\n2) Fix it [bs:9] [bs:88]\n", rules, known)
    assert [(s.text, s.sources) for s in plan.steps] == [
        ("Look at the page", (Ref(HOME, 7),)),
        ("Fix it", (Ref(HOME, 9),)),
    ]
    assert plan.by == "model"
    assert plan_by_model("…", rules, known) is rules


def test_model_gets_everything_with_handles() -> None:
    state = PlanInput("Page", feedback=(said("Wrong title"),), todos=(said("docs", 3),))
    text = render_state(state, HOME, plan_from(state))
    assert "feedback: Wrong title [bs:7]" in text
    assert "open to-do: docs [bs:3]" in text


@given(st.text(max_size=400), st.text(max_size=100))
def test_any_feedback_gives_a_plan(feedback: str, goal: str) -> None:
    """Whatever people write, there is a plan, it is the same every time, and it ends with a check."""
    state = PlanInput(goal, feedback=(said(feedback),))
    plan = plan_from(state)
    assert plan == plan_from(state)
    assert 1 <= len(plan.steps) <= STEPS
    assert plan.steps[-1].sources == (Ref(HOME, 7),)
