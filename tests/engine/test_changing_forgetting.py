"""Forgetting a file: out of snapshots and log, with everything else left as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from backscroll.errors import NotFound
from backscroll.workspace.snapshots.keeper_choice import snapshots_for
from tests.engine.workrooms import Desk
from tests.workspace.test_erasing import found_in

SECRET = "hunter2-hunter2-hunter2"


@pytest.fixture(params=[True, False], ids=["git", "hashes"])
def desk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Desk]:
    made = Desk(tmp_path, git=request.param)
    yield made
    made.close()


def lived(desk: Desk) -> None:
    """A password comes into a file, the file gets another name and is cleaned; other files have lives of their own."""
    lines = "".join(f"setting{n} = {n}\n" for n in range(20))
    desk.turn("start", conf__py=lines, a__py="one\n")
    desk.turn("connect", conf__py=f"{lines}password = '{SECRET}'\n")
    desk.turn("more", a__py="one\ntwo\n")
    desk.says("rename")
    desk.tool(lambda: (desk.root / "conf.py").rename(desk.root / "settings.py"), tool="run_command")
    desk.turn("clean", settings__py=f"{lines}password = ask()\n")


@pytest.mark.parametrize("asked", ["conf.py", "settings.py"])
def test_forget_file_erases_all_its_names(desk: Desk, asked: str) -> None:
    """Snapshots and log hold nothing of the password; blame, changes and rewind of the other file work as before."""
    lived(desk)
    before = desk.room.blame("a.py")
    would = desk.room.forget_file(asked, dry_run=True)
    assert not would.done
    assert found_in(desk.home, SECRET.encode())
    done = desk.room.forget_file(asked)
    assert done.done
    assert set(done.names) == {"conf.py", "settings.py"}
    assert (done.versions, done.changes, done.shared) == (would.versions, would.changes, ())
    assert done.present == ("settings.py",)
    assert len(done.messages) == 4
    assert not found_in(desk.home, SECRET.encode())
    assert not found_in(desk.folder, f"+password = '{SECRET}'".encode())
    assert desk.room.blame("a.py") == before
    assert [c.turn for c in desk.room.changes(file="a.py")] == [3, 1]
    desk.room.rewind(3)
    assert desk.read("a.py") == "one\n"


def test_blame_marks_erased_lines(desk: Desk) -> None:
    """Lines written later have their author; earlier lines have none, with the reason."""
    lived(desk)
    desk.room.forget_file("settings.py")
    text = desk.read("settings.py")
    desk.turn("later", settings__py=f"{text}first = 1\n")  # with nothing before it to compare
    desk.turn("latest", settings__py=f"{text}first = 1\nnew = 1\n")
    blamed = desk.room.blame("settings.py")
    assert {(one.by, one.erased, one.turn) for one in blamed[:-1]} == {(None, True, None)}
    assert (blamed[-1].by, blamed[-1].erased, blamed[-1].turn) == ("tool", False, 7)
    assert blamed[-1].text == "new = 1"


def test_rewind_over_an_erased_version_restores_the_rest(desk: Desk) -> None:
    """The file stays as it is."""
    lived(desk)
    desk.room.forget_file("settings.py")
    plan = desk.room.rewind(2, "files", dry_run=True)
    assert set(plan.lost) & {"conf.py", "settings.py"}
    desk.room.rewind(2, "files", force=True)
    assert desk.read("a.py") == "one\n"
    assert "password = ask()" in desk.read("settings.py")


def test_forget_file_of_an_unknown_file_is_not_found(desk: Desk) -> None:
    """Is said, and nothing is erased."""
    lived(desk)
    with pytest.raises(NotFound, match=r"nothing\.py"):
        desk.room.forget_file("nothing.py")
    desk.room.forget_file("settings.py")
    with pytest.raises(NotFound):
        desk.room.forget_file("settings.py")


def test_forget_file_erases_snapshots_of_both_keepers(tmp_path: Path) -> None:
    """Snapshots from the time when there was no git here."""
    desk = Desk(tmp_path)
    try:
        desk.write("conf.py", SECRET)
        snapshots_for(desk.root, desk.home, git=False).take()
        desk.room.look()
        done = desk.room.forget_file("conf.py")
        assert done.snapshots == 2
        assert not found_in(desk.home, SECRET.encode())
    finally:
        desk.close()


def test_forget_names_contents_left_in_snapshots(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which folder, which files, and what to do; also before anything is erased, and for a whole thread."""
    monkeypatch.setattr("backscroll.engine.folder.erasure.default_home", lambda: desk.home)
    lived(desk)
    caused = desk.room.changes(turn=2)[0].cause.message
    assert caused is not None
    for done in (desk.thread.forget(caused, dry_run=True), desk.thread.forget(caused)):
        told = [line for line in done.unreachable if "the snapshots of /" in line]
        assert len(told) == 1
        assert str(desk.root) in told[0]
        assert "conf.py" in told[0]
        assert "--forget-file" in told[0]
        assert "a.py" not in told[0]
    whole = desk.thread.forget_thread()
    assert any("a.py" in line and "the snapshots of /" in line for line in whole.unreachable)
    desk.room.forget_snapshots()


def test_forget_without_file_changes_mentions_no_snapshots(desk: Desk) -> None:
    """No noise."""
    said = desk.says("hello")
    assert not any("the snapshots of /" in line for line in desk.thread.forget(said.id).unreachable)
