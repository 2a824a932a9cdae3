"""Ignore files mean the same as in git."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.workspace.files.files import Files
from backscroll.workspace.files.ignore import IgnoreFiles, PathSelection
from backscroll.workspace.files.listing import FolderWalk

NAMES = ["a", "b", "ab", "a.b", "文", "b c", "[a]", "#a", "!a"]
PIECES = ["a", "b", "*", "**", "?", "/", "!", ".", "[ab]", "[!a]", "\\", "#", " ", "文", "[", "]"]


def git(root: Path, *arguments: str) -> bytes:
    """Git with nobody's settings."""
    alone = {
        "PATH": os.environ["PATH"],
        "HOME": str(root),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    done = subprocess.run(["git", "-C", str(root), *arguments], env=alone, capture_output=True, check=True)
    return done.stdout


def by_git(root: Path) -> set[str]:
    """The files that git would take."""
    listed = git(root, "ls-files", "-o", "--exclude-standard", "-z")
    return {os.fsdecode(name) for name in listed.split(b"\0") if name}


def by_us(root: Path) -> set[str]:
    return {entry.path for entry in FolderWalk(Files(root)) if entry.kind != "folder"}


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git to compare with")


@needs_git
@settings(max_examples=40)
@given(
    st.sets(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join), min_size=1, max_size=12),
    st.dictionaries(
        st.sampled_from(["", "a", "b", "a/b"]),
        st.lists(
            st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join), min_size=1, max_size=5
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_the_same_files_as_git(paths: set[str], rules: dict[str, list[str]]) -> None:
    """Random trees under random ignore files, at several levels."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        git(root, "init", "-q", ".")
        for path in sorted(paths):
            place = root / path
            if any(above.is_file() for above in place.parents) or place.exists():
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("x")
        for where, lines in rules.items():
            if (root / where).is_dir():
                (root / where / ".gitignore").write_text("\n".join(lines))
        assert by_us(root) == by_git(root)


@needs_git
def test_common_ignore_files(tmp_path: Path) -> None:
    """Anchors, folders, negation, nested files, the repository's own list, CRLF, escapes."""
    git(tmp_path, "init", "-q", ".")
    (tmp_path / ".git/info/exclude").write_text("mine.txt\n!never.log\n")
    (tmp_path / ".gitignore").write_bytes(
        b"# built\r\n*.log\r\n!keep.log\r\n/dist/\r\nbuild/\r\ndocs/**/*.html\r\n**/cache\r\nfoo/*\r\n!foo/bar\r\n\\#odd\r\ntrail\\ \r\n"
        b"secret?.txt\r\nx[0-9].y\r\n"
    )
    wanted = [
        "a.log", "keep.log", "sub/keep.log", "dist/x", "sub/dist/x", "build", "sub/build/x", "docs/a.html", "docs/b/c/a.html",
        "docs/a.md", "cache/x", "sub/cache/x", "foo/a", "foo/bar", "foo/baz/x", "#odd", "trail ", "secret1.txt", "secret12.txt",
        "x1.y", "xa.y", "mine.txt", "sub/mine.txt", "never.log", "中/文.log", "中/文.txt", "sub/deep/again.log",
    ]  # fmt: skip
    for path in wanted:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    (tmp_path / "sub/.gitignore").write_text("!*.log\n/deep\n")
    assert by_us(tmp_path) == by_git(tmp_path)
    assert "sub/keep.log" in by_us(tmp_path)
    assert "中/文.log" not in by_us(tmp_path)


def test_deepest_file_decides() -> None:
    """Layers are asked from the inside out."""
    ignore = IgnoreFiles().with_file("", "*.txt\n").with_file("sub", "!a.txt\n")
    assert ignore.ignores("a.txt", folder=False)
    assert not ignore.ignores("sub/a.txt", folder=False)
    assert ignore.ignores("sub/b.txt", folder=False)
    assert ignore.ignores("subway/a.txt", folder=False)


@pytest.mark.parametrize(
    "text", ["", "\n\n", "#\n", "/", "!", "[", "\\", "a\\", "[z-a]", "***", "\ufeff*.x", "\udcff*"]
)
def test_broken_lines_are_harmless(text: str) -> None:
    """They ignore nothing that they should not."""
    assert not IgnoreFiles().with_file("", text).ignores("main.py", folder=False) or text == "***"


def test_choosing_by_patterns() -> None:
    """By extension, by folder, in braces, several, none."""
    paths = ["a.py", "src/b.py", "src/c.ts", "src/deep/d.tsx", "docs/e.md", "文档/说明.md"]

    def chosen(patterns: str) -> list[str]:
        return [path for path in paths if PathSelection(patterns).takes(path)]

    assert chosen("") == paths
    assert chosen("*.py") == ["a.py", "src/b.py"]
    assert chosen("./src/**") == ["src/b.py", "src/c.ts", "src/deep/d.tsx"]
    assert chosen("src") == ["src/b.py", "src/c.ts", "src/deep/d.tsx"]
    assert chosen("src/") == ["src/b.py", "src/c.ts", "src/deep/d.tsx"]
    assert chosen("**/*.{ts,tsx}") == ["src/c.ts", "src/deep/d.tsx"]
    assert chosen("*.py, *.md") == ["a.py", "src/b.py", "docs/e.md", "文档/说明.md"]
    assert chosen("*.py !src/*") == ["a.py"]
    assert chosen("!*.py") == ["src/c.ts", "src/deep/d.tsx", "docs/e.md", "文档/说明.md"]
    assert chosen("文档/*") == ["文档/说明.md"]
    assert chosen("{a,b}{c,d}" * 20) == []
