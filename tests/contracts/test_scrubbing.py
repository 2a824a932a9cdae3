"""A forget that was cut off between its commit and the rewrite of the files: said by `doctor` and `verify`, finished at the next opening."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.log import erasure as forgetting
from backscroll.engine.log.scrub import finish_forgetting
from tests.contracts.talk import say


def cut_off(store: backscroll.Engine) -> backscroll.Thread:
    """Forget a message as a process does that is killed right after the commit."""
    thread = store.create("talk")
    say(thread, "u kept words")
    said = thread.append("user", "xylophonequartz")
    store.store.write(
        lambda tx: forgetting.forget_messages(
            tx, store.means, thread.id, [said.id], "user", dialect=store.store.dialect
        )
    )
    return thread


def test_interrupted_scrub_is_reported_and_finished_at_the_next_opening(
    store: backscroll.Engine, reopen: Callable[[], backscroll.Engine]
) -> None:
    """Until then both `doctor` and `verify` name it; afterwards neither does."""
    thread = cut_off(store)
    assert store.verify().scrub_due
    assert store.verify().ok  # nothing is damaged
    assert [check.ok for check in store.doctor() if check.name == "forgotten"] == [False]
    store.close()
    again = reopen()
    assert not again.verify().scrub_due
    assert not [check for check in again.doctor() if check.name == "forgotten"]
    assert [m.text for m in again.thread(thread.id)] == ["kept words"]


def test_completed_forget_leaves_no_scrub_due(store: backscroll.Engine) -> None:
    """The note goes with the rewrite."""
    thread = store.create("talk")
    said = thread.append("user", "xylophonequartz")
    thread.forget(said.id)
    assert not store.verify().scrub_due
    thread.append("user", "more")
    assert finish_forgetting(store)


def test_dry_run_leaves_no_scrub_due(store: backscroll.Engine) -> None:
    """The note is part of the transaction, so a rollback removes it."""
    thread = store.create("talk")
    said = thread.append("user", "xylophonequartz")
    thread.forget(said.id, dry_run=True)
    assert not store.store.read(lambda r: r.scrub_due())
    assert [m.text for m in thread] == ["xylophonequartz"]


def test_scrub_does_not_wait_for_readers(store: backscroll.Engine) -> None:
    """While a reader holds an older snapshot, the rewrite is left to the next opening."""
    thread = store.create("talk")
    said = thread.append("user", "xylophonequartz")
    inside, done = threading.Event(), threading.Event()

    def look() -> None:
        store.store.read(lambda r: (list(r.events(thread.id)), inside.set(), done.wait(60)))

    reader = threading.Thread(target=look)
    reader.start()
    try:
        inside.wait(60)
        store.store.write(
            lambda tx: forgetting.forget_messages(
                tx, store.means, thread.id, [said.id], "user", dialect=store.store.dialect
            )
        )
        assert not finish_forgetting(store)
        assert store.verify().scrub_due
    finally:
        done.set()
        reader.join(60)
    assert finish_forgetting(store)
    assert not store.verify().scrub_due


def test_imported_forget_is_scrubbed_from_the_files(store: backscroll.Engine, tmp_path: Path) -> None:
    """The words leave the database files here too."""
    thread = store.create("talk")
    say(thread, "u kept words")
    said = thread.append("user", "xylophonequartz")
    with backscroll.open(tmp_path / "other.db") as other:
        before, after = tmp_path / "before.backscroll.jsonl", tmp_path / "after.backscroll.jsonl"
        store.export([thread.id], "native", str(before))
        other.import_path(before)
        other.thread(thread.id).forget(said.id)
        other.export([thread.id], "native", str(after))
    store.import_path(after)
    assert [m.text for m in thread] == ["kept words"]
    assert not store.verify().scrub_due
    if not store.store.location.startswith("postgresql"):
        place = Path(store.store.location)
        files = [file for file in place.parent.iterdir() if file.name.startswith(place.name)]
        assert not [file for file in files if b"xylophonequartz" in file.read_bytes()]


def test_scrub_stays_due_in_a_read_only_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store still opens and reports it."""
    path = tmp_path / "store.db"
    with backscroll.open(path) as store:
        cut_off(store)
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda _path, mode: mode != os.W_OK)
        with backscroll.open(path) as store:
            assert store.verify().scrub_due
    with backscroll.open(path) as store:
        assert not store.verify().scrub_due
