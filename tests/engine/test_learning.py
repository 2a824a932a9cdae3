"""What is asked for again is noted, visible, and can be dropped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll.derive.essence.importance import weigh_message
from backscroll.engine.inputs.lessons import list_lessons, note, note_all, reset, weights_of
from backscroll.vocab.part import Text, ToolCall, ToolResult


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[backscroll.Engine]:
    """An empty store."""
    with backscroll.open(tmp_path / "store.db", background=False) as opened:
        yield opened


def read(thread: backscroll.Thread, number: int) -> backscroll.Message:
    """A file that was read."""
    thread.append("assistant", [ToolCall(f"c{number}", "Read", {"path": f"src/f{number}.py"})])
    return thread.append("tool", ToolResult(f"c{number}", (Text("x = 1"),), name="Read"))


def test_lesson_raises_similar_messages(engine: backscroll.Engine) -> None:
    """One expanded file read raises the weight of all file reads."""
    thread = engine.create("t")
    first, other = read(thread, 1), read(thread, 2)
    before = weigh_message(other, weights=weights_of(engine)).value
    note(engine, thread.id, first)
    assert weigh_message(other, weights=weights_of(engine)).value > before
    rows = {row.feature: row for row in list_lessons(engine)}
    assert rows["tool:read"].weight > 1
    assert rows["tool:read"].lessons == 1
    assert "src/f1.py" not in str(rows)


def test_lesson_is_shared_by_several_messages(engine: backscroll.Engine) -> None:
    thread = engine.create("t")
    messages = [read(thread, n) for n in range(4)]
    note_all(engine, thread.id, messages, 1.0)
    alone = engine.create("u")
    note(engine, alone.id, messages[0], 1.0)
    assert weights_of(engine, thread.id)["tool:read"] == pytest.approx(
        weights_of(engine, alone.id)["tool:read"], abs=0.01
    )


def test_lessons_can_be_reset_per_thread_or_all(engine: backscroll.Engine) -> None:
    one, two = engine.create("one"), engine.create("two")
    note(engine, one.id, read(one, 1))
    note(engine, two.id, read(two, 1))
    assert reset(engine, one.id) > 0
    assert list_lessons(engine, one.id) == []
    assert list_lessons(engine, two.id)
    assert reset(engine, None) > 0
    assert weights_of(engine) == {}
    assert reset(engine, None) == 0


def test_negligible_signal_adds_no_lesson(engine: backscroll.Engine) -> None:
    thread = engine.create("t")
    assert note(engine, thread.id, read(thread, 1), 0.001) == 0
    assert note_all(engine, thread.id, [], 1.0) == 0
