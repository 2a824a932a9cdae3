"""The language of what is inserted into prompts: that of the thread, else of what the user writes; chosen once, until the next compaction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.engine import Engine


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Engine]:
    with backscroll.open(tmp_path / "s.db", background=False) as opened:
        yield opened


def body(prompt: backscroll.Prompt) -> str:
    return "\n".join(str(message["content"]) for message in prompt.messages)


def test_chinese_thread_without_a_language_gets_chinese_frames(store: Engine) -> None:
    store.create(user="小安").append("user", "我吃素，对坚果过敏。我住在里斯本。")
    thread = store.create(user="小安")
    thread.tasks.start("The dinner of the week")
    thread.append("user", "今晚吃什么好？")
    first = thread.prompt(8000)
    assert "Remembered" not in body(first)
    assert "Known about" not in body(first)
    assert "偏好：我吃素" in body(first)
    assert "住在里斯本" in body(first)
    # Once chosen it stays, whatever is written next; and nothing of what was sent changes.
    thread.append("assistant", "来一碗番茄面？")
    store.user("小安").create().append("user", "以后回答都用表格。")
    thread.append("user", "Please write the answer in English, and tell me what is in the dish.")
    second = thread.prompt(8000)
    assert second.messages[: len(first.messages) - 1] == first.messages[:-1]
    assert str(second.messages[0]["content"]).startswith(str(first.messages[0]["content"]))
    assert not second.receipt.broken
    assert "Since then" not in body(second)
    assert "At hand" not in body(second)


def test_english_thread_without_a_language_stays_english(store: Engine) -> None:
    store.create(user="ann").append("user", "I am vegetarian and allergic to nuts. I live in Lisbon.")
    thread = store.create(user="ann")
    thread.append("user", "Suggest what to cook in the evening.")
    first = thread.prompt(8000)
    assert "Preference: I am vegetarian" in body(first)
    thread.append("assistant", "A risotto.")
    store.user("ann").create().append("user", "From now on, always answer in tables.")
    thread.append("user", "请用中文再说一遍。")
    second = thread.prompt(8000)
    assert not second.receipt.broken
    assert "此后" not in body(second)


def test_language_of_the_thread_takes_precedence(store: Engine) -> None:
    store.create(user="ann").append("user", "我吃素，对坚果过敏。")
    thread = store.create(user="ann", language="en")
    thread.append("user", "今晚吃什么好？")
    assert "Preference: 我吃素" in body(thread.prompt(8000))


def test_text_without_a_clear_language_fixes_none(store: Engine) -> None:
    """Facts shown in English by default are not shown again in Chinese."""
    store.create(user="ann").append("user", "我吃素，对坚果过敏。")
    thread = store.create(user="ann")
    thread.append("user", "1 + 1")
    first = thread.prompt(8000)
    assert "Preference: 我吃素" in body(first)
    thread.append("assistant", "2")
    thread.append("user", "今晚吃什么好？")
    second = thread.prompt(8000)
    assert not second.receipt.broken
    assert body(second).count("我吃素，对坚果过敏") == 1


def test_summary_headings_use_the_language_of_the_history(store: Engine) -> None:
    thread = store.create()
    for number in range(60):
        thread.append(
            "user", f"第 {number} 号泊位：请订给 {number + 200} 号船，一共四十天，费用已经付清，船长姓李。"
        )
        thread.append("assistant", f"好的，第 {number} 号泊位已经订给 {number + 200} 号船，四十天。" * 4)
    thread.append("user", "第 7 号泊位订给谁了？")
    prompt = thread.prompt(4000)
    assert "summaries" in prompt.receipt.sections()
    assert "这次对话较早的部分" in body(prompt)
    assert "Earlier in this conversation" not in body(prompt)
    thread.append("assistant", "207 号船。")
    thread.append("user", "And what did the captain say in the end?")
    assert not thread.prompt(4000).receipt.broken
    dropped = thread.crop("top", 8)
    assert dropped.messages == 8
    assert "cropped" not in body(thread.prompt(4000))
