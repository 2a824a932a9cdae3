"""Running git: a clean environment, limits, and failures in our words."""

from __future__ import annotations

from pathlib import Path

import pytest

from backscroll.errors import MissingExtra
from backscroll.workspace.git.git import GitFailed, git_binary, git_found, git_version, read_git, run_git


def test_git_is_found() -> None:
    """By its absolute path, with its version."""
    assert git_found()
    assert Path(git_binary()).is_absolute()
    version = git_version()
    assert version is not None
    assert version >= (2, 20)


def test_missing_git_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With what to do."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not git_found()
    assert git_version() is None
    with pytest.raises(MissingExtra, match="not installed"):
        run_git(["version"], cwd=tmp_path)


def test_broken_git_counts_as_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A broken one is as good as none."""
    script = tmp_path / "git"
    script.write_text("#!/bin/sh\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert not git_found()


def test_failure_has_the_output_of_git(tmp_path: Path) -> None:
    """And is no exception if the exit code is requested."""
    with pytest.raises(GitFailed, match="rev-parse") as caught:
        run_git(["rev-parse", "--verify", "nothing"], cwd=tmp_path)
    assert caught.value.code == 128
    assert caught.value.said
    assert run_git(["rev-parse", "--verify", "nothing"], cwd=tmp_path, check=False).code == 128


def test_hanging_git_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """After the time limit, with an error."""
    script = tmp_path / "git"
    script.write_text('#!/bin/sh\n[ "$1" = version ] && echo git version 2.40 && exit\nexec sleep 60\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(GitFailed, match="longer than"):
        run_git(["status"], cwd=tmp_path, seconds=0.2)
    with pytest.raises(GitFailed):
        read_git(["status"], git_dir=tmp_path, most=10, seconds=0.2)


def test_user_settings_do_not_affect_our_repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither their file nor their environment; for their own repository they do."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    (home / ".gitconfig").write_text("[alpha]\n\tbeta = gamma\n")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "alpha.delta")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "epsilon")
    listed = run_git(["config", "--list"], cwd=tmp_path).text
    assert "alpha" not in listed
    assert "core.hookspath=/dev/null" in listed
    theirs = run_git(["config", "--list"], cwd=tmp_path, sealed=False).text
    assert "alpha.beta=gamma" in theirs
    assert "alpha.delta" not in theirs
    assert "core.hookspath=/dev/null" in theirs
    assert "hookspath" not in run_git(["config", "--list"], cwd=tmp_path, sealed=False, hooks=True).text


def test_long_output_is_cut(tmp_path: Path) -> None:
    """At a number of bytes, with a note."""
    run_git(["init", "-q", "--bare", str(tmp_path)], cwd=tmp_path)
    out, more = read_git(["help", "-a"], git_dir=tmp_path, most=20)
    assert len(out) == 20
    assert more
    with pytest.raises(GitFailed):
        read_git(["cat-file", "blob", "0" * 40], git_dir=tmp_path, most=20)
