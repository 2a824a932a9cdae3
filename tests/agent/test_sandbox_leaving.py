"""What a command in the sandbox leaves for git to run outside is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from backscroll.agent.commands.sandbox import Sandbox
from backscroll.agent.commands.sandbox_exit import left_behind
from tests.agent.sandboxes import needs_landlock
from tests.agent.workbench import bench

pytestmark = pytest.mark.disk


def traps(root: Path) -> dict[str, str]:
    return Sandbox("workspace", "allow", root).traps()


def _repository(root: Path) -> None:
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / ".git" / "config").write_text("[core]\n\tbare = false\n[user]\n\tname = Ann\n")
    (root / ".git" / "hooks" / "pre-push.sample").write_text("exit 0\n")
    (root / ".git" / "hooks" / "pre-push.sample").chmod(0o755)


def test_everyday_git_changes_are_not_reported(tmp_path: Path) -> None:
    """Branches, remotes, people's names, examples of hooks."""
    assert traps(tmp_path) == {}
    _repository(tmp_path)
    before = traps(tmp_path)
    assert before == {}
    with (tmp_path / ".git" / "config").open("a") as file:
        file.write('[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n')
    (tmp_path / ".git" / "hooks" / "notes.txt").write_text("no program")
    assert left_behind(before, traps(tmp_path)) == []


@pytest.mark.parametrize(
    "setting",
    [
        "[core]\n\tfsmonitor = ./evil",
        "[core]\n\thooksPath = here",
        "[core]\nSSHCommand=./evil",
        '[filter "x"]\n\tclean = ./evil',
        "[alias]\n\tst = !./evil",
        '[alias]\n\tst = "!./evil"',
        "[include]\n\tpath = ../evil.cfg",
        '[includeIf "gitdir:/"]\n\tpath = evil.cfg',
        "[diff]\n\texternal = ./evil",
    ],
)
def test_git_settings_that_name_programs_are_reported(setting: str, tmp_path: Path) -> None:
    """However they are written."""
    _repository(tmp_path)
    before = traps(tmp_path)
    with (tmp_path / ".git" / "config").open("a") as file:
        file.write(f"{setting}\n")
    assert left_behind(before, traps(tmp_path)) == [".git/config"]


def test_new_and_changed_git_hooks_are_reported(tmp_path: Path) -> None:
    """New hooks, changed hooks and links; a removed hook is not reported."""
    _repository(tmp_path)
    hooks = tmp_path / ".git" / "hooks"
    (hooks / "commit-msg").write_text("exit 0\n")
    (hooks / "commit-msg").chmod(0o755)
    before = traps(tmp_path)
    assert left_behind(before, traps(tmp_path)) == []
    (hooks / "commit-msg").write_text("exit 0 # longer\n")
    (hooks / "pre-commit").symlink_to(tmp_path / "evil")
    after = traps(tmp_path)
    assert left_behind(before, after) == [".git/hooks/commit-msg", ".git/hooks/pre-commit"]
    (hooks / "commit-msg").unlink()
    assert left_behind(after, traps(tmp_path)) == []


@needs_landlock
def test_result_line_names_git_hooks_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sandbox cannot prevent them, so they are reported."""
    monkeypatch.setenv("BACKSCROLL_AGENT_SANDBOX", "workspace")
    with bench(tmp_path) as at:
        _repository(at.root)
        line = "printf '#!/bin/sh\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit"
        done = at.call("run_command", command=line)
        assert not done.is_error, done.text
        assert "outside of the sandbox: .git/hooks/pre-commit" in done.line
        assert done.facts["runs_outside"] == [".git/hooks/pre-commit"]
        assert at.call("run_command", command="true").line == "exit code 0, no output, in the sandbox"
