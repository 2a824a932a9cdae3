"""What a person changes stands over whatever the text says, and can be lifted."""

from __future__ import annotations

from typing import Any

import pytest

from backscroll.graph.fold import Graph
from backscroll.graph.view import Options, Rank
from tests.graph.claims import alias, has, is_, now, override, person, ref, turn

SAID = [
    turn(1, person("Ellie"), has("Ellie", "race", "elf"), is_("Ellie", "works_at", "Mill")),
    turn(2, person("Tom"), is_("Tom", "owns", "Bow"), has("Ellie", "skill", "archery")),
    turn(3, is_("Ellie", "works_at", "Inn"), has("Ellie", "race", "human")),
]


def fact(graph: Graph, name: str, predicate: str) -> Any:
    view = graph.node(name)
    (found,) = [f for f in (*view.attributes, *view.relations) if f.predicate == predicate]
    return found


def test_set_stands_and_what_the_text_says_later_is_shown() -> None:
    graph = Graph(SAID, [override("set", "ellie", "race", "dwarf", id=ref(2))])
    held = fact(graph, "Ellie", "race")
    assert (held.value, held.rank) == ("dwarf", Rank.PERSON)
    assert [e.assertion.value for e in held.contested] == ["human"]
    assert [c.kind for c in graph.conflicts() if c.predicate == "race" and c.held.value == "dwarf"] == [
        "override"
    ]


def test_set_after_the_text_is_not_contested() -> None:
    graph = Graph(SAID, [override("set", "ellie", "race", "dwarf", id=ref(9))])
    assert fact(graph, "Ellie", "race").contested == ()


def test_set_of_many_valued_predicates_adds() -> None:
    graph = Graph(SAID, [override("set", "ellie", "skill", "song")])
    assert sorted(now(graph, "Ellie", "skill")) == ["archery", "song"]


def test_set_of_a_relation_is_seen_from_both_ends_and_takes_from_the_third() -> None:
    graph = Graph(SAID, [override("set", "ellie", "owns", object="Bow")])
    assert now(graph, "Ellie", "owns") == ["bow"]
    assert now(graph, "Bow", "owned_by") == ["ellie"]
    assert now(graph, "Tom", "owns") == []
    graph.set_overrides([])
    assert now(graph, "Tom", "owns") == ["bow"]


def test_the_latest_of_several_counts() -> None:
    layer = [override("set", "ellie", "race", "dwarf"), override("set", "Ellie", "race", "orc")]
    assert now(Graph(SAID, layer), "Ellie", "race") == ["orc"]


def test_pin_keeps_a_value_and_its_evidence() -> None:
    graph = Graph(SAID, [override("pin", "ellie", "race", "elf", id=ref(1))])
    held = fact(graph, "Ellie", "race")
    assert (held.value, held.pinned, held.since) == ("elf", True, ref(1))
    assert [e.assertion.value for e in held.contested] == ["human"]
    for number in (1, 3):
        graph.drop(ref(number))
    assert now(graph, "Ellie", "race") == ["elf"]


def test_forbid_brings_back_what_was_before_and_is_reported() -> None:
    graph = Graph(SAID, [override("forbid", "ellie", "works_at", object="Inn")])
    assert now(graph, "Ellie", "works_at") == ["mill"]
    assert now(graph, "Mill", "employs") == ["ellie"]
    assert now(graph, "Inn", "employs") == []
    assert [(c.kind, c.other.object) for c in graph.conflicts() if c.predicate == "works_at"] == [
        ("override", "inn")
    ]


def test_forbid_of_a_whole_predicate_from_either_end() -> None:
    assert now(Graph(SAID, [override("forbid", "ellie", "race")]), "Ellie", "race") == []
    assert now(Graph(SAID, [override("forbid", "bow", "owned_by")]), "Tom", "owns") == []


def test_what_a_person_says_later_beats_what_they_said_before() -> None:
    said, denied = override("set", "ellie", "race", "orc"), override("forbid", "ellie", "race", "orc")
    assert now(Graph(SAID, [said, denied]), "Ellie", "race") == ["human"]
    assert now(Graph(SAID, [denied, said]), "Ellie", "race") == ["orc"]
    assert now(Graph(SAID, [said, override("forbid", "ellie", "race")]), "Ellie", "race") == []


def test_rename_shows_the_new_name_and_keeps_the_old() -> None:
    graph = Graph(SAID, [override("rename", "ellie", value="Eleanor")])
    view = graph.node("Eleanor")
    assert (view.name, view.id, view.readable) == ("Eleanor", "ellie", "eleanor_human")
    assert "Ellie" in view.aliases
    graph.put(turn(4, has("Eleanor", "mood", "glad")))
    assert graph.node("ellie").attribute("mood") == "glad"


def test_merge_and_what_lifts_it() -> None:
    graph = Graph(SAID, [override("merge", "ellie", object="tom")])
    assert graph.find("tom") == "ellie"
    assert now(graph, "ellie", "owns") == ["bow"]
    graph.set_overrides([])
    assert graph.find("tom") == "tom"


