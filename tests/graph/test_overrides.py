"""Overrides take precedence over the text and can be lifted."""

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


def test_set_wins_and_later_text_is_shown_as_contested() -> None:
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


def test_set_on_a_multi_valued_predicate_adds() -> None:
    graph = Graph(SAID, [override("set", "ellie", "skill", "song")])
    assert sorted(now(graph, "Ellie", "skill")) == ["archery", "song"]


def test_set_relation_shows_at_both_ends_and_replaces_the_old_one() -> None:
    graph = Graph(SAID, [override("set", "ellie", "owns", object="Bow")])
    assert now(graph, "Ellie", "owns") == ["bow"]
    assert now(graph, "Bow", "owned_by") == ["ellie"]
    assert now(graph, "Tom", "owns") == []
    graph.set_overrides([])
    assert now(graph, "Tom", "owns") == ["bow"]


def test_latest_override_wins() -> None:
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


def test_forbid_restores_the_previous_value_and_is_reported() -> None:
    graph = Graph(SAID, [override("forbid", "ellie", "works_at", object="Inn")])
    assert now(graph, "Ellie", "works_at") == ["mill"]
    assert now(graph, "Mill", "employs") == ["ellie"]
    assert now(graph, "Inn", "employs") == []
    assert [(c.kind, c.other.object) for c in graph.conflicts() if c.predicate == "works_at"] == [
        ("override", "inn")
    ]


def test_forbid_removes_a_whole_predicate_from_either_end() -> None:
    assert now(Graph(SAID, [override("forbid", "ellie", "race")]), "Ellie", "race") == []
    assert now(Graph(SAID, [override("forbid", "bow", "owned_by")]), "Tom", "owns") == []


def test_later_override_beats_an_earlier_one() -> None:
    said, denied = override("set", "ellie", "race", "orc"), override("forbid", "ellie", "race", "orc")
    assert now(Graph(SAID, [said, denied]), "Ellie", "race") == ["human"]
    assert now(Graph(SAID, [denied, said]), "Ellie", "race") == ["orc"]
    assert now(Graph(SAID, [said, override("forbid", "ellie", "race")]), "Ellie", "race") == []


def test_rename_shows_the_new_name_and_keeps_the_old_one() -> None:
    graph = Graph(SAID, [override("rename", "ellie", value="Eleanor")])
    view = graph.node("Eleanor")
    assert (view.name, view.id, view.readable) == ("Eleanor", "ellie", "eleanor_human")
    assert "Ellie" in view.aliases
    graph.put(turn(4, has("Eleanor", "mood", "glad")))
    assert graph.node("ellie").attribute("mood") == "glad"


def test_merge_joins_nodes_until_it_is_lifted() -> None:
    graph = Graph(SAID, [override("merge", "ellie", object="tom")])
    assert graph.find("tom") == "ellie"
    assert now(graph, "ellie", "owns") == ["bow"]
    graph.set_overrides([])
    assert graph.find("tom") == "tom"


def test_split_moves_mentions_of_given_turns_to_another_node() -> None:
    graph = Graph(SAID, [override("split", "ellie", value="Young Ellie", turns=(ref(3),))])
    assert now(graph, "ellie", "race") == ["elf"]
    assert now(graph, "ellie#2", "race") == ["human"]
    assert graph.node("ellie#2").name == "Young Ellie"
    assert graph.ids() == ["ellie", "mill", "tom", "bow", "ellie#2", "inn"]
    graph.set_overrides([])
    assert now(graph, "ellie", "race") == ["human"]


def test_split_moves_the_given_names_along() -> None:
    said = [
        turn(1, person("Ellie Hill")),
        turn(2, person("Ellie"), has("Ellie Hill", "race", "orc"), has("Ellie", "mood", "glad")),
    ]
    graph = Graph(said, [override("split", "ellie hill", names=("ellie",), turns=(ref(2),))])
    assert graph.ids() == ["ellie hill", "ellie hill#2"]
    assert (now(graph, "ellie hill#2", "race"), now(graph, "ellie hill#2", "mood")) == (["orc"], ["glad"])


def test_split_holds_against_later_aliases() -> None:
    """The other node is found by its new name, even if a turn uses it for the first; merging undoes the split."""
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


def test_set_relation_to_a_new_node_keeps_the_spelling_of_its_name() -> None:
    graph = Graph(SAID, [override("set", "ellie", "loves", "Queen Mab", object="queen mab")])
    assert now(graph, "Ellie", "loves") == ["queen mab"]
    assert graph.node("queen mab").name == "Queen Mab"


def test_overrides_on_a_split_off_node_apply() -> None:
    layer = [override("split", "ellie", turns=(ref(3),)), override("set", "ellie#2", "race", "orc")]
    graph = Graph(SAID, layer)
    assert (now(graph, "ellie", "race"), now(graph, "ellie#2", "race")) == (["elf"], ["orc"])


def test_delete_hides_a_node_until_it_is_added_again() -> None:
    gone = override("delete", "tom")
    graph = Graph(SAID, [gone])
    assert graph.find("Tom") is None
    assert now(graph, "Bow", "owned_by") == []
    assert graph.find_mentioned_nodes("Tom and Ellie") == ["ellie"]
    graph.set_overrides([gone, override("add", "tom")])
    assert now(graph, "Bow", "owned_by") == ["tom"]


def test_add_and_set_create_nodes_without_a_turn() -> None:
    layer = [
        override("add", "queen_mab", value="Queen Mab", type="person"),
        override("set", "moth", "race", "fairy"),
    ]
    graph = Graph((), layer)
    assert [(v.name, v.type) for v in graph.nodes()] == [("Queen Mab", "person"), ("moth", "person")]
    assert fact(graph, "moth", "race").rank is Rank.PERSON
    assert {q.kind for q in graph.questions()} == {"orphan"}


def test_overrides_survive_dropping_the_introducing_turn() -> None:
    graph = Graph(SAID, [override("set", "ellie", "race", "dwarf")])
    graph.drop(ref(1))
    assert now(graph, "Ellie", "race") == ["dwarf"]
    for number in (2, 3):
        graph.drop(ref(number))
    assert now(graph, "Ellie", "race") == ["dwarf"]


def test_override_on_any_name_of_a_node_applies() -> None:
    graph = Graph([*SAID, turn(4, alias("Ellie", "艾莉"))], [override("set", "艾莉", "race", "dwarf")])
    assert now(graph, "Ellie", "race") == ["dwarf"]


def test_set_changes_the_type_of_a_node() -> None:
    assert Graph(SAID, [override("set", "bow", "type", "work")]).node("Bow").type == "work"


@pytest.mark.parametrize("change", ["set", "forbid", "delete", "rename", "merge"])
def test_overrides_are_ignored_when_edits_are_not_preserved(change: str) -> None:
    layer = [override(change, "ellie", "race", "orc", object="tom" if change == "merge" else "")]
    graph = Graph(SAID, layer, options=Options(preserve_user_edits=False))
    assert now(graph, "Ellie", "race") == ["human"]
    assert graph.node("Ellie").name == "Ellie"
