"""The repository as the house tests see it."""

from __future__ import annotations

import ast
import gc
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "backscroll"
DATA_ONLY = {"samples"}
"""Folders of the package that hold files, not code."""

BINARY = {".db", ".gif", ".gz", ".ico", ".jpg", ".png", ".sqlite", ".webp", ".woff2", ".zip"}


@cache
def tracked() -> tuple[Path, ...]:
    """Every file that git knows, or none where this is not a clone."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    names = listed.stdout.decode().split("\0") if listed.returncode == 0 else []
    return tuple(path for name in names if name and (path := ROOT / name).is_file())


@cache
def modules() -> tuple[Path, ...]:
    """Every module of the package."""
    found = PACKAGE.rglob("*.py")
    return tuple(
        sorted(path for path in found if not DATA_ONLY.intersection(path.relative_to(PACKAGE).parts))
    )


@cache
def rooms() -> tuple[str, ...]:
    """The rooms that hold more than an `__init__`."""
    code = [path.relative_to(PACKAGE).parts for path in modules() if path.name != "__init__.py"]
    return tuple(sorted({parts[0] for parts in code if len(parts) > 1}))


def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file: large, so nobody keeps it. What several tests want to know stands in `outline`."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@dataclass(frozen=True, slots=True)
class Definition:
    """A function or a class of a module."""

    name: str
    qualified: str
    lines: int
    is_class: bool
    decorators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """What the house tests ask of a module."""

    docstring: str
    definitions: tuple[Definition, ...]
    strings: tuple[str, ...]


@cache
def outline(path: Path) -> Outline:
    """Read a module once for all tests of this process."""
    looking = gc.isenabled()
    gc.disable()  # a tree is a hundred thousand objects, and none of them is garbage before all are
    try:
        module = parsed(path)
        definitions: list[Definition] = []
        strings: list[str] = []
        _gather(module, (), definitions, strings)
        return Outline(ast.get_docstring(module) or "", tuple(definitions), tuple(strings))
    finally:
        if looking:
            gc.enable()


def _gather(node: ast.AST, above: tuple[str, ...], definitions: list[Definition], strings: list[str]) -> None:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            strings.append(node.value)
        return
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        above = (*above, node.name)
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        marks = tuple(ast.unparse(mark) for mark in node.decorator_list)
        definitions.append(
            Definition(node.name, ".".join(above), lines, isinstance(node, ast.ClassDef), marks)
        )
    for field in node._fields:
        value = getattr(node, field, None)
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, ast.AST):
                _gather(child, above, definitions, strings)


def name(path: Path) -> str:
    """The file as people call it, from the root of the repository."""
    return path.relative_to(ROOT).as_posix()
