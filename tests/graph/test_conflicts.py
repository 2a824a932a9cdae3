"""What does not fit together is reported, once, and asked only where rules cannot settle it."""

from __future__ import annotations

from backscroll.graph.fold import Graph
from tests.graph.claims import ends, has, is_, person, ref, turn


def kinds(graph: Graph) -> list[tuple[str, str, str]]:
    return [(c.kind, c.node, c.predicate) for c in graph.conflicts()]


def test_another_value_soon_after_is_reported_and_later_is_a_change() -> None:
    said = [turn(1, has("Ann", "occupation", "smith")), turn(2, has("Ann", "occupation", "baker"))]
    assert kinds(Graph(said)) == [("superseded", "ann", "occupation")]
    assert Graph(said).questions() == []
    later = [said[0], *(turn(n) for n in range(2, 9)), turn(9, has("Ann", "occupation", "baker"))]
    assert kinds(Graph(later)) == []


def test_what_changes_all_the_time_is_no_contradiction() -> None:
    assert kinds(Graph([turn(1, has("Ann", "mood", "sad")), turn(2, has("Ann", "mood", "glad"))])) == []


def test_what_never_changes_is_asked_whenever_it_does() -> None:
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


def test_a_more_exact_value_is_no_contradiction() -> None:
    assert kinds(Graph([turn(1, has("Ann", "race", "elf")), turn(2, has("Ann", "race", "forest elf"))])) == []


def test_two_values_in_one_breath() -> None:
    graph = Graph([turn(1, has("Ann", "occupation", "smith"), has("Ann", "occupation", "baker"))])
    assert kinds(graph) == [("same turn", "ann", "occupation")]
    assert [q.kind for q in graph.questions()] == ["contradiction"]


def test_an_end_in_between_is_no_contradiction() -> None:
    said = has("Ann", "occupation", "smith"), ends("Ann", "occupation"), has("Ann", "occupation", "baker")
    assert kinds(Graph([turn(1, *said)])) == []


def test_two_spouses_are_reported_once() -> None:
    graph = Graph([turn(1, is_("Ann", "spouse_of", "Tom")), turn(2, is_("Sue", "spouse_of", "Tom"))])
    assert kinds(graph) == [("superseded", "tom", "spouse_of")]


def test_the_dead_do_not_act() -> None:
    graph = Graph(
        [turn(1, person("Ann"), has("Ann", "status", "死了")), turn(2, is_("Ann", "goes_to", "Rome"))]
    )
    assert kinds(graph) == [("dead", "ann", "goes_to")]
    graph.put(turn(1, person("Ann")))
    assert kinds(graph) == []


def test_nobody_is_their_own_ancestor() -> None:
    said = is_("Ann", "child_of", "Bea"), is_("Cat", "parent_of", "Bea"), is_("Cat", "child_of", "Ann")
    assert kinds(Graph([turn(1, *said)])) == [("circle", "cat", "child_of")]


def test_relations_that_exclude_each_other_are_reported_once() -> None:
    graph = Graph([turn(1, is_("Ann", "spouse_of", "Tom"), is_("Tom", "sibling_of", "Ann"))])
    assert kinds(graph) == [("excluded", "ann", "sibling_of")]
    graph = Graph([turn(1, is_("Ann", "spouse_of", "Tom"), is_("Tom", "child_of", "Ann"))])
    assert [kind for kind, _, _ in kinds(graph)] == ["excluded"]


def test_likes_and_then_hates() -> None:
    graph = Graph([turn(1, is_("Ann", "likes", "Tom")), turn(2, is_("Ann", "hates", "Tom"))])
    assert [(c.kind, c.held.predicate, c.other.predicate) for c in graph.conflicts()] == [
        ("superseded", "hates", "likes")
    ]


def test_questions_keep_their_ids_and_go_when_settled() -> None:
    said = [turn(1, has("Ann", "race", "elf")), turn(2, has("Ann", "race", "orc"))]
    first = Graph(said).questions()
    graph = Graph([*said, turn(3, person("Tom"))])
    assert [q.id for q in graph.questions()] == [q.id for q in first]
    graph.drop(ref(2))
    assert graph.questions() == []
