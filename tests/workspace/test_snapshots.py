"""Guarantees of every snapshot keeper, with git and without."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from backscroll.errors import InvalidInput, NotFound, StoreError
from backscroll.workspace.snapshots import scan
from backscroll.workspace.snapshots.keeper_choice import snapshots_for
from backscroll.workspace.snapshots.snapshots import Snapshots
from tests import programs

Open = Callable[..., Snapshots]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture(params=["git", "hashes"])
def keeping(request: pytest.FixtureRequest, root: Path, tmp_path: Path) -> Open:
    """Opens a keeper of the folder, as a new process would."""

    def opened(**options: object) -> Snapshots:
        return snapshots_for(root, tmp_path / "kept", git=request.param == "git", **options)  # type: ignore[arg-type]

    return opened


def git(folder: Path, *arguments: str) -> str:
    settings = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]
    return subprocess.run(
        ["git", *settings, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout


def write(root: Path, path: str, content: str | bytes) -> Path:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content.encode() if isinstance(content, str) else content)
    return place


def told(keeper: Snapshots, before: str, after: str) -> list[tuple[str, str]]:
    return [(change.action, change.path) for change in keeper.compare(before, after)]


def test_same_content_has_the_same_name(keeping: Open, root: Path) -> None:
    """Also after other content in between, and for a newly opened keeper."""
    write(root, "a.py", "x = 1\n")
    keeper = keeping()
    first = keeper.take()
    write(root, "a.py", "x = 2\n")
    second = keeper.take()
    write(root, "a.py", "x = 1\n")
    assert keeper.take() == first != second
    assert keeping().take() == first
    assert keeper.has(first)
    assert keeper.has(second)
    assert not keeper.has("0" * len(first))
    assert not keeper.has("../x")


def test_every_kind_of_change_is_seen(keeping: Open, root: Path) -> None:
    """Added, changed, deleted, renamed, made executable, with line counts and both hashes."""
    write(root, "kept.txt", "same\n")
    write(root, "edit.py", "one\ntwo\nthree\n")
    write(root, "gone.txt", "bye\n")
    write(root, "old/name.py", "".join(f"line {n}\n" for n in range(20)))
    write(root, "tool.sh", "#!/bin/sh\n")
    keeper = keeping()
    before = keeper.take()
    write(root, "edit.py", "one\n2\nthree\nfour\n")
    (root / "gone.txt").unlink()
    (root / "new").mkdir()
    (root / "old/name.py").rename(root / "new/中文 名字.py")
    (root / "tool.sh").chmod(0o755)
    write(root, "fresh.txt", "hello\n")
    after = keeper.take()
    changes = {change.path: change for change in keeper.compare(before, after)}
    assert [(c.path, c.action) for c in changes.values()] == [
        ("edit.py", "changed"),
        ("fresh.txt", "added"),
        ("gone.txt", "deleted"),
        ("new/中文 名字.py", "renamed"),
        ("tool.sh", "changed"),
    ]
    assert (changes["edit.py"].added, changes["edit.py"].removed) == (2, 1)
    assert changes["new/中文 名字.py"].old_path == "old/name.py"
    assert changes["tool.sh"].executable is True
    assert changes["gone.txt"].after == "" != changes["gone.txt"].before == keeper.files(before)["gone.txt"]
    assert changes["fresh.txt"].after == keeper.files(after)["fresh.txt"] == keeper.name(b"hello\n")
    back = {change.path: change for change in keeper.compare(after, before)}
    assert back["tool.sh"].executable is False


def test_renamed_and_edited_file_is_one_rename(keeping: Open, root: Path) -> None:
    """If most lines are the same."""
    write(root, "a.py", "".join(f"def f{n}(): return {n}\n" for n in range(30)))
    keeper = keeping()
    before = keeper.take()
    text = (root / "a.py").read_text().replace("return 3\n", "return 'three'\n")
    (root / "a.py").unlink()
    write(root, "b.py", text)
    (change,) = keeper.compare(before, keeper.take())
    assert (change.action, change.old_path, change.path, change.added, change.removed) == (
        "renamed",
        "a.py",
        "b.py",
        1,
        1,
    )


LINES = [f"line number {n:02}\n" for n in range(20)]
OTHER = [f"other words {n:02}\n" for n in range(20)]


@pytest.mark.parametrize(
    ("before", "after", "renamed"),
    [
        ("".join(LINES), "".join(LINES[:10] + OTHER[:10]), True),
        ("".join(LINES), "".join(LINES[:9] + OTHER[:11]), False),
        ("".join(LINES[:10]), "".join(LINES), True),
        ("".join(LINES[:9]), "".join(LINES), False),
        ("".join(LINES), "".join(LINES).replace("\n", "\r\n"), True),
        ("".join(LINES).replace("\n", " "), "".join(LINES[:18] + OTHER[:2]).replace("\n", " "), True),
        ("很长的一段话，没有换行。" * 40, "很长的一段话，没有换行。" * 38 + "结尾变了。", True),
        ("\0" + "".join(LINES), "\0" + "".join(LINES[:15] + OTHER[:5]), True),
        ("x\n", "y\n", False),
    ],
    ids=["half", "less", "doubled", "more", "line-ends", "one-line", "chinese", "binary", "nothing-alike"],
)
def test_rename_with_a_heavy_edit_is_recognised(
    keeping: Open, root: Path, before: str, after: str, renamed: bool
) -> None:
    """Half of the content is enough, in both keepers, whatever the lines are."""
    write(root, "old.txt", before)
    keeper = keeping()
    first = keeper.take()
    (root / "old.txt").unlink()
    write(root, "new.txt", after)
    found = [(c.action, c.old_path) for c in keeper.compare(first, keeper.take())]
    assert found == ([("renamed", "old.txt")] if renamed else [("added", ""), ("deleted", "")])


def test_contents_are_restored_exactly(keeping: Open, root: Path) -> None:
    """Line ends, missing final newlines, zero bytes, no UTF-8: whatever an attributes file would convert."""
    contents = {
        "crlf.txt": b"one\r\ntwo\r\n",
        "mixed.txt": b"one\r\ntwo\nthree",
        "gbk.txt": "中文".encode("gbk"),
        "empty": b"",
        "zero.bin": bytes(range(256)) * 10,
        "bom.txt": b"\xef\xbb\xbfhi\n",
        "quote\"d 'name'.txt": b"q",
        "-rf": b"dash",
        "tab\tand\nline": b"odd name",
        "keyword.c": b"$Id$\n",
    }
    write(
        root, ".gitattributes", "* text=auto eol=lf ident working-tree-encoding=UTF-16\n*.txt filter=shout\n"
    )
    for path, data in contents.items():
        write(root, path, data)
    keeper = keeping()
    taken = keeper.take()
    for path, data in contents.items():
        assert keeper.read(taken, path) == data, path
    assert keeper.read(taken, "no such file") is None
    assert keeper.name(b"one\r\ntwo\r\n") == keeper.files(taken)["crlf.txt"]


def test_diff_is_unified_and_limited(keeping: Open, root: Path) -> None:
    """Binary files are only named; a long diff is cut with a note."""
    write(root, "a.txt", "one\ntwo\n")
    write(root, "b.bin", b"\0\1\2")
    write(root, "dir/c.txt", "see\n")
    keeper = keeping()
    before = keeper.take()
    write(root, "a.txt", "one\n二\n")
    write(root, "b.bin", b"\0\1\3")
    write(root, "dir/c.txt", "sea")
    after = keeper.take()
    whole = keeper.diff(before, after)
    assert "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+二\n" in whole
    assert "Binary files a/b.bin and b/b.bin differ" in whole
    assert "+sea\n\\ No newline at end of file\n" in whole
    assert "a.txt" not in keeper.diff(before, after, ["dir"])
    assert "+sea" in keeper.diff(before, after, ["dir"])
    short = keeper.diff(before, after, longest=60)
    assert short.endswith("[the diff goes on; the rest is not shown]\n")
    assert keeper.diff(before, before) == ""
    assert keeper.diff(before, after, ["nowhere"]) == ""


def test_ignored_files_do_not_count(keeping: Open, root: Path) -> None:
    """Ignore files at every level, negation, folders; and generated files even without an ignore file."""
    git(root, "init", "-q")
    write(root, ".gitignore", "*.log\n!keep.log\nbuild/\n/only-here\n")
    write(root, "sub/.gitignore", "local.txt\n!x.log\n")
    (root / ".git" / "info").mkdir(exist_ok=True)
    write(root, ".git/info/exclude", "private.txt\n")
    counted = [".gitignore", "a.py", "keep.log", "sub/.gitignore", "sub/only-here", "sub/x.log"]
    ignored = ["a.log", "build/b.py", "only-here", "sub/local.txt", "private.txt", "node_modules/x/y.js"]
    for path in [*counted, *ignored]:
        if not path.endswith(".gitignore"):
            write(root, path, "x")
    keeper = keeping()
    assert sorted(keeper.files(keeper.take())) == sorted(counted)
    assert [path for path in [*counted, *ignored] if keeper.ignores(path)] == ignored
    assert keeper.ignores(".git/config")
    assert keeper.ignores("../outside")


def test_ignored_files_tracked_by_git_count(root: Path, tmp_path: Path) -> None:
    """They were committed on purpose; only git knows."""
    git(root, "init", "-q")
    write(root, ".gitignore", "*.gen\n")
    write(root, "vendor/node_modules/x.js", "1")
    write(root, "tracked.gen", "1")
    write(root, "other.gen", "1")
    git(root, "add", "-f", "tracked.gen", "vendor")
    keeper = snapshots_for(root, tmp_path / "kept")
    assert sorted(keeper.files(keeper.take())) == [".gitignore", "tracked.gen", "vendor/node_modules/x.js"]
    assert not keeper.ignores("tracked.gen")
    git(root, "rm", "-q", "--cached", "tracked.gen")
    assert "tracked.gen" not in keeper.files(keeper.take())


def test_key_files_restrict_what_counts(keeping: Open, root: Path) -> None:
    """Patterns separated by spaces; everything else is left out."""
    for path in ("src/a.py", "src/b.txt", "docs/x.md", "docs/deep/y.md", "z.md", "src/skip.py"):
        write(root, path, "x")
    keeper = keeping(key_files="*.py docs/** !skip.py")
    assert sorted(keeper.files(keeper.take())) == ["docs/deep/y.md", "docs/x.md", "src/a.py"]


def test_links_are_stored_as_links(keeping: Open, root: Path, tmp_path: Path) -> None:
    """Their target is their content; they are never followed."""
    outside = tmp_path / "outside"
    write(outside, "secret.txt", "no")
    write(root, "dir/a.txt", "a")
    (root / "to-file").symlink_to("dir/a.txt")
    (root / "to-dir").symlink_to("dir")
    (root / "out").symlink_to(outside)
    (root / "dangling").symlink_to("nothing/here")
    (root / "loop").symlink_to("loop")
    keeper = keeping()
    taken = keeper.take()
    assert sorted(keeper.files(taken)) == ["dangling", "dir/a.txt", "loop", "out", "to-dir", "to-file"]
    assert keeper.read(taken, "to-dir") == b"dir"
    assert keeper.entries(taken)["out"].kind == "link"
    (root / "to-file").unlink()
    write(root, "to-file", "dir/a.txt")  # the same bytes, but a file
    assert told(keeper, taken, keeper.take()) == [("changed", "to-file")]


def test_large_and_secret_files_are_only_hashed(keeping: Open, root: Path, tmp_path: Path) -> None:
    """Their changes are seen, their content is not stored, and the hash of a secret does not help to guess it."""
    write(root, "big.bin", b"x" * 5000)
    write(root, ".env", "TOKEN=hunter2\n")
    write(root, ".env.example", "TOKEN=\n")
    write(root, "deploy/server.pem", "-----BEGIN\n")
    keeper = keeping(largest=4000)
    before = keeper.take()
    entries = keeper.entries(before)
    assert {path: entry.why for path, entry in entries.items()} == {
        "big.bin": "large",
        ".env": "secret",
        ".env.example": "",
        "deploy/server.pem": "secret",
    }
    assert keeper.read(before, ".env") is None
    assert keeper.read(before, "big.bin") is None
    assert entries[".env"].hash != keeper.name(b"TOKEN=hunter2\n")
    write(root, ".env", "TOKEN=hunter3\n")
    (root / "deploy/server.pem").rename(root / "server.pem")
    write(root, "big.bin", b"y" * 5000)
    after = keeper.take()
    changes = keeper.compare(before, after)
    assert [(c.action, c.path, c.kept) for c in changes] == [
        ("changed", ".env", False),
        ("changed", "big.bin", False),
        ("renamed", "server.pem", False),
    ]
    assert "Content of .env was not kept (changed)" in keeper.diff(before, after)
    write(root, "big.bin", b"y" * 100)  # small enough now
    (change,) = keeper.compare(after, keeper.take())
    assert (change.action, change.path, change.kept) == ("changed", "big.bin", False)
    kept = b"".join(path.read_bytes() for path in (tmp_path / "kept").rglob("*") if path.is_file())
    assert b"hunter" not in kept


def test_large_file_that_became_small_is_no_rename(keeping: Open, root: Path) -> None:
    """Together with another file's rename it looks like half of one."""
    text = "".join(f"line {n}\n" for n in range(50))
    write(root, "grows.txt", text)
    keeper = keeping(largest=2000)
    before = keeper.take()
    write(root, "grows.txt", text * 10)
    write(root, "copy.txt", text)
    after = keeper.take()
    assert told(keeper, before, after) == [("added", "copy.txt"), ("changed", "grows.txt")]


