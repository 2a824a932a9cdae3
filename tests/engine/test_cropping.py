"""Cropping by hand: what leaves prompts, what stays, and that it comes back exactly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.crops.crops import crops
from backscroll.engine.engine import Engine
from backscroll.engine.thread import Thread
from backscroll.errors import InvalidInput, NotFound
from backscroll.vocab.part import Text, ToolCall, ToolResult


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with backscroll.open(tmp_path / "store.db", background=False) as opened:
        yield opened


@pytest.fixture
def thread(engine: Engine) -> Thread:
    """A system message, then four turns: a question, a call with its result, an answer."""
    made = engine.create("crop me")
    made.append("system", "You help.")
    for n in range(1, 5):
        made.append("user", f"question{n} about the harbour")
        made.append("assistant", [Text(f"looking{n}"), ToolCall(f"c{n}", "Read", {"path": f"file{n}.py"})])
        made.append("tool", [ToolResult(f"c{n}", (Text(f"content{n}\n" * 40),))])
        made.append("assistant", f"answer{n}: we decided to keep file{n}.py because the tests need it.")
    return made


def whole(n: int) -> str:
    """What only a result in full holds; a summary may quote a line of it."""
    return f"content{n}\\ncontent{n}"


def shown(thread: Thread) -> str:
    made = thread.prompt(60_000, recall=False, dry_run=True)
    return json.dumps(made.messages, ensure_ascii=False)


def test_crop_from_the_top_takes_effect_at_once(thread: Thread) -> None:
    done = thread.crop("top", 8)
    said = shown(thread)
    assert done.messages == 8
    assert done.event == thread.head
    assert whole(1) not in said
    assert whole(2) not in said
    assert "question3" in said
    assert done.handle in said
    assert "You help." in said


def test_crop_leaves_the_history_unchanged(thread: Thread) -> None:
    before = [(m.id, m.text) for m in thread]
    thread.crop("top", 8)
    assert [(m.id, m.text) for m in thread] == before


def test_uncrop_restores_the_prompt_exactly(thread: Thread) -> None:
    before = shown(thread)
    done = thread.crop("top", 8)
    assert shown(thread) != before
    assert thread.uncrop(done.handle) == 8
    assert shown(thread) == before


def test_undo_and_redo_follow_a_crop(thread: Thread) -> None:
    before = shown(thread)
    thread.crop("top", 4, "All of that is settled.")
    cropped = shown(thread)
    assert "All of that is settled." in cropped
    thread.undo()
    assert shown(thread) == before
    thread.redo()
    assert shown(thread) == cropped


def test_crop_from_the_bottom_stops_at_the_latest_user_message(thread: Thread) -> None:
    with pytest.raises(InvalidInput, match="3 may go"):
        thread.crop("bottom", 4)
    thread.crop("bottom", 3)
    said = shown(thread)
    assert "question4" in said
    assert whole(4) not in said


def test_crop_skips_pinned_messages(thread: Thread) -> None:
    pinned = thread.message(4)
    thread.pin(pinned.id)
    done = thread.crop("top", 7)
    assert pinned.text in shown(thread)
    assert not crops(thread)[0].holds(pinned.id)
    assert done.messages == 7


def test_crop_by_range(thread: Thread) -> None:
    first, last = thread.message(5), thread.message(8)
    thread.crop(first=first.id, last=last.id)
    said = shown(thread)
    assert whole(2) not in said
    assert whole(1) in said
    assert whole(3) in said


def test_expand_returns_the_cropped_messages(thread: Thread) -> None:
    done = thread.crop("top", 4)
    assert [m.text for m in thread.expand(done.handle)] == [m.text for m in thread.messages(1, 5)]


def test_two_adjacent_crops(thread: Thread) -> None:
    one = thread.crop("top", 4, "First part.")
    two = thread.crop("top", 4, "Second part.")
    said = shown(thread)
    assert said.index("First part.") < said.index("Second part.") < said.index("question3")
    thread.uncrop(one.handle)
    assert whole(1) in shown(thread)
    assert whole(2) not in shown(thread)
    thread.uncrop(two.handle)
    assert whole(2) in shown(thread)


def test_crop_summary_is_withheld_after_a_deletion(thread: Thread) -> None:
    """A written summary is withheld once one of its messages is deleted; a generated one replaces it."""
    thread.crop("top", 8, "They talked about the secretplan.")
    assert "secretplan" in shown(thread)
    thread.delete(thread.message(1).id)
    said = shown(thread)
    assert "secretplan" not in said
    assert "withheld" in said
    assert "question1" not in said


def test_message_inserted_later_is_not_cropped(thread: Thread) -> None:
    thread.crop("top", 8)
    thread.insert("user", "a latecomer", after=thread.message(3).id)
    assert "a latecomer" in shown(thread)


def test_dry_run_of_a_crop_writes_nothing(thread: Thread) -> None:
    head = thread.head
    told = thread.crop("top", 4, dry_run=True)
    assert (told.event, thread.head) == (None, head)
    assert told.tokens > told.summary_tokens > 0


def test_crop_of_relevant_messages_asks_first(engine: Engine) -> None:
    made = engine.create("relevance")
    for text in ("the parser in parser.py fails on empty input", "the weather was nice in June"):
        made.append("user", text)
        made.append("assistant", "noted: " + text)
    made.append("user", "please mend the parser in parser.py so that empty input works")
    parser = made.crop(first=made.message(0).id, last=made.message(1).id, dry_run=True)
    weather = made.crop(first=made.message(2).id, last=made.message(3).id, dry_run=True)
    assert parser.relevance > weather.relevance
    assert parser.ask_first
    assert not weather.ask_first


@pytest.mark.parametrize("amount", [0, -1, 10**9, 1.5, "3", True])
def test_invalid_crop_amount_is_refused(thread: Thread, amount: object) -> None:
    head = thread.head
    with pytest.raises(InvalidInput):
        thread.crop("top", amount)  # type: ignore[arg-type]
    assert thread.head == head


def test_crop_that_splits_a_call_suggests_nearest_amounts(thread: Thread) -> None:
    with pytest.raises(InvalidInput) as caught:
        thread.crop("top", 2)
    assert "1 or 3" in caught.value.hint


def test_crop_summary_longer_than_its_messages_is_refused(thread: Thread) -> None:
    with pytest.raises(InvalidInput, match="not shorter"):
        thread.crop("top", 1, "word " * 500)
    with pytest.raises(InvalidInput, match="empty"):
        thread.crop("top", 1, "   ")


def test_crop_takes_either_an_amount_or_a_range(thread: Thread) -> None:
    with pytest.raises(InvalidInput):
        thread.crop()
    with pytest.raises(InvalidInput):
        thread.crop("top", 1, first=thread.message(1).id, last=thread.message(1).id)
    with pytest.raises(InvalidInput):
        thread.crop(first=thread.message(1).id)


def test_unknown_crop_handle_is_not_found(thread: Thread) -> None:
    with pytest.raises(NotFound, match=r"crop .* not found"):
        thread.uncrop("[bs:999]")
    with pytest.raises(NotFound):
        thread.expand("[bs:999]")


def test_fork_keeps_a_crop_and_can_uncrop_alone(thread: Thread) -> None:
    done = thread.crop("top", 8)
    fork = thread.fork()
    assert whole(1) not in shown(fork)
    fork.uncrop(done.handle)
    assert whole(1) in shown(fork)
    assert whole(1) not in shown(thread)


def test_chinese_thread_gets_chinese_prompt_texts(engine: Engine) -> None:
    """Generated texts in a prompt use the thread's language."""
    made = engine.create("港口", language="zh")
    for n in range(40):
        made.append("user", f"请看第{n}号泊位的账目，谢谢。" * 8)
        made.append("assistant", f"第{n}号泊位已经结清。" * 12)
    made.crop("top", 4, "头两个泊位都已结清。")
    said = json.dumps(made.prompt(3000, recall=False, dry_run=True).messages, ensure_ascii=False)
    assert "已裁剪" in said
    assert "较早的内容，已压缩" in said
    assert "earlier" not in said.lower()
