"""What is swapped between a look and an act."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from backscroll.errors import Conflict
from backscroll.workspace.files import files as files_module
from backscroll.workspace.files.files import Files
from tests.agent.scripted_agent import Told, call, stage


def test_file_replaced_by_a_pipe_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file type is checked again after opening."""
    place = tmp_path / "a.txt"
    place.write_text("words")
    real = files_module._check_file

    def then_swapped(spot: Any) -> None:
        real(spot)
        place.unlink()
        os.mkfifo(place)

    monkeypatch.setattr(files_module, "_check_file", then_swapped)
    with pytest.raises(Conflict):
        Files(tmp_path).read_text("a.txt")


def test_file_changed_during_approval_is_not_overwritten(tmp_path: Path) -> None:
    """The approval applies only to the diff that was shown."""
    with stage(tmp_path, call("write_file", path="a.txt", content="new\n"), "ok") as on:
        (on.root / "a.txt").write_text("old\n")

        def slowly(_: Any) -> Any:
            (on.root / "a.txt").write_text("precious work of the person\n")
            return Told().decide(_)

        on.person.decide = slowly
        on.say("go")
        assert (on.root / "a.txt").read_text() == "precious work of the person\n"
        assert "changed since" in on.sent()


def test_folder_replaced_by_a_link_during_approval_is_refused(tmp_path: Path) -> None:
    """The write does not follow the link out of the workspace."""
    outside = tmp_path / "outside"
    outside.mkdir()
    with stage(tmp_path, call("write_file", path="sub/a.txt", content="new\n"), "ok") as on:
        (on.root / "sub").mkdir()

        def swap(_: Any) -> Any:
            (on.root / "sub").rmdir()
            (on.root / "sub").symlink_to(outside)
            return Told().decide(_)

        on.person.decide = swap
        on.say("go")
        assert list(outside.iterdir()) == []


def test_file_name_with_shell_syntax_is_not_run(tmp_path: Path) -> None:
    """Names that shells would act on go through every tool, snapshot and diff as names."""
    name = "$(touch pwned);`touch pwned`|touch pwned&'\"-rf.txt"
    with stage(
        tmp_path,
        call("write_file", path=name, content="one\n"),
        call("edit_file", path=name, edits=[{"old": "one", "new": "two"}]),
        call("read_file", path=name),
        call("list_files"),
        "ok",
    ) as on:
        on.say("go")
        assert not list(tmp_path.rglob("pwned"))
        assert [p.name for p in on.root.iterdir()] == [name]
        assert on.agent.workroom is not None
        assert on.agent.workroom.blame(name)[0].text == "two"
