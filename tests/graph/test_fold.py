"""The fold: the latest wins, earlier values become history, both ends see a relation, a drop restores."""

from __future__ import annotations

from backscroll.graph.fold import Graph
from backscroll.graph.view import Options, WorldEntry
from backscroll.vocab.assertion import TurnClaims
from tests.graph.claims import alias, ends, has, is_, node, now, person, ref, turn


def spans(graph: Graph, name: str, predicate: str) -> list[tuple[str, int | None, int | None]]:
    return [
        (f.value or f.object, f.since.seq if f.since else None, f.until.seq if f.until else None)
        for f in graph.history(name, predicate)
    ]


def test_latest_single_value_wins_and_the_earlier_becomes_history() -> None:
    graph = Graph([turn(1, has("Ann", "mood", "sad")), turn(2, has("Ann", "mood", "glad"))])
    assert now(graph, "Ann", "mood") == ["glad"]
    assert spans(graph, "Ann", "mood") == [("sad", 1, 2), ("glad", 2, None)]


def test_dropping_the_superseding_turn_restores_the_old_fact() -> None:
    graph = Graph([turn(1, has("Ann", "mood", "sad")), turn(2, has("Ann", "mood", "glad"))])
    assert now(graph, "Ann", "mood") == ["glad"]
    graph.drop(ref(2))
    assert spans(graph, "Ann", "mood") == [("sad", 1, None)]


def test_order_of_turns_counts_not_order_of_arrival() -> None:
    graph = Graph([turn(2, has("Ann", "mood", "glad"))])
    graph.put(turn(1, has("Ann", "mood", "sad")))
    assert now(graph, "Ann", "mood") == ["glad"]
    graph.put(TurnClaims(ref(1), b"\xff", (has("Ann", "mood", "sad"),)))
    assert now(graph, "Ann", "mood") == ["sad"]


def test_updating_many_turns_at_once_equals_one_by_one() -> None:
    graph = Graph([turn(1, has("Ann", "mood", "sad"))])
    graph.update([turn(n, has("Ann", "mood", f"mood {n}")) for n in range(2, 90)], drop=[ref(1), ref(7)])
    assert spans(graph, "Ann", "mood")[0] == ("mood 2", 2, 3)
    assert len(spans(graph, "Ann", "mood")) == 88
    graph.update(drop=[ref(n) for n in range(3, 90)])
    assert now(graph, "Ann", "mood") == ["mood 2"]


def test_repeated_fact_gains_evidence() -> None:
    graph = Graph([turn(1, has("Ann", "race", "Elf")), turn(2, has("Ann", "race", "an elf."))])
    (fact,) = graph.why("Ann", "race")
    assert (fact.value, [e.opening.seq for e in fact.evidence]) == ("Elf", [1, 2])


def test_multi_valued_attribute_keeps_all_values() -> None:
    graph = Graph([turn(1, has("Ann", "skill", "song")), turn(2, has("Ann", "skill", "chess"))])
    assert now(graph, "Ann", "skill") == ["song", "chess"]


def test_new_owner_replaces_the_old_one() -> None:
    graph = Graph([turn(1, is_("Ann", "owns", "Bow")), turn(2, is_("Tom", "owns", "Bow"))])
    assert (now(graph, "Ann", "owns"), now(graph, "Tom", "owns")) == ([], ["bow"])
    assert now(graph, "Bow", "owned_by") == ["tom"]
    assert spans(graph, "Ann", "owns") == [("bow", 1, 2)]


def test_relation_and_its_inverse_are_the_same_fact() -> None:
    graph = Graph([turn(1, is_("Mill", "employs", "Ann")), turn(2, is_("Ann", "works_at", "Inn"))])
    assert now(graph, "Ann", "works_at") == ["inn"]
    assert now(graph, "Mill", "employs") == []
    (fact,) = graph.node("Inn").relations
    assert (fact.predicate, fact.object, fact.derived) == ("employs", "ann", True)


