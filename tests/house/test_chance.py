"""`make test` draws the same examples in every run of a commit; no test depends on fresh randomness."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import hypothesis

from tests.house import tree

#: Draws fresh seeds; that is what it is for.
FRESH = {"tests/fuzz/__main__.py"}
#: Names that must be new to a server come from here; they decide nothing.
NAMES = "secrets.token_hex"


def test_examples_are_the_same_in_every_run() -> None:
    """Unless a profile with fresh examples is requested by name."""
    fixed = hypothesis.settings.get_profile("fixed")
    assert fixed.derandomize
    assert fixed.database is None
    assert "HYPOTHESIS_PROFILE" not in (tree.ROOT / "Makefile").read_text(encoding="utf-8")
    assert '"HYPOTHESIS_PROFILE", "fixed"' in (tree.ROOT / "tests/conftest.py").read_text(encoding="utf-8")


def test_random_generators_are_seeded() -> None:
    found = [
        f"{tree.name(path)}:{line}: {what}"
        for path in sorted((tree.ROOT / "tests").rglob("*.py"))
        if tree.name(path) not in FRESH and {"random", "secrets"} & set(path.read_text("utf-8").split())
        for line, what in _unseeded(tree.parsed(path))
    ]
    assert found == []


def _unseeded(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Calls that draw from chance without a seed, and their lines."""
    nodes = list(ast.walk(module))
    imported = {alias.asname or alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names}
    for call in nodes:
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="random" | "secrets" as owner), attr=attr)):
                seeded = attr == "Random" and bool(call.args)
                if owner in imported and not seeded and f"{owner}.{attr}" != NAMES:
                    yield call.lineno, f"{owner}.{attr}"
            case ast.Call(func=ast.Name(id="Random" | "SystemRandom" as name), args=[]):
                yield call.lineno, name
            case _:
                pass
