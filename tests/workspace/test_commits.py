"""Commits of the agent's changes alone, in the user's own repository."""

from __future__ import annotations

import multiprocessing
import subprocess
from pathlib import Path

import pytest

from backscroll.errors import Conflict, InvalidInput, MissingExtra, NotFound
from backscroll.workspace.git import index as commits_index
from backscroll.workspace.git.commits import Delta, commit, with_trailers


def git(folder: Path, *arguments: str, check: bool = True, stdin: str | None = None) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=check, capture_output=True, text=True, input=stdin
    ).stdout


def write(root: Path, path: str, content: str | bytes) -> Path:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content.encode() if isinstance(content, str) else content)
    return place


def settle(root: Path, **files: str) -> None:
    """Commit what is there, as the user would."""
    for path, content in files.items():
        write(root, path.replace("_", "."), content)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "before")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository of somebody with a name."""
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "测试 Tester")
    git(folder, "config", "user.email", "t@example.org")
    return folder


def status(root: Path) -> list[str]:
    return git(root, "-c", "core.quotepath=false", "status", "--porcelain").splitlines()


def committed(root: Path, path: str) -> str:
    return git(root, "show", f"HEAD:{path}")


def edit(root: Path, path: str, after: str, **more: object) -> Delta:
    """The agent writes a file."""
    place = root / path
    before = place.read_bytes() if place.exists() else None
    write(root, path, after)
    return Delta(path, before, after.encode(), **more)  # type: ignore[arg-type]


LONG = "".join(f"line {n}\n" for n in range(30))


def test_commit_has_exactly_the_agents_files(root: Path) -> None:
    """Edits of others, staged or not, and their new files stay as they were."""
    settle(root, a_py="a\n", b_py="b\n", c_py="c\n")
    write(root, "b.py", "b staged\n")
    git(root, "add", "b.py")
    write(root, "b.py", "b staged, then edited\n")
    write(root, "c.py", "c edited\n")
    write(root, "untracked.txt", "x\n")
    changes = [edit(root, "a.py", "a2\n"), edit(root, "dir/新 文件.py", "new\n")]
    made = commit(root, changes, "Change a", trailers={"Backscroll-Thread": "3f2a", "Backscroll-Turn": "7"})
    assert made.files == ("a.py", "dir/新 文件.py")
    assert made.branch == "main"
    assert git(root, "rev-parse", "HEAD").strip() == made.id
    assert status(root) == ["MM b.py", " M c.py", "?? untracked.txt"]
    assert git(root, "show", ":b.py") == "b staged\n"
    message = git(root, "log", "-1", "--format=%an|%ae|%B").strip()
    assert message == "测试 Tester|t@example.org|Change a\n\nBackscroll-Thread: 3f2a\nBackscroll-Turn: 7"
    assert git(root, "log", "-1", "--format=%(trailers:key=Backscroll-Turn,valueonly)").strip() == "7"
    assert git(root, "fsck", "--strict", check=False) == ""
    assert sorted(path.name for path in (root / ".git").glob("backscroll-*")) == []


def test_later_edits_by_others_stay_out(root: Path) -> None:
    """The commit has the agent's version, the working tree keeps theirs."""
    settle(root, a_py="a\n")
    change = edit(root, "a.py", "a\nagent\n")
    write(root, "a.py", "a\nagent\nperson\n")
    commit(root, [change], "x")
    assert committed(root, "a.py") == "a\nagent\n"
    assert status(root) == [" M a.py"]
    assert (root / "a.py").read_text() == "a\nagent\nperson\n"


def test_earlier_edits_by_others_are_separated(root: Path) -> None:
    """The agent changed the end of a file whose beginning the user had changed."""
    settle(root, a_txt=LONG)
    write(root, "a.txt", LONG.replace("line 2\n", "person\n"))
    change = edit(root, "a.txt", (root / "a.txt").read_text().replace("line 27\n", "agent\n"))
    commit(root, [change], "x")
    assert committed(root, "a.txt") == LONG.replace("line 27\n", "agent\n")
    assert status(root) == [" M a.txt"]
    assert git(root, "diff", "--stat", "-U0").count("1 insertion") == 1


