"""Which lorebook entries activate: keys and logic, depth, recursion, groups, chance; patterns that cannot hang."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.formats.lorebooks.rule import WakeRule, apply_decorators, rule_from_json, rule_of
from backscroll.recall.lore.activation import LoreActivation, LoreLine, LoreMessage, roll, wake
from backscroll.recall.lore.keys import ScannedText, matches, why_unusable
from backscroll.recall.lore.patterns import key_pattern
from backscroll.vocab.ids import Ref

THREAD = "ab" * 16


def messages(*texts: str) -> list[LoreMessage]:
    """Messages, the newest first."""
    return [LoreMessage(Ref(THREAD, 9 - n), f"{9 - n}", ScannedText.of(t)) for n, t in enumerate(texts)]


def line(name: str, *keys: str, text: str = "Words.", **rule: Any) -> LoreLine:
    return LoreLine(name, "Book", name, text, WakeRule(keys, **rule))


def woken(lines: list[LoreLine], *texts: str, **more: Any) -> list[str]:
    options = {"depth": 2, "count": 10, **more}
    return [w.id for w in wake(lines, messages(*texts), **options).awake]


@pytest.mark.parametrize(
    ("key", "text", "found"),
    [
        ("shadowfang", "Who are the Shadowfangs?", True),
        ("shadowfang", "the Shadowfang's lair", True),
        ("ability", "What abilities?", True),
        ("witch", "three witches", True),
        ("elf", "on the shelf, by himself", False),
        ("elf", "an ELF!", True),
        ("red dragon", "two red dragons", True),
        ("dragon", "dragonfly", False),
        ("洛绯", "我叫洛绯，你呢", True),
        ("精灵", "森林精灵们", True),
        ("Ellie", "我看到Ellie了", True),
        ("Ellie", "Ellie2", False),
        ("ドラゴン", "赤いドラゴンだ", True),
        ("ёлка", "моя ёлка.", True),
        ("лес", "полесье", False),
        ("C++", "in C++ and", True),
        ("", "anything", False),
        ("  ", "anything", False),
    ],
)
def test_key_matches_whole_words_in_spaced_scripts(key: str, text: str, *, found: bool) -> None:
    assert matches(key, ScannedText.of(text)) is found


def test_exact_matching_options_of_a_book_are_respected() -> None:
    """Whole words, any position, case."""
    text = ScannedText.of("The Shadowfangs came.")
    assert not matches("shadowfang", text, whole=True)
    assert matches("adowfan", text, whole=False)
    assert not matches("shadowfangs", text, case=True)
    assert matches("Shadowfangs", text, case=True)
    assert matches("shadow.angs?", text, patterns=True)


@pytest.mark.parametrize(
    ("key", "text", "found"),
    [
        ("/dra(g|k)on/", "a drakon", True),
        ("/DRAGON/", "a dragon", False),
        ("/DRAGON/i", "a dragon", True),
        ("/^gate$/m", "the\ngate\nis", True),
        (r"/\bwing(s|ed)?\b/i", "Winged things", True),
        (r"/a\/b/", "a/b", True),
        ("/(?<what>el)f/", "elf", True),
        ("/(?<!dark )elf/", "dark elf", False),
        ("/龙|凤/", "一条龙", True),
        (r"/go.*home/", "go now, to your home", True),
        ("/x{2,}/", "xx", True),
    ],
)
def test_pattern_keys_match(key: str, text: str, *, found: bool) -> None:
    assert matches(key, ScannedText.of(text)) is found
    assert why_unusable(key, patterns=False) == ""


@pytest.mark.parametrize(
    "key",
    [
        "/(a+)+$/",
        "/(a|a)*b/",
        "/(x*)*/",
        "/" + "a?" * 40 + "a" * 40 + "/",
        "/((a{1,9}){1,9}){1,9}/",
        "/(/",
        "/[a/",
        r"/\p{L}/",
        "/" + "a|" * 3000 + "b/",
    ],
)
def test_unusable_patterns_are_reported(key: str) -> None:
    assert not matches(key, ScannedText.of("a" * 5000))
    assert why_unusable(key, patterns=False)


PIECES = st.sampled_from(
    [
        "a",
        "b",
        ".",
        "a*",
        "a+",
        "a?",
        "(a|b)",
        "(ab)",
        "[ab]",
        "a{1,5}",
        ".*",
        ".+?",
        "(?:a|ab)",
        "|",
        "(",
        ")",
        "\\b",
        "^",
        "$",
        "{2,}",
    ]
)


@given(st.lists(PIECES, min_size=1, max_size=12).map("".join))
def test_no_pattern_runs_without_end(body: str) -> None:
    """What is let through has no open repetition any more, so it comes to an end on the worst text."""
    found = key_pattern(body, "")
    if found.pattern is None:
        assert found.wrong
        return
    assert not {"*", "+"} & set(found.pattern.pattern)
    found.pattern.search("a" * 2000)


@pytest.mark.parametrize(
    ("logic", "texts"),
    [
        ("and_any", {"gate": False, "gate iron": True, "gate iron old": True}),
        ("and_all", {"gate": False, "gate iron": False, "gate iron old": True}),
        ("not_any", {"gate": True, "gate iron": False, "gate iron old": False}),
        ("not_all", {"gate": True, "gate iron": True, "gate iron old": False}),
    ],
)
def test_secondary_keys_follow_their_logic(logic: str, texts: dict[str, bool]) -> None:
    entry = line("x", "gate", secondary=("iron", "old"), logic=logic)
    assert {text: bool(woken([entry], text)) for text in texts} == texts
    assert not woken([entry], "iron old")  # without a primary key nothing wakes


def test_secondary_keys_may_be_in_another_message() -> None:
    """All scanned messages count together."""
    assert woken([line("x", "gate", secondary=("iron",))], "the gate", "made of iron") == ["x"]


def test_scan_depth_is_respected() -> None:
    """That of the settings or of the entry; none for 0."""
    said = ("hello", "yes", "the gate")
    assert woken([line("x", "gate")], *said) == []
    assert woken([line("x", "gate")], *said, depth=3) == ["x"]
    assert woken([line("x", "gate", scan_depth=3)], *said) == ["x"]
    assert woken([line("x", "gate", scan_depth=0)], "the gate") == []


def test_constant_disabled_and_empty_entries() -> None:
    """Constant ones need no key; disabled ones and outlets never activate; an empty one adds nothing."""
    lines = [
        line("a", constant=True),
        replace(line("b", constant=True), enabled=False),
        line("c", constant=True, never=True),
        line("d", constant=True, position="outlet"),
        line("e", constant=True, text="  "),
        line("f"),
        line("g", constant=True, position="card"),
    ]
    assert woken(lines, "hello") == ["a"]


def test_entries_can_depend_on_character_and_length() -> None:
    """For one character, for all but one, or from some length on."""
    lines = [
        line("a", "x", only_for=("Maren",)),
        line("b", "x", not_for=("maren",)),
        line("c", "x", delay=11),
    ]
    assert woken(lines, "x", char="Maren") == ["a"]
    assert woken(lines, "x", char="Tom") == ["b"]
    assert woken(lines, "x", char="Tom", count=11) == ["b", "c"]


def test_entries_activate_each_other() -> None:
    """By their text, unless one of them excludes it; some only activate that way."""
    gate = line("gate", "gate", text="The gate is guarded by Mira.")
    mira = line("mira", "mira", text="Mira has a dog.")
    dog = line("dog", "dog")
    assert woken([dog, mira, gate], "the gate") == ["gate", "mira", "dog"]
    (found,) = [w for w in wake([gate, mira], messages("the gate"), depth=2, count=2).awake if w.id == "mira"]
    assert (found.key, found.through, found.message) == ("mira", "gate", Ref(THREAD, 9))
    shy = replace(mira, rule=replace(mira.rule, exclude_recursion=True))
    assert woken([gate, shy], "the gate") == ["gate"]
    still = replace(gate, rule=replace(gate.rule, prevent_recursion=True))
    assert woken([still, mira], "the gate") == ["gate"]
    alone = replace(gate, rule=replace(gate.rule, book_recursive=False))
    assert woken([alone, mira], "the gate") == ["gate"]
    later = replace(mira, rule=replace(mira.rule, delay_recursion=1))
    assert woken([later], "mira") == []
    assert woken([gate, later], "mira and the gate") == ["gate", "mira"]


def test_circular_entries_activate_once() -> None:
    """Entries that wake each other wake once."""
    lines = [line(f"e{n}", f"k{n}", text=f"k{(n + 1) % 30}") for n in range(30)]
    found = woken(lines, "k0")
    assert len(found) == len(set(found))


def test_one_entry_of_a_group_activates() -> None:
    """The one already active, the one with precedence, or one by weight; always the same."""
    lines = [line(n, "x", group="weather", order=10 * i) for i, n in enumerate("abc")]
    first = woken(lines, "x")
    assert len(first) == 1
    assert woken(lines, "x") == first
    assert woken(lines, "x", standing=lambda id: id == "b") == ["b"]
    chosen = [replace(e, rule=replace(e.rule, group_first=e.id != "a")) for e in lines]
    assert woken(chosen, "x") == ["c"]
    weighed = [replace(e, rule=replace(e.rule, group_weight=100 if e.id == "b" else 0)) for e in lines]
    assert all(woken(weighed, f"x {n}") == ["b"] for n in range(20))


def test_chance_is_determined_by_the_message() -> None:
    """The same message decides the same; over many messages the rate is that of the entry."""
    entry = line("x", "x", probability=30)

    def lucky(mark: str) -> LoreActivation:
        return wake([entry], [LoreMessage(Ref(THREAD, 1), mark, ScannedText.of("x"))], depth=2, count=1)

    marks = [f"{n}:abc" for n in range(2000)]
    results = [bool(lucky(mark).awake) for mark in marks]
    assert results == [bool(lucky(mark).awake) for mark in marks]
    assert 0.25 < sum(results) / len(results) < 0.35
    unlucky = next(mark for mark, won in zip(marks, results, strict=True) if not won)
    assert lucky(unlucky).kept_out == {"x": "chance"}
    assert woken([line("x", "x", probability=0)], "x") == []
    assert 0 <= roll("a", "b") < 100


def test_sticky_entries_reach_further_back_after_a_compaction() -> None:
    said = ("hello", "yes", "no", "the gate")
    assert woken([line("x", "gate", sticky=3)], *said) == []
    assert woken([line("x", "gate", sticky=3)], *said, sticky=True) == ["x"]
    assert woken([line("x", "gate", sticky=1)], *said, sticky=True) == []


# -- rules as books write them ----------------------------------------------------------------------------------------


def test_sillytavern_fields_are_read() -> None:
    """Numbers and names of its world info."""
    entry = {
        "uid": 1, "key": ["a"], "keysecondary": ["b"], "selective": True, "selectiveLogic": 3, "position": 4, "depth": 2,
        "scanDepth": 7, "caseSensitive": True, "matchWholeWords": False, "probability": 40, "useProbability": True,
        "group": "g", "groupOverride": True, "groupWeight": 7, "excludeRecursion": True, "preventRecursion": True,
        "delayUntilRecursion": 2, "sticky": 3, "delay": 5, "ignoreBudget": True, "triggers": ["continue"],
        "characterFilter": {"isExclude": True, "names": ["Tom"], "tags": []}, "content": "x",
    }  # fmt: skip
    rule = rule_of(entry, ["a"], ["b"], constant=False, order=5)
    assert rule == WakeRule(
        ("a",), ("b",), "and_all", False, 5, "depth", 2, 7, True, False, False, 40, "g", True, 7, True, True, 2, 3, 5,
        True, True, (), ("Tom",),
    )  # fmt: skip
    assert rule_from_json(rule.to_json()) == rule
    loose = rule_of(
        {**entry, "selective": False, "useProbability": False}, ["a"], ["b"], constant=False, order=5
    )
    assert (loose.secondary, loose.probability) == ((), 100)


def test_card_and_book_fields_are_read() -> None:
    """`extensions` hold what the standard lacks; the book has a depth, a budget and recursion."""
    book = {"scan_depth": 4, "token_budget": 300, "recursive_scanning": False}
    more = {
        "selectiveLogic": 2,
        "position": 1,
        "exclude_recursion": True,
        "probability": 60,
        "scan_depth": None,
    }
    rule = rule_of(
        {"keys": ["a"], "extensions": more, "use_regex": True}, ["a"], [], constant=True, order=1, book=book
    )
    assert (rule.logic, rule.position, rule.exclude_recursion) == ("not_any", "after", True)
    assert (rule.probability, rule.scan_depth, rule.book_budget, rule.book_recursive) == (60, 4, 300, False)
    assert rule.patterns
    assert rule_of({"position": "after_char"}, [], [], constant=False, order=1).position == "after"


def test_decorators_are_read() -> None:
    """Lines at the top of a version 3 entry."""
    rule = apply_decorators(
        WakeRule(("a",)),
        "@@scan_depth 9\n@@activate_only_after 4\n@@additional_keys b, c\n@@unknown x\nText.",
    )
    assert (rule.scan_depth, rule.delay, rule.secondary, rule.logic) == (9, 4, ("b", "c"), "and_any")
    assert apply_decorators(WakeRule(), "@@activate\nText").constant
    assert apply_decorators(WakeRule(), "@@dont_activate\nText").never
    assert apply_decorators(WakeRule(), "@@exclude_keys x\n").logic == "not_any"
    assert apply_decorators(WakeRule(), "@@depth 2\n").position == "depth"
    assert apply_decorators(WakeRule(), "Text with @@activate in it") == WakeRule()


ANY = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.lists(st.integers(), max_size=2)
)
FIELDS = [
    "selectiveLogic",
    "position",
    "depth",
    "scanDepth",
    "probability",
    "useProbability",
    "group",
    "groupWeight",
    "sticky",
    "delay",
]
FIELDS += [
    "delayUntilRecursion",
    "characterFilter",
    "triggers",
    "extensions",
    "caseSensitive",
    "matchWholeWords",
    "use_regex",
    "content",
]


@given(
    st.dictionaries(st.sampled_from(FIELDS), ANY),
    st.dictionaries(st.sampled_from(["scan_depth", "token_budget"]), ANY),
)
def test_fields_may_hold_anything(entry: dict[str, Any], book: dict[str, Any]) -> None:
    """A field of another type counts as missing; the rule can be kept and read back."""
    rule = rule_of(entry, ["a"], [], constant=False, order=1, book=book)
    assert rule_from_json(rule.to_json()) == rule
    wake([LoreLine("x", "b", "x", "t", rule)], messages("a"), depth=2, count=1)
