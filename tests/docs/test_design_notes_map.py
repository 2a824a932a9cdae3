"""The map of the design notes: every row is whole, names a file that is there, and runs."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docs.pages import blocks, prose
from tests.docs.workshop import Workshop, left_open
from tests.house import tree

PAGE = tree.ROOT / "docs" / "design-notes-map.md"
_CELL = re.compile(r"(?<!\\)\|")
_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    name: str
    place: str
    state: str
    example: str


def _rows() -> list[Row]:
    lines = [line for line in prose(PAGE).splitlines() if line.startswith("|")]
    cells = [[cell.strip().replace("\\|", "|") for cell in _CELL.split(line)[1:-1]] for line in lines]
    assert [line for line, found in zip(lines, cells, strict=True) if len(found) != 4] == []
    return [Row(*found) for found in cells if found[0] != "in the notes" and set(found[0]) != {"-"}]


ROWS = _rows()


def test_every_row_is_complete() -> None:
    """A row has a name, a place, an example, and nothing is left for later."""
    for row in ROWS:
        assert row.name, row
        assert row.place, row
        assert row.state == "done", row
        assert re.fullmatch(r"`[^`]+`", row.example), row
    assert len({row.name for row in ROWS}) >= len(ROWS) - 2, "the same thing is listed twice"
    assert len(ROWS) > 150


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name[:60])
def test_every_row_names_existing_files(row: Row) -> None:
    """A row names files that exist."""
    files = [name for name in _CODE.findall(row.place) if "/" in name and not name.startswith("/")]
    assert all((tree.ROOT / name).exists() for name in files), row.place
    assert files, row.place


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name[:60])
def test_example_of_every_row_runs(row: Row, tmp_path: Path) -> None:
    """The example of a row runs after the lines at the top of the page; a comparison is true."""
    first, *_ = [block for block in blocks(PAGE) if block.language == "python"]
    example = row.example.strip("`")
    try:
        with Workshop(tmp_path, "en") as workshop:
            (workshop.place / ".vscode").symlink_to(tree.ROOT / ".vscode")
            workshop.run_python(first, PAGE.name)
            if example.startswith("$ "):
                workshop.run_command(example.removeprefix("$ "), None)
            else:
                _run(example, workshop)
    finally:
        left_open()


def _run(example: str, workshop: Workshop) -> None:
    with contextlib.chdir(workshop.place):
        try:
            code = compile(example, row_name(example), "eval")
        except SyntaxError:
            exec(compile(example, row_name(example), "exec"), workshop.names)
            return
        assert eval(code, workshop.names) is not False, example


def row_name(example: str) -> str:
    """What a traceback calls an example."""
    return f"{PAGE.name}: {example[:40]}"
