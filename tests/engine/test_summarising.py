"""The account for a person: what it says, in which language, within which budget, and never of what is gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.tree.account import LEAST
from backscroll.errors import InvalidInput
from backscroll.llm.tokens.tokens import tokenizer_for
from backscroll.vocab.part import Text, ToolCall, ToolResult


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[backscroll.Engine]:
    """An empty store."""
    with backscroll.open(tmp_path / "store.db", background=False) as opened:
        yield opened


@pytest.fixture
def thread(engine: backscroll.Engine) -> backscroll.Thread:
    """A piece of work with a decision, a constraint, a to-do, an error and a file."""
    made = engine.create("Shop", language="en")
    made.append("user", "Please add a login form to the shop. It must work without JavaScript.")
    made.append("assistant", "Understood. Shall I store sessions in Redis?")
    made.append("user", "Let's use SQLite for sessions because there is only one server.")
    edit = {"file_path": "shop/login.py", "old_string": "a", "new_string": "b"}
    made.append("assistant", [Text("Adding it."), ToolCall("c1", "Edit", edit)])
    made.append("tool", ToolResult("c1", (Text("The file has been updated."),)))
    made.append("assistant", [ToolCall("c2", "Bash", {"command": "pytest -q"})])
    made.append(
        "tool", ToolResult("c2", (Text("Exit code 1\nE   KeyError: 'user'\n1 failed"),), is_error=True)
    )
    made.append("user", "TODO: translate the form.\nWhat is missing now?")
    made.append("assistant", "One test fails: the session has no user yet.")
    return made


def test_summary_contains_all_essentials(thread: backscroll.Thread) -> None:
    text = thread.summary()
    for wanted in (
        "Shop (3 turns, 9 messages)",
        "Please add a login form to the shop.",
        "It must work without JavaScript. [bs:2]",
        "Let's use SQLite for sessions because there is only one server. [bs:4]",
        "TODO: translate the form.",
        "KeyError: 'user'",
        "shop/login.py",
        "One test fails: the session has no user yet.",
    ):
        assert wanted in text


def test_chinese_thread_has_a_chinese_summary(engine: backscroll.Engine) -> None:
    made = engine.create("商店")
    made.append("user", "给商店加一个登录表单，必须支持手机。")
    made.append("assistant", "好的。会话我们决定用 SQLite，因为只有一台服务器。")
    made.append("user", "还需要写文档。")
    made.append("assistant", "明白了，文档稍后补上。")
    text = made.summary()
    assert "商店 (2 轮，4 条消息)" in text
    assert "约束：\n- 给商店加一个登录表单，必须支持手机。" in text
    assert "待办：" in text
    assert "因为只有一台服务器" in text


@pytest.mark.parametrize("budget", [LEAST, 120, 300, 2000])
def test_summary_stays_within_the_budget(thread: backscroll.Thread, budget: int) -> None:
    text = thread.summary(budget)
    assert 0 < tokenizer_for("").count(text) <= budget


@pytest.mark.parametrize("budget", [0, -5, LEAST - 1, True, 99.5, "100"])
def test_invalid_summary_budget_is_refused(thread: backscroll.Thread, budget: int) -> None:
    with pytest.raises(InvalidInput) as refused:
        thread.summary(budget)
    assert str(LEAST) in (refused.value.hint or "")


def test_summary_leaves_out_deleted_and_hidden_messages(thread: backscroll.Thread) -> None:
    thread.hide(thread.message(0).id)
    thread.delete(thread.message(2).id)
    text = thread.summary()
    assert "JavaScript" not in text
    assert "SQLite" not in text
    thread.undo()
    assert "SQLite" in thread.summary()


def test_summary_of_an_empty_thread(engine: backscroll.Engine) -> None:
    assert engine.create("").summary() == "Nothing has been said yet."


def test_summary_depends_on_the_log_alone(thread: backscroll.Thread, tmp_path: Path) -> None:
    """It adds no event, and a copy of the store gives the same summary."""
    before = len(list(thread.events()))
    told = thread.summary()
    assert thread.summary() == told
    assert len(list(thread.events())) == before
    thread.engine.backup(tmp_path / "copy.db")
    with backscroll.open(tmp_path / "copy.db", background=False) as other:
        assert other.thread(thread.id).summary() == told


def test_incomplete_summary_says_so(
    engine: backscroll.Engine, thread: backscroll.Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events that are not summarized yet are counted."""
    assert "not summed up" not in thread.summary()
    for number in range(5):
        thread.append("user", f"More {number}.")
    monkeypatch.setattr("backscroll.engine.tree.account._AT_ONCE", 2)
    assert "(The newest 3 events are not summed up yet" in thread.summary()
