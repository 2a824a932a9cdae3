"""What every keeper of snapshots promises, shown on both: the one with git, and the one without."""

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


def test_the_same_content_has_the_same_name(keeping: Open, root: Path) -> None:
    """Also after something else was there in between, and for a keeper that was opened anew."""
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


def test_every_sort_of_change_is_seen(keeping: Open, root: Path) -> None:
    """Added, changed, deleted, renamed, made executable, with counted lines and both hashes."""
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


def test_a_file_renamed_and_edited_is_one_rename(keeping: Open, root: Path) -> None:
    """Most of the lines are the same."""
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
def test_a_rename_with_a_heavy_edit(
    keeping: Open, root: Path, before: str, after: str, renamed: bool
) -> None:
    """Half of the content is enough, in both keepers, whatever the lines are like."""
    write(root, "old.txt", before)
    keeper = keeping()
    first = keeper.take()
    (root / "old.txt").unlink()
    write(root, "new.txt", after)
    found = [(c.action, c.old_path) for c in keeper.compare(first, keeper.take())]
    assert found == ([("renamed", "old.txt")] if renamed else [("added", ""), ("deleted", "")])


def test_contents_come_back_to_the_byte(keeping: Open, root: Path) -> None:
    """Line ends, missing last line ends, zero bytes, no UTF-8: whatever an attributes file would like to convert."""
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


def test_the_diff_is_unified_and_bounded(keeping: Open, root: Path) -> None:
    """A person reads it; binary files are only named; what is too long is cut and says so."""
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
    """Ignore files at every level, negation, folders; and what nobody wants even without an ignore file."""
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


def test_ignored_files_that_git_tracks_count(root: Path, tmp_path: Path) -> None:
    """What somebody committed on purpose is theirs to see changed; only git can tell."""
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
    """Patterns with spaces between; everything else might as well not be there."""
    for path in ("src/a.py", "src/b.txt", "docs/x.md", "docs/deep/y.md", "z.md", "src/skip.py"):
        write(root, path, "x")
    keeper = keeping(key_files="*.py docs/** !skip.py")
    assert sorted(keeper.files(keeper.take())) == ["docs/deep/y.md", "docs/x.md", "src/a.py"]


def test_links_are_links(keeping: Open, root: Path, tmp_path: Path) -> None:
    """Where they point is their content; nobody follows them, in no direction."""
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
    """Their changes are seen, their content is nowhere, and the hash of a secret is no help in guessing it."""
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


def test_a_large_file_that_became_small_and_one_renamed_at_once(keeping: Open, root: Path) -> None:
    """Half of it looks like a rename from outside; it is none."""
    text = "".join(f"line {n}\n" for n in range(50))
    write(root, "grows.txt", text)
    keeper = keeping(largest=2000)
    before = keeper.take()
    write(root, "grows.txt", text * 10)
    write(root, "copy.txt", text)
    after = keeper.take()
    assert told(keeper, before, after) == [("added", "copy.txt"), ("changed", "grows.txt")]


def test_repositories_inside_are_plain_files(keeping: Open, root: Path, tmp_path: Path) -> None:
    """Submodules and nested repositories: their files count one by one, their `.git` never."""
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


def test_the_users_repository_is_not_touched(keeping: Open, root: Path) -> None:
    """Not a byte of `.git` changes, whatever is staged or set there; hooks and programs of theirs do not run."""
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


