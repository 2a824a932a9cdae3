"""How the last run ended."""

from __future__ import annotations

from pathlib import Path

import backscroll
from backscroll.engine.calls.run_end import how_ended, mark_ended


def test_end_mark_holds_until_the_thread_goes_on(tmp_path: Path) -> None:
    """It outlives the program; a new message, a changed one and a new run make it void; each thread has its own."""
    place = tmp_path / "store.db"
    with backscroll.open(place, background=False) as store:
        thread, other = store.create("one"), store.create("two")
        assert how_ended(thread) == ""
        asked = thread.append("user", "hello")
        mark_ended(thread, "stopped")
        name = thread.id
    with backscroll.open(place, background=False) as store:
        thread = store.thread(name)
        assert how_ended(thread) == "stopped"
        assert how_ended(store.thread(other.id)) == ""
        thread.edit(asked.id, "hello there")
        assert how_ended(thread) == ""
        thread.undo()
        assert how_ended(thread) == "stopped"
        thread.append("user", "more")
        assert how_ended(thread) == ""
        mark_ended(thread, "limit")
        mark_ended(thread, "")
        assert how_ended(thread) == ""


def test_empty_thread_can_be_marked(tmp_path: Path) -> None:
    with backscroll.open(tmp_path / "store.db", background=False) as store:
        thread = store.create("empty")
        mark_ended(thread, "stopped")
        assert how_ended(thread) == "stopped"
