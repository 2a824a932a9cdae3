"""The repository as the house tests see it."""

from __future__ import annotations

import ast
import subprocess
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


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def name(path: Path) -> str:
    """The file as people call it, from the root of the repository."""
    return path.relative_to(ROOT).as_posix()
