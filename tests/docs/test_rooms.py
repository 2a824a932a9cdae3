"""The page of a room names its modules: all of them, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs import generate_rooms
from tests.docs.pages import page_name, prose
from tests.house import tree

ROOMS = sorted((tree.ROOT / "docs" / "rooms").glob("*.md"))
_ROW = re.compile(r"(?m)^\| (?P<names>`[\w/]+`(?:, `[\w/]+`)*) \|")


def _named(page: Path) -> set[str]:
    return {name for row in _ROW.finditer(prose(page)) for name in re.findall(r"`([\w/]+)`", row["names"])}


def _modules(room: str) -> set[str]:
    """The modules of a room and of its parts, as paths in the room; the commands are many, and small."""
    place = tree.PACKAGE / room
    found = [p.relative_to(place) for p in place.rglob("*.py") if p.stem != "__init__"]
    names = {p.with_suffix("").as_posix() for p in found}
    return {name for name in names if not name.startswith(("cli/commands/", "i18n/"))}


@pytest.mark.parametrize("page", ROOMS, ids=page_name)
def test_room_page_lists_every_module(page: Path) -> None:
    """Every module of the room has a line on its page, and every line a module."""
    there, told = _modules(page.stem), _named(page)
    assert sorted(there - told) == [], (
        f"{page_name(page)} lacks these modules: run python docs/generate_rooms.py"
    )
    assert sorted(told - there) == [], f"{page_name(page)} mentions modules that do not exist"


@pytest.mark.parametrize("page", ROOMS, ids=page_name)
def test_room_page_is_up_to_date(page: Path) -> None:
    """After moving a module or changing its first line, run `python docs/generate_rooms.py`."""
    assert generate_rooms.page(page) == page.read_text(encoding="utf-8"), "run python docs/generate_rooms.py"


def test_every_room_has_a_page() -> None:
    """A new room comes with its page."""
    assert sorted(set(tree.rooms()) - {page.stem for page in ROOMS}) == []
