"""Keys of names: stable, idempotent, independent of spelling, aware of code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.graph.claims.names import (
    both_scripts,
    gender_of,
    key_of,
    pronoun_of,
    readable,
    shape_of,
    units,
    value_key,
)

ODD = st.text(st.characters(codec=None), max_size=40)  # lone surrogates and control characters too


@given(ODD)
def test_a_key_is_its_own_key(text: str) -> None:
    assert key_of(key_of(text)) == key_of(text)


@given(st.text("aA bB./_-'()\\:#王小 ．“”·s@", max_size=14))
def test_a_key_is_its_own_key_near_code_and_punctuation(text: str) -> None:
    assert key_of(key_of(text)) == key_of(text)


@given(ODD)
def test_no_text_upsets_the_reading_of_names(text: str) -> None:
    """Whatever stands in a claim, names are read without an error, and nothing but spaces has no key."""
    shape_of(key_of(text))
    both_scripts(text)
    units(text)
    value_key(text)
    assert readable(text)
    assert readable(text, text) == readable(text, text)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Ellie", "ELLIE "),
        ("the Old Forest", "Old  Forest"),
        ("Ellie's", "Ellie"),
        ("Ellie’s", "“Ellie”"),
        ("Dr. Smith", "dr smith"),
        ("《三体》", "三体"),
        ("艾 莉", "艾莉"),
        ("Ｅｌｌｉｅ", "Ellie"),
        ("约翰・史密斯", "约翰·史密斯"),
        ("foo_bar()", "`foo_bar`"),
        ("./src/App.tsx", "src/App.tsx"),
        ("src\\App.tsx", "src/App.tsx"),
        ("José", "José"),
        ("El\u200blie", "Ellie"),
    ],
)
def test_spellings_of_one_name_have_one_key(one: str, two: str) -> None:
    assert key_of(one) == key_of(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("src/App.tsx", "src/app.tsx"),
        ("getUser", "getuser"),
        ("MAX_SIZE", "max_size"),
        ("C", "C++"),
        ("C", "C#"),
        ("Mr. Smith", "Mrs. Smith"),
        ("小王", "老王"),
        (".env", "env"),
    ],
)
def test_different_names_have_different_keys(one: str, two: str) -> None:
    assert key_of(one) != key_of(two)


def test_blank_text_has_no_key() -> None:
    assert key_of(" \n\t") == ""
    assert key_of("…") == "..."  # but a name of punctuation is one


def test_readable_ids_combine_name_and_kind() -> None:
    assert readable("Ellie", "forest elf") == "ellie_forest_elf"
    assert readable("艾莉", "森林精灵") == "艾莉_森林精灵"
    assert readable("Ellie Elf", "elf") == "ellie_elf"
    assert readable("") == "node"


def test_titles_are_separated_from_names() -> None:
    shape = shape_of("mrs hill")
    assert shape is not None
    assert (shape.core, shape.titled, shape.gender) == (("hill",), True, "female")
    assert shape_of("src/App.tsx") is None
    assert shape_of("user") is None


@pytest.mark.parametrize("name", ["小王", "老王", "王老师", "王先生", "王女士"])
def test_chinese_form_of_address_has_a_family_name(name: str) -> None:
    shape = shape_of(name)
    assert shape is not None
    assert shape.family == "王"


def test_name_in_two_scripts_is_split() -> None:
    assert both_scripts("艾莉（Ellie）") == ("艾莉", "Ellie")
    assert both_scripts("Ellie (艾莉)") == ("Ellie", "艾莉")
    assert both_scripts("艾莉（an elf of the forest）") is None
    assert both_scripts("Ellie (elf)") is None


def test_pronouns_and_genders_in_both_languages() -> None:
    assert pronoun_of("@her") == pronoun_of("@她") == "she"
    assert pronoun_of("@alice") == ""
    assert gender_of("女性") == gender_of("Woman") == "female"


def test_values_are_compared_by_their_meaning() -> None:
    assert value_key("A forest elf.") == value_key("forest Elf")
    assert value_key("20%") != value_key("20")
