"""The tests are laid out as the package is."""

from __future__ import annotations

from pathlib import Path

from tests.house import tree

TESTED_ELSEWHERE = {
    "stores": "contracts",  # one kit for all stores
}


def test_every_room_has_tests() -> None:
    assert [room for room in tree.rooms() if not any(has_tests(place) for place in places(room))] == []


def places(room: str) -> list[Path]:
    return [tree.ROOT / "tests" / name for name in (room, TESTED_ELSEWHERE.get(room, room))]


def has_tests(folder: Path) -> bool:
    return any(folder.rglob("test_*.py"))


def test_every_test_file_is_collected() -> None:
    """A file with tests and another name would never run."""
    lost = [
        tree.name(path)
        for path in (tree.ROOT / "tests").rglob("*.py")
        if not path.name.startswith("test_") and "\ndef test_" in path.read_text(encoding="utf-8")
    ]
    assert lost == []
