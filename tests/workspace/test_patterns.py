"""Ignore patterns mean the same as in git, which is asked."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.workspace.files.patterns import matches, parse_rules, rules_of

PATHS = [
    "a", "b.log", "dir/a", "dir/b.log", "dir/sub/a", "dir/sub/b.log", "foo/bar", "foo/x/bar", "foo/x/y/bar", "a b", "#a", "!a",
    "build/out.o", "src/build/out.o", "src/build.c", "x[1].txt", "ab", "abc", "dir/abc", "-", "a\\b", "中文/文件.txt", "文件.log", ".hidden", "a.b.c", "dir/.hidden",
]  # fmt: skip


def ours(text: str, path: str) -> bool:
    """True where a path, or a folder above it, is ignored: git never looks into an ignored folder."""
    rules = parse_rules(text)
    parts = path.split("/")
    for n in range(1, len(parts) + 1):
        slash = "/" if n < len(parts) else ""
        if rules.verdict("/".join(parts[:n]) + slash, parts[n - 1] + slash):
            return True
    return False


def gits(folder: Path, text: str) -> set[str]:
    (folder / ".gitignore").write_bytes(text.encode())
    ran = subprocess.run(
        ["git", "check-ignore", "-z", "--no-index", "--stdin"],
        cwd=folder,
        input="\0".join(PATHS).encode(),
        capture_output=True,
        check=False,
    )
    return {path.decode() for path in ran.stdout.split(b"\0") if path and _comparable(text, path.decode())}


def _comparable(text: str, path: str) -> bool:
    """To git a `?` is one byte; nobody who writes Chinese file names means that."""
    return path.isascii() or not set("?[") & set(text)


def repository(folder: Path) -> Path:
    """A repository with all the paths, so that git can tell files from folders."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for path in PATHS:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("x")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repository(tmp_path_factory.mktemp("repository"))


@pytest.mark.parametrize(
    "text",
    [
        "*.log", "/a", "a/", "dir/", "dir", "dir/*", "dir/**", "**/bar", "foo/**/bar", "foo/*/bar", "**", "*", "*\n!a", "*\n!*/\n!*.log",
        "dir/\n!dir/a", "dir/*\n!dir/sub/\n!dir/a", "\\#a", "#a", "\\!a", "!a", "a b", "a\\ b", "a ", "a\\ ", "[ab]", "[!a]", "[^a]*", "[a-c]*", "x[[]1].txt",
        "x\\[1\\].txt", "[[:alpha:]]", "[[:digit:]a]", "[", "[a", "a\\", "\\a", "a\\\\b", "?", "??", "***", "a**", "**a", "foo**bar", "foo/**bar", "/**/bar", "build",
        "/build/", "src/build", "**/build/", "build/**\n!build/out.o", "\r\n*.log\r\n", "\ufeff*.log", "文件.log", "中文/", "*.txt", ".*", "*.*.*", "-", "/", "//", "",
        "a\n!a\na", "[]-]", "[]a]", "[!]]", "[a-]", "[-a]", "[z-a]", "[[:nonsense:]]", "dir/abc/", "DIR", "/dir/sub/../a", "foo//bar", "./a",
        "dir\n!/dir**", "/foo**/bar", "a\n!/***", "foo***/bar", "/di**", "b**/a", "dir/s**",
    ],
)  # fmt: skip
def test_unusual_patterns_match_as_expected(folder: Path, text: str) -> None:
    """Each of them, on every path."""
    assert {path for path in PATHS if ours(text, path) and _comparable(text, path)} == gits(folder, text)


PIECES = ["a", "b", "dir", "sub", "foo", "bar", ".log", "*", "**", "/", "?", "[ab]", "[!a]", "build", "!", "中文", "\\", " ", "#"]  # fmt: skip
LINES = st.lists(st.lists(st.sampled_from(PIECES), max_size=5).map("".join), max_size=4).map("\n".join)


@settings(max_examples=60)
@given(st.lists(LINES, min_size=1, max_size=3))
def test_random_patterns(texts: list[str]) -> None:
    """Patterns that nobody would write."""
    with tempfile.TemporaryDirectory() as folder:
        place = repository(Path(folder))
        for text in texts:
            assert {path for path in PATHS if ours(text, path) and _comparable(text, path)} == gits(
                place, text
            ), text


def test_key_patterns_restrict_what_counts() -> None:
    """A folder counts with everything in it; `!` excludes something again."""
    rules = rules_of(["src/", "*.md", "!draft.md"])
    assert [
        path
        for path in ("src/a.py", "src/x/y.c", "lib/a.py", "README.md", "docs/draft.md")
        if matches(rules, path)
    ] == ["src/a.py", "src/x/y.c", "README.md"]
    assert not matches(rules_of([]), "a")


def test_extremely_long_pattern_is_ignored() -> None:
    """It cannot match any file."""
    assert not parse_rules("*" * 5000)
