"""Names: a class name once, functions as verbs."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from tests.house import tree

#: Functions that users know by a participle. They stay; new ones are verbs.
PUBLIC = {"Agent.counted", "FolderScope.looked"}
#: Past forms that do not end in -ed.
IRREGULAR = frozenset(
    "begun bound bought broken brought built caught chosen drawn driven eaten fallen felt forgotten found frozen given gone grown heard held"
    " hidden kept known laid left lost made meant met overheard paid seen sent shown slept sold sought spent spoken spun stolen struck stuck"
    " sung sworn taken taught thought thrown told torn understood undone unseen withdrawn won worn woven written said asked done".split()
)
#: Verbs and nouns that only look like participles.
VERBS = frozenset({"embed", "exceed", "feed", "need", "proceed", "seed", "speed", "succeed"})


def test_a_class_name_means_one_thing() -> None:
    """A leading underscore does not make another name of it."""
    places: dict[str, list[str]] = defaultdict(list)
    for path, node, qualified in definitions():
        if isinstance(node, ast.ClassDef):
            places[node.name.lstrip("_")].append(f"{path}: {qualified}")
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_functions_are_verbs() -> None:
    """`render_line`, not `told`. A property may be an adjective."""
    assert [
        f"{path}: {qualified}"
        for path, node, qualified in definitions()
        if not isinstance(node, ast.ClassDef)
        and is_participle(node.name)
        and not any("property" in ast.unparse(mark) for mark in node.decorator_list)
        and qualified not in PUBLIC
    ] == []


def is_participle(name: str) -> bool:
    """Whether a name is one word in a past form."""
    word = name.strip("_")
    if "_" in word or word in VERBS:
        return False
    return word in IRREGULAR or (word.endswith("ed") and len(word) > 3)


def definitions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, str]]:
    """Yield every function and class of the package with its file and qualified name."""

    def walk(
        node: ast.AST, above: tuple[str, ...], path: str
    ) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, str]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                qualified = (*above, child.name)
                yield path, child, ".".join(qualified)
                yield from walk(child, qualified, path)
            else:
                yield from walk(child, above, path)

    for module in tree.modules():
        yield from walk(ast.parse(module.read_text(encoding="utf-8")), (), tree.name(module))
