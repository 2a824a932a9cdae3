"""Folders that nobody should have to wait for, that vanish, or that hold our own store."""

from __future__ import annotations

from pathlib import Path

import pytest

import backscroll
from backscroll.agent.agent import Agent
from backscroll.agent.events import Called, Finished, Noted
from backscroll.errors import InvalidInput
from backscroll.workspace.snapshots import scan
from backscroll.workspace.snapshots.keeper_choice import snapshots_for
from tests.agent.scripted_agent import Told, call, stage


def test_snapshot_of_a_whole_disk_is_refused(tmp_path: Path) -> None:
    """It is refused before anything is read."""
    with pytest.raises(InvalidInput, match="whole disk"):
        snapshots_for("/", tmp_path / "home")


def test_oversized_folder_is_refused_before_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is reported, the run continues without snapshots, and no file is read."""
    monkeypatch.setattr(scan, "MOST_BYTES", 1000)
    read: list[str] = []
    monkeypatch.setattr(scan.FolderScanner, "_entry", lambda _self, _fd, path, *_: read.append(path))
    with stage(tmp_path, call("run_command", command="echo it-ran"), "ok") as on:
        (on.root / "large.bin").write_bytes(b"x" * 2000)
        seen = on.say("go")
        assert any(isinstance(s, Noted) and s.kind == "snapshot" and "bytes" in s.text for s in seen)
        assert any(isinstance(s, Called) and "it-ran" in s.text for s in seen)
        assert read == []


def test_folder_deleted_during_a_run_is_reported(tmp_path: Path) -> None:
    """Every call gets a result, and the next run ends with a clear error."""
    gone = call("run_command", command="cd .. && rm -r work && echo gone")
    with stage(tmp_path, gone, call("write_file", path="a.txt", content="x"), "ok", "ok") as on:
        seen = on.say("go")
        done = [s for s in seen if isinstance(s, Called)]
        assert "gone" in done[0].text
        assert "no such folder" in done[1].text
        assert isinstance(seen[-1], Finished)
        assert seen[-1].end == "answered"
        again = on.end("again")
        assert again.end == "failed"
        assert again.error == f"no such folder: {on.root}"


def test_store_in_the_working_folder_is_neither_changed_nor_rewound(tmp_path: Path) -> None:
    """Tools are kept from it, no change names it, and going back leaves it alone."""
    with stage(
        tmp_path,
        call("write_file", path="log.db", content="x"),
        call("read_file", path="log.db-wal"),
        call("run_command", command="echo 1 > made.txt"),
        "ok",
    ) as on:
        store = on.root / "log.db"
        with backscroll.open(store, background=False) as engine:
            thread = engine.create("here")
            with Agent(
                thread, provider=on.agent._provider, root=on.root, person=Told(), budget=30_000
            ) as agent:
                done = [s for s in agent.events("go") if isinstance(s, Called)]
                assert "protected" in done[0].text
                assert "protected" in done[1].text
                assert agent.workroom is not None
                assert {f.path for c in agent.workroom.changes() for f in c.files} == {"made.txt"}
                agent.workroom.rewind(1, "files")
                assert not (on.root / "made.txt").exists()
            assert thread.info.turns == 1
        assert store.exists()


def test_busy_store_ends_a_run_with_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run ends with the reason instead of raising midway."""
    from backscroll.agent import agent as agent_module
    from backscroll.errors import StoreBusy

    def busy(*_: object) -> None:
        raise StoreBusy("other programs kept the store busy")

    with stage(tmp_path, "ok") as on:
        with monkeypatch.context() as held:
            held.setattr(agent_module, "instruct", busy)
            held.setattr(type(on.thread), "append", busy)
            end = on.end("go")
        assert end.end == "failed"
        assert "busy" in end.error
        assert on.end("again").text == "ok"
