"""Protected files, however their names are written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import InvalidInput
from backscroll.workspace.files.guard import Guard, escape_path, fold_name

ROOT = Path("/somewhere/root")


@pytest.mark.parametrize(
    "path",
    [
        ".git",
        ".git/config",
        "deep/down/.git/hooks/pre-commit",
        ".GIT/config",
        ".g\u200cit/config",  # invisible: some file systems drop it
        ".git./config",
        ".git /config",
        "．git/config",  # a full-width dot
        "git~1/config",
        ".git::$INDEX_ALLOCATION/config",
        ".hg/store",
        ".svn/entries",
        ".env",
        ".ENV",
        ".env.local",
        "prod.env",
        "id_rsa",
        "keys/id_ed25519",
        "server.pem",
        "server.KEY",
        "a.p12",
        ".netrc",
        ".npmrc",
        ".pypirc",
        "home/.aws/credentials",
        ".ssh/config",
        ".ssh/id_rsa.pub",
        "credentials.json",
        "vault.kdbx",
        "backscroll.db",
        "backscroll.db-wal",
        ".env.example/inside",
        ".git/.env.example",
    ],
)
def test_protected_names_are_refused(path: str) -> None:
    """With a reason and a hint."""
    with pytest.raises(InvalidInput, match="is protected: it ") as refused:
        Guard(ROOT).check(path)
    assert refused.value.hint


@pytest.mark.parametrize(
    "path",
    [
        ".gitignore",
        ".github/workflows/ci.yml",
        ".env.example",
        "deploy/.env.template",
        "id_rsa.pub",
        "environment.py",
        "keys.py",
        "key.py",
        "monkey.py",
        "aws/credentials",
        "credentials.py",
        "git/config",
        "文档/说明.md",
        ".",
        "",
    ],
)
def test_similar_names_are_not_protected(path: str) -> None:
    """Names that only look a little like protected ones stay usable."""
    assert Guard(ROOT).why(path) == ""


def test_callers_can_protect_patterns_and_paths() -> None:
    """A store inside the folder with its side files, a pattern anywhere, `./` only at the top."""
    guard = Guard(ROOT, [f"{ROOT}/data/log[1].db", "*.secret", "./top.txt", "a/**"])
    assert guard.why("data/log[1].db")
    assert guard.why("data/log[1].db-wal")
    assert guard.why("data/LOG[1].DB/inside")
    assert not guard.why("data/log1.db")
    assert not guard.why("data/log[1].dbx")
    assert not guard.why("other/log[1].db")
    assert guard.why("deep/x.secret/y")
    assert guard.why("top.txt")
    assert not guard.why("deep/top.txt")
    assert guard.why("a/b")


def test_caller_protection_has_no_exceptions() -> None:
    """A harmless name is protected if a caller says so."""
    assert Guard(ROOT, [".env.example"]).why(".env.example")


def test_absolute_paths_are_compared_as_a_whole() -> None:
    """A protected path outside the folder protects that path."""
    guard = Guard(ROOT, ["/elsewhere/shadow"])
    assert guard.why("/elsewhere/shadow/HEAD")
    assert not guard.why("/elsewhere/other")


@given(st.text(st.characters(), min_size=1))
def test_no_name_breaks_the_guard(name: str) -> None:
    """Any characters at all get an answer, and being protected does not depend on case where letters have one."""
    guard = Guard(ROOT)
    assert isinstance(guard.why(name), str)
    assert bool(guard.why(name)) == bool(guard.why(fold_name(name)))


@given(st.lists(st.sampled_from(["src", "a.py", "文", "x y"])), st.sampled_from([".git", ".Git", ".gIT"]))
def test_everything_inside_a_protected_folder_is_protected(parts: list[str], name: str) -> None:
    """Wherever the folder stands and whatever follows."""
    assert Guard(ROOT).why("/".join([*parts, name, *parts]))


def test_names_are_shown_escaped() -> None:
    """So that a terminal does not act on them."""
    assert escape_path("a\x1b[31m\n\udcff") == "a\\x1b[31m\\n\\udcff"
    assert escape_path("文档 a.py") == "文档 a.py"
