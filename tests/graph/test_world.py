"""World descriptions read by rules: fields, English, Chinese, kinds; and what is not stated."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import InvalidInput
from backscroll.formats.lorebooks.reader import LoreEntry, read_lorebook
from backscroll.graph.view import WorldEntry
from backscroll.graph.world.description import from_json, to_json, world_entries, world_text
from backscroll.graph.world.words import covers, predicate_of

ELVES_EN = "All elves are helpful but cautious. Elves of the forest belong to no faction. They know every path and pose no threat."
ELVES_ZH = "所有精灵都很谨慎。森林精灵不属于任何阵营，熟悉森林，没有威胁。"


def one(text: str, name: str = "") -> WorldEntry:
    """The only entry of a description."""
    (entry,) = world_entries(read_lorebook(text, name))
    return entry


def stated(text: str) -> dict[str, str]:
    """What the entry says about itself; the last of several values."""
    return dict(one(text).attributes)


def test_english_prose_gives_race_home_and_temper() -> None:
    """From two sentences."""
    entry = one("Ellie is a forest elf who lives in the Whispering Forest. She is helpful but cautious.")
    assert (entry.name, entry.type) == ("Ellie", "person")
    assert entry.attributes == (
        ("race", "forest elf"),
        ("lives_in", "Whispering Forest"),
        ("disposition", "helpful but cautious"),
    )


def test_chinese_prose_gives_race_home_and_temper() -> None:
    entry = one("艾莉是森林精灵，住在迷雾森林，乐于助人但很谨慎。")
    assert (entry.name, entry.type) == ("艾莉", "person")
    assert entry.attributes == (
        ("race", "森林精灵"),
        ("lives_in", "迷雾森林"),
        ("disposition", "乐于助人但很谨慎"),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Captain Aria Voss is 34 years old. Aria is stern but fair.",
            {"age": "34", "disposition": "stern but fair"},
        ),
        (
            "Lily is Tom's daughter. She has red hair. Her mother is Ann Lee.",
            {"child_of": "Ann Lee", "appearance": "red hair"},
        ),
        (
            "Queen Mara, an old human, is the ruler of the Kingdom of Dawn.",
            {"race": "human", "leader_of": "Kingdom of Dawn"},
        ),
        ("Mara was born on Mars and works for the Guild.", {"born_in": "Mars", "works_at": "Guild"}),
        (
            "Goblins are small green creatures that attack travellers. They live in caves.",
            {"threat_level": "high", "lives_in": "caves"},
        ),
        (
            "Mistwood is a dark forest in Aldor, ruled by Queen Mara. It is dangerous.",
            {"kind": "dark forest", "located_in": "Aldor", "led_by": "Queen Mara", "threat_level": "high"},
        ),
        (
            "汤姆是艾莉的哥哥，今年27岁，是一名铁匠，性格开朗，喜欢喝酒和钓鱼。",
            {"sibling_of": "艾莉", "age": "27", "occupation": "铁匠", "disposition": "开朗", "likes": "钓鱼"},
        ),
        (
            "迷雾森林是北方王国的一片古老森林，位于大陆北部。这里很危险。",
            {"part_of": "北方王国", "kind": "古老森林", "threat_level": "高"},
        ),
        (
            "魔族是来自深渊的种族，天性残忍，非常危险，与人类敌对。",
            {"comes_from": "深渊", "disposition": "残忍", "threat_level": "高", "enemy_of": "人类"},
        ),
        (
            "林晓雨是一名高中生，就读于青云中学。她的父亲林建国是一名警察。",
            {"occupation": "高中生", "studies_at": "青云中学", "child_of": "林建国"},
        ),
    ],
)
def test_sentences_give_facts_in_both_languages(text: str, expected: dict[str, str]) -> None:
    """Relations, ages, looks, places, threats."""
    found = stated(text)
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    "text",
    [
        '[Character("Ellie") {Race("Forest Elf") Age("120") Mind("kind" + "shy") Likes("berries" + "moonlight")}]',
        '[Character("Ellie")\n{\nRace("Forest Elf")\n\nAge("120")\nMind("kind" + "shy")\nLikes("berries" + "moonlight")',
        "Name: Ellie\nRace: Forest Elf\n- **Age:** 120\nPersonality: kind, shy\nLikes: berries, moonlight",
        "[Ellie's race: Forest Elf; Ellie's age: 120; Ellie's personality: kind, shy; Ellie's likes: berries, moonlight]",
    ],
)
def test_fields_are_read_in_every_notation(text: str) -> None:
    """W++ (also cut off), a sheet, a list in brackets: the same facts."""
    entry = one(text)
    assert entry.keys == ("Ellie",)
    assert entry.type == "person"
    assert entry.attributes == (
        ("race", "Forest Elf"),
        ("age", "120"),
        ("personality", "kind, shy"),
        ("likes", "berries"),
        ("likes", "moonlight"),
    )


def test_chinese_fields_are_read() -> None:
    entry = one(
        "姓名：苏晴\n性别：女\n职业：记者\n性格：活泼、好奇\n喜欢：咖啡、旅行\n住所：上海\n口头禅：真的吗"
    )
    assert entry.name == "苏晴"
    assert ("occupation", "记者") in entry.attributes
    assert ("lives_in", "上海") in entry.attributes
    assert [v for p, v in entry.attributes if p == "likes"] == ["咖啡", "旅行"]
    assert ("口头禅", "真的吗") in entry.attributes


def test_yaml_fields_are_read() -> None:
    """Labels above lists, indented labels, surrounding tags: common in Chinese books."""
    text = "<苏晴>\n姓名: 苏晴\n基本信息:\n  年龄: 24\n  职业: 记者\n性格:\n  - 活泼\n  - 好奇\n喜欢:\n- 咖啡\n- 旅行\n</苏晴>"
    (entry,) = world_entries([LoreEntry("苏晴", text=text)])
    assert entry.attributes == (
        ("age", "24"),
        ("occupation", "记者"),
        ("personality", "活泼; 好奇"),
        ("likes", "咖啡"),
        ("likes", "旅行"),
    )


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [(ELVES_EN, "Elves of the forest", "neutral"), (ELVES_ZH, "森林精灵", "中立")],
)
def test_statements_about_kinds_are_kept_with_the_kind(text: str, kind: str, value: str) -> None:
    """And not with the entry they appear in."""
    also = one(text).also
    assert (kind, "faction", value) in also
    assert {"disposition", "faction", "knowledge_level", "threat_level"} <= {p for _, p, _ in also}


@pytest.mark.parametrize(
    ("kind", "value", "holds"),
    [
        ("elves", "Forest Elf", True),
        ("Elves of the forest", "forest elf", True),
        ("forest elves", "elf", False),
        ("forest", "forest elf", False),
        ("dwarves", "Mountain Dwarf", True),
        ("精灵", "森林精灵", True),
        ("精灵们", "森林精灵", True),
        ("森林精灵", "精灵", False),
        ("", "elf", False),
    ],
)
def test_covers_tells_which_kind_includes_a_value(kind: str, value: str, holds: bool) -> None:
    assert covers(kind, value) is holds


@pytest.mark.parametrize(
    "text",
    [
        "If Ellie is an elf, she might live in the wood.",
        "Ellie is not an elf. She never lives in towns.",
        "Is Ellie a dwarf?",
        "艾莉不是矮人。如果她是精灵，可能住在森林。据说她是公主。",
    ],
)
def test_conditions_and_negations_state_nothing(text: str) -> None:
    """Nor do questions and rumours."""
    entry = one(text)
    assert not {"race", "lives_in", "occupation"} & {p for p, _ in entry.attributes}
    assert not entry.also


def test_interview_is_read_for_its_answers() -> None:
    """Descriptions written as questions to the character: answers count, questions and actions do not."""
    text = (
        '{{user}}: "Are grimlings dragons?"\n{{char}}: *Mara is a queen of gestures and shivers.* "The Grimlings are small monsters. '
        'They live in caves."\n{{user}}: "Tom is a knight."'
    )
    (entry,) = world_entries([LoreEntry("grimling", ("grimling", "monster"), text=text)])
    assert entry.attributes == (("kind", "small monsters"), ("lives_in", "caves"))
    assert entry.also == ()


def test_brackets_in_a_value_stay_whole() -> None:
    entry = one("姓名：洛琳\n年龄：37岁（外表像14岁）\n职业：家庭教师、「水圣级魔术师」\n喜欢：(甜食)")
    assert entry.attributes == (
        ("age", "37岁（外表像14岁）"),
        ("occupation", "家庭教师"),
        ("occupation", "水圣级魔术师"),
        ("likes", "甜食"),
    )


def test_technical_prose_gives_no_facts_about_people() -> None:
    """Project descriptions and code are ignored."""
    text = (
        "# Tool\nTool is a Python package.\n\n## Rules\n- Tests are in `tests/`.\n- Everything that is exported has types.\n"
        "```python\nclass A:\n    head: int = 0\n    race: str = 'x'\n```\n"
    )
    tool, rules = world_entries(read_lorebook(text, "README.md"))
    assert (tool.type, tool.attributes) == ("project", (("kind", "Python package"),))
    assert (rules.attributes, rules.also) == ((), ())


def test_keys_are_normalised_to_names() -> None:
    """Patterns give their plain words; duplicates, quotes and articles make no new keys; aliases do."""
    entry = LoreEntry(
        "Ellie",
        ('"Ellie"', "the elf", "ELLIE", "/\\b(El|Elly)\\b/i", "/^.*$/", " "),
        text="Ellie is also known as Star.",
    )
    (made,) = world_entries([entry])
    assert made.keys == ("Ellie", "the elf", "El", "Elly", "Star")


def test_unrelated_keys_are_not_names() -> None:
    """A key need not be the subject of its entry; another form or language of the name is."""
    entries = [
        LoreEntry(
            "Fish market",
            ("the market", "fishmonger", "Brandt", "harbour"),
            text="The fish market is loud. Brandt is a merchant.",
        ),
        LoreEntry("Main heroine", ("Ellie", "bow"), text="Race: elf"),
        LoreEntry("Elves", ("elf", "精灵"), text="Elves are shy."),
        LoreEntry("青云宗", ("青云", "剑"), text="青云宗是一个门派。"),
    ]
    market, heroine, elves, sect = world_entries(entries)
    assert market.names == ("Fish market", "the market")
    assert ("Brandt", "occupation", "merchant") in market.also
    assert "Ellie" in heroine.names
    assert elves.names == ("Elves", "elf", "精灵")
    assert sect.names == ("青云宗", "青云")


def test_types_come_from_names_categories_and_headers() -> None:
    entries = [
        LoreEntry("Mistwood Forest", text="Old."),
        LoreEntry("Silver Guild", text="Rich."),
        LoreEntry("迷雾森林", text="很老。"),
        LoreEntry("Zorp", text="x", category="Characters"),
        LoreEntry("Forest Elves", text="Kind."),
        LoreEntry("Zorp", text='[Place("Zorp") {Climate("cold")}]'),
    ]
    assert [e.type for e in world_entries(entries)] == [
        "place",
        "organisation",
        "place",
        "person",
        "group",
        "place",
    ]


def test_labels_of_our_exports_are_read_back() -> None:
    """What `exports.to_lorebook` writes gives the same predicate."""
    assert [predicate_of(x) for x in ("Lives in", "住在", "knowledge level", "Threat level", "Child of")] == [
        "lives_in",
        "lives_in",
        "knowledge_level",
        "threat_level",
        "child_of",
    ]


def test_world_entries_survive_json() -> None:
    entries = world_entries(
        [
            LoreEntry(
                "Ellie",
                ("El",),
                text="Ellie is an elf. Dwarves live in caves.",
                source="b",
                constant=True,
                enabled=False,
            ),
            LoreEntry("Empty"),
        ]
    )
    assert from_json(json.loads(json.dumps(to_json(entries), ensure_ascii=False))) == entries


def test_invalid_row_is_refused() -> None:
    with pytest.raises(InvalidInput, match="entry 2") as caught:
        from_json([{"name": "a", "text": "b"}, {"name": "a", "keys": 3}])
    assert caught.value.hint


def test_prompt_text_has_the_relevant_entries() -> None:
    """The entry for a name, the entry for its kind, constant entries; nothing else, within the limit."""
    world = world_entries(
        read_lorebook(
            "# Aldor\nA cold land.\n\n## Ellie\nEllie is a forest elf.\n\n## Forest elves\nThey are shy.\n\n## Dwarves\nThey dig.\n",
            "w.md",
        )
    )
    text = world_text(world, ["ellie"], 1000)
    assert text == "Ellie: Ellie is a forest elf.\n\nForest elves: They are shy.\n\nAldor: A cold land."
    for limit in range(0, 120, 7):
        assert len(world_text(world, ["ellie"], limit)) <= limit
    assert world_text([], ["x"], 100) == ""


@given(st.text(max_size=200), st.text(max_size=30))
def test_any_words_can_be_an_entry(text: str, name: str) -> None:
    """Nothing breaks the reader, the words are kept, and the result can be stored."""
    (entry,) = world_entries([LoreEntry(name, (name,), text=text)])
    json.dumps(to_json([entry]), ensure_ascii=False).encode()
    assert from_json(to_json([entry])) == [entry]


def test_long_input_is_read_in_linear_time() -> None:
    """Text built to make patterns backtrack is read all the same."""
    for text in (
        "a " * 50_000,
        "Ellie is " * 20_000,
        "[" * 20_000,
        "a: " * 20_000,
        "是的" * 20_000,
        " " * 100_000 + "x",
        "“" * 50_000,
        "是" + "\u3000" * 50_000,
        "他的" * 20_000,
        '("' * 20_000,
    ):
        (entry,) = world_entries([LoreEntry("Ellie", text=text)])
        assert entry.name == "Ellie"


@pytest.mark.parametrize(
    "text",
    [
        "Race: forest elf. Faction: Silver Circle. Threat level: low.",
        "Race: forest elf | Faction: Silver Circle | Threat level: low",
        "Race: forest elf; Faction: Silver Circle; Threat level: low",
    ],
)
def test_several_fields_in_one_line_are_read(text: str) -> None:
    """Each is a fact; a sentence with a colon in it is not."""
    (entry,) = world_entries([LoreEntry("Ellie", ("Ellie",), text=text)])
    assert entry.attributes == (
        ("race", "forest elf"),
        ("faction", "Silver Circle"),
        ("threat_level", "low"),
    )
    (prose,) = world_entries([LoreEntry("Ellie", ("Ellie",), text="She left. Note: nobody saw it.")])
    assert prose.attributes == ()
