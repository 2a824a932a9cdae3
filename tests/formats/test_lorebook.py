"""World descriptions from every usual shape: what is kept, what an entry is called, the way back, and bad input."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import FormatError
from backscroll.formats.lorebooks.reader import LoreEntry, read_lorebook, write_lorebook
from backscroll.formats.lorebooks.rule import WakeRule

WORLD_INFO: dict[str, Any] = {
    "entries": {
        "10": {
            "uid": 10,
            "key": ["late"],
            "keysecondary": [],
            "comment": "",
            "content": "Comes last.",
            "order": 1,
        },
        "0": {
            "uid": 0,
            "key": ["forest elf", "森林精灵"],
            "keysecondary": ["wood"],
            "comment": "Forest elves",
            "content": "Helpful but cautious.",
            "constant": False,
            "disable": True,
            "order": 50,
            "position": 4,
            "depth": 2,
            "probability": 80,
        },
        "2": {
            "uid": 2,
            "key": [],
            "keysecondary": [],
            "comment": "Weather",
            "content": "It rains.",
            "constant": True,
        },
    }
}
CARD: dict[str, Any] = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {
        "name": "Ellie",
        "description": "{{char}} is a forest elf. {{user}} is lost.",
        "personality": "helpful",
        "scenario": "A wood at night.",
        "first_mes": "Hello.",
        "mes_example": "",
        "character_book": {
            "name": "Aldor",
            "extensions": {},
            "entries": [
                {
                    "keys": ["elf", "elves"],
                    "secondary_keys": ["wood"],
                    "content": "Elves trust {{char}}.",
                    "name": "Elves",
                    "enabled": False,
                    "constant": True,
                    "insertion_order": 7,
                    "extensions": {},
                }
            ],
        },
    },
}
NOVEL: dict[str, Any] = {
    "lorebookVersion": 5,
    "entries": [
        {
            "text": "The harbour freezes.",
            "displayName": "Harbour",
            "keys": ["harbour", "docks"],
            "enabled": True,
            "forceActivation": True,
            "category": "c1",
            "contextConfig": {"budgetPriority": 400},
        }
    ],
    "categories": [{"id": "c1", "name": "Places"}],
}


def read(value: Any, name: str = "book.json") -> list[LoreEntry]:
    return read_lorebook(json.dumps(value), name)


def test_sillytavern_world_info_is_read() -> None:
    """Entries come in the order of their numbers, with keys, state, order and the fields we have no place for."""
    elves, weather, late = read(WORLD_INFO, "Aldor.json")
    assert (elves.name, elves.keys, elves.secondary_keys) == (
        "Forest elves",
        ("forest elf", "森林精灵"),
        ("wood",),
    )
    assert (elves.enabled, elves.order, elves.source) == (False, 50, "Aldor")
    assert json.loads(elves.rest) == {"position": 4, "depth": 2, "probability": 80}
    assert weather.constant
    assert weather.enabled
    assert (late.name, late.text) == ("late", "Comes last.")


def test_world_info_round_trips() -> None:
    """With every field, including those of SillyTavern."""
    first = read(WORLD_INFO, "Aldor.json")
    again = read_lorebook(write_lorebook(first), "Aldor.json")
    for one, other in zip(first, again, strict=True):
        assert (one.name, one.keys, one.text, one.enabled, one.constant, one.order) == (
            other.name,
            other.keys,
            other.text,
            other.enabled,
            other.constant,
            other.order,
        )
    row = json.loads(write_lorebook(first))["entries"]["0"]
    assert (row["position"], row["probability"], row["disable"], row["selectiveLogic"]) == (4, 80, True, 0)


NAME = (
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)
    .map(str.strip)
    .filter(bool)
)


@given(
    st.lists(
        st.builds(
            LoreEntry,
            name=NAME,
            keys=st.lists(NAME, max_size=3, unique=True).map(tuple),
            secondary_keys=st.lists(NAME, max_size=2, unique=True).map(tuple),
            text=st.text(max_size=60),
            constant=st.booleans(),
            enabled=st.booleans(),
            order=st.integers(0, 999),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_any_entries_survive_the_way_out_and_back(entries: list[LoreEntry]) -> None:
    text = write_lorebook(entries)
    text.encode()
    kept = ("name", "keys", "secondary_keys", "text", "constant", "enabled", "order")
    again = read_lorebook(text, "x.json")
    assert [[getattr(e, f) for f in kept] for e in again] == [[getattr(e, f) for f in kept] for e in entries]


def test_character_card_gives_entries_for_character_and_book() -> None:
    """The character, the scene and the entries inside; `{{char}}` is the character, `{{user}}` stays."""
    ellie, scene, elves = read(CARD, "")
    assert ellie.keys == ("Ellie",)
    assert ellie.text == "Ellie is a forest elf. {{user}} is lost.\nPersonality: helpful"
    assert scene.constant
    assert scene.text == "A wood at night."
    assert (elves.name, elves.keys, elves.text) == ("Elves", ("elf", "elves"), "Elves trust Ellie.")
    assert (elves.enabled, elves.constant, elves.order, elves.source) == (False, True, 7, "Aldor")


def test_cards_of_versions_one_and_three_are_read() -> None:
    """A bare card without `spec`, and one of version 3 with a nickname."""
    (first,) = read({"name": "Tom", "description": "A smith.", "first_mes": "Hi", "personality": ""})
    assert (first.name, first.text) == ("Tom", "A smith.")
    third = {"spec": "chara_card_v3", "data": {"name": "Ellie", "nickname": "El", "description": "An elf."}}
    assert read(third)[0].keys == ("Ellie", "El")
    book = {"spec": "lorebook_v3", "data": {"entries": [{"keys": ["a"], "content": "b"}]}}
    assert read(book)[0].text == "b"


def test_novelai_risu_and_agnai_lorebooks_are_read() -> None:
    """Other programs' fields mean the same."""
    (harbour,) = read(NOVEL)
    assert (harbour.name, harbour.keys, harbour.constant) == ("Harbour", ("harbour", "docks"), True)
    assert (harbour.order, harbour.category) == (400, "Places")
    risu = {
        "type": "risu",
        "ver": 1,
        "data": [
            {
                "key": "elf, 精灵，elves",
                "secondkey": "",
                "comment": "Elves",
                "content": "x",
                "alwaysActive": True,
            },
            {"mode": "folder", "comment": "empty"},
        ],
    }
    (elf,) = read(risu)
    assert (elf.keys, elf.constant) == (("elf", "精灵", "elves"), True)
    agnai = {
        "kind": "memory",
        "name": "m",
        "entries": [{"name": "Elf", "keywords": ["elf"], "entry": "y", "enabled": True}],
    }
    (elf,) = read(agnai)
    assert (elf.keys, elf.text, elf.source) == (("elf",), "y", "m")


