"""The pen: with the same clock and the same randomness the same log, down to the last hash."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import backscroll
from backscroll.config import Settings
from backscroll.engine.core.clock import ClockAndIds
from backscroll.engine.core.pen import Pen, checked_actor
from backscroll.engine.engine import Engine
from backscroll.engine.log.operations import append
from backscroll.record.chain import flaws, genesis
from backscroll.record.ports import Writer
from backscroll.stores.sqlite.store import SqliteStore
from backscroll.vocab.event import Kind
from tests import proof


def still() -> ClockAndIds:
    """A clock that ticks once a second, and randomness that counts."""
    ticks, rolls = itertools.count(), itertools.count(1)

    def now() -> str:
        return (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=next(ticks))).isoformat()

    return ClockAndIds(now, lambda size: next(rolls).to_bytes(size, "big"))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """A store whose clock and randomness stand still."""
    with Engine(SqliteStore(tmp_path / "store.db"), Settings(), still()) as opened:
        yield opened


def busy(engine: Engine) -> list[bytes]:
    """Do a little of everything; gives the hashes of the log."""
    thread = engine.create("x", tags=["a"])
    first = thread.append("user", "one")
    thread.append("assistant", "two", author="Ann")
    thread.edit(first.id, "uno")
    fork = thread.fork(first.id)
    fork.delete(first.id)
    fork.undo()
    thread.forget(first.id)
    return [event.hash for event in (*thread.events(), *fork.events())]


def test_same_operations_give_the_same_log(engine: Engine, tmp_path: Path) -> None:
    """Two stores to which the same was done at the same times hold the same log."""
    with Engine(SqliteStore(tmp_path / "twin.db"), Settings(), still()) as twin:
        assert busy(engine) == busy(twin)


def test_salts_are_unique(engine: Engine) -> None:
    """Equal text is sealed differently, so that one seal reveals nothing about another."""
    thread = engine.create()
    for _ in range(3):
        thread.append("user", "same")
    events = list(thread.events())[1:]
    assert len({event.salt for event in events}) == len({event.commit for event in events}) == 3


def test_pen_writes_and_reads_in_one_transaction(engine: Engine) -> None:
    """Several strokes of one pen see each other, link to each other, and are all there afterwards."""
    thread = engine.create()

    def work(tx: Writer) -> list[int]:
        pen = Pen(tx, thread.id, engine.means, "user")
        made = [append(pen, "user", backscroll.Content((backscroll.Text(str(n)),))) for n in range(3)]
        pen.write(Kind.DELETED, target=made[1].id)
        seen = [entry.message.seq for entry, _ in pen.view.page(10)]
        pen.save()
        return seen

    assert engine.store.write(work) == [2, 4]
    assert [m.text for m in thread] == ["0", "2"]
    events = list(thread.events())
    before = genesis(thread.id)
    for event in events:
        assert flaws(event, before) == []
        before = event.hash
    proof.assert_sound(engine)


def test_failed_transaction_leaves_nothing(engine: Engine) -> None:
    """If it fails after some strokes, none of them is in the log."""
    thread = engine.create()
    thread.append("user", "before")

    def work(tx: Writer) -> None:
        pen = Pen(tx, thread.id, engine.means, "user")
        append(pen, "user", backscroll.Content((backscroll.Text("half"),)))
        pen.save()
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        engine.store.write(work)
    assert [m.text for m in thread] == ["before"]
    assert thread.append("user", "after").id.seq == 3
    assert engine.search("half").hits == []
    proof.assert_sound(engine)


@pytest.mark.parametrize("name", ["", "two\nlines", "nul\0", "\ud800", "bell\a", "\u2028"])
def test_invalid_actor_names_are_refused(name: str) -> None:
    """An actor must be one line of printable text."""
    with pytest.raises(backscroll.InvalidInput):
        checked_actor(name)


@pytest.mark.parametrize("name", ["user", "user:ann", "小猫", "import:claude-code", "a b"])
def test_valid_actor_names_are_accepted(name: str) -> None:
    """Any script and any separator will do."""
    assert checked_actor(name) == name


def test_pen_for_an_unknown_thread_is_refused(engine: Engine) -> None:
    """Writing to a thread that is not in the store is refused."""
    with pytest.raises(backscroll.NotFound):
        engine.store.write(lambda tx: Pen(tx, "0" * 32, engine.means, "user"))