def test_new_marriage_ends_the_old_one() -> None:
    graph = Graph([turn(1, is_("Ann", "spouse_of", "Tom")), turn(2, is_("Sue", "spouse_of", "Tom"))])
    assert (now(graph, "Ann", "spouse_of"), now(graph, "Tom", "spouse_of")) == ([], ["sue"])
    graph.drop(ref(2))
    assert now(graph, "Ann", "spouse_of") == ["tom"]


def test_end_closes_one_relation_or_all() -> None:
    said = [turn(1, is_("Ann", "likes", "Tom"), is_("Ann", "likes", "Sue"))]
    graph = Graph([*said, turn(2, ends("Ann", "likes", "Tom"))])
    assert now(graph, "Ann", "likes") == ["sue"]
    graph.put(turn(2, ends("Ann", "likes")))
    assert now(graph, "Ann", "likes") == []
    assert spans(graph, "Ann", "likes") == [("tom", 1, 2), ("sue", 1, 2)]


def test_end_stated_from_the_other_side_closes_the_relation() -> None:
    said = [turn(1, is_("Ann", "works_at", "Mill"), is_("Tom", "works_at", "Mill"))]
    graph = Graph([*said, turn(2, ends("Mill", "employs"))])
    assert (now(graph, "Ann", "works_at"), now(graph, "Mill", "employs")) == ([], [])


def test_end_closes_an_attribute_value() -> None:
    graph = Graph(
        [
            turn(1, has("Ann", "skill", "song"), has("Ann", "skill", "chess")),
            turn(2, ends("Ann", "skill", value="song")),
        ]
    )
    assert now(graph, "Ann", "skill") == ["chess"]


def test_resumed_relation_has_two_spans() -> None:
    graph = Graph(
        [
            turn(1, is_("Ann", "friend_of", "Tom")),
            turn(2, ends("Tom", "friend_of", "Ann")),
            turn(3, is_("Tom", "friend_of", "Ann")),
        ]
    )
    assert spans(graph, "Ann", "friend_of") == [("tom", 1, 2), ("tom", 3, None)]


def test_opposite_relation_ends_the_first() -> None:
    graph = Graph([turn(1, is_("Ann", "likes", "Tom")), turn(2, is_("Ann", "hates", "Tom"))])
    assert (now(graph, "Ann", "likes"), now(graph, "Ann", "hates")) == ([], ["tom"])


def test_hint_does_not_supersede_a_surer_fact() -> None:
    graph = Graph([turn(1, has("Ann", "race", "elf")), turn(2, has("Ann", "race", "orc", sure=0.3))])
    assert now(graph, "Ann", "race") == ["elf"]
    graph.drop(ref(1))
    assert now(graph, "Ann", "race") == ["orc"]
    graph = Graph(
        [turn(1, is_("Ann", "spouse_of", "Tom")), turn(2, is_("Sue", "spouse_of", "Tom", sure=0.3))]
    )
    assert (now(graph, "Ann", "spouse_of"), now(graph, "Sue", "spouse_of")) == (["tom"], [])


def test_type_with_the_most_evidence_wins() -> None:
    said = [turn(1, node("Oak", "thing")), turn(2, node("Oak", "thing")), turn(3, node("Oak", "place"))]
    assert Graph(said).node("Oak").type == "place"  # a thing is everything: any other word says more
    assert (
        Graph([*said, turn(4, node("Oak", "work")), turn(5, node("Oak", "work"))]).node("Oak").type == "work"
    )


def test_past_view_shows_the_facts_of_that_turn() -> None:
    graph = Graph([turn(n, has("Ann", "mood", mood)) for n, mood in enumerate(["sad", "glad", "calm"], 1)])
    assert now(graph.at(turn(2).position), "Ann", "mood") == ["glad"]
    assert now(graph, "Ann", "mood") == ["calm"]