def test_nested_repositories_are_plain_files(keeping: Open, root: Path, tmp_path: Path) -> None:
    """Also submodules: their files count one by one, their `.git` never."""
    other = tmp_path / "other"
    write(other, "lib.py", "v = 1\n")
    git(other, "init", "-q")
    git(other, "add", ".")
    git(other, "commit", "-q", "-m", "x")
    git(root, "init", "-q")
    git(root, "submodule", "--quiet", "add", str(other), "sub")
    shutil.copytree(other, root / "nested")
    keeper = keeping()
    before = keeper.take()
    assert sorted(keeper.files(before)) == [".gitmodules", "nested/lib.py", "sub/lib.py"]
    write(root, "sub/lib.py", "v = 2\n")
    assert told(keeper, before, keeper.take()) == [("changed", "sub/lib.py")]


def test_users_repository_is_not_touched(keeping: Open, root: Path) -> None:
    """Not a byte of `.git` changes, whatever is staged or configured; its hooks and programs do not run."""
    git(root, "init", "-q")
    write(root, "a.txt", "1")
    git(root, "add", "a.txt")
    git(root, "commit", "-q", "-m", "x")
    write(root, "staged.txt", "2")
    git(root, "add", "staged.txt")
    trap = write(root.parent, "trap.sh", f"#!/bin/sh\ntouch {root.parent}/sprung\n")
    trap.chmod(0o755)
    git(root, "config", "core.fsmonitor", str(trap))
    git(root, "config", "core.hooksPath", str(root.parent))
    git(root, "config", "filter.shout.clean", str(trap))
    git(root, "config", "diff.external", str(trap))
    write(root, ".gitattributes", "* filter=shout diff=shout\n")
    before = {path: path.read_bytes() for path in (root / ".git").rglob("*") if path.is_file()}
    keeper = keeping()
    first = keeper.take()
    write(root, "a.txt", "3")
    keeper.diff(first, keeper.take())
    assert {path: path.read_bytes() for path in (root / ".git").rglob("*") if path.is_file()} == before
    assert not (root.parent / "sprung").exists()


