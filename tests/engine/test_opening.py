"""Opening: which store, under which name, and who is told of changes."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

import backscroll
from tests.contracts.talk import say


def test_default_store_is_in_the_home_folder(tmp_path: Path) -> None:
    """Without an address, the store is one file below the home folder, created when needed."""
    with backscroll.open() as engine:
        engine.create("x")
    made = list((tmp_path / "home").rglob("*.db"))
    assert [p.name for p in made] == ["backscroll.db"]


def test_environment_sets_store_and_actor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless arguments say otherwise."""
    monkeypatch.setenv("BACKSCROLL_STORE", str(tmp_path / "env.db"))
    monkeypatch.setenv("BACKSCROLL_ACTOR", "user:env")
    with backscroll.open() as engine:
        thread = engine.create("x")
    assert (tmp_path / "env.db").exists()
    with backscroll.open(actor="user:argument") as engine:
        say(engine.thread(thread.id), "u a")
        assert [event.actor for event in engine.thread(thread.id).events()] == ["user:env", "user:argument"]


@pytest.mark.parametrize("settings", [{"actor": "two\nlines"}, {"patience": "long"}, {"tenant": 5}])
def test_invalid_settings_are_refused(tmp_path: Path, settings: dict[str, Any]) -> None:
    """Values of the wrong kind are refused, and the store can be opened afterwards."""
    with pytest.raises(backscroll.InvalidInput):
        backscroll.open(tmp_path / "store.db", **settings)
    with backscroll.open(tmp_path / "store.db") as engine:
        engine.create("x")


def test_closing_twice_is_harmless(tmp_path: Path) -> None:
    """It does not affect an engine that opened the store later."""
    engine = backscroll.open(tmp_path / "store.db")
    engine.close()
    engine.close()
    with backscroll.open(tmp_path / "store.db") as again:
        assert again is not engine
        again.create("x")


def test_on_change_reports_every_write(tmp_path: Path) -> None:
    """After each write the thread is announced; reading and refused operations are not."""
    told: list[str] = []
    with backscroll.open(tmp_path / "store.db") as engine:
        engine.on_change(lambda thread: told.append(thread.id))
        thread = engine.create("x")
        (message,) = say(thread, "u a")
        thread.edit(message.id, "b")
        fork = thread.fork()
        list(thread)
        with pytest.raises(backscroll.NotFound):
            thread.delete(backscroll.Ref(thread.id, 99))
        thread.forget(message.id)
    assert told == [thread.id, thread.id, thread.id, fork.id, thread.id, fork.id]  # the fork shared the words


def test_two_stores_have_separate_engines(tmp_path: Path) -> None:
    """Stores in one process have nothing to do with each other."""
    with backscroll.open(tmp_path / "a.db") as one, backscroll.open(tmp_path / "b.db") as two:
        assert one is not two
        thread = one.create("x")
        with pytest.raises(backscroll.NotFound):
            two.thread(thread.id)
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == ["a.db", "b.db"]


def test_repr_of_a_thread_shows_id_and_title(tmp_path: Path) -> None:
    """A handle shows the beginning of the id and the title."""
    with backscroll.open(tmp_path / "store.db") as engine:
        thread = engine.create("夜班车")
        assert repr(thread) == f"<Thread {thread.id[:8]} '夜班车'>"
        assert thread.as_actor("user:bob").actor == "user:bob"
        assert Path(engine.store.location).name == "store.db"


def test_closing_an_old_handle_does_not_affect_a_newer_one(tmp_path: Path) -> None:
    """Closing a closed handle again does nothing."""
    old = backscroll.open(tmp_path / "store.db")
    old.close()
    first = backscroll.open(tmp_path / "store.db")
    second = backscroll.open(tmp_path / "store.db")
    assert first is second
    old.close()
    old.close()
    first.close()
    second.create("still open")
    second.close()
    with pytest.raises(backscroll.StoreError, match="closed"):
        second.create("x")


def test_refused_actor_closes_the_store_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the settings are refused after the file was opened, it is closed again."""
    from backscroll.stores.sqlite.store import SqliteStore

    closed: list[str] = []
    close = SqliteStore.close
    monkeypatch.setattr(SqliteStore, "close", lambda store: (closed.append(store.location), close(store))[1])
    with pytest.raises(backscroll.InvalidInput):
        backscroll.open(tmp_path / "store.db", actor="two\nlines")
    assert closed == [str(tmp_path / "store.db")]


def test_symlinked_store_opens_the_same_engine(tmp_path: Path) -> None:
    """One file is one store, under any name."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "other.db").symlink_to(tmp_path / "real" / "store.db")
    with (
        backscroll.open(tmp_path / "real" / "store.db") as one,
        backscroll.open(tmp_path / "link" / "store.db") as two,
        backscroll.open(tmp_path / "other.db") as three,
    ):
        assert one is two
        assert one is three


def test_circular_symlinks_are_refused(tmp_path: Path) -> None:
    """The path raises a clear error."""
    (tmp_path / "a.db").symlink_to(tmp_path / "b.db")
    (tmp_path / "b.db").symlink_to(tmp_path / "a.db")
    with pytest.raises(backscroll.StoreError):
        backscroll.open(tmp_path / "a.db")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_process_forked_during_open_can_open_a_store(tmp_path: Path) -> None:
    """A lock held by another thread at that moment does not block the child."""
    from backscroll.engine import opening

    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with opening._lock:
            held.set()
            over.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads is the very question
        child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(20)
            with backscroll.open(tmp_path / "store.db") as engine:
                engine.create("x")
            code = 0
        finally:
            os._exit(code)
    over.set()
    holder.join(30)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_tags_must_be_a_list(tmp_path: Path) -> None:
    """A string is not split into letters."""
    with backscroll.open(tmp_path / "store.db") as engine:
        with pytest.raises(backscroll.InvalidInput, match="abc") as caught:
            engine.create("x", tags="abc")
        assert "['abc']" in caught.value.hint
        assert engine.stats()["threads"] == 0
        assert engine.create("x", tags=["abc"]).info.tags == ("abc",)