def test_inseparable_edits_are_refused_by_name(root: Path) -> None:
    """No file is committed."""
    settle(root, a_txt="one\n", b_txt="two\n")
    head = git(root, "rev-parse", "HEAD")
    write(root, "a.txt", "person\n")
    changes = [edit(root, "a.txt", "agent on person\n"), edit(root, "b.txt", "2\n")]
    with pytest.raises(Conflict, match=r"mixed with the agent's in: a\.txt"):
        commit(root, changes, "x")
    assert git(root, "rev-parse", "HEAD") == head
    assert status(root) == [" M a.txt", " M b.txt"]


def test_untracked_file_of_the_user_is_refused(root: Path) -> None:
    """Committing the agent's edit of it would commit all of it."""
    settle(root, a_txt="one\n")
    write(root, "notes.txt", "mine\n")
    with pytest.raises(Conflict, match=r"notes\.txt"):
        commit(root, [edit(root, "notes.txt", "mine\nagent\n")], "x")


def test_staged_changes_in_the_same_file_stay_staged(root: Path) -> None:
    """On top of the commit, as a difference of their own."""
    settle(root, a_txt=LONG)
    write(root, "a.txt", LONG.replace("line 2\n", "staged\n"))
    git(root, "add", "a.txt")
    change = edit(root, "a.txt", (root / "a.txt").read_text().replace("line 27\n", "agent\n"))
    commit(root, [change], "x")
    assert committed(root, "a.txt") == LONG.replace("line 27\n", "agent\n")
    assert status(root) == ["M  a.txt"]
    staged = git(root, "diff", "--cached", "-U0")
    assert "+staged" in staged
    assert "agent" not in staged


def test_staged_changes_on_the_same_lines_are_refused(root: Path) -> None:
    """By name; the index is unchanged, and no lock is left."""
    settle(root, a_txt="one\n")
    change = edit(root, "a.txt", "agent\n")
    write(root, "a.txt", "staged by the person\n")
    git(root, "add", "a.txt")
    with pytest.raises(Conflict, match=r"staged other edits to the same lines of: a\.txt"):
        commit(root, [change], "x")
    assert git(root, "show", ":a.txt") == "staged by the person\n"
    assert not (root / ".git/index.lock").exists()


def test_staged_earlier_version_of_the_agent_is_no_user_edit(root: Path) -> None:
    """Treating it as one would revert the agent's later edits."""
    settle(root, a_txt="one\n")
    changes = [edit(root, "a.txt", "two\n"), edit(root, "new.txt", "first\n")]
    git(root, "add", "-A")
    changes += [edit(root, "a.txt", "three\n"), edit(root, "new.txt", "second\n")]
    commit(root, changes, "x")
    assert status(root) == []
    assert committed(root, "a.txt") == "three\n"


def test_staged_version_with_user_edits_keeps_them_staged(root: Path) -> None:
    """The agent's are committed."""
    settle(root, a_txt=LONG)
    write(root, "a.txt", LONG.replace("line 2\n", "person\n"))
    change = edit(root, "a.txt", (root / "a.txt").read_text().replace("line 27\n", "agent\n"))
    git(root, "add", "-A")
    commit(root, [change], "x")
    assert committed(root, "a.txt") == LONG.replace("line 27\n", "agent\n")
    assert status(root) == ["M  a.txt"]


def test_intent_to_add_stages_no_content(root: Path) -> None:
    """`git add -N`."""
    settle(root, a_txt="one\n")
    change = edit(root, "new.txt", "1\n")
    git(root, "add", "-N", "new.txt")
    commit(root, [change], "x")
    assert status(root) == []