def test_git_variables_of_the_shell_are_ignored(
    keeping: Open, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user's hook exports GIT_DIR and others; our snapshots must not end up there."""
    git(root, "init", "-q")
    write(root, "a.txt", "1\n")
    monkeypatch.setenv("GIT_DIR", str(root / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(root / ".git/index"))
    monkeypatch.setenv("GIT_WORK_TREE", str(root))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.bare")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "nonsense")
    keeper = keeping()
    before = keeper.take()
    write(root, "a.txt", "2\n")
    assert "+2" in keeper.diff(before, keeper.take())
    assert not list((root / ".git" / "objects").glob("??"))


def test_change_within_the_clock_resolution_is_seen(keeping: Open, root: Path) -> None:
    """Same size, same times: only reading again can tell."""
    place = write(root, "a.txt", "one")
    keeper = keeping()
    before = keeper.take()
    seen = place.stat()
    place.write_text("two")
    os.utime(place, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert told(keeper, before, keeper.take()) == [("changed", "a.txt")]


def test_unchanged_files_are_not_read_again(
    keeping: Open, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in this process nor in the next one."""
    for n in range(60):
        write(root, f"f{n}.txt", str(n))
    monkeypatch.setattr(scan, "_STEADY_NS", -(10**18))  # as if all of it were old
    keeper = keeping()
    taken = keeper.take()

    def refuse(*_: object) -> int:
        raise AssertionError("read again")

    monkeypatch.setattr(scan, "open_file", refuse)
    assert keeper.take() == taken
    assert keeping().take() == taken


def test_vanished_and_unreadable_files_are_handled(
    keeping: Open, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is gone counts as missing; an unreadable one is noted, not stored."""
    write(root, "stays.txt", "1")
    write(root, "goes.txt", "2")
    write(root, "locked.txt", "3")
    os.mkfifo(root / "pipe")
    real = scan.open_file

    def open_file(fd: int, path: str) -> int:
        if path == "goes.txt":
            (root / path).unlink(missing_ok=True)
        if path == "locked.txt":
            raise PermissionError(13, "Permission denied")
        return real(fd, path)

    monkeypatch.setattr(scan, "open_file", open_file)
    keeper = keeping()
    entries = keeper.entries(keeper.take())
    assert {path: entry.why for path, entry in entries.items()} == {
        "stays.txt": "",
        "locked.txt": "unreadable",
    }


def test_file_that_changes_while_being_read_is_consistent(
    keeping: Open, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hash is of what was read, never of a mixture."""
    place = write(root, "busy.txt", "0" * 100)
    real = scan.open_file
    count = 0

    def open_file(fd: int, path: str) -> int:
        nonlocal count
        count += 1
        opened = real(fd, path)
        place.write_text(str(count % 10) * (100 + count))
        return opened

    monkeypatch.setattr(scan, "open_file", open_file)
    keeper = keeping()
    taken = keeper.take()
    data = keeper.read(taken, "busy.txt")
    assert data is not None
    assert keeper.name(data) == keeper.files(taken)["busy.txt"]


def test_folder_full_of_odd_things_is_handled(keeping: Open, root: Path, tmp_path: Path) -> None:
    """`.git` as a file, a bare repository, pipes, sockets, loops, names that differ in case, deep paths."""
    (tmp_path / "main").mkdir()
    git(tmp_path / "main", "init", "-q")
    write(tmp_path, "main/a", "1")
    git(tmp_path / "main", "add", ".")
    git(tmp_path / "main", "commit", "-q", "-m", "x")
    root.rmdir()
    git(tmp_path / "main", "worktree", "add", "-q", str(root))
    git(root, "init", "-q", "--bare", "bare.git")
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listening, contextlib.chdir(root):
        listening.bind("socket")
    (root / "loop").symlink_to("loop")
    (root / "up").symlink_to("..")
    write(root, "Case", "1")
    write(root, "case", "2")
    write(root, "n" * 255, "long")
    write(root, "/".join(["d"] * 60) + "/f", "deep")
    with (root / "huge").open("wb") as file:
        file.truncate(300_000_000)
    keeper = keeping()
    before = keeper.take()
    files = {path: entry for path, entry in keeper.entries(before).items() if not path.startswith("bare.git")}
    assert {"a", "Case", "case", "loop", "up", "huge", "n" * 255} < set(files)
    assert not {"pipe", "socket", ".git"} & set(files)
    assert (files["huge"].why, files["loop"].kind) == ("large", "link")
    assert "bare.git/HEAD" in keeper.files(before)
    with (root / "huge").open("r+b") as file:
        file.write(b"x")
    shutil.rmtree(root / "d")
    assert told(keeper, before, keeper.take()) == [
        ("deleted", "/".join(["d"] * 60) + "/f"),
        ("changed", "huge"),
    ]


def test_name_that_is_not_utf8_is_kept(keeping: Open, root: Path) -> None:
    """It is carried through as the system names it."""
    name = os.fsdecode(b"caf\xe9.txt")
    write(root, name, "x")
    keeper = keeping()
    before = keeper.take()
    assert keeper.read(before, name) == b"x"
    write(root, name, "y")
    assert told(keeper, before, keeper.take()) == [("changed", name)]
    assert keeper.diff(before, keeper.take())


def test_our_files_inside_the_folder_are_left_out(root: Path) -> None:
    """Store and snapshots may be in the folder they belong to."""
    write(root, "a.txt", "1")
    write(root, ".memory/store.db", "ours")
    keeper = snapshots_for(root, root / ".memory" / "shadow", left_out=[root / ".memory" / "store.db"])
    first = keeper.take()
    assert list(keeper.files(first)) == ["a.txt"]
    assert keeper.take() == first


def test_snapshot_of_a_subfolder_of_a_repository(root: Path, tmp_path: Path, keeping: Open) -> None:
    """The ignore files above it apply too."""
    git(root.parent, "init", "-q")
    write(root.parent, ".gitignore", "*.tmp\nproject/x/\n/y\n")
    for path in ("a.py", "b.tmp", "x/c.py", "y"):
        write(root, path, "1")
    keeper = keeping()
    assert sorted(keeper.files(keeper.take())) == ["a.py", "y"]


def test_now_stores_nothing(keeping: Open, root: Path) -> None:
    """It has the same entries as a snapshot."""
    write(root, "a.txt", "1")
    keeper = keeping()
    assert not keeper.holds(keeper.name(b"1"))
    present = keeper.now()
    assert not keeper.holds(keeper.name(b"1"))
    assert keeper.entries(keeper.take()) == present
    assert keeper.holds(keeper.name(b"1"))
    assert not keeper.holds("nonsense")


def test_cleanup_keeps_every_snapshot(keeping: Open, root: Path) -> None:
    """And the next one works as before."""
    keeper = keeping()
    names: list[str] = []
    for n in range(5):
        write(root, "a.txt", f"{n}\n" * 50)
        names.append(keeper.take())
    keeper.tidy()
    again = keeping()
    for n, name in enumerate(names):
        assert again.has(name)
        assert again.read(name, "a.txt") == f"{n}\n".encode() * 50
    assert again.take() == names[-1]
    assert len(again.compare(names[0], names[-1])) == 1


def test_cleanup_removes_leftovers_of_a_killed_process(keeping: Open, root: Path, tmp_path: Path) -> None:
    """After a day; a file being written right now stays."""
    write(root, "a.txt", "1")
    keeper = keeping()
    name = keeper.take()
    (objects,) = (path for path in (tmp_path / "kept").rglob("objects") if path.is_dir())
    old, young = write(objects, "ab/tmp_obj_old", "half"), write(objects, "ab/tmp_obj_young", "half")
    os.utime(old, (0, 0))
    keeper.tidy()
    assert not old.exists()
    assert young.exists()
    assert keeper.read(name, "a.txt") == b"1"


def test_concurrent_looks_do_not_block_snapshots(keeping: Open, root: Path) -> None:
    """One that only looks does not keep another from keeping."""
    keeper = keeping()
    names: list[str] = []

    def take() -> None:
        names.extend(keeper.take() for _ in range(10))

    def look() -> None:
        for n in range(10):
            write(root, f"{n}.txt", str(n) * 50)
            keeper.now()

    threads = [threading.Thread(target=take), threading.Thread(target=look), threading.Thread(target=look)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in {*names, keeper.take()}:
        for path, entry in keeper.entries(name).items():
            data = keeper.read(name, path)
            assert data is not None
            assert keeper.name(data) == entry.hash


def test_deleted_snapshots_are_started_anew(keeping: Open, root: Path, tmp_path: Path) -> None:
    """During a run and between two: a note says so, and the old names are unknown."""
    write(root, "a.txt", "1")
    keeper = keeping()
    first = keeper.take()
    write(root, "a.txt", "2")
    shutil.rmtree(tmp_path / "kept")
    second = keeper.take()
    assert any("starting over" in note for note in keeper.notes)
    assert keeper.read(second, "a.txt") == b"2"
    assert not keeper.has(first)
    with pytest.raises(NotFound):
        keeper.compare(first, second)
    with pytest.raises(NotFound):
        keeper.entries(first)


def test_damaged_content_is_stored_again_from_the_folder(keeping: Open, root: Path, tmp_path: Path) -> None:
    """Truncated files after a power failure; what is lost is reported, and nothing crashes."""
    write(root, "a.txt", "still here\n")
    write(root, "b.txt", "will change\n")
    keeper = keeping()
    first = keeper.take()
    write(root, "b.txt", "changed\n")
    second = keeper.take()
    for name in (keeper.name(b"still here\n"), keeper.name(b"will change\n")):
        (place,) = (path for path in (tmp_path / "kept").rglob(name[2:]))
        place.chmod(0o644)
        place.write_bytes(b"")
    keeper = keeping()
    assert keeper.read(first, "a.txt") == b"still here\n"
    with pytest.raises(StoreError, match="damaged"):
        keeper.read(first, "b.txt")
    assert keeper.read(second, "b.txt") == b"changed\n"
    assert keeper.take() == second


def test_damaged_repository_is_quarantined(root: Path, tmp_path: Path) -> None:
    """HEAD gone, settings unreadable: started anew, with a note; the old one is not deleted."""
    write(root, "a.txt", "1")
    for damage in ("HEAD", "config"):
        keeper = snapshots_for(root, tmp_path / "kept")
        keeper.take()
        (place,) = (path for path in (tmp_path / "kept").glob("*/git"))
        if damage == "HEAD":
            (place / "HEAD").unlink()
        else:
            (place / "config").write_text("[[[nonsense\n")
        again = snapshots_for(root, tmp_path / "kept")
        assert any("damaged" in note for note in again.notes)
        assert again.read(again.take(), "a.txt") == b"1"
    assert len(list((tmp_path / "kept").glob("*/git.damaged-*"))) == 2


def test_forget_drops_everything(keeping: Open, root: Path, tmp_path: Path) -> None:
    """No content is left, and the next snapshot works."""
    write(root, "a.txt", "private words that should go")
    keeper = keeping()
    first = keeper.take()
    (root / "a.txt").unlink()
    keeper.forget()
    assert not keeper.has(first)
    assert not keeper.holds(keeper.name(b"private words that should go"))
    assert keeper.files(keeper.take()) == {}


def test_two_folders_share_a_home(root: Path, tmp_path: Path) -> None:
    """Each has its own snapshots."""
    other = tmp_path / "second"
    write(root, "a", "1")
    write(other, "b", "2")
    one, two = snapshots_for(root, tmp_path / "kept"), snapshots_for(other, tmp_path / "kept")
    name = one.take()
    two.take()
    assert not two.has(name)


def _take_many(root: str, home: str, git_too: bool, mark: int, out: multiprocessing.Queue) -> None:
    keeper = snapshots_for(root, home, git=git_too)
    names = []
    for n in range(8):
        (Path(root) / f"w{mark}.txt").write_text(f"{mark} {n}\n")
        names.append(keeper.take())
    out.put([keeper.has(name) and keeper.entries(name) is not None for name in names])


@pytest.mark.parametrize("git_too", [True, False])
def test_concurrent_processes_take_whole_snapshots(root: Path, tmp_path: Path, git_too: bool) -> None:
    """Starting together and taking snapshots together."""
    write(root, "a.txt", "1")
    context = multiprocessing.get_context("spawn")
    out = context.Queue()
    workers = [
        context.Process(target=_take_many, args=(str(root), str(tmp_path / "kept"), git_too, n, out))
        for n in range(3)
    ]
    for worker in workers:
        worker.start()
    results = [out.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join(timeout=60)
    assert results == [[True] * 8] * 3
    keeper = snapshots_for(root, tmp_path / "kept", git=git_too)
    assert keeper.notes == ()
    assert keeper.read(keeper.take(), "w0.txt") == b"0 7\n"


TAKING = """
import sys
from pathlib import Path
from backscroll.workspace.snapshots.keeper_choice import snapshots_for
root, home, git = sys.argv[1:]
keeper = snapshots_for(root, home, git=git == "True")
print("ready", flush=True)
for n in range(10_000):
    for m in range(20):
        (Path(root) / f"{m}.txt").write_text(f"{n} {m}\\n" * 200)
    print(keeper.take(), flush=True)
"""


@pytest.mark.crash
@pytest.mark.parametrize("git_too", [True, False])
def test_killed_snapshot_leaves_no_lock(root: Path, tmp_path: Path, git_too: bool) -> None:
    """Earlier snapshots are whole, and the next one works."""
    for lines in (1, 2, 4):
        with programs.start(
            [sys.executable, "-c", TAKING, str(root), str(tmp_path / "kept"), str(git_too)],
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            named = [process.stdout.readline().strip() for _ in range(lines)][1:]
            process.kill()
        keeper = snapshots_for(root, tmp_path / "kept", git=git_too)
        for name in [*named, keeper.take()]:
            for path, entry in keeper.entries(name).items():
                data = keeper.read(name, path)
                assert data is not None
                assert keeper.name(data) == entry.hash
        assert keeper.notes == ()


def test_missing_folder_is_reported(tmp_path: Path, keeping: Open, root: Path) -> None:
    """At the start, and when it disappears later."""
    with pytest.raises(InvalidInput):
        snapshots_for(tmp_path / "nowhere", tmp_path / "kept")
    keeper = keeping()
    root.rmdir()
    with pytest.raises(NotFound):
        keeper.take()


def test_too_many_files_are_refused(keeping: Open, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home folder is no project; the hint says what to do."""
    monkeypatch.setattr(scan, "MOST_FILES", 5)
    for n in range(6):
        write(root, f"{n}.txt", "x")
    with pytest.raises(InvalidInput, match="more than 5 files"):
        keeping().take()
    assert len(keeping(key_files="1.txt 2.txt").take())


def test_hashes_are_stored_without_git(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chosen automatically, with a note."""
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    write(root, "a.txt", "1")
    keeper = snapshots_for(root, tmp_path / "kept")
    assert keeper.keeper == "hashes"
    assert keeper.notes == ("git is not installed here; files are watched by their hashes",)
    assert keeper.read(keeper.take(), "a.txt") == b"1"


def test_too_old_git_is_not_used(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The note names its version."""
    script = write(tmp_path / "bin", "git", "#!/bin/sh\necho git version 1.8.3\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    keeper = snapshots_for(root, tmp_path / "kept")
    assert keeper.keeper == "hashes"
    assert "1.8 is too old" in keeper.notes[0]


def test_unwritable_home_is_reported(root: Path, tmp_path: Path, keeping: Open) -> None:
    """A clear error instead of a crash."""
    write(tmp_path, "kept", "a file where the folder should be")
    with pytest.raises(StoreError):
        keeping()
