"""Lists of files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from backscroll.errors import InvalidInput, NotFound
from backscroll.workspace.files import listing
from backscroll.workspace.files.files import Files
from backscroll.workspace.files.listing import list_files


def make(root: Path, *paths: str) -> Files:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("text\n")
    return Files(root)


def paths(files: Files, path: str = ".", **options: object) -> list[str]:
    return [entry.path for entry in list_files(files, path, **options).entries]  # type: ignore[arg-type]


def test_tree_is_sorted(tmp_path: Path) -> None:
    """Folders and files by their paths, whatever the order on disk."""
    files = make(tmp_path, "b.py", "a/z.py", "a/b/c.py", "a-b.py", "中/文.md")
    assert paths(files) == ["a", "a/b", "a/b/c.py", "a/z.py", "a-b.py", "b.py", "中", "中/文.md"]
    assert paths(files, "a") == ["a/b", "a/b/c.py", "a/z.py"]
    assert paths(files, depth=1) == ["a", "a-b.py", "b.py", "中"]
    assert paths(files, pattern="*.py") == ["a/b/c.py", "a/z.py", "a-b.py", "b.py"]


def test_ignored_files_are_left_out(tmp_path: Path) -> None:
    """Also version control and generated files, and below a folder whose rules are above it."""
    files = make(
        tmp_path, ".git/config", "node_modules/x/y.js", "a/x.log", "a/x.py", "a/b/y.log", ".bs-12.part"
    )
    (tmp_path / ".gitignore").write_text("*.log\n")
    found = list_files(files, ".")
    assert [e.path for e in found.entries] == [".gitignore", "a", "a/b", "a/x.py"]
    assert found.ignored == 5
    assert paths(files, "a/b") == []
    assert paths(files, everything=True) == [
        ".gitignore",
        "a",
        "a/b",
        "a/b/y.log",
        "a/x.log",
        "a/x.py",
        "node_modules",
        "node_modules/x",
        "node_modules/x/y.js",
    ]


def test_special_entries_are_marked(tmp_path: Path) -> None:
    """Links are shown and not followed; binary, protected and special files are marked."""
    files = make(tmp_path, "a/x.py", ".env", "run.sh")
    (tmp_path / "a.bin").write_bytes(b"\0\1\2")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "out").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "run.sh").chmod(0o755)
    found = list_files(files, ".")
    by_path = {e.path: e for e in found.entries}
    assert sorted(by_path) == [".env", "a", "a.bin", "a/x.py", "link", "out", "pipe", "run.sh"]
    assert by_path[".env"].protected
    assert by_path["a.bin"].binary
    assert by_path["run.sh"].executable
    assert (by_path["link"].kind, by_path["link"].target) == ("link", "a")
    assert found.text.split("\n") == [
        ".env  5 B  protected",
        "a/",
        "a/x.py  5 B",
        "a.bin  3 B  binary",
        "link  -> a",
        "out  -> /etc",
        "pipe  no plain file",
        "run.sh  5 B",
    ]


def test_limit_keeps_the_nearest(tmp_path: Path) -> None:
    """What is left out is deeper, and a note says that there is more."""
    files = make(tmp_path, *(f"a/b/{n}.py" for n in range(50)), "z.py")
    found = list_files(files, ".", limit=5)
    assert [e.path for e in found.entries] == ["a", "a/b", "a/b/0.py", "a/b/1.py", "z.py"]
    assert found.cut
    assert not list_files(files, ".").cut


def test_huge_folders_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The walk ends and says so."""
    monkeypatch.setattr(listing, "_LOOKED_AT", 10)
    files = make(tmp_path, *(f"{n:02}.py" for n in range(30)))
    found = list_files(files, ".")
    assert len(found.entries) == 10
    assert found.cut


def test_names_that_are_not_utf8_are_listed(tmp_path: Path) -> None:
    """Shown escaped."""
    (tmp_path / os.fsdecode(b"caf\xe9")).write_text("")
    (tmp_path / "a\nb").write_text("")
    found = list_files(Files(tmp_path), ".")
    assert found.text == "a\\nb  0 B\ncaf\\udce9  0 B"


def test_unlistable_paths_are_refused(tmp_path: Path) -> None:
    """A file, a missing path, a path outside, version control: each with its reason."""
    files = make(tmp_path, "a.py", ".git/config")
    with pytest.raises(InvalidInput, match=r"a\.py is not a folder"):
        list_files(files, "a.py")
    with pytest.raises(NotFound, match="no such folder: b"):
        list_files(files, "b")
    with pytest.raises(InvalidInput, match="leads out"):
        list_files(files, "..")
    with pytest.raises(InvalidInput, match="is protected"):
        list_files(files, ".git")
    with pytest.raises(InvalidInput, match="at least"):
        list_files(files, ".", limit=0)


def test_listing_runs_no_program(tmp_path: Path) -> None:
    """Repository settings are not obeyed: git would run the configured file monitor."""
    files = make(tmp_path, "a.py")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_text(f"[core]\n\tfsmonitor = touch {tmp_path}/owned\n")
    list_files(files, ".")
    assert not (tmp_path / "owned").exists()