def test_every_kind_of_change_is_committed(root: Path) -> None:
    """Deleting, renaming, links and modes; a file replaced by a folder of its name."""
    settle(root, gone_txt="x\n", old_txt=LONG, tool_sh="#!/bin/sh\n", plain="file\n")
    (root / "gone.txt").unlink()
    (root / "old.txt").rename(root / "new.txt")
    (root / "tool.sh").chmod(0o755)
    (root / "link").symlink_to("new.txt")
    (root / "plain").unlink()
    write(root, "plain/inside.txt", "now a folder\n")
    changes = [
        Delta("gone.txt", b"x\n", None),
        Delta("old.txt", LONG.encode(), None),
        Delta("new.txt", None, LONG.encode()),
        Delta("tool.sh", b"#!/bin/sh\n", b"#!/bin/sh\n", "exec"),
        Delta("link", None, b"new.txt", "link"),
        Delta("plain", b"file\n", None),
        Delta("plain/inside.txt", None, b"now a folder\n"),
    ]
    commit(root, changes, "x")
    assert status(root) == []
    assert git(root, "show", "--format=", "--name-status", "-M", "HEAD").splitlines() == [
        "D\tgone.txt",
        "A\tlink",
        "R100\told.txt\tnew.txt",
        "D\tplain",
        "A\tplain/inside.txt",
        "M\ttool.sh",
    ]
    assert git(root, "ls-tree", "HEAD", "link").startswith("120000")


def test_executable_bit_is_kept(root: Path) -> None:
    """An edit of a script leaves it executable."""
    write(root, "run.sh", "1\n").chmod(0o755)
    settle(root)
    commit(root, [edit(root, "run.sh", "2\n")], "x")
    assert git(root, "ls-tree", "HEAD", "run.sh").startswith("100755")
    assert status(root) == []


def test_several_changes_to_one_file_are_combined(root: Path) -> None:
    """A user edit in between is not committed."""
    settle(root, a_txt=LONG)
    first = edit(root, "a.txt", LONG.replace("line 3\n", "agent one\n"))
    write(root, "a.txt", (root / "a.txt").read_text().replace("line 15\n", "person\n"))
    second = edit(root, "a.txt", (root / "a.txt").read_text().replace("line 27\n", "agent two\n"))
    commit(root, [first, second], "x")
    assert committed(root, "a.txt") == LONG.replace("line 3\n", "agent one\n").replace(
        "line 27\n", "agent two\n"
    )
    assert status(root) == [" M a.txt"]


def test_already_committed_changes_are_skipped(root: Path) -> None:
    """The user committed them."""
    settle(root, a_txt="1\n")
    change = edit(root, "a.txt", "2\n")
    settle(root)
    with pytest.raises(NotFound, match="nothing to commit"):
        commit(root, [change], "x")
    with pytest.raises(NotFound):
        commit(root, [], "x")


def test_first_commit_of_a_repository(root: Path) -> None:
    """On a branch that has none yet; staged changes stay staged."""
    write(root, "staged.txt", "s\n")
    git(root, "add", "staged.txt")
    made = commit(root, [edit(root, "a.txt", "1\n")], "first")
    assert git(root, "rev-list", "HEAD").split() == [made.id]
    assert git(root, "ls-tree", "--name-only", "HEAD").split() == ["a.txt"]
    assert status(root) == ["A  staged.txt"]


def test_detached_head_is_advanced(root: Path) -> None:
    """HEAD itself moves; the branch stays."""
    settle(root, a_txt="1\n")
    main = git(root, "rev-parse", "main")
    git(root, "checkout", "-q", "--detach")
    made = commit(root, [edit(root, "a.txt", "2\n")], "x")
    assert made.branch == ""
    assert git(root, "rev-parse", "HEAD").strip() == made.id
    assert git(root, "rev-parse", "main") == main


def test_commit_in_a_subfolder_of_a_repository(root: Path) -> None:
    """Paths are relative to the folder; the commit has them in the right place."""
    settle(root, a_txt="1\n")
    write(root, "sub/deep/x.txt", "1\n")
    settle(root)
    change = Delta("x.txt", b"1\n", b"2\n")
    write(root, "sub/deep/x.txt", "2\n")
    made = commit(root / "sub/deep", [change], "x")
    assert made.files == ("x.txt",)
    assert committed(root, "sub/deep/x.txt") == "2\n"
    assert status(root) == []


