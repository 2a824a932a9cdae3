"""Whose change it is, and what is kept of an answer that breaks off."""

from __future__ import annotations

import threading
from pathlib import Path

from backscroll.agent.events import Said
from backscroll.testing import Line
from backscroll.workspace.files.files import Files
from backscroll.workspace.files.search import search_files
from tests.agent.scripted_agent import call, stage


def test_manual_edits_between_runs_belong_to_the_person(tmp_path: Path) -> None:
    """They are recorded before the next message, even if no tool is called."""
    with stage(tmp_path, call("run_command", command="echo 1 > made.txt"), "one", "two") as on:
        on.say("go")
        (on.root / "by-hand.txt").write_text("mine")
        on.say("and now?")
        assert on.agent.workroom is not None
        found = {f.path: c.cause.by for c in on.agent.workroom.changes() for f in c.files}
        assert found == {"made.txt": "tool", "by-hand.txt": "person"}


def test_partial_answer_of_a_failed_run_is_kept(tmp_path: Path) -> None:
    """If every attempt is cut, the last partial answer stays, marked as interrupted, and can be continued."""
    cut = Line(text="half of an answer that never ends", chunk=4, cut_after=4, times=3)
    with stage(tmp_path, cut, "whole") as on:
        assert on.end("go").end == "failed"
        last = on.thread.recent(1)[0]
        assert last.role == "assistant"
        assert last.text.startswith("half of")
        assert last.content.metadata["act"]["interrupted"] == "cut"
        assert on.agent.unfinished
        assert on.end("on").text == "whole"


def test_catastrophic_search_pattern_times_out_without_blocking(tmp_path: Path) -> None:
    """The search stops at its time limit, and other threads keep running."""
    (tmp_path / "a.txt").write_text("a" * 5000 + "!\n")
    ticks: list[int] = []
    done = threading.Event()

    def tick() -> None:
        while not done.wait(0.01):
            ticks.append(1)

    beside = threading.Thread(target=tick)
    beside.start()
    files = Files(tmp_path)
    search_files(files, "a+b")  # whatever has to be loaded is
    ticks.clear()
    try:
        found = search_files(files, "(a+)+$", seconds=0.3)
    finally:
        done.set()
        beside.join()
    assert found.stopped
    assert len(ticks) > 3


def test_changes_during_an_answer_belong_to_the_turn(tmp_path: Path) -> None:
    """Changes that no tool or person claims are recorded at the end of the turn, with its opening message."""
    with stage(tmp_path, "the answer") as on:
        for happening in on.agent.events("go"):
            if isinstance(happening, Said):
                (on.root / "meanwhile.txt").write_text("by something else")
        assert on.agent.workroom is not None
        (change,) = on.agent.workroom.changes()
        opening = next(m for m in on.thread.messages() if m.role == "user")
        assert (change.cause.by, change.cause.message) == ("turn", opening.id)
