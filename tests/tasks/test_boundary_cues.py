"""Phrases that announce a new subject or the end of one."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.tasks.boundary.cues import KINDS, read_cues


@pytest.mark.parametrize(
    "text",
    [
        "Let's start a new feature: export to CSV",
        "Next task: write the documentation.",
        "OK, moving on to the next ticket",
        "can we start a new project?",
        "Great, thanks! New topic: holidays",
        "let's work on something else",
        "换个话题吧，你喜欢猫吗",
        "接下来做登录页面",
        "好的，下一个任务：修复登录",
        "我们开始做一个新功能吧",
        "不说这个了，晚上吃什么",
    ],
)
def test_explicit_starts_are_recognised(text: str) -> None:
    assert read_cues(text).starts


@pytest.mark.parametrize(
    "text",
    [
        "That's done, thanks!",
        "this task is done",
        "It works now, thank you",
        "that's all I needed",
        "这个任务完成了",
        "搞定了，谢谢",
        "测试都通过了",
    ],
)
def test_explicit_ends_are_recognised(text: str) -> None:
    assert read_cues(text).ends


@pytest.mark.parametrize(
    "text",
    [
        "once this task is done, tell me",
        "don't start a new task yet",
        "Is this task done?",
        "is everything done now? I see errors",
        "no, that's wrong",
        "这个任务完成了吗？",
        "等这个任务完成了再告诉我",
        "不要开始新任务",
        "> Next task: quoted from a mail\nwhat does he mean by that?",
        "```\nnext task: run\n```\nwhy does this print twice?",
    ],
)
def test_retracted_asked_or_quoted_cues_do_not_count(text: str) -> None:
    read = read_cues(text)
    assert (read.starts, read.ends) == ("", "")


def test_both_languages_have_the_same_kinds_of_phrases() -> None:
    kinds = [
        set(tomllib.loads((files("backscroll.tasks") / f"boundary_cues_{language}.toml").read_text("utf-8")))
        for language in ("en", "zh")
    ]
    assert kinds[0] == kinds[1] == {*KINDS, "hedge", "revise"}


def test_last_sentence_is_read_separately() -> None:
    """Thanks first, the request at the end: a common way to change the subject."""
    read = read_cues("That is perfect. Can you find me a hotel for Friday?")
    assert "want" in read.last
    assert "accept" in read.cues - read.last
    assert read.asks_last


@given(st.text(alphabet=st.characters(codec=None), max_size=400))
def test_no_text_is_too_odd_to_read(text: str) -> None:
    """Lone surrogates, control characters and everything else give a reading, by what stands there and nothing before it."""
    read = read_cues(text)
    read_cues("never mind, thanks")
    assert read_cues(str(text.encode("utf-8", "surrogatepass"), "utf-8", "surrogatepass")) == read
    assert read.last <= read.cues
