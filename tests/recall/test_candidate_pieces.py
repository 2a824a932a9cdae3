"""Cutting a text into pieces reads no more than they need, and cuts as if it had read all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backscroll.recall.index import candidate
from backscroll.recall.index.candidate import pieces_of


@given(st.text(st.sampled_from("ab.!?。！；\n \t好\ud800"), max_size=60))
def test_sentences_are_those_that_a_split_gives(text: str):
    """Read one after the other, sentences are the same as split all at once."""
    one_by_one = list(candidate._sentences(text))
    assert one_by_one == candidate._SENTENCE.split(text)


def test_text_after_the_last_piece_changes_nothing():
    """The pieces of an endless text are those of its beginning."""
    lines = "".join(f"line {n} says something about the parser. 第{n}行说了一些话。\n" for n in range(2_000))
    assert pieces_of(lines) == pieces_of(lines[:20_000])
    assert len(pieces_of(lines)) == 24