def test_commit_in_another_working_tree(root: Path, tmp_path: Path) -> None:
    """With its own HEAD and its own index."""
    settle(root, a_txt="1\n")
    git(root, "worktree", "add", "-q", "-b", "other", str(tmp_path / "second"))
    main = git(root, "rev-parse", "main")
    made = commit(tmp_path / "second", [edit(tmp_path / "second", "a.txt", "2\n")], "x")
    assert made.branch == "other"
    assert git(root, "rev-parse", "main") == main
    assert status(tmp_path / "second") == []
    assert status(root) == []


def test_missing_repository_is_reported(tmp_path: Path) -> None:
    """With what to do; a missing folder is another error."""
    (tmp_path / "plain").mkdir()
    with pytest.raises(NotFound, match="not in a git repository") as caught:
        commit(tmp_path / "plain", [Delta("a", None, b"")], "x")
    assert "git init" in caught.value.hint
    with pytest.raises(InvalidInput):
        commit(tmp_path / "nowhere", [Delta("a", None, b"")], "x")


def test_missing_git_is_reported(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingExtra, match="git is not installed"):
        commit(root, [Delta("a", None, b"")], "x")


def test_unknown_identity_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A guessed name is not used; one from the environment is."""
    git(root, "config", "--unset", "user.name")
    change = edit(root, "a.txt", "1\n")
    with pytest.raises(InvalidInput, match=r"user\.name is not set"):
        commit(root, [change], "x")
    assert git(root, "rev-parse", "--verify", "-q", "HEAD", check=False) == ""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "From Outside")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "o@example.org")
    commit(root, [change], "x")
    assert git(root, "log", "-1", "--format=%an").strip() == "From Outside"


@pytest.mark.parametrize("marker", ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge"])
def test_commit_is_refused_during_a_merge_or_rebase(root: Path, marker: str) -> None:
    settle(root, a_txt="1\n")
    if marker == "rebase-merge":
        (root / ".git" / marker).mkdir()
    else:
        write(root, f".git/{marker}", git(root, "rev-parse", "HEAD"))
    with pytest.raises(Conflict, match="under way in your repository"):
        commit(root, [edit(root, "a.txt", "2\n")], "x")


def test_commit_is_refused_during_a_real_merge_conflict(root: Path) -> None:
    """The merge stays as it is."""
    settle(root, a_txt="1\n")
    git(root, "checkout", "-q", "-b", "side")
    settle(root, a_txt="side\n")
    git(root, "checkout", "-q", "main")
    settle(root, a_txt="main\n")
    git(root, "merge", "side", check=False)
    before = status(root)
    with pytest.raises(Conflict, match="a merge is under way"):
        commit(root, [Delta("b.txt", None, b"x")], "x")
    assert status(root) == before


def test_submodules_and_nested_repositories_are_refused(root: Path, tmp_path: Path) -> None:
    """Their files belong to another repository."""
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "config", "user.name", "x")
    git(other, "config", "user.email", "x@example.org")
    settle(other, lib_py="1\n")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    settle(root)
    git(root, "clone", "-q", str(other), "nested")
    for path in ("sub/lib.py", "nested/lib.py", "sub/deeper/new.py"):
        with pytest.raises(InvalidInput, match="repository of its own"):
            commit(root, [Delta(path, b"1\n", b"2\n")], "x")


def test_ignored_files_are_skipped_and_named(root: Path) -> None:
    """As git does; a tracked one is committed all the same."""
    write(root, ".gitignore", "*.log\n")
    write(root, "tracked.log", "1\n")
    git(root, "add", "-f", "tracked.log", ".gitignore")
    git(root, "commit", "-q", "-m", "x")
    names = (":(top)*.txt", "a*.txt", "b.log", "tracked.log")
    made = commit(root, [edit(root, name, "2\n") for name in names], "x")
    assert (made.files, made.skipped) == ((":(top)*.txt", "a*.txt", "tracked.log"), ("b.log",))


def test_paths_outside_are_refused(root: Path) -> None:
    for path in ("../x", "/etc/passwd", ".git/hooks/pre-commit", "a/../../x"):
        with pytest.raises(InvalidInput, match="not a path inside"):
            commit(root, [Delta(path, None, b"x")], "x")


def test_line_ends_are_converted_as_git_add_would(root: Path) -> None:
    """A file that is CRLF on disk and LF in the repository stays that way, without a whole-file change."""
    write(root, ".gitattributes", "*.txt text eol=crlf\n")
    write(root, "a.txt", "one\r\ntwo\r\n")
    settle(root)
    assert committed(root, "a.txt").encode() == b"one\ntwo\n"
    change = Delta("a.txt", b"one\r\ntwo\r\n", b"one\r\n2\r\n")
    write(root, "a.txt", b"one\r\n2\r\n")
    commit(root, [change], "x")
    assert (
        subprocess.run(["git", "show", "HEAD:a.txt"], cwd=root, capture_output=True, check=True).stdout
        == b"one\n2\n"
    )
    assert status(root) == []


def test_bytes_without_attributes_are_unchanged(root: Path) -> None:
    """CRLF, no UTF-8, zero bytes."""
    data = b"one\r\n\xff\xfe\0two\r\n"
    write(root, "a.bin", data)
    commit(root, [Delta("a.bin", None, data)], "x")
    assert (
        subprocess.run(["git", "show", "HEAD:a.bin"], cwd=root, capture_output=True, check=True).stdout
        == data
    )
    assert status(root) == []


def hook(root: Path, name: str, script: str) -> None:
    write(root, f".git/hooks/{name}", f"#!/bin/sh\n{script}\n").chmod(0o755)


def test_hooks_run_only_on_request(root: Path, tmp_path: Path) -> None:
    """None by default; otherwise one may refuse, and the message may be changed."""
    settle(root, a_txt="1\n")
    for name in ("pre-commit", "commit-msg", "post-commit", "post-index-change", "reference-transaction"):
        hook(
            root,
            name,
            f"echo {name} >> {tmp_path}/ran\n[ {name} = commit-msg ] && echo 'Checked-by: hook' >> $1; exit 0",
        )
    commit(root, [edit(root, "a.txt", "2\n")], "quiet")
    assert not (tmp_path / "ran").exists()
    commit(root, [edit(root, "a.txt", "3\n")], "loud", hooks=True)
    assert (tmp_path / "ran").read_text().split() == ["pre-commit", "commit-msg", "post-commit"]
    assert "Checked-by: hook" in git(root, "log", "-1", "--format=%B")


def test_refusing_hook_ends_the_commit(root: Path) -> None:
    """The error has its output; nothing is committed and nothing is locked."""
    settle(root, a_txt="1\n")
    head = git(root, "rev-parse", "HEAD")
    hook(root, "pre-commit", "git diff --cached --name-only; echo no tabs please >&2; exit 1")
    with pytest.raises(Conflict, match=r"refused the commit: a\.txt\nno tabs please"):
        commit(root, [edit(root, "a.txt", "2\n")], "x", hooks=True)
    assert git(root, "rev-parse", "HEAD") == head
    assert not (root / ".git/index.lock").exists()
    assert status(root) == [" M a.txt"]


def test_content_added_by_a_hook_is_not_committed(root: Path) -> None:
    """What it adds is not the agent's."""
    settle(root, a_txt="1\n")
    hook(root, "pre-commit", "echo more > more.txt; git add more.txt")
    with pytest.raises(Conflict, match="changed what is to be committed"):
        commit(root, [edit(root, "a.txt", "2\n")], "x", hooks=True)


