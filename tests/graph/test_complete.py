"""Completion of new nodes: from the world, from their kind, from their type; never against the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.derive.extract.ontology import types
from backscroll.formats.lorebooks.reader import LoreEntry, read_lorebook
from backscroll.graph.fold import Graph
from backscroll.graph.view import Evidence, Fact, NodeView, Options, Rank, WorldEntry
from backscroll.graph.world.completion import NOWHERE, complete_node, seed_shape
from backscroll.graph.world.description import world_entries
from backscroll.vocab.assertion import Assertion, Claim
from backscroll.vocab.ids import Ref
from tests.graph.claims import has, person, ref, turn

TURN = ref(4)
WORLD_EN = """# Aldor

## Forest elves
Forest elves live in the Mysterious Forest. They are helpful but cautious, belong to no faction and know every path.
They pose no threat.

## Elves
Elves love music and are proud.

## Mysterious Forest
Language: Elvish
"""
WORLD_ZH = (
    "# 世界\n\n## 森林精灵\n森林精灵住在迷雾森林，乐于助人但很谨慎，不属于任何阵营，熟悉森林，没有威胁。\n"
)


def world(text: str) -> tuple[WorldEntry, ...]:
    return tuple(world_entries(read_lorebook(text, "world.md")))


def said(predicate: str, value: str, rank: Rank = Rank.SAID) -> Fact:
    claim = Assertion(
        Claim.ATTRIBUTE, "Ellie", predicate, value, quote=f"Her {predicate} is {value}.", speaker="user"
    )
    return Fact("ellie", predicate, value, rank=rank, since=TURN, evidence=(Evidence(TURN, claim),))


def ellie(*facts: Fact, type: str = "person", relations: tuple[Fact, ...] = ()) -> NodeView:
    return NodeView("ellie", "ellie", "Ellie", type, (), facts, relations, (TURN,), TURN, TURN)


def number(turn: Ref) -> int:
    return turn.seq


def test_forest_elf_is_completed_from_the_world() -> None:
    """The world gives home, temper, knowledge, faction and threat to an elf whom the text only names."""
    made = complete_node(ellie(said("race", "Forest Elf")), world(WORLD_EN), Options())
    assert seed_shape(made, number) == {
        "node_id": "ellie",
        "type": "character",
        "base_attributes": {
            "name": "Ellie",
            "race": "Forest Elf",
            "location": "Mysterious Forest",
            "disposition": "helpful but cautious",
            "knowledge_level": "local expert",
        },
        "world_context_attributes": {
            "faction": "neutral",
            "threat_level": "low",
            "interaction_history": [{"turn": 4, "line": "Her race is Forest Elf."}],
        },
        "inferred": ["disposition", "faction", "knowledge_level", "location", "threat_level"],
    }


def test_chinese_elf_is_completed_from_the_world() -> None:
    node = NodeView(
        "艾莉",
        "艾莉_森林精灵",
        "艾莉",
        "person",
        (),
        (Fact("艾莉", "race", "森林精灵", since=TURN),),
        (),
        (TURN,),
        TURN,
        TURN,
    )
    made = complete_node(node, world(WORLD_ZH), Options(language="zh"))
    shape = seed_shape(made, number)
    assert shape["base_attributes"] == {
        "name": "艾莉",
        "race": "森林精灵",
        "location": "迷雾森林",
        "disposition": "乐于助人但很谨慎",
        "knowledge_level": "当地通",
    }
    assert shape["world_context_attributes"]["faction"] == "中立"


def test_graph_shows_completed_nodes() -> None:
    """They have a readable name, and the relation leads to the place."""
    graph = Graph([turn(1, person("Ellie"), has("Ellie", "race", "Forest Elf"))], world=world(WORLD_EN))
    node = graph.node("Ellie")
    assert node.readable == "ellie_forest_elf"
    assert node.attribute("disposition") == "helpful but cautious"
    assert [(f.predicate, f.object, f.rank) for f in node.relations if f.predicate == "lives_in"] == [
        ("lives_in", "mysterious forest", Rank.WORLD)
    ]


def test_every_inferred_fact_names_its_source() -> None:
    """The entry or the type, by name; the nearest kind comes before the wider one (all elves are proud)."""
    made = complete_node(ellie(said("race", "Forest Elf")), world(WORLD_EN), Options())
    notes = {
        f.predicate: f.evidence[0].note for f in (*made.attributes, *made.relations) if f.rank is Rank.WORLD
    }
    assert notes["disposition"] == "world: world: Forest elves (Forest Elf)"
    assert made.attribute("disposition") == "helpful but cautious"
    plain = complete_node(ellie(), (), Options())
    assert {f.evidence[0].note for f in plain.attributes} == {"default of type person"}
    assert all(f.rank is Rank.DEFAULT and f.sure < 0.5 for f in plain.attributes)


def test_entry_about_the_node_takes_precedence() -> None:
    """Statements about Ellie herself beat statements about elves, and determine her kind."""
    told = world(WORLD_EN + "\n## Ellie\nEllie is a forest elf. She is reckless.\n")
    made = complete_node(ellie(), told, Options())
    assert made.attribute("race") == "forest elf"
    assert made.attribute("disposition") == "reckless"
    assert made.attribute("faction") == "neutral"


def test_mentions_in_other_entries_count() -> None:
    """An entry about something else may describe the node."""
    told = tuple(
        world_entries(
            [LoreEntry("History", text="The war was long. Ellie Green is a forest elf.", constant=True)]
        )
    )
    node = NodeView("ellie green", "ellie_green", "Ellie Green", "person", first=TURN)
    assert complete_node(node, told, Options()).attribute("race") == "forest elf"


def test_statement_about_one_person_does_not_apply_to_a_kind() -> None:
    """Statements about the king do not hold for every king; those about knights hold for every knight."""
    told = tuple(
        world_entries(
            [
                LoreEntry("The King", text="The King is an old human. He is cruel and lives in Dawnhold."),
                LoreEntry("Knights", text="Knights are loyal. They live in Dawnhold."),
            ]
        )
    )
    king = complete_node(ellie(said("occupation", "king")), told, Options())
    assert king.attribute("disposition") == "neutral"
    assert not king.relations
    knight = complete_node(ellie(said("occupation", "knight")), told, Options())
    assert knight.attribute("disposition") == "loyal"


def test_place_and_group_pass_on_some_attributes() -> None:
    """A resident speaks the language of the place, but is not a dark forest."""
    told = world(
        "# W\n\n## Mistwood\nMistwood is a dark forest. Language: Elvish\nFaction: Dawn\nLanguage: Elvish\n"
    )
    home = Fact("ellie", "lives_in", "Mistwood", "mistwood", Rank.SAID, TURN)
    made = complete_node(ellie(relations=(home,)), told, Options())
    assert made.attribute("language") == "Elvish"
    assert made.attribute("faction") == "Dawn"
    assert made.attribute("kind") == ""


@pytest.mark.parametrize("rank", [Rank.SAID, Rank.PERSON])
def test_stated_facts_are_never_overruled(rank: Rank) -> None:
    """Neither single values nor homes nor multi-valued attributes of the text are changed."""
    home = Fact("ellie", "lives_in", "", "harbour", rank, TURN)
    facts = (said("race", "Forest Elf"), said("disposition", "cruel", rank), said("faction", "Dawn", rank))
    made = complete_node(ellie(*facts, relations=(home,)), world(WORLD_EN), Options())
    assert made.attributes[: len(facts)] == facts
    assert [f for f in made.attributes if f.predicate in {"disposition", "faction"}] == list(facts[1:])
    assert [f for f in made.relations if f.predicate == "lives_in"] == [home]


def test_forbidden_values_are_not_inferred_in_complete_node() -> None:
    made = complete_node(
        ellie(said("race", "Forest Elf")),
        world(WORLD_EN),
        Options(),
        lambda fact: fact.predicate in {"faction", "lives_in"},
    )
    assert made.attribute("faction") == ""
    assert not [f for f in made.relations if f.predicate == "lives_in"]


def test_options_switch_completion_off() -> None:
    """No completion when switched off; without the world only the type counts; disabled entries are ignored."""
    node, told = ellie(said("race", "Forest Elf")), world(WORLD_EN)
    assert complete_node(node, told, Options(auto_infer=False)) is node
    assert complete_node(node, told, Options(min_attributes=0)) is node
    alone = complete_node(node, told, Options(use_world=False))
    assert {f.rank for f in alone.attributes} == {Rank.SAID, Rank.DEFAULT}
    off = tuple(world_entries([LoreEntry("Forest elves", text="They are shy.", enabled=False)]))
    assert Rank.WORLD not in {f.rank for f in complete_node(node, off, Options()).attributes}


@given(
    st.sampled_from([*types()]),
    st.integers(1, 3),
    st.lists(st.sampled_from(["race", "status", "kind", "mood", "x"]), unique=True),
    st.booleans(),
)
def test_at_least_so_many_attributes(kind: str, least: int, known: list[str], use_world: bool) -> None:
    """Whatever the type: the minimum is reached by values that say something, nothing twice, and completing again adds nothing."""
    node = ellie(*(said(name, "v") for name in known), type=kind)
    options = Options(min_attributes=least, use_world=use_world)
    made = complete_node(node, world(WORLD_EN), options)
    names = [f.predicate for f in made.attributes if f.predicate != "name"]
    assert len(set(names)) >= least
    assert len(names) == len(set(names))
    assert complete_node(made, world(WORLD_EN), options) == made
    assumed = [f for f in made.attributes if f.rank is Rank.DEFAULT]
    assert {f.value for f in assumed}.isdisjoint({"unknown", "mentioned", "未知", "被提及", kind})


def test_unknown_node_is_not_padded() -> None:
    """A node without a type gets no defaults: "status: mentioned" says nothing."""
    for kind in ("", "spaceship"):
        assert complete_node(ellie(type=kind), (), Options(min_attributes=12)).attributes == ()


@given(st.sampled_from([*types(), "", "spaceship"]), st.integers(1, 12))
def test_asking_for_more_than_there_is_gives_what_there_is(kind: str, least: int) -> None:
    made = complete_node(ellie(type=kind), (), Options(min_attributes=least))
    assert len(made.attributes) <= least
    assert "unknown" not in {f.value for f in made.attributes}


def test_node_without_a_turn_is_completed() -> None:
    """A node known only from an override or the world is completed too, and has no history."""
    node = NodeView("ellie", "ellie", "Ellie", "person")
    made = complete_node(node, world(WORLD_EN), Options())
    assert made.attributes[0].evidence[0].opening == NOWHERE
    assert seed_shape(made, number)["world_context_attributes"]["interaction_history"] == []


def test_seed_shape_of_several_values_and_groups() -> None:
    """Several values are a list; without a faction the place decides the side; long quotes are cut."""
    long = Assertion(Claim.ATTRIBUTE, "Ellie", "skill", "song", quote="word " * 60)
    facts = (Fact("ellie", "skill", "song", evidence=(Evidence(TURN, long),)), Fact("ellie", "skill", "bow"))
    node = ellie(*facts, relations=(Fact("ellie", "member_of", "", "silver guild"),))
    shape = seed_shape(node, number)
    assert shape["base_attributes"]["skill"] == ["song", "bow"]
    assert shape["world_context_attributes"]["faction"] == "silver guild"
    assert len(shape["world_context_attributes"]["interaction_history"][0]["line"]) <= 120


def test_forbidden_values_are_not_inferred_from_world_or_type() -> None:
    """A forbidden value stays away; another value of the predicate may be inferred."""
    from backscroll.graph.fold import Graph
    from backscroll.graph.view import WorldEntry
    from backscroll.vocab.assertion import Assertion, Change, Claim, Override, TurnClaims
    from backscroll.vocab.ids import Ref

    turn = TurnClaims(Ref("a" * 32, 1), b"\x01", (Assertion(Claim.NODE, "Ellie", type="person"),))
    world = [WorldEntry("Ellie", ("Ellie",), "Ellie is cautious.", attributes=(("disposition", "cautious"),))]

    def attributes(*overrides: Override) -> dict[str, str]:
        found = Graph([turn], overrides, world).node("Ellie").attributes
        return {fact.predicate: fact.value for fact in found}

    assert attributes()["disposition"] == "cautious"
    forbidden = Override(Change.FORBID, "ellie", "disposition", "cautious")
    assert attributes(forbidden).get("disposition") != "cautious"
    assert "disposition" not in attributes(Override(Change.FORBID, "ellie", "disposition"))
