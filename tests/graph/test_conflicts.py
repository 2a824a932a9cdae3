"""Conflicts between facts are reported once; a question is asked only if rules cannot settle them."""

from __future__ import annotations

from backscroll.graph.fold import Graph
from tests.graph.claims import ends, has, is_, person, ref, turn


def kinds(graph: Graph) -> list[tuple[str, str, str]]:
    return [(c.kind, c.node, c.predicate) for c in graph.conflicts()]


def test_another_value_soon_after_is_a_conflict_and_later_is_a_change() -> None:
    said = [turn(1, has("Ann", "occupation", "smith")), turn(2, has("Ann", "occupation", "baker"))]
    assert kinds(Graph(said)) == [("superseded", "ann", "occupation")]
    assert Graph(said).questions() == []
    later = [said[0], *(turn(n) for n in range(2, 9)), turn(9, has("Ann", "occupation", "baker"))]
    assert kinds(Graph(later)) == []


def test_changing_a_volatile_attribute_is_no_conflict() -> None:
    assert kinds(Graph([turn(1, has("Ann", "mood", "sad")), turn(2, has("Ann", "mood", "glad"))])) == []


def test_changing_a_permanent_attribute_is_always_asked_about() -> None:
    graph = Graph(
        [
            turn(1, has("Ann", "race", "elf")),
            *(turn(n) for n in range(2, 30)),
            turn(30, has("Ann", "race", "orc")),
        ]
    )
    (question,) = graph.questions()
    assert (question.kind, question.nodes) == ("contradiction", ("ann",))
    assert "orc" in question.text


def test_more_exact_value_is_no_conflict() -> None:
    assert kinds(Graph([turn(1, has("Ann", "race", "elf")), turn(2, has("Ann", "race", "forest elf"))])) == []


def test_two_values_in_one_turn_are_a_conflict() -> None:
    graph = Graph([turn(1, has("Ann", "occupation", "smith"), has("Ann", "occupation", "baker"))])
    assert kinds(graph) == [("same turn", "ann", "occupation")]
    assert [q.kind for q in graph.questions()] == ["contradiction"]


def test_value_after_an_end_is_no_conflict() -> None:
    said = has("Ann", "occupation", "smith"), ends("Ann", "occupation"), has("Ann", "occupation", "baker")
    assert kinds(Graph([turn(1, *said)])) == []


def test_two_spouses_are_reported_once() -> None:
    graph = Graph([turn(1, is_("Ann", "spouse_of", "Tom")), turn(2, is_("Sue", "spouse_of", "Tom"))])
    assert kinds(graph) == [("superseded", "tom", "spouse_of")]


def test_acting_after_death_is_a_conflict() -> None:
    graph = Graph(
        [turn(1, person("Ann"), has("Ann", "status", "死了")), turn(2, is_("Ann", "goes_to", "Rome"))]
    )
    assert kinds(graph) == [("dead", "ann", "goes_to")]
    graph.put(turn(1, person("Ann")))
    assert kinds(graph) == []


def test_circle_of_ancestors_is_a_conflict() -> None:
    said = is_("Ann", "child_of", "Bea"), is_("Cat", "parent_of", "Bea"), is_("Cat", "child_of", "Ann")
    assert kinds(Graph([turn(1, *said)])) == [("circle", "cat", "child_of")]


def test_exclusive_relations_are_reported_once() -> None:
    graph = Graph([turn(1, is_("Ann", "spouse_of", "Tom"), is_("Tom", "sibling_of", "Ann"))])
    assert kinds(graph) == [("excluded", "ann", "sibling_of")]
    graph = Graph([turn(1, is_("Ann", "spouse_of", "Tom"), is_("Tom", "child_of", "Ann"))])
    assert [kind for kind, _, _ in kinds(graph)] == ["excluded"]


def test_likes_and_then_hates_is_a_conflict() -> None:
    graph = Graph([turn(1, is_("Ann", "likes", "Tom")), turn(2, is_("Ann", "hates", "Tom"))])
    assert [(c.kind, c.held.predicate, c.other.predicate) for c in graph.conflicts()] == [
        ("superseded", "hates", "likes")
    ]


def test_questions_keep_their_ids_until_settled() -> None:
    said = [turn(1, has("Ann", "race", "elf")), turn(2, has("Ann", "race", "orc"))]
    first = Graph(said).questions()
    graph = Graph([*said, turn(3, person("Tom"))])
    assert [q.id for q in graph.questions()] == [q.id for q in first]
    graph.drop(ref(2))
    assert graph.questions() == []
