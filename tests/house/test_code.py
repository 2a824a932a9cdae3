"""Sizes, names and docstrings of the package; swallowed exceptions."""

from __future__ import annotations

import ast
import re
from collections import Counter

import pytest

from tests.house import tree

MODULE_LINES = 400
FUNCTION_LINES = 60
PUBLIC_NAMES = 40

TOO_LONG_ON_PURPOSE: dict[str, str] = {
    "backscroll/agent/agent.py": "one class, `Agent`: what users hold",
    "backscroll/surfaces/chat/app.py": "the loop of the terminal and the state it holds, one class `Chat`",
    "backscroll/surfaces/cli/families/graph_views.py": "the commands of one family that look at the graph",
}
"""`backscroll/room/module.py` or `backscroll/room/module.py:function`, and the reason why it is one idea."""

BANNED_NAMES = {"base", "common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"}
VERSIONED = ("_v2", "_v3", "_new", "_old")
BROAD = {"Exception", "BaseException"}
#: What stands in every module with a handler of everything: the others need not be parsed.
MAY_CATCH_ALL = re.compile(r"\bexcept\s*:|\bexcept\b[\s\S]*\b(?:Base)?Exception\b")


def test_modules_are_short() -> None:
    sizes = {tree.name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in tree.modules()}
    assert {
        name: lines
        for name, lines in sizes.items()
        if lines > MODULE_LINES and name not in TOO_LONG_ON_PURPOSE
    } == {}


def test_functions_are_short() -> None:
    functions = [
        (f"{tree.name(path)}:{found.name}", found.lines)
        for path in tree.modules()
        for found in tree.outline(path).definitions
        if not found.is_class
    ]
    assert [
        (name, lines)
        for name, lines in functions
        if lines > FUNCTION_LINES and name not in TOO_LONG_ON_PURPOSE
    ] == []


def test_modules_have_docstrings() -> None:
    assert [tree.name(path) for path in tree.modules() if not tree.outline(path).docstring] == []


def test_module_names_are_specific() -> None:
    for path in tree.modules():
        words = path.relative_to(tree.PACKAGE).with_suffix("").parts
        assert not BANNED_NAMES.intersection(words), f"{tree.name(path)}: a name that says nothing"
        assert not any(word.endswith(VERSIONED) for word in words), (
            f"{tree.name(path)}: versions belong to git"
        )


def test_exceptions_exist_for_existing_modules_only() -> None:
    known = {tree.name(path) for path in tree.modules()}
    assert {entry.split(":")[0] for entry in TOO_LONG_ON_PURPOSE} <= known


def test_no_exception_is_swallowed() -> None:
    swallowed = [
        f"{tree.name(path)}:{node.lineno}"
        for path in {*tree.modules(), *(path for path in tree.tracked() if path.suffix == ".py")}
        if MAY_CATCH_ALL.search(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree.parsed(path))
        if isinstance(node, ast.ExceptHandler) and _catches_all(node) and _does_nothing(node.body)
    ]
    assert swallowed == []


def _catches_all(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or (isinstance(kind, ast.Name) and kind.id in BROAD) for kind in caught)


def _does_nothing(body: list[ast.stmt]) -> bool:
    return all(
        isinstance(statement, ast.Pass | ast.Continue)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in body
    )


def test_public_names_are_few() -> None:
    if not (tree.PACKAGE / "__init__.py").exists():
        pytest.skip("there is no backscroll/__init__.py yet")
    import backscroll

    public = getattr(backscroll, "__all__", None)
    if public is None:
        pytest.skip("backscroll/__init__.py names nothing yet")
    assert len(public) <= PUBLIC_NAMES
    assert len(set(public)) == len(public)
    assert [name for name in public if not hasattr(backscroll, name)] == []


def test_folders_are_small() -> None:
    """At most fifteen modules, and a docstring that says what the folder contains."""
    counted = Counter(path.parent for path in tree.modules() if path.name != "__init__.py")
    assert {tree.name(folder): many for folder, many in counted.items() if many > 15} == {}
    silent = [folder for folder in counted if not tree.outline(folder / "__init__.py").docstring]
    assert [tree.name(folder) for folder in silent] == []
