"""What a question says about itself, and whether it needs recall."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.recall.question.analysis import needs_past, understand

NOW = date(2026, 11, 15)


def test_exact_terms_are_recognised() -> None:
    """Quoted words, paths, identifiers, in both languages."""
    asked = understand(
        'Why does getUserName in src/app/login.py fail with "connection refused"? 《三体》 and `make bench`, BUG-17'
    )
    assert asked.quoted == ("connection refused", "三体", "make bench")
    assert "src/app/login.py" in asked.paths
    assert {"getUserName", "BUG-17"} <= set(asked.identifiers)


def test_person_number_and_time_are_recognised() -> None:
    """Person, number, time."""
    asked = understand("How many books did I read, and when did you recommend them?")
    assert (asked.first_person, asked.second_person, asked.asks_number, asked.asks_time, asked.asks) == (
        True,
    ) * 5
    zh = understand("我什么时候买的？花了多少钱？")
    assert (zh.first_person, zh.second_person, zh.asks_number, zh.asks_time) == (True, False, True, True)


def test_last_sentence_is_the_question() -> None:
    """The others lead up to it."""
    assert understand("We met Ann. She likes tea. What does she like?").sentences[-1] == "What does she like?"
    assert understand("小明来了。他喜欢什么？").sentences == ("小明来了。", "他喜欢什么？")


@pytest.mark.parametrize(
    "message",
    [
        "What did you say about the licence?",
        "open the file we read earlier",
        "刚才那个报错是什么？",
        "上周三我们定的方案是什么",
        "Remind me which port staging uses",
        "你还记得我最喜欢的电影吗？",
        "what was the name of my dentist?",
        "show me src/auth/tokens.py again",
        "what did we decide last Friday?",
    ],
)
def test_reference_to_the_past_needs_recall(message: str) -> None:
    """By itself, without a model."""
    asked = understand(message, NOW)
    assert needs_past(asked, now=NOW), needs_past(asked, now=NOW)


@pytest.mark.parametrize(
    "message", ["thanks, great", "好的，谢谢", "ok", "Write a haiku.", "嗯", "Hello!", "…"]
)
def test_small_talk_needs_no_recall(message: str) -> None:
    """Nothing is dragged in for nothing."""
    assert not needs_past(understand(message, NOW), now=NOW)


def test_path_shown_in_the_prompt_needs_no_recall() -> None:
    """Only what is not shown has to be looked up."""
    asked = understand("Fix src/auth/tokens.py.")
    assert needs_past(asked)
    assert not needs_past(asked, visible={"src", "auth", "token", "py", "fix"})


@given(st.text())
def test_no_message_is_refused(message: str) -> None:
    """Lone surrogates and control characters included."""
    asked = understand(message, NOW)
    assert 0 <= needs_past(asked, now=NOW).strength <= 1


def test_lone_surrogate_is_no_error() -> None:
    """A lone surrogate makes no error."""
    assert understand("\ud800 what \x00 was it?").asks