def test_handwritten_json_is_read() -> None:
    """Name → text, name → facts, lists of texts."""
    plain = read(
        {"Ellie": {"race": "elf", "friends": ["Tom", "Ann"], "home": {"place": "wood"}}, "World": "Big."}
    )
    assert plain[0].text == "race: elf\nfriends: Tom, Ann\nhome: place: wood"
    assert plain[1] == LoreEntry("World", ("World",), text="Big.", source="book", rule=WakeRule(("World",)))
    assert read(["Elves are kind.", {"name": "Tom", "text": "A smith."}])[1].name == "Tom"


def test_markdown_sections_are_entries() -> None:
    """Both kinds of headings, not inside code; a list of bold names gives one entry each."""
    text = (
        "---\ntitle: x\n---\nPreface.\n\n# Aldor\nA land.\n\n## 1. Places\n\n### [Mistwood](m.md)\nDark.\n```\n# no heading\n```\n"
        "## Characters\n- **Ellie**: a forest elf\n  who sings\n- **Tom** — a smith\n\nRules\n-----\nNo magic.\n"
    )
    entries = read_lorebook(text, "docs/world.md")
    assert [entry.name for entry in entries] == ["world", "Aldor", "Mistwood", "Ellie", "Tom", "Rules"]
    assert entries[0].text == "---\ntitle: x\n---\nPreface."
    assert [entry.constant for entry in entries] == [True, True, False, False, False, False]
    assert entries[2].text == "Dark.\n```\n# no heading\n```"
    assert entries[2].comment == "Aldor > Places > Mistwood"
    assert (entries[3].text, entries[3].category) == ("a forest elf\nwho sings", "Characters")
    assert {entry.source for entry in entries} == {"world"}


