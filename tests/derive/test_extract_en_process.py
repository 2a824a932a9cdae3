"""Where given things are in the course of a process."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.derive.extract_en_process import Whereabouts, stem


def after(things: list[str], *sentences: str) -> dict[str, str]:
    where = Whereabouts(things)
    for sentence in sentences:
        where.add(sentence)
    return where.where()


def test_what_moves_is_where_it_went_last() -> None:
    assert after(["water"], "Water falls into the river.", "The water flows to the sea.") == {"water": "sea"}


def test_what_is_taken_up_is_in_what_took_it() -> None:
    assert after(["water"], "The roots absorb the water from the soil.") == {"water": "roots"}
    assert after(["water"], "The water is absorbed by the roots.") == {"water": "roots"}


def test_what_turns_into_something_else_is_gone_and_the_other_is_there() -> None:
    assert after(["ice", "water"], "Ice forms on the lake.", "The ice turns into water.") == {"water": "lake"}


def test_what_is_eaten_is_gone() -> None:
    assert after(["grass"], "Grass grows in the field.", "The cow eats the grass.") == {}


def test_a_part_of_a_longer_name_is_another_thing() -> None:
    """ "water vapor" does not speak of "water"."""
    assert after(["water", "water vapor"], "Water vapor rises into the air.") == {"water vapor": "air"}


def test_other_names_of_a_thing_are_the_same_thing() -> None:
    assert after(["droplets; rain"], "Rain falls to the ground.") == {"droplets; rain": "ground"}


def test_stems() -> None:
    assert [stem(w) for w in ("bodies", "boxes", "clouds", "gas", "glass")] == [
        "body",
        "box",
        "cloud",
        "gas",
        "glass",
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=60), max_size=4), st.lists(st.text(max_size=12), max_size=3))
def test_any_text_can_be_followed(sentences: list[str], things: list[str]) -> None:
    """Nothing crashes, and only given things have places."""
    assert set(after(things, *sentences)) <= set(things)
