"""Links between pages lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import page_name, pages, prose
from tests.house import tree

_LINK = re.compile(r"(?<!!)\[(?:[^\]\\]|\\.)*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"(?m)^#{1,6} +(?P<title>.+?) *#*$")
_NAMED = re.compile(r"`(?P<path>(?:backscroll|tests|docs|bench|examples|tools)/[\w./*{},<>-]+)`")


def _anchor(title: str) -> str:
    """The anchor that the usual readers of Markdown give a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "")
    return re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")


def _anchors(page: Path) -> set[str]:
    return {_anchor(found["title"]) for found in _HEADING.finditer(prose(page))}


def _targets(page: Path) -> list[str]:
    found = (link["target"] for link in _LINK.finditer(prose(page)))
    return [target for target in found if not re.match(r"[a-z]+:", target)]


@pytest.mark.parametrize("page", pages(), ids=page_name)
def test_links_resolve(page: Path) -> None:
    """Every relative link names a file of the repository, and an anchor in it where it names one."""
    broken: list[str] = []
    for target in _targets(page):
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        if not place.exists() or not place.is_relative_to(tree.ROOT):
            broken.append(target)
        elif anchor and place.suffix == ".md" and anchor not in _anchors(place):
            broken.append(f"{target} (no such heading)")
    assert broken == []


@pytest.mark.parametrize("page", pages(), ids=page_name)
def test_named_files_exist(page: Path) -> None:
    """Paths in backticks relative to the repository root."""
    named = {found["path"].rstrip("/.") for found in _NAMED.finditer(prose(page))}
    plain = {path for path in named if not re.search(r"[*{}<>]|NNNN", path)}
    if page.parent.name == "rooms":  # the modules of a room are named from its own folder on
        plain = {path for path in plain if not (tree.PACKAGE / page.stem / f"{path}.py").exists()}
    assert sorted(path for path in plain if not (tree.ROOT / path).exists()) == []


def test_every_page_is_linked_from_the_readme() -> None:
    """From the README, links lead to every page; a link to a folder leads to the pages in it."""
    seen: set[Path] = set()
    waiting = [tree.ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page.is_dir():
            waiting += page.glob("*.md")
        if page in seen or page.suffix != ".md" or not page.is_file():
            continue
        seen.add(page)
        waiting += [(page.parent / target.partition("#")[0]).resolve() for target in _targets(page)]
    assert [page_name(page) for page in pages() if page not in seen] == []


def test_every_decision_is_listed() -> None:
    """`docs/decisions/index.md` has a row for each record."""
    folder = tree.ROOT / "docs" / "decisions"
    assert sorted(_targets(folder / "index.md")) == sorted(path.name for path in folder.glob("0*.md"))