def test_paragraphs_of_plain_text_are_entries() -> None:
    """Each is named after its subject if the first words tell."""
    text = "Ellie is a forest elf.\n\n艾莉是森林精灵，住在迷雾森林。\n\nTom: a smith.\n\n【北方】很冷。\n\nIt rains a lot here."
    entries = read_lorebook(text, "notes.txt")
    assert [entry.keys for entry in entries] == [("Ellie",), ("艾莉",), ("Tom",), ("北方",), ()]
    assert entries[4].constant
    assert "\n\n".join(entry.text for entry in entries) == text


def test_single_paragraph_is_one_entry() -> None:
    (entry,) = read_lorebook("it rains", "weather.txt")
    assert entry == LoreEntry("weather", text="it rains", source="weather", constant=True)


def test_attributes_in_brackets_are_one_entry() -> None:
    """W++ begins like JSON and has empty lines inside; so do lists in brackets."""
    (entry,) = read_lorebook('[Character("Ellie")\n{\nRace("Forest Elf")\n\nAge("120")\n}]')
    assert entry.name == "Ellie"
    (entry,) = read_lorebook("[Ellie's persona: shy, kind; Ellie's clothes: green dress]")
    assert entry.keys == ("Ellie",)


@pytest.mark.parametrize(
    ("text", "name", "what"),
    [
        ("  \n", "", "empty"),
        ('{"entries": {"0": {"uid": 0, "key": ["a"], "con', "b.json", "line 1"),
        ('[{"keys": ["a"]},', "", "not valid JSON"),
        ("{}", "", "no entries"),
        ('{"entries": []}', "b.json", "no entries"),
        ("[1, 2]", "", "entry 1"),
        ('{"a": {"b": "c"}, "d": true, "e": null}', "", ""),
        ("\x00" * 20, "card.png", "binary"),
        ('{"spec": "chara_card_v2", "data": {"name": "X", "first_mes": "hi"}}', "", "says nothing"),
        ("[" * 100_000, "deep.json", "JSON"),
    ],
)
def test_bad_lorebook_is_refused_with_a_hint(text: str, name: str, what: str) -> None:
    """Nothing is taken silently from what cannot be read; what can be read is."""
    if not what:
        assert read_lorebook(text, name)
        return
    with pytest.raises(FormatError) as caught:
        read_lorebook(text, name)
    assert what in caught.value.message
    assert caught.value.hint


@given(st.text(max_size=300), st.sampled_from(["", "a.md", "a.txt"]))
def test_any_text_is_read_or_refused(text: str, name: str) -> None:
    """No text breaks the reader, and no word of Markdown or plain text is lost."""
    try:
        entries = read_lorebook(text, name)
    except FormatError:
        return
    assert entries
    if (
        not text.lstrip("\ufeff \t\r\n").startswith(("{", "[", '"'))
        and "#" not in text
        and "-" not in text
        and "=" not in text
    ):
        kept = "".join("".join(entry.text.split()) for entry in entries)
        assert sorted(kept) == sorted("".join(text.removeprefix("\ufeff").split())) or "**" in text
