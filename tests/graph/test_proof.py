"""A node needs evidence that it is a name: candidates are hidden, turns add up, a drop removes evidence."""

from __future__ import annotations

from backscroll.graph.fold import Graph
from backscroll.vocab.assertion import LEANS, REGION, Change
from tests.graph.claims import alias, has, is_, node, now, override, person, ref, turn


def shown(graph: Graph, *, candidates: bool = False) -> list[str]:
    return [n.name for n in graph.nodes(candidates=candidates)]


def test_single_doubtful_mention_makes_a_candidate() -> None:
    graph = Graph([turn(1, person("余光", sure=0.4), person("Ellie"))])
    assert shown(graph) == ["Ellie"]
    assert shown(graph, candidates=True) == ["余光", "Ellie"]
    assert graph.find_mentioned_nodes("余光 and Ellie") == ["ellie"]
    assert graph.node("余光").name == "余光"  # who asks by name finds it


def test_repeated_name_is_shown_until_its_turn_is_dropped() -> None:
    graph = Graph([turn(1, person("洛绯", sure=0.4)), turn(2, person("洛绯", sure=0.4))])
    assert shown(graph) == ["洛绯"]
    graph.drop(ref(2))
    assert shown(graph) == []
    graph.put(turn(3, person("洛绯", sure=0.4)))
    assert shown(graph) == ["洛绯"]


def test_relation_to_a_candidate_is_shown_only_once_the_candidate_is() -> None:
    """Also when the other end was viewed before: the view follows."""
    graph = Graph([turn(1, person("Ann"), node("Oak", sure=0.3), is_("Ann", "likes", "Oak"))])
    assert [f.object for f in graph.node("Ann").relations] == []
    graph.put(turn(2, node("Oak", sure=0.4)))
    assert [f.object for f in graph.node("Ann").relations] == ["oak"]
    graph.drop(ref(2))
    assert [f.object for f in graph.node("Ann").relations] == []


def test_statement_or_override_promotes_a_doubtful_mention() -> None:
    graph = Graph([turn(1, node("Toran", sure=0.45), has("Toran", "age", "40"), node("Vell", sure=0.3))])
    assert shown(graph) == ["Toran"]
    graph.set_overrides([override(Change.SET, "vell", "size", "small")])
    assert shown(graph) == ["Toran", "Vell"]


def test_assistant_without_a_name_is_not_shown() -> None:
    """A role without a name is not listed; it can be requested by name."""
    called = alias("@you", "Pip", speaker="user", sure=0.8)
    assert shown(Graph([turn(1, called, person("Pip"))])) == ["Pip"]
    doctor = Graph([turn(1, has("assistant", "occupation", "doctor"))])
    assert shown(doctor) == []
    assert doctor.node("assistant").attribute("occupation") == "doctor"
    assert shown(Graph([turn(1, alias("assistant", "Ellie"), has("assistant", "race", "elf"))])) == ["Ellie"]


def test_relative_without_other_facts_is_a_candidate() -> None:
    """For relatives of the user, being mentioned is enough."""
    graph = Graph([turn(1, person("Ann"), is_("Ann's brother", "sibling_of", "Ann"))])
    assert shown(graph) == ["Ann"]
    graph.put(turn(2, has("Ann's brother", "occupation", "nurse")))
    assert shown(graph) == ["Ann", "Ann's brother"]
    assert "user's sister" in shown(Graph([turn(1, is_("user's sister", "sibling_of", "user"))]))


def test_likely_type_gives_way_to_a_stated_one_and_returns() -> None:
    likely = node("Quillmere", "person", sure=0.9, hint=LEANS)
    graph = Graph([turn(1, likely), turn(2, likely), turn(3, node("Quillmere", "place", sure=0.3))])
    assert graph.node("Quillmere").type == "place"
    graph.drop(ref(3))
    assert graph.node("Quillmere").type == "person"


def test_region_is_not_the_referent_for_opening_hours() -> None:
    hours = has("@it", "opening_hours", "9:00-17:00", type="place", hint="place")
    park, city = node("Moth Garden", "place"), node("Vell", "place", hint=REGION)
    graph = Graph([turn(1, park, city), turn(2, hours)])
    assert now(graph, "Moth Garden", "opening_hours") == ["9:00-17:00"]
    assert now(graph, "Vell", "opening_hours") == []
    graph.drop(ref(1))
    graph.put(turn(1, park, node("Vell", "place")))  # nothing says that it is a region: it was named last
    assert now(graph, "Vell", "opening_hours") == ["9:00-17:00"]