def test_split_gives_the_mentions_of_some_turns_to_another_node() -> None:
    graph = Graph(SAID, [override("split", "ellie", value="Young Ellie", turns=(ref(3),))])
    assert now(graph, "ellie", "race") == ["elf"]
    assert now(graph, "ellie#2", "race") == ["human"]
    assert graph.node("ellie#2").name == "Young Ellie"
    assert graph.ids() == ["ellie", "mill", "tom", "bow", "ellie#2", "inn"]
    graph.set_overrides([])
    assert now(graph, "ellie", "race") == ["human"]


def test_a_split_takes_other_names_of_the_node_along() -> None:
    said = [
        turn(1, person("Ellie Hill")),
        turn(2, person("Ellie"), has("Ellie Hill", "race", "orc"), has("Ellie", "mood", "glad")),
    ]
    graph = Graph(said, [override("split", "ellie hill", names=("ellie",), turns=(ref(2),))])
    assert graph.ids() == ["ellie hill", "ellie hill#2"]
    assert (now(graph, "ellie hill#2", "race"), now(graph, "ellie hill#2", "mood")) == (["orc"], ["glad"])


def test_a_split_holds_whatever_the_text_ties_later() -> None:
    """The other node is found by the name it got, also when a turn calls the first one so; merging them undoes it."""
    said = [
        turn(1, person("Ellie")),
        turn(2, has("Ellie", "race", "orc")),
        turn(3, alias("Ellie", "Big Ellie")),
    ]
    apart = override("split", "ellie", value="Big Ellie", turns=(ref(2),))
    graph = Graph(said, [apart])
    assert graph.ids() == ["ellie", "ellie#2"]
    assert (now(graph, "ellie", "race"), now(graph, "Big Ellie", "race")) == ([], ["orc"])
    graph.set_overrides([apart, override("merge", "ellie", object="ellie#2")])
    assert graph.ids() == ["ellie"]
    assert now(graph, "Ellie", "race") == ["orc"]


def test_a_relation_to_somebody_new_keeps_how_the_name_was_written() -> None:
    graph = Graph(SAID, [override("set", "ellie", "loves", "Queen Mab", object="queen mab")])
    assert now(graph, "Ellie", "loves") == ["queen mab"]
    assert graph.node("queen mab").name == "Queen Mab"


def test_changes_on_a_split_off_node_hold() -> None:
    layer = [override("split", "ellie", turns=(ref(3),)), override("set", "ellie#2", "race", "orc")]
    graph = Graph(SAID, layer)
    assert (now(graph, "ellie", "race"), now(graph, "ellie#2", "race")) == (["elf"], ["orc"])


def test_delete_takes_a_node_out_of_every_view_until_it_is_added_again() -> None:
    gone = override("delete", "tom")
    graph = Graph(SAID, [gone])
    assert graph.find("Tom") is None
    assert now(graph, "Bow", "owned_by") == []
    assert graph.find_mentioned_nodes("Tom and Ellie") == ["ellie"]
    graph.set_overrides([gone, override("add", "tom")])
    assert now(graph, "Bow", "owned_by") == ["tom"]


def test_add_and_set_stand_where_no_turn_speaks_of_it() -> None:
    layer = [
        override("add", "queen_mab", value="Queen Mab", type="person"),
        override("set", "moth", "race", "fairy"),
    ]
    graph = Graph((), layer)
    assert [(v.name, v.type) for v in graph.nodes()] == [("Queen Mab", "person"), ("moth", "person")]
    assert fact(graph, "moth", "race").rank is Rank.PERSON
    assert {q.kind for q in graph.questions()} == {"orphan"}


def test_changes_stay_when_the_introducing_turn_goes() -> None:
    graph = Graph(SAID, [override("set", "ellie", "race", "dwarf")])
    graph.drop(ref(1))
    assert now(graph, "Ellie", "race") == ["dwarf"]
    for number in (2, 3):
        graph.drop(ref(number))
    assert now(graph, "Ellie", "race") == ["dwarf"]


def test_a_change_on_any_name_of_a_node_applies() -> None:
    graph = Graph([*SAID, turn(4, alias("Ellie", "艾莉"))], [override("set", "艾莉", "race", "dwarf")])
    assert now(graph, "Ellie", "race") == ["dwarf"]


def test_a_type_set_by_a_person() -> None:
    assert Graph(SAID, [override("set", "bow", "type", "work")]).node("Bow").type == "work"


@pytest.mark.parametrize("change", ["set", "forbid", "delete", "rename", "merge"])
def test_nothing_of_it_holds_when_edits_are_not_preserved(change: str) -> None:
    layer = [override(change, "ellie", "race", "orc", object="tom" if change == "merge" else "")]
    graph = Graph(SAID, layer, options=Options(preserve_user_edits=False))
    assert now(graph, "Ellie", "race") == ["human"]
    assert graph.node("Ellie").name == "Ellie"
