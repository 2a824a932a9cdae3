"""Excerpts of long texts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backscroll.recall.text.excerpt import excerpt


def words(text: str) -> int:
    """A token for each word, and for each character that is not ASCII."""
    return len(text.split()) + sum(not c.isascii() for c in text)


LOG = "\n".join(f"line {n} of the build went well and took a while" for n in range(200))


def test_short_text_is_left_whole() -> None:
    """Nothing is cut that need not be."""
    assert excerpt("short", {"x"}, lambda _: 1.0, words, 5) == "short"


def test_excerpt_contains_the_answering_line() -> None:
    """With its neighbours, and marks where text is left out."""
    text = LOG.replace("line 120 of the build went well", "error: the port 8443 is taken")
    found = excerpt(text, {"port", "8443"}, lambda _: 1.0, words, 60)
    assert "error: the port 8443 is taken" in found
    assert found.startswith("…")
    assert found.endswith("…")
    assert "line 119 " in found
    assert "line 121 " in found
    assert words(found) <= 60


def test_excerpt_without_a_match_is_the_beginning() -> None:
    """Marked as cut."""
    found = excerpt(LOG, {"zebra"}, lambda _: 1.0, words, 40)
    assert found.startswith("line 0 ")
    assert found.endswith("…")


def test_no_room_gives_no_excerpt() -> None:
    """An excerpt of two tokens says nothing."""
    assert excerpt(LOG, {"build"}, lambda _: 1.0, words, 2) == ""


@given(st.text(max_size=600), st.integers(0, 50), st.sets(st.sampled_from(["a", "b", "小猫"])))
def test_it_never_costs_more_than_the_room(text: str, room: int, terms: set[str]) -> None:
    """Whatever the text is."""
    assert words(excerpt(text, terms, lambda _: 1.0, words, room)) <= room