def test_evidence_names_speaker_and_quote() -> None:
    graph = Graph([turn(1, is_("Ann", "loves", "Tom", quote="Ann loves Tom.", speaker="Sue"))])
    (fact,) = graph.why("Ann", "loves", "tom")
    (evidence,) = fact.evidence
    assert evidence.assertion is not None
    assert (evidence.opening, evidence.assertion.quote, evidence.assertion.speaker) == (
        ref(1),
        "Ann loves Tom.",
        "Sue",
    )
    assert graph.why("Ann", "hates") == []


def test_why_explains_an_alias() -> None:
    graph = Graph([turn(1, person("Ann")), turn(2, alias("Ann", "安", quote="Ann，也叫安"))])
    assert [(f.value, f.evidence[0].opening) for f in graph.why("安", "alias")] == [("安", ref(2))]


def test_hub_neighbours_do_not_crowd_out_those_of_other_nodes() -> None:
    """Of a hub and a node with two friends, the two friends come first, though the others are newer."""
    graph = Graph([turn(1, is_("Rare", "friend_of", "Una"), is_("Rare", "friend_of", "Uwe"))])
    for number in range(2, 60):
        graph.put(turn(number, is_("Hub", "friend_of", f"Guest{number}x")))
    near = [view.id for view in graph.around(["Hub", "Rare"], limit=6).nodes]
    assert near[:2] == ["hub", "rare"]
    assert set(near[2:4]) == {"una", "uwe"}
    assert near[4:] == ["guest59x", "guest58x"]


def test_around_lists_the_nearest_first_and_what_was_left_out() -> None:
    graph = Graph(
        [
            turn(1, is_("Ann", "friend_of", "Tom"), is_("Ann", "likes", "Rome"), is_("Sue", "likes", "Ann")),
            turn(2, is_("Tom", "likes", "Oslo"), is_("Ann", "visited", "Rome")),
        ]
    )
    near = graph.around(["Ann"])
    assert [view.id for view in near.nodes] == ["ann", "rome", "tom", "sue"]
    assert {(f.node, f.predicate, f.object) for f in near.relations} == {
        ("ann", "friend_of", "tom"),
        ("ann", "likes", "rome"),
        ("ann", "visited", "rome"),
        ("sue", "likes", "ann"),
    }
    assert [view.id for view in graph.around(["Ann"], depth=2).nodes][-1] == "oslo"
    few = graph.around(["Ann"], limit=2)
    assert ([view.id for view in few.nodes], few.left_out) == (["ann", "rome"], 2)


def test_find_affected_turns_follows_introduced_nodes() -> None:
    graph = Graph(
        [turn(1, person("Ann")), turn(2, is_("Ann", "likes", "Rome")), turn(3, is_("Tom", "likes", "Rome"))]
    )
    assert graph.find_affected_turns(ref(2)) == [ref(3)]
    assert graph.find_affected_turns(ref(1)) == [ref(2)]
    assert graph.find_affected_turns(ref(3)) == []
    assert graph.find_affected_turns(ref(99)) == []


def test_nodes_can_be_filtered_by_type_and_text() -> None:
    graph = Graph([turn(1, person("Ann"), node("Rome", "place"), has("Ann", "hobby", "rowing"))])
    assert [v.id for v in graph.nodes(type="place")] == ["rome"]
    assert [v.id for v in graph.nodes(text="ROW")] == ["ann"]
    assert [v.id for v in graph.nodes(limit=1)] == ["ann"]


def test_world_description_completes_a_node_and_its_readable_id() -> None:
    world = [WorldEntry("Ellie", ("Ellie",), "", "person", (("race", "forest elf"),))]
    graph = Graph([turn(1, person("Ellie"))], world=world)
    assert graph.node("ellie_forest_elf").attribute("race") == "forest elf"
    graph.set_world([])
    assert graph.find("ellie_forest_elf") is None
    assert len(graph.node("Ellie").attributes) >= Options().min_attributes


def test_user_node_can_have_another_name() -> None:
    graph = Graph([turn(1, has("user", "mood", "glad"))], options=Options(user="旅人"))
    assert graph.node("旅人").name == "旅人"
    assert graph.find("user") == "user"
