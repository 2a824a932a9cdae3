"""Benchmarks call what a user calls; those of parts are listed in a table with the product's own figure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.house.tree import ROOT

BENCH = ROOT / "bench"
#: What a user imports: the package itself, its nouns and errors, and the scripted service that stands in for a model.
PUBLIC = re.compile(
    r"backscroll(\.(vocab(\..*)?|errors|config|testing(\..*)?|llm\.(providers|tokens)|agent\.agent))?"
)
TITLE = "## Parts, not product"


def imported(path: Path) -> Iterator[str]:
    """The modules of the package that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def reads_parts(path: Path) -> set[str]:
    """What a benchmark imports from below the public surface."""
    inside = {name for name in imported(path) if name.partition(".")[0] == "backscroll"}
    return {name for name in inside if not PUBLIC.fullmatch(name)}


def table() -> dict[str, str]:
    """Benchmarks that read parts, and where the product's own figure stands, as the page says."""
    page = (BENCH / "README.md").read_text(encoding="utf-8")
    section = page.partition(f"{TITLE}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    return {row[0].strip(" `"): row[2].strip() for row in rows}


def test_benchmarks_of_parts_are_named_with_the_product_figure() -> None:
    """A benchmark that bypasses the public API must say so; no row names one that does not."""
    found = {path.stem: reads_parts(path) for path in sorted(BENCH.glob("*.py"))}
    parts = {name for name, inside in found.items() if inside}
    named = table()
    assert sorted(parts - set(named)) == [], f"name them under {TITLE!r} in bench/README.md"
    assert sorted(set(named) - parts) == [], "these read no parts (any more)"
    assert [name for name, product in named.items() if not product] == []


def test_check_finds_benchmarks_that_bypass_the_api() -> None:
    """A file that ranks by itself is reported; imports that users write are not."""
    assert "backscroll.recall.index.index" in reads_parts(BENCH / "evidence.py")
    assert PUBLIC.fullmatch("backscroll.vocab.ids")
    assert not PUBLIC.fullmatch("backscroll.recall")
