"""Follow-up questions: what is missing, in the user's language, at most three, never what is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.tasks.lifecycle.followup import (
    AskInput,
    FollowUp,
    find_answer,
    questions,
    questions_by_model,
)
from backscroll.tasks.lifecycle.plans import SourcedText
from backscroll.tasks.lifecycle.tuning import QUESTIONS
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Media
from tests.tasks.builders import HOME, Talk

SAID = Ref(HOME, 99)


def asked(feedback: str, talk: Talk | None = None, **more: object) -> list[str]:
    before = tuple(talk.messages) if talk else ()
    found = questions(AskInput(SourcedText(feedback, SAID), before=before, **more))  # type: ignore[arg-type]
    assert all(q.text and q.why and q.sources for q in found)
    return [q.about for q in found]


@pytest.mark.parametrize(
    "text",
    [
        "Still broken.", "it doesn't work", "hmm, not quite", "Not really what I had in mind.", "meh, try again", "it feels a bit off",
        "不对", "还是不行", "有问题", "感觉不太对，再改改", "还是差点意思", "嗯……总觉得哪里怪怪的", "这个不是我想要的，重做吧",
    ],
)  # fmt: skip
def test_feedback_without_a_reason_is_asked_what_is_wrong(text: str) -> None:
    assert asked(text) == ["expected"]


@pytest.mark.parametrize(
    "text",
    ["the button is too small", "标题太长了，再改改", "不对，日期应该是周三", "make it blue", "再加一列", "not quite: tax is missing"],
)  # fmt: skip
def test_feedback_with_a_reason_is_not_asked_what_is_wrong(text: str) -> None:
    assert "expected" not in asked(text)


def test_feedback_with_an_image_is_asked_what_was_expected() -> None:
    found = questions(AskInput(SourcedText("不对", SAID), media=True))
    assert ["期望" in q.text and "图" in q.text for q in found] == [True]


def test_questions_are_in_the_language_of_the_feedback() -> None:
    assert "期望" in questions(AskInput(SourcedText("不对", SAID), language="en"))[0].text
    assert "expect" in questions(AskInput(SourcedText("Still broken", SAID), language="zh"))[0].text


def test_missing_error_text_is_asked_for() -> None:
    assert "error" in asked("The import throws an error when I click save")
    assert "error" not in asked("The import fails: ValueError: bad date when I click save")
    assert "error" in asked("点击保存就报错，页面白屏")
    assert "error" not in asked("点击保存就报错：错误: 日期无效")


def test_ambiguous_file_is_asked_for() -> None:
    talk = Talk()
    talk.assistant("I changed src/a.py and src/b.py.")
    found = questions(
        AskInput(SourcedText("Rename that file to something better named", SAID), before=tuple(talk.messages))
    )
    which = [q for q in found if q.about == "file"]
    assert which
    assert "src/a.py" in which[0].text


def test_single_candidate_file_is_not_asked_for() -> None:
    talk = Talk()
    talk.assistant("I changed src/a.py.")
    assert "file" not in asked("Rename that file, please, to what we said", talk)


def test_named_file_is_not_asked_for() -> None:
    assert "file" not in asked("Rename that file src/a.py to src/c.py")


def test_version_is_asked_for_unless_known() -> None:
    assert "version" in asked("After the upgrade the chart is empty")
    talk = Talk()
    talk.user("We run Python 3.12 on Ubuntu 24.04")
    assert "version" not in asked("After the upgrade the chart is empty", talk)
    assert "version" in asked("升级之后图表是空的")


def test_contradicting_instructions_are_asked_about() -> None:
    talk = Talk()
    first = talk.user("Always use npm in this project.")
    found = questions(
        AskInput(SourcedText("Please use pnpm for the build", SAID), before=tuple(talk.messages))
    )
    assert [q.about for q in found] == ["conflict"]
    assert found[0].sources == (first.revision, SAID)
    assert "npm" in found[0].text


def test_explicit_change_of_mind_is_not_asked_about() -> None:
    talk = Talk()
    talk.user("Always use npm in this project.")
    assert "conflict" not in asked("From now on use pnpm.", talk)


def test_request_without_a_measure_is_asked_for_one() -> None:
    assert asked("Make it look nicer") == ["measure"]
    assert asked("页面好看一点") == ["measure"]
    assert "measure" not in asked("Make it faster: under 200 ms")


def test_open_question_of_the_assistant_is_asked_again() -> None:
    found = questions(AskInput(open=(SourcedText("Which database do you use?", Ref(HOME, 4)),)))
    assert [(q.about, q.sources) for q in found] == [("asked", (Ref(HOME, 4),))]


def test_clear_feedback_needs_no_question() -> None:
    assert asked("The title in src/page.tsx should be Home instead of Start") == []


def test_answer_closes_the_question() -> None:
    """It is a user message; a vague one does not count."""
    talk = Talk()
    vague = talk.user("it still doesn't work")
    assert "expected" in asked("Still broken", after=(vague,))
    clear = talk.user("I expected three rows, I see none")
    assert asked("Still broken", after=(vague, clear)) == []
    question = questions(AskInput(SourcedText("Still broken", SAID)))[0]
    assert find_answer(question, (vague, clear)) == clear


def test_answer_must_fit_the_question() -> None:
    talk = Talk()
    words = talk.user("It happens every morning")
    trace = talk.user("KeyError: 'user'")
    question = FollowUp("?", "", (SAID,), "error")
    assert find_answer(question, (words,)) is None
    assert find_answer(question, (words, trace)) == trace
    image = talk.say("user", [Media("image/png", url="x")])
    assert find_answer(question, (image,)) == image


def test_three_questions_at_most() -> None:
    talk = Talk()
    talk.assistant("a.py and b.py")
    text = "After the upgrade that page throws an error on our server, make it nicer"
    assert len(asked(text, talk)) <= QUESTIONS


def test_model_questions_are_parsed() -> None:
    rules = [FollowUp("?", "why", (SAID,), "expected")]
    known = {99: SAID}
    assert [(q.text, q.sources) for q in questions_by_model("- Which page? [bs:99]", rules, known)] == [
        ("Which page?", (SAID,))
    ]
    assert questions_by_model("none", rules, known) == []
    assert questions_by_model("…", rules, known) == rules


@given(st.text(max_size=300))
def test_any_feedback_can_be_asked_about(text: str) -> None:
    found = questions(AskInput(SourcedText(text, SAID)))
    assert len(found) <= QUESTIONS
    assert found == questions(AskInput(SourcedText(text, SAID)))
