"""Names: a class name once, functions as verbs."""

from __future__ import annotations

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


def test_class_name_means_one_thing() -> None:
    """A leading underscore does not make it another name."""
    places: dict[str, list[str]] = defaultdict(list)
    for path, found in definitions():
        if found.is_class:
            places[found.name.lstrip("_")].append(f"{path}: {found.qualified}")
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_functions_are_verbs() -> None:
    """`render_line`, not `told`. A property may be an adjective."""
    assert [
        f"{path}: {found.qualified}"
        for path, found in definitions()
        if not found.is_class
        and is_participle(found.name)
        and not any("property" in mark for mark in found.decorators)
        and found.qualified not in PUBLIC
    ] == []


def is_participle(name: str) -> bool:
    """Whether a name is one word in a past form."""
    word = name.strip("_")
    if "_" in word or word in VERBS:
        return False
    return word in IRREGULAR or (word.endswith("ed") and len(word) > 3)


def definitions() -> Iterator[tuple[str, tree.Definition]]:
    """Yield every function and class of the package with its file."""
    for module in tree.modules():
        for found in tree.outline(module).definitions:
            yield tree.name(module), found
