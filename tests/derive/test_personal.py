"""What people say about their own needs, and what only looks like it."""

from __future__ import annotations

import pytest

from backscroll.derive.extract.personal import read
from backscroll.derive.extract.utterance import Utterance
from backscroll.vocab.ids import Ref

HOME = Ref("0" * 32, 2)


def found(text: str, role: str = "user") -> list[tuple[str, str]]:
    return [(c.predicate, c.value or c.object) for c in read([Utterance(text, HOME, role=role)])]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("I'm allergic to nuts, eggs and milk.", ["nuts", "eggs", "milk"]),
        ("I am allergic to cats and I love dogs.", ["cats"]),
        ("I have a peanut allergy.", ["peanut"]),
        ("我对花生、牛奶和猫毛过敏。", ["花生", "牛奶", "猫毛"]),
        ("我儿子对芒果过敏。", []),
        ("He is allergic to nuts.", []),
        ("Am I allergic to nuts?", []),
        ("If I were allergic to nuts, I would know.", []),
        ("我对坚果过敏吗？", []),
        ("假如我对坚果过敏。", []),
    ],
)
def test_allergies_are_found(text: str, wanted: list[str]) -> None:
    assert [value for predicate, value in found(text) if predicate == "allergic_to"] == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("I'm vegan.", [("diet", "vegan")]),
        ("I am not vegan.", []),
        ("We don't eat pork or beef.", [("does_not_eat", "pork"), ("does_not_eat", "beef")]),
        ("I don't eat here often.", []),
        ("我不吃香菜。", [("does_not_eat", "香菜")]),
        ("我不是素食者。", []),
        ("你吃素，我知道。", []),
        ("My daughter doesn't eat fish.", [("household", "daughter does not eat fish")]),
    ],
)
def test_diets_and_foods_are_found(text: str, wanted: list[tuple[str, str]]) -> None:
    assert found(text) == wanted


def test_assistant_statements_are_not_personal_needs() -> None:
    assert found("I am allergic to nuts.", role="assistant") == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("\ud800 I am allergic to \udfff", [("allergic_to", "\udfff")]),
        ("我对" * 5000, []),
        ("I " * 20_000, []),
        ("allergic to " * 3000, []),
        ("I am " + "very " * 5000 + "allergic to x", []),
    ],
)
def test_personal_facts_are_read_in_time(text: str, wanted: list[tuple[str, str]]) -> None:
    assert found(text) == wanted
