"""Resolution of pronouns."""

from __future__ import annotations

import pytest

from backscroll.graph.fold import Graph
from backscroll.vocab.assertion import Assertion
from tests.graph.claims import alias, has, is_, node, now, person, ref, turn


def test_pronoun_means_the_last_mention_that_fits() -> None:
    graph = Graph(
        [
            turn(1, person("Ellie", hint="female"), person("Tom", hint="male"), node("Oak", "place")),
            turn(2, has("@she", "mood", "glad"), has("@he", "mood", "sad"), has("@it", "size", "large")),
        ]
    )
    assert (now(graph, "Ellie", "mood"), now(graph, "Tom", "mood")) == (["glad"], ["sad"])
    assert now(graph, "Oak", "size") == ["large"]


def test_mention_in_the_same_turn_comes_first() -> None:
    graph = Graph([turn(1, person("Ann")), turn(2, person("Beth"), has("@she", "mood", "glad"))])
    assert now(graph, "Beth", "mood") == ["glad"]


def test_pronoun_reaches_back_three_turns_unless_mentions_continue() -> None:
    far = [turn(1, person("Ann")), turn(2), turn(3), turn(4), turn(5, has("@she", "mood", "glad"))]
    graph = Graph(far)
    assert graph.unsettled == 1
    assert now(graph, "Ann", "mood") == []
    graph.put(turn(3, has("@she", "age", "9")))
    assert graph.unsettled == 0
    assert now(graph, "Ann", "mood") == ["glad"]


def test_dropping_the_referent_gives_the_pronoun_to_the_one_before() -> None:
    graph = Graph([turn(1, person("Ann")), turn(2, person("Beth")), turn(3, has("@she", "mood", "glad"))])
    assert now(graph, "Beth", "mood") == ["glad"]
    graph.drop(ref(2))
    assert now(graph, "Ann", "mood") == ["glad"]


def test_gender_learned_later_changes_the_referent() -> None:
    graph = Graph([turn(1, person("Ann"), person("Kim")), turn(2, has("@she", "mood", "glad"))])
    assert now(graph, "Kim", "mood") == ["glad"]
    graph.put(turn(9, has("Kim", "gender", "男")))
    assert now(graph, "Ann", "mood") == ["glad"]
    graph.drop(ref(9))
    assert now(graph, "Kim", "mood") == ["glad"]


@pytest.mark.parametrize(("speaker", "meant"), [("user", "assistant"), ("assistant", "user"), ("Tom", "ann")])
def test_you_means_the_other_speaker(speaker: str, meant: str) -> None:
    graph = Graph(
        [
            turn(1, person("Rock", speaker="Ann" if speaker == "Tom" else "")),
            turn(2, has("@you", "mood", "glad", speaker=speaker)),
        ]
    )
    assert now(graph, meant, "mood") == ["glad"]


def test_we_and_i_mean_the_speaker() -> None:
    graph = Graph(
        [turn(1, is_("@we", "visited", "Rome", speaker="user"), has("@i", "mood", "glad", speaker="user"))]
    )
    assert now(graph, "user", "visited") == ["rome"]
    assert now(graph, "user", "mood") == ["glad"]


def test_pronoun_never_relates_a_node_to_itself() -> None:
    graph = Graph([turn(1, person("Ann"), person("Tom"), is_("Tom", "likes", "@he"))])
    assert now(graph, "Tom", "likes") == ["ann"]


def test_alias_given_by_pronoun_joins_only_nodes_of_the_same_kind() -> None:
    graph = Graph([turn(1, person("妹妹"), alias("@她", "小红"), has("小红", "age", "9"))])
    assert graph.node("妹妹").attribute("age") == "9"
    graph = Graph(
        [turn(1, person("Ann"), alias("@you", "Sherlock", speaker="Ben")), turn(2, node("Sherlock", "work"))]
    )
    assert graph.find("Sherlock") == "sherlock"


def test_unknown_at_mark_is_a_name() -> None:
    graph = Graph([turn(1, has("@alice", "mood", "glad"))])
    assert graph.ids() == ["alice"]


def test_pronoun_without_a_fitting_referent_stays_unsettled() -> None:
    graph = Graph([turn(1, node("Oak", "place"), has("@she", "mood", "glad"))])
    assert graph.unsettled == 1
    assert graph.ids() == ["oak"]


def test_malformed_claims_are_harmless() -> None:
    odd = Assertion(kind=has("", "", "").kind, subject=" ", predicate="", value="\ud800")
    graph = Graph(
        [
            turn(
                1,
                odd,
                has("@", "mood", ""),
                is_("A", "", ""),
                is_("A", "", "B"),
                has("\ud800", "\ud800", "x"),
            )
        ]
    )
    assert now(graph, "A", "related_to") == ["b"]
    assert graph.find_mentioned_nodes("\ud800 a b") is not None


def test_change_of_a_referent_is_carried_forward() -> None:
    """Seven turns refer to "her": all of them change at once."""
    talk = [turn(n, has("@she", "skill", f"skill {n}")) for n in range(3, 10)]
    graph = Graph([turn(1, person("Ann")), turn(2, person("Bea")), *talk])
    assert len(now(graph, "Bea", "skill")) == 7
    graph.drop(ref(2))
    assert len(now(graph, "Ann", "skill")) == 7
    graph.put(turn(6, person("Bea"), has("@she", "skill", "skill 6")))
    assert (len(now(graph, "Ann", "skill")), len(now(graph, "Bea", "skill"))) == (3, 4)


def test_turn_without_names_counts_as_a_turn() -> None:
    graph = Graph([turn(1, person("Ann")), turn(2), turn(3), turn(5, has("@she", "mood", "glad"))])
    assert now(graph, "Ann", "mood") == ["glad"]
    graph.put(turn(4))
    assert now(graph, "Ann", "mood") == []
    graph.drop(ref(2))
    assert now(graph, "Ann", "mood") == ["glad"]


def test_name_after_the_pronoun_is_not_its_referent() -> None:
    said = [person("Ann"), node("Tom"), is_("@she", "spouse_of", "Tom", quote="She is married to Tom.")]
    assert now(Graph([turn(1, *said)]), "Ann", "spouse_of") == ["tom"]
    said = [person("Ann"), person("Bea"), has("@she", "mood", "glad", quote="She told Bea so.")]
    assert now(Graph([turn(1, *said)]), "Ann", "mood") == ["glad"]


def test_pronoun_never_means_its_speaker_under_any_name() -> None:
    said = [
        person("小红"),
        alias("user", "李雷", type="person"),
        is_("@她", "works_at", "北京", speaker="user"),
    ]
    assert now(Graph([turn(1, *said)]), "小红", "works_at") == ["北京"]
