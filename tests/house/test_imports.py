"""Siblings import each other in one direction; an import inside a function says why it is there.

`python tools/imports.py --cycles` shows what is counted here: imports at the top of a module, inside functions, and for types alone.
"""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest

from tests.house import tree

#: Cycles that are still there: the folder, the siblings in one, and why. The list may only shrink.
KNOWN: dict[str, tuple[frozenset[str], str]] = {
    "backscroll.engine": (frozenset("directory engine thread user".split()), "types alone: `thread.engine` is public and gives a whole engine"),
}  # fmt: skip

#: Imports inside functions without a reason, by room. A number may only fall.
LOCAL: dict[str, int] = {
}  # fmt: skip


@pytest.fixture(scope="module")
def imports() -> ModuleType:
    """`tools/imports.py`, which is a program and no part of a package."""
    spec = importlib.util.spec_from_file_location("tools_imports", tree.ROOT / "tools" / "imports.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def in_cycles(imports: ModuleType) -> dict[str, set[str]]:
    """The siblings of each folder that import each other in a circle."""
    found = imports.cycles(imports.all_imports())
    return {folder: {name for group in groups for name in group} for folder, groups in found.items()}


def test_siblings_form_no_new_import_cycle(imports: ModuleType) -> None:
    found = in_cycles(imports)
    known = {folder: members for folder, (members, _) in KNOWN.items()}
    new = {folder: sorted(members - known.get(folder, set())) for folder, members in found.items()}
    assert {folder: members for folder, members in new.items() if members} == {}


def test_removed_cycles_are_taken_off_the_list(imports: ModuleType) -> None:
    found = in_cycles(imports)
    gone = {folder: sorted(members - found.get(folder, set())) for folder, (members, _) in KNOWN.items()}
    assert {folder: members for folder, members in gone.items() if members} == {}


def test_lower_modules_do_not_import_public_objects(imports: ModuleType) -> None:
    """Engine folders get `ThreadScope` and `EngineScope`; only `calls`, at the top, may take a whole thread."""
    held = {
        f"backscroll.engine.{name}"
        for name in ("thread", "engine", "directory", "user", "thread_knowledge", "opening")
    }
    below = [
        f"{found.importer}:{found.line} {found.imported}"
        for found in imports.all_imports()
        if found.imported in held
        and found.importer.startswith("backscroll.engine.")
        and found.importer.count(".") > 2
        and not found.importer.startswith("backscroll.engine.calls.")
    ]
    assert below == []


def test_local_imports_only_decrease(imports: ModuleType) -> None:
    counted = {room: row["local"] - row["with a reason"] for room, row in imports.counts().items()}
    assert {room: many for room, many in counted.items() if many > LOCAL.get(room, 0)} == {}
    assert {room: most for room, most in LOCAL.items() if most > counted.get(room, 0)} == {}, (
        "lower the numbers"
    )


def test_all_kinds_of_imports_are_found(imports: ModuleType) -> None:
    """At the top, inside a function and for types only; a reason belongs to the import below it."""
    source = tree.ROOT / "tests" / "house" / "imports_sample.txt"
    named = dict.fromkeys(
        ("backscroll", "backscroll.a", "backscroll.b", "backscroll.c", "backscroll.d"), source
    )
    found = list(imports.module_imports("backscroll.a", source, named))
    assert [(each.imported, each.kind, each.reason) for each in found] == [
        ("backscroll.b", "import-time", ""),
        ("backscroll.c", "typing", ""),
        ("backscroll.d", "local", "it is slow"),
        ("backscroll.b", "local", ""),
    ]
    assert imports.cycles([*found, imports.Import("backscroll.c", "backscroll.a", 1, "local")]) == {
        "backscroll": [["a", "c"]]
    }
