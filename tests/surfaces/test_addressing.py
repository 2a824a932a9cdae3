"""Names of threads and messages as typed by users."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll import Engine, Thread
from backscroll.errors import BackscrollError, InvalidInput, NotFound
from backscroll.surfaces.cli.references import (
    deleted_named,
    event_number,
    message_named,
    messages_named,
    span,
    thread_named,
)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with backscroll.open(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def thread(engine: Engine) -> Thread:
    made = engine.create("A")
    for n in range(1, 6):
        made.append("user" if n % 2 else "assistant", f"message {n}")
    return made


def test_numbers_count_from_one(engine: Engine, thread: Thread) -> None:
    """The number that `show` prints names the message, with or without the sign."""
    second = thread.message(1).id
    assert message_named(engine, thread, "2") == message_named(engine, thread, "#2") == second


def test_ids_and_last_name_messages(engine: Engine, thread: Thread) -> None:
    """Full ids, short ids, ids of this thread, and the last message."""
    last = thread.message(-1).id
    names = ("last", str(last), last.short, f".{last.seq}")
    assert {message_named(engine, thread, name) for name in names} == {last}


@pytest.mark.parametrize("name", ["0", "6", "99999", "zzz", "3f.x", "", "abcdef12.3"])
def test_missing_message_is_not_found(engine: Engine, thread: Thread, name: str) -> None:
    """A wrong name never means another message."""
    with pytest.raises(BackscrollError) as refusal:
        thread.message(message_named(engine, thread, name))
    assert refusal.value.hint


def test_ranges_include_both_ends(engine: Engine, thread: Thread) -> None:
    """Open ends reach as far as the thread; nothing is included twice."""
    ids = [m.id for m in thread]
    assert messages_named(engine, thread, ["2:4"]) == ids[1:4]
    assert messages_named(engine, thread, ["2-3"]) == ids[1:3]
    assert messages_named(engine, thread, ["4:"]) == ids[3:]
    assert messages_named(engine, thread, [":2"]) == ids[:2]
    assert messages_named(engine, thread, ["3", "2:4", "last"]) == [ids[2], ids[1], ids[3], ids[4]]


def test_range_beyond_the_end_is_refused(engine: Engine, thread: Thread) -> None:
    """Deleting 4:9 of five messages is a mistake."""
    with pytest.raises(NotFound):
        messages_named(engine, thread, ["4:9"])


@pytest.mark.parametrize("text", ["", ":", "9:4", "0:3", "a:b", "1:2:3"])
def test_invalid_range_is_refused(text: str) -> None:
    """The error shows the syntax."""
    with pytest.raises(InvalidInput):
        span(text)


def test_last_is_the_thread_that_changed_last(engine: Engine, thread: Thread) -> None:
    """Forgotten threads are skipped."""
    other = engine.create("B")
    assert thread_named(engine, "last").id == other.id
    thread.append("user", "again")
    assert thread_named(engine, "last").id == thread.id
    thread.forget_thread()
    assert thread_named(engine, "last").id == other.id
    assert thread_named(engine, other.id[:10]).id == other.id


def test_empty_store_has_no_last_thread(engine: Engine) -> None:
    """The hint says how to begin."""
    with pytest.raises(NotFound) as refusal:
        thread_named(engine, "last")
    assert "import" in refusal.value.hint


def test_deleted_messages_are_named_by_id(engine: Engine, thread: Thread) -> None:
    """They have no number; `last` is the one deleted last that is still deleted."""
    first, second = thread.message(0).id, thread.message(1).id
    thread.delete(first)
    thread.delete(second)
    assert deleted_named(engine, thread, ["last", f".{first.seq}"]) == [second, first]
    thread.restore(second)
    assert deleted_named(engine, thread, ["last"]) == [first]
    with pytest.raises(InvalidInput):
        deleted_named(engine, thread, ["1"])
    thread.restore(first)
    with pytest.raises(NotFound):
        deleted_named(engine, thread, ["last"])


def test_events_are_named_by_number_or_id() -> None:
    """An event may be given by number or by id."""
    assert [event_number(text) for text in ("12", "#12", "3f2a9c1e.12")] == [12, 12, 12]
    with pytest.raises(InvalidInput):
        event_number("twelve")
