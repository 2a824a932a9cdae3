"""Every example of the documentation runs, and prints what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import Block, blocks, page_name, pages
from tests.docs.workshop import Workshop, commands, left_open
from tests.house import tree

#: Pages whose blocks are not run here, and why.
ELSEWHERE = {
    "docs/design-notes-map.md": "has a test of its own",
    "CONTRIBUTING.md": "shows how to set up, which has been done when tests run",
}
_SOURCE = re.compile(r"file=(\S+)")
#: Tours by the command line, in English; each has a page in Chinese beside it.
TOURS = sorted(p for p in (tree.ROOT / "docs").glob("tour-*.md") if not p.name.endswith(".zh-CN.md"))


def _with(language: str, *, excerpts: bool = False) -> list[Path]:
    """The pages that have blocks to run (or excerpts to look up) in a language."""
    return [
        page
        for page in pages()
        if page_name(page) not in ELSEWHERE
        and any(b.language == language and bool(_SOURCE.search(b.more)) is excerpts for b in blocks(page))
    ]


def _runs(page: Path, workshop: Workshop) -> None:
    listed = blocks(page)
    for block, following in zip(listed, [*listed[1:], None], strict=True):
        if block.language == "console":
            workshop.run_console(block)
        elif block.language == "python" and not _SOURCE.search(block.more):
            said = workshop.run_python(block, page_name(page))
            if following is not None and following.language == "text" and _adjacent(page, block, following):
                workshop.compare(following.text, said, f"{page_name(page)}, line {block.line}")


def _adjacent(page: Path, block: Block, following: Block) -> bool:
    """True where nothing but blank lines stands between two blocks."""
    lines = page.read_text(encoding="utf-8").splitlines()
    end = block.line + len(block.text.split("\n")) + 1
    return not "".join(lines[end : following.line - 1]).strip()


@pytest.mark.parametrize("page", sorted({*_with("python"), *_with("console")}), ids=page_name)
def test_examples_of_a_page_run(page: Path, tmp_path: Path) -> None:
    """Blocks run in order in one folder and print the output shown."""
    language = "zh" if page.name.endswith(".zh-CN.md") else "en"
    try:
        with Workshop(tmp_path, language) as workshop:
            _runs(page, workshop)
    finally:
        still = left_open()
    assert still == [], "the page opens a store and does not close it"


@pytest.mark.parametrize("page", _with("python", excerpts=True), ids=page_name)
def test_quoted_code_matches_its_source(page: Path) -> None:
    """Code quoted from a file is still there, verbatim and in that order."""
    for block in blocks(page):
        if found := _SOURCE.search(block.more):
            source = (tree.ROOT / found[1]).read_text(encoding="utf-8")
            place = 0
            for piece in re.split(r"(?m)^ *\.\.\. *$\n?", block.text):
                at = source.find(piece.strip("\n"), place)
                assert at >= 0, f"{page_name(page)}, line {block.line}: {found[1]} no longer says\n{piece}"
                place = at + len(piece.strip("\n"))


@pytest.mark.parametrize("page", TOURS, ids=page_name)
def test_tour_runs_on_postgresql(page: Path, tmp_path: Path, database_url: str) -> None:
    """Commands give the same output as on SQLite, except for ranking and features that need a file."""
    variable = "BACKSCROLL_STORE"
    shown = [b for name in ("install.md", "postgresql.md") for b in blocks(tree.ROOT / "docs" / name)]
    assert sum(b.language == "sh" and f"export {variable}=postgresql://" in b.text for b in shown) == 2
    with Workshop(tmp_path, "en") as workshop:
        workshop.environment[variable] = database_url
        for block in blocks(page):
            if block.language == "console":
                for command, shown_for_it in commands(block):
                    differs = command.startswith(("backscroll forget", "backscroll search"))
                    counts = "counts" in block.more.split()
                    workshop.run_command(command, None if differs else shown_for_it, counts=counts)
    assert not list(workshop.home.rglob("*.db")), "something was written into the default store"


def test_every_topic_has_a_tour_in_both_languages() -> None:
    """Record, code, graph, tasks: each has a tour with commands, in both languages."""
    assert [page.stem for page in TOURS] == ["tour-code", "tour-graph", "tour-record", "tour-tasks"]
    for page in TOURS:
        both = (page, page.with_name(f"{page.stem}.zh-CN.md"))
        counts = [sum(1 for b in blocks(p) if b.language == "console" for _ in commands(b)) for p in both]
        assert counts[0] == counts[1] > 3, page.name
