"""Modules and folders named in docstrings and comments exist."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.house import tree

#: Paths in backticks, and full dotted names.
PATH = re.compile(r"`([a-z_]+(?:/[A-Za-z_.*]+)+)`")
DOTTED = re.compile(r"\bbackscroll(?:\.[a-z_]+)+\b(?!\.\w)")
#: Names that look like paths of ours and are examples, or belong to others.
NOT_OURS = frozenset({"tools/list", "surfaces/agent.py", "docs/**", "docs/**/*.md"})


@cache
def folders() -> frozenset[str]:
    """Every folder of the package, and those beside it that texts name."""
    inside = {path.parent.name for path in tree.modules()}
    return frozenset({*inside, "bench", "docs", "tests", "tools"})


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Every docstring and comment of a module, with its line."""
    if any("#" in line and (PATH.search(line) or DOTTED.search(line)) for line in source.splitlines()):
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            line = getattr(node, "lineno", 1)
            yield line, ast.get_docstring(node, clean=False) or ""


def exists(path: str, near: Path) -> bool:
    """Return True for a file, folder, module or name of a module, seen from a folder or any folder above it."""
    places = [near, *near.parents]
    inside = places[: places.index(tree.ROOT) + 1]
    return any(_is_there(place, path) for place in inside)


def _is_there(place: Path, path: str) -> bool:
    if any(True for pattern in (path, f"{path}.py") for _ in place.glob(pattern)):
        return True
    module, mark, name = path.rpartition("." if "." in path else "/")
    sources = (place / f"{module}.py", place / module / "__init__.py")
    found = any(re.search(rf"\b{name}\b", s.read_text(encoding="utf-8")) for s in sources if s.is_file())
    return bool(mark) and found


def named(text: str) -> Iterator[str]:
    """The paths that a text names, as paths."""
    yield from (found[1] for found in PATH.finditer(text) if found[1].split("/")[0] in folders())
    yield from (found[0].replace(".", "/") for found in DOTTED.finditer(text))


def test_modules_named_in_docstrings_exist() -> None:
    missing = [
        f"{tree.name(path)}:{line} {found}"
        for path in tree.modules()
        for line, text in texts(path.read_text(encoding="utf-8"))
        for found in named(text)
        if found not in NOT_OURS and not exists(found, path.parent)
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("`formats/shape` owns it", True),
        ("`shape` of `formats/sources/rows.py`", True),
        ("see backscroll.vocab.ids", True),
        ("`formats/shapes` owns it", False),
        ("see backscroll.vocab.idents", False),
    ],
)
def test_missing_module_names_are_found(text: str, found: bool) -> None:
    near = tree.PACKAGE / "formats"
    assert all(exists(each, near) for each in named(text)) is found


def test_docstrings_list_no_neighbours() -> None:
    """`tools/imports.py` generates the import graph; docstrings do not repeat it."""
    lists = re.compile(r"^\s*(?:Before|After):\s", re.MULTILINE)
    assert [
        tree.name(path)
        for path in tree.modules()
        if lists.search(ast.get_docstring(tree.parsed(path), clean=False) or "")
    ] == []
