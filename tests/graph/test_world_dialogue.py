"""Descriptions in the form of a dialogue: what the character says of itself, what it says of others, what it is seen to look like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.formats.lorebooks.reader import LoreEntry
from backscroll.graph.view import WorldEntry
from backscroll.graph.world.description import world_entries
from backscroll.graph.world.dialogue import read_dialogue


def card(text: str, name: str = "Maren") -> set[tuple[str, str]]:
    entry = LoreEntry(name, (name,), text=text, category="character", in_card=True)
    return set(world_entries([entry])[0].attributes)


def entry(text: str, name: str, char: str = "Maren") -> WorldEntry:
    return world_entries([LoreEntry(name, (name,), text=text)], char)[0]


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        ('"I am the warden of this lighthouse — its only keeper."', {("occupation", "warden")}),
        ('"I\'m a healer, and I live in Thornby."', {("occupation", "healer"), ("lives_in", "Thornby")}),
        ('"As keeper of the lamp, I wake at dusk."', {("occupation", "keeper")}),
        (
            '"I possess certain gifts - mending, weather sense and the like."',
            {("skill", "mending"), ("skill", "weather sense")},
        ),
        (
            '"I can mend nets, read the stars and hear you coming."',
            {("skill", "mend nets"), ("skill", "read the stars")},
        ),
        ('"My eyes, as you see, are grey."', {("appearance", "grey eyes")}),
        ('*She looks up, her amber eyes tired.* "Yes?"', {("appearance", "amber eyes")}),
        ('*Her sad eyes close.* "No."', set()),
        (
            '*Her green eyes narrow.* "No." *Her green eyes close; her rose eyes open.*',
            {("appearance", "green eyes")},
        ),
        ("“我是北境的斥候，我住在雁回关。”", {("occupation", "斥候"), ("lives_in", "雁回关")}),
        ("“我是掌柜的女儿。”*她有一头墨色的长发。*", {("appearance", "墨色的长发")}),
        ("“我会吹笛。”", {("skill", "吹笛")}),
        ('"I have protected those who seek refuge."', set()),
        ('"Perhaps I am a fool?"', set()),
    ],
)
def test_first_person_statements_give_facts(answer: str, facts: set[tuple[str, str]]) -> None:
    found = card(f'{{{{user}}}}: "Describe yourself."\n{{{{char}}}}: {answer}')
    assert facts <= found
    assert {f for f in found if f[0] in ("skill", "occupation", "appearance", "wants")} <= facts


def test_text_around_a_dialogue_is_read() -> None:
    """Lists in brackets before and after it; the subject of the story is no trait."""
    text = (
        '[Maren\'s Personality= "dry", "patient"]\r\n[Maren\'s body= "grey hair", "amber eyes"]\r\n<START>\r\n'
        '{{user}}: "Who are you?"\r\n{{char}}: *Her green eyes shine.* "I am the warden."\r\n[Genre: drama; Tags: sea; Scenario: A storm.]'
    )
    assert card(text) == {
        ("personality", "dry, patient"),
        ("appearance", "grey hair, amber eyes"),
        ("occupation", "warden"),
    }


def test_first_person_statements_belong_to_the_character() -> None:
    """The rest of the entry is about its subject."""
    text = '{{user}}: "What are Gravewings?"\n{{char}}: *She shivers.* "The Gravewings are beasts of ash. I can smell them."'
    found = entry(text, "gravewing")
    assert ("kind", "beasts of ash") in found.attributes
    assert found.type == "creature"
    assert ("Maren", "skill", "smell them") in found.also
    assert entry(text, "gravewing", char="").also == ()


def test_prose_without_dialogue_is_left_alone() -> None:
    """An "I" inside a quotation changes nothing."""
    text = 'Maren is a warden. She says "I am a queen" when she is drunk.'
    assert read_dialogue(text, "Maren").rest == text
    assert ("occupation", "queen") not in card(text)


@given(
    st.lists(
        st.sampled_from(
            [
                "{{user}}:",
                "{{char}}:",
                "\n",
                "*",
                '"',
                "I am ",
                "我是",
                "a warden",
                "[",
                "]",
                "<START>",
                "her amber eyes",
                ". ",
                "。",
                "\ud83d",
            ]
        ),
        max_size=20,
    ).map("".join)
)
def test_any_text_can_be_read(text: str) -> None:
    """Never raises, and never says anything about nobody."""
    found = read_dialogue(text, "Maren")
    assert all(said.subject == "Maren" and said.value for said in found.said)
    card(text)
