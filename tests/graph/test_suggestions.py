"""Nodes that may be one are suggested, never joined."""

from __future__ import annotations

import pytest

from backscroll.graph.fold import Graph
from backscroll.graph.view import WorldEntry
from tests.graph.claims import has, node, override, person, turn


def pairs(graph: Graph) -> set[tuple[str, str]]:
    return {(s.first, s.second) for s in graph.suggestions()}


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Eleanor", "Elanor"),
        ("Jon Snow", "John Snow"),
        ("John F. Kennedy", "JFK"),
        ("John F. Kennedy", "John Kennedy"),
        ("J. Kennedy", "John Kennedy"),
        ("Mary-Ann", "Mary Ann"),
        ("欧阳小美", "欧阳晓美"),
    ],
)
def test_similar_names_are_suggested(one: str, two: str) -> None:
    graph = Graph([turn(1, person(one)), turn(2, person(two))])
    assert len(graph.ids()) == 2
    assert len(pairs(graph)) == 1


@pytest.mark.parametrize(
    ("one", "two"),
    [("level 1", "level 2"), ("Tom", "Tim"), ("C++", "C#"), ("Mr. Hill", "Mrs. Hill"), ("robot", "robots")],
)
def test_names_that_only_look_similar_are_not_suggested(one: str, two: str) -> None:
    assert pairs(Graph([turn(1, person(one)), turn(2, person(two))])) == set()


def test_nodes_of_different_types_are_not_suggested() -> None:
    assert pairs(Graph([turn(1, person("Jordan")), turn(2, node("Jordann", "place"))])) == set()


def test_same_email_is_a_suggestion() -> None:
    said = has("Ann", "email", "a@x.org"), has("Zed", "email", "A@x.org")
    graph = Graph([turn(1, *said)])
    assert [(s.first, s.second, s.why) for s in graph.suggestions()] == [("ann", "zed", "the same email")]
    assert [q.kind for q in graph.questions()] == ["merge"]


def test_names_of_one_world_entry_are_suggested() -> None:
    world = [WorldEntry("Ellie", ("Ellie", "艾莉"), "An elf.", "person")]
    assert pairs(Graph([turn(1, person("Ellie"), person("艾莉"))], world=world)) == {("ellie", "艾莉")}


def test_split_or_merged_nodes_are_not_suggested() -> None:
    said = [turn(1, person("Eleanor"), person("Elanor"))]
    assert pairs(Graph(said, [override("split", "Eleanor", object="Elanor")])) == set()
    assert pairs(Graph(said, [override("merge", "Eleanor", object="Elanor")])) == set()
