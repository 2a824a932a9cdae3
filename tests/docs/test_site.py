"""The documentation site, as far as it can be checked without its generator (`make docs` checks the rest)."""

from __future__ import annotations

import inspect
import re
import subprocess
from pathlib import Path

import pytest

import backscroll
from docs import generate_reference as reference
from tests.house import tree
from tools import site

REPOSITORY = "https://example.org/backscroll"


def test_navigation_lists_every_page_once() -> None:
    listed = [page for _, pages in site.navigation() for page in pages]
    assert sorted(listed) == sorted(site.sources())


@pytest.mark.parametrize("place", site.sources())
def test_links_lead_to_the_site_or_the_repository(place: str) -> None:
    text = site.rewrite(
        site.sources()[place].read_text(encoding="utf-8"), site.sources()[place], place, REPOSITORY
    )
    prose = re.sub(r"(?m)^(`{3,})[^\n]*\n(?:.*\n)*?\1[ ]*$", "", text)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        path = target.partition("#")[0]
        if path.startswith(REPOSITORY):
            inside = re.sub(rf"^{REPOSITORY}/(?:blob|tree)/main/", "", path)
            assert (tree.ROOT / inside).exists(), target
        elif path and not re.match(r"[a-z]+:", path):
            there = (Path("/") / Path(place).parent / path).as_posix()
            resolved = Path(re.sub(r"/[^/]+/\.\.", "", there)).as_posix().lstrip("/")
            assert resolved in site.sources() or (site.DOCS / resolved).is_file(), target


def test_fenced_blocks_are_unchanged() -> None:
    text = "[a](why.md)\n\n```text\n[b](../README.md)\n```\n\n[c](../README.md#x)\n"
    made = site.rewrite(text, site.DOCS / "index.md", "index.md", REPOSITORY)
    assert (
        made == f"[a](why.md)\n\n```text\n[b](../README.md)\n```\n\n[c]({REPOSITORY}/blob/main/README.md#x)\n"
    )


def test_both_languages_have_a_start_page() -> None:
    made = site.configuration(REPOSITORY)
    links = {one["lang"]: one["link"] for one in made["extra"]["alternate"]}
    assert links == {"en": "./index.html", "zh": "./index.zh-CN.html"}
    assert {"index.md", "index.zh-CN.md"} <= site.sources().keys()
    assert "search" in made["plugins"]


def test_pages_load_nothing_from_other_hosts() -> None:
    """Fonts come with the system, and figures of a repository are not asked for."""
    made = site.configuration(REPOSITORY)
    assert made["theme"]["font"] is False
    assert "repo_url" not in made


def test_reference_pages_are_up_to_date() -> None:
    """`python docs/generate_reference.py` writes them."""
    there = {path.name: path.read_text(encoding="utf-8") for path in reference.FOLDER.glob("*.md")}
    assert there == reference.written()


def test_every_public_class_and_method_is_in_the_reference() -> None:
    """All exported names, and all that can be reached from a store, a thread, its graph, tasks and memory."""
    directives = {
        found
        for path in reference.FOLDER.glob("*.md")
        for found in re.findall(r"(?m)^::: (\S+)$", path.read_text(encoding="utf-8"))
    }
    missing = [path for path in reference.exported() if path not in directives]
    assert missing == []
    assert {name for name in backscroll.__all__ if name != "tool"} <= {
        path.removeprefix("backscroll.") for path in directives
    }
    with_docs = {path: reference.look_up(path) for path in directives}
    shown = {value for value in with_docs.values() if inspect.isclass(value)}
    thread = {
        name: getattr(backscroll.Thread, name) for name in ("graph", "tasks", "memory", "window", "lore")
    }
    for name, door in thread.items():
        assert any(kind.__name__ == door.fget.__annotations__["return"] for kind in shown), name


def test_every_public_method_has_a_docstring() -> None:
    bare: list[str] = []
    for path in (path for page in reference.listed() for path in page.objects):
        kind = reference.look_up(path)
        if not inspect.isclass(kind):
            continue
        for name in reference.members(kind):
            value = inspect.getattr_static(kind, name, None)
            called = value.fget if isinstance(value, property) else value
            if inspect.isfunction(called) and not inspect.getdoc(value):
                bare.append(f"{path}.{name}")
    assert bare == []


def test_built_site_is_not_tracked() -> None:
    ignored = ["git", "check-ignore", "-q", "build/site/index.html"]
    if not tree.tracked():
        pytest.skip("not a clone: there is no list of tracked files")
    assert subprocess.run(ignored, cwd=tree.ROOT, check=False).returncode == 0