def test_moved_branch_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another commit in between stays, ours is refused."""
    settle(root, a_txt="1\n", b_txt="1\n")
    change = edit(root, "a.txt", "2\n")
    real = commits_index.IndexLock.fill

    def fill(self: commits_index.IndexLock, index: Path) -> None:
        real(self, index)
        tree = git(root, "rev-parse", "HEAD^{tree}").strip()
        other = git(root, "commit-tree", tree, "-p", "HEAD", "-m", "theirs").strip()
        git(root, "update-ref", "refs/heads/main", other)

    monkeypatch.setattr(commits_index.IndexLock, "fill", fill)
    with pytest.raises(Conflict, match="moved by another process"):
        commit(root, [change], "x")
    assert git(root, "log", "-1", "--format=%s").strip() == "theirs"
    assert not (root / ".git/index.lock").exists()
    assert status(root) == [" M a.txt"]


def test_locked_index_is_waited_for_and_reported(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another git is at work; its lock is not removed."""
    settle(root, a_txt="1\n")
    monkeypatch.setattr(commits_index, "_WAIT", 0.1)
    write(root, ".git/index.lock", "")
    with pytest.raises(Conflict, match="another git process"):
        commit(root, [edit(root, "a.txt", "2\n")], "x")
    assert (root / ".git/index.lock").exists()