def test_what_the_shell_has_exported_is_no_matter(
    keeping: Open, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook of the user's exports GIT_DIR and its kin; ours must not end up in there."""
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


def test_a_change_within_the_grain_of_the_clock_is_seen(keeping: Open, root: Path) -> None:
    """Same size, same times: only reading it again can tell."""
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
    """Not in this process, and not in the next one."""
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


def test_files_that_vanish_or_cannot_be_read(
    keeping: Open, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is gone between the listing and the reading was not there; one that nobody may read is noted, not kept."""
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


def test_a_file_that_changes_while_it_is_read(
    keeping: Open, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hash is of what was read, never of half the one and half the other content."""
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


def test_a_folder_full_of_odd_things(keeping: Open, root: Path, tmp_path: Path) -> None:
    """A working tree whose `.git` is a file, a bare repository, pipes, sockets, loops, names that differ in case alone, very deep."""
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


def test_a_name_that_is_no_utf8(keeping: Open, root: Path) -> None:
    """It is carried through as the system names it."""
    name = os.fsdecode(b"caf\xe9.txt")
    write(root, name, "x")
    keeper = keeping()
    before = keeper.take()
    assert keeper.read(before, name) == b"x"
    write(root, name, "y")
    assert told(keeper, before, keeper.take()) == [("changed", name)]
    assert keeper.diff(before, keeper.take())


def test_what_is_ours_inside_the_folder_is_left_out(root: Path) -> None:
    """The store and the snapshots themselves may lie in the folder they are of."""
    write(root, "a.txt", "1")
    write(root, ".memory/store.db", "ours")
    keeper = snapshots_for(root, root / ".memory" / "shadow", left_out=[root / ".memory" / "store.db"])
    first = keeper.take()
    assert list(keeper.files(first)) == ["a.txt"]
    assert keeper.take() == first


def test_a_subfolder_of_a_repository(root: Path, tmp_path: Path, keeping: Open) -> None:
    """The ignore files above it hold there too."""
    git(root.parent, "init", "-q")
    write(root.parent, ".gitignore", "*.tmp\nproject/x/\n/y\n")
    for path in ("a.py", "b.tmp", "x/c.py", "y"):
        write(root, path, "1")
    keeper = keeping()
    assert sorted(keeper.files(keeper.take())) == ["a.py", "y"]


def test_now_looks_and_keeps_nothing(keeping: Open, root: Path) -> None:
    """The same entries as a snapshot would have, and no trace."""
    write(root, "a.txt", "1")
    keeper = keeping()
    assert not keeper.holds(keeper.name(b"1"))
    present = keeper.now()
    assert not keeper.holds(keeper.name(b"1"))
    assert keeper.entries(keeper.take()) == present
    assert keeper.holds(keeper.name(b"1"))
    assert not keeper.holds("nonsense")


def test_tidying_drops_nothing(keeping: Open, root: Path) -> None:
    """Every snapshot is still there, and the next one works as before."""
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


def test_tidying_clears_what_a_killed_process_left(keeping: Open, root: Path, tmp_path: Path) -> None:
    """A day later; what is being written right now stays."""
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


def test_looking_from_several_threads(keeping: Open, root: Path) -> None:
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


def test_deleted_snapshots_are_begun_anew(keeping: Open, root: Path, tmp_path: Path) -> None:
    """While it runs, and between two runs: a note says so, and the old names are unknown."""
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


def test_a_damaged_content_is_written_anew_where_the_folder_still_has_it(
    keeping: Open, root: Path, tmp_path: Path
) -> None:
    """Cut files are what a power failure leaves; what is lost for good is said, and nothing crashes."""
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


def test_a_damaged_repository_is_put_aside(root: Path, tmp_path: Path) -> None:
    """HEAD gone, settings unreadable: begun anew, with a note; what was there is not deleted."""
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


def test_forgetting_drops_everything(keeping: Open, root: Path, tmp_path: Path) -> None:
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
    """Each has its own."""
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
def test_several_processes_at_once(root: Path, tmp_path: Path, git_too: bool) -> None:
    """Beginning together and taking together: every snapshot of each is whole."""
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
def test_killed_while_taking(root: Path, tmp_path: Path, git_too: bool) -> None:
    """What was named before is whole, and the next snapshot works; no lock stands in the way."""
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


def test_a_folder_that_is_none(tmp_path: Path, keeping: Open, root: Path) -> None:
    """At the beginning, and when it goes later."""
    with pytest.raises(InvalidInput):
        snapshots_for(tmp_path / "nowhere", tmp_path / "kept")
    keeper = keeping()
    root.rmdir()
    with pytest.raises(NotFound):
        keeper.take()


def test_too_many_files_are_refused(keeping: Open, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody's home folder is no project; the hint says what to do."""
    monkeypatch.setattr(scan, "MOST_FILES", 5)
    for n in range(6):
        write(root, f"{n}.txt", "x")
    with pytest.raises(InvalidInput, match="more than 5 files"):
        keeping().take()
    assert len(keeping(key_files="1.txt 2.txt").take())


def test_without_git_hashes_are_kept(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without git: chosen by itself, with a note."""
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    write(root, "a.txt", "1")
    keeper = snapshots_for(root, tmp_path / "kept")
    assert keeper.keeper == "hashes"
    assert keeper.notes == ("git is not installed here; files are watched by their hashes",)
    assert keeper.read(keeper.take(), "a.txt") == b"1"


def test_a_git_that_is_too_old_is_not_used(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The note names its version."""
    script = write(tmp_path / "bin", "git", "#!/bin/sh\necho git version 1.8.3\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    keeper = snapshots_for(root, tmp_path / "kept")
    assert keeper.keeper == "hashes"
    assert "1.8 is too old" in keeper.notes[0]


def test_a_home_that_cannot_be_written(root: Path, tmp_path: Path, keeping: Open) -> None:
    """A clear error instead of a crash."""
    write(tmp_path, "kept", "a file where the folder should be")
    with pytest.raises(StoreError):
        keeping()