def test_dry_run_commits_nothing(root: Path) -> None:
    """It shows what would be committed, and the message."""
    settle(root, a_txt="1\n")
    head = git(root, "rev-parse", "HEAD")
    made = commit(root, [edit(root, "a.txt", "2\n")], "x", trailers={"Backscroll-Turn": "1"}, dry_run=True)
    assert (made.id, made.files, made.message) == ("", ("a.txt",), "x\n\nBackscroll-Turn: 1")
    assert git(root, "rev-parse", "HEAD") == head
    assert status(root) == [" M a.txt"]


def test_trailers_are_added_to_the_message() -> None:
    """As a paragraph of their own, or to the existing one; an empty message is refused."""
    assert with_trailers("a\n", {}) == "a"
    assert with_trailers("a", {"K": "v\nw"}) == "a\n\nK: v w"
    assert (
        with_trailers("a\n\nbody: not \n\nSigned-off-by: x", {"K": "v"})
        == "a\n\nbody: not\n\nSigned-off-by: x\nK: v"
    )
    assert with_trailers("fix: a", {"K": "v", "L": " "}) == "fix: a\n\nK: v"
    with pytest.raises(InvalidInput, match="message is empty"):
        with_trailers(" \n\0", {"K": "v"})


def test_odd_characters_in_a_message_are_kept(root: Path) -> None:
    """Comment signs, Chinese, a lone surrogate."""
    commit(root, [edit(root, "a.txt", "1\n")], "# 修复：\ud800 标题\n\n#2 line")
    assert git(root, "log", "-1", "--format=%B").strip() == "# 修复：? 标题\n\n#2 line"


def test_sparse_working_tree_is_supported(root: Path) -> None:
    """Files that are not checked out stay in the commit and stay that way."""
    write(root, "in/a.txt", "1\n")
    write(root, "out/b.txt", "1\n")
    settle(root)
    git(root, "sparse-checkout", "set", "in")
    assert not (root / "out").exists()
    commit(root, [edit(root, "in/a.txt", "2\n")], "x")
    assert git(root, "ls-tree", "-r", "--name-only", "HEAD").split() == ["in/a.txt", "out/b.txt"]
    assert status(root) == []


def test_sha256_repository_is_supported(tmp_path: Path) -> None:
    """If git can."""
    folder = tmp_path / "long"
    folder.mkdir()
    git(folder, "init", "-q", "--object-format=sha256")
    git(folder, "config", "user.name", "x")
    git(folder, "config", "user.email", "x@example.org")
    commit(folder, [edit(folder, "a.txt", "1\n"), edit(folder, "b.txt", "1\n")], "x")
    (folder / "b.txt").unlink()
    made = commit(folder, [Delta("b.txt", b"1\n", None)], "y")
    assert len(made.id) == 64
    assert status(folder) == []


def _commit_some(root: str, mark: str, out: multiprocessing.Queue) -> None:
    done = 0
    for n in range(5):
        for _ in range(40):
            try:
                commit(root, [Delta(f"{mark}{n}.txt", None, b"x\n")], f"{mark} {n}")
            except Conflict:
                continue
            done += 1
            break
    out.put(done)


def test_concurrent_commits_lose_nothing(root: Path) -> None:
    """Each waits for the other or is refused."""
    settle(root, a_txt="1\n")
    context = multiprocessing.get_context("spawn")
    out = context.Queue()
    workers = [context.Process(target=_commit_some, args=(str(root), mark, out)) for mark in "xy"]
    for worker in workers:
        worker.start()
    assert [out.get(timeout=120) for _ in workers] == [5, 5]
    for worker in workers:
        worker.join(timeout=120)
    assert len(git(root, "ls-tree", "--name-only", "HEAD").split()) == 11
    assert len(git(root, "rev-list", "HEAD").split()) == 11
