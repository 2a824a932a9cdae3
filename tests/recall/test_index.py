"""The index of a conversation: terms, postings, vectors, clues."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from backscroll.recall.clues import measure
from backscroll.recall.fuse import fusion
from backscroll.recall.index.candidate import Candidate, pieces_of, prepare, price_of
from backscroll.recall.index.index import RecallIndex
from backscroll.recall.index.lexical import Postings, match, match_softly
from backscroll.recall.index.space import round_sample_size
from backscroll.recall.index.vectors import (
    beside,
    products,
    ranks,
    share,
    smooth_rows,
    standard,
    themes_of,
)
from backscroll.recall.question.analysis import understand
from backscroll.recall.selection import reason_of
from backscroll.recall.text.terms import terms_of


def encode(texts: Sequence[str]) -> NDArray[np.float32]:
    """Vectors from letters: enough to tell texts apart, the same every time."""
    rows = np.zeros((len(texts), 16), np.float32)
    for row, text in zip(rows, texts, strict=True):
        for letter in text.encode("utf-8", "replace"):
            row[letter % 16] += 1
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


TEXTS = (
    Candidate(0, "Where do you live now?", "Ann", day=date(2026, 3, 1), session="a"),
    Candidate(1, "In a small flat near the harbour.", "Bob", day=date(2026, 3, 1), session="a"),
    Candidate(2, "我最喜欢的电影是《流浪地球》。", "Ann", day=date(2026, 3, 5), session="b"),
    Candidate(3, "The doctor said 40 milligrams.", "Bob", day=date(2026, 3, 5), session="b"),
    Candidate(4, "", "Bob", session="b"),
)


def built(texts: Sequence[Candidate] = TEXTS, *, vectors: bool = True) -> RecallIndex:
    """An index that took everything at once."""
    index = RecallIndex(encode if vectors else None)
    index.extend([prepare(text) for text in texts])
    return index


# -- terms and postings ------------------------------------------------------------------------------------------


def test_terms_are_stems_words_and_pairs() -> None:
    """Stop words are left out; Chinese is cut in two ways."""
    words, pairs = terms_of("What did the doctors say about running?")
    assert words == ["doctor", "say", "run"]
    assert pairs == words
    words, pairs = terms_of("我喜欢的电影")
    assert "电影" in words
    assert "的" not in words
    assert "电影" in pairs


def test_rare_word_counts_more() -> None:
    """And a text with more words of the question ranks above one with fewer."""
    postings = Postings()
    for number, terms in enumerate((["tea", "milk"], ["tea"], ["tea", "port"], ["port", "milk", "sea"])):
        postings.add(number, terms)
    assert postings.rarity("sea") > postings.rarity("port") > postings.rarity("tea")
    found = match(postings, ["port", "milk"], np.asarray(postings.lengths, float), 0.75)
    assert int(found.score.argmax()) == 3
    assert found.held[3] == pytest.approx(found.best)


def test_text_added_in_two_parts_equals_one() -> None:
    """Sessions grow."""
    one, two = Postings(), Postings()
    one.add(0, ["a", "b", "a"])
    two.add(0, ["a"])
    two.add(0, ["b", "a"])
    assert (one.held, one.lengths, one.total) == (two.held, two.lengths, two.total)


def test_similar_terms_count_in_part() -> None:
    """Less than the term itself, more than nothing."""
    postings = Postings()
    for number, terms in enumerate((["doctor"], ["physician"], ["rose"])):
        postings.add(number, terms)
    found = match_softly(postings, ["doctor"], np.ones(3), [{"doctor": 1.0, "physician": 0.8}])
    assert found[0] > found[1] > found[2] == 0


# -- arithmetic --------------------------------------------------------------------------------------------------


def test_neighbours_stay_in_their_session() -> None:
    """The first text of a session has no neighbour before it."""
    values, sessions = np.asarray([1.0, 2.0, 4.0, 8.0]), np.asarray([0, 0, 1, 1])
    assert beside(values, sessions, 1).tolist() == [0, 1, 0, 4]
    assert beside(values, sessions, -1).tolist() == [2, 0, 8, 0]
    assert beside(values, sessions, 9).tolist() == [0, 0, 0, 0]


def test_smoothing_keeps_the_mean_of_equal_values() -> None:
    """Also across sessions."""
    rows = np.asarray([[3.0, 3.0, 3.0, 7.0, 7.0]])
    assert np.allclose(smooth_rows(rows, np.asarray([0, 0, 0, 3, 3]), np.asarray([3, 3, 3, 5, 5]), 5), rows)


def test_shares_ranks_and_deviations_are_computed() -> None:
    """Also if all values are the same, or zero."""
    assert share(np.zeros(3)).tolist() == [0, 0, 0]
    assert share(np.asarray([1.0, 4.0])).tolist() == [0.25, 1]
    assert np.expm1(ranks(np.asarray([1.0, 3.0, 2.0]))).round().tolist() == [2, 0, 1]
    some = np.asarray([3.0, 1.0])
    assert np.expm1(ranks(some, np.asarray([1.0, 3.0, 2.0]))).round().tolist() == [0, 2]
    assert np.isfinite(standard(np.ones(4))).all()


def test_blockwise_products_equal_products() -> None:
    """For any number of rows."""
    rows, others = encode([str(n) * 3 for n in range(250)]), encode(["1", "22"])
    assert np.allclose(products(rows, others), rows @ others.T)
    assert themes_of(rows - rows.mean(axis=0)).shape == (3, 16)


def test_similar_terms_are_updated_as_the_vocabulary_grows() -> None:
    """As if all words had been there from the start."""
    texts = [Candidate(n, f"{word} harbour") for n, word in enumerate(("port", "ports", "tide", "portal"))]
    grown = RecallIndex(encode)
    for text in texts:
        grown.extend([prepare(text)])
        assert grown.space is not None
        grown.space.kin(["porter"])
    whole = built(texts)
    assert grown.space is not None
    assert whole.space is not None
    assert grown.space.kin(["porter"]) == whole.space.kin(["porter"])


def test_corpus_sample_grows_in_steps() -> None:
    """So that one more text changes nothing for the others."""
    assert [round_sample_size(n) for n in (0, 1, 511, 512, 1_023, 1_024, 5_000)] == [
        0,
        1,
        511,
        512,
        512,
        1_024,
        4_096,
    ]


# -- the index ---------------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(
    st.lists(st.sampled_from(TEXTS), min_size=1, max_size=12),
    st.integers(0, 12),
    st.sampled_from(["what did the doctor say?", "电影", "Ann lives where?", "", "on 5 March 2026"]),
    st.booleans(),
)
def test_an_index_that_grew_equals_one_built_at_once(
    texts: list[Candidate], cut: int, question: str, vectors: bool
) -> None:
    """Bit for bit, in every clue."""
    grown = RecallIndex(encode if vectors else None)
    grown.extend([prepare(text) for text in texts[:cut]])
    if cut and texts[:cut]:
        measure(grown, understand(question))
    grown.extend([prepare(text) for text in texts[cut:]])
    asked = understand(question, date(2026, 4, 1))
    one, other = measure(grown, asked), measure(built(texts, vectors=vectors), asked)
    assert list(one) == list(other)
    for name, values in one.items():
        assert np.isfinite(values).all(), name
        assert values.tolist() == other[name].tolist(), name


def test_clues_have_the_expected_values() -> None:
    """Words, speaker, time, numbers, neighbours."""
    clues = measure(built(), understand("What did Bob say about the doctor on 5 March?", date(2026, 4, 1)))
    assert int(clues["words_share"].argmax()) == 3
    assert clues["spoke"].tolist() == [-1, 1, -1, 1, 1]
    assert clues["inside"].tolist() == [0, 0, 1, 1, 0]
    assert clues["asks"].tolist() == [1, 0, 0, 0, 0]
    assert clues["tells_numbers"][3] > 0
    assert clues["words_share_after"][2] == clues["words_share"][3]


def test_best_text_has_the_best_score() -> None:
    """With the weights in use, by words alone."""
    index = built(TEXTS[:4], vectors=False)
    clues = measure(index, understand("how many milligrams did the doctor say?"))
    scores = fusion(vectors=False).score(clues)
    assert int(scores.argmax()) == 3
    assert "words" in reason_of(clues, 3)
    assert reason_of({}, 0) == "the nearest there is"


def test_long_texts_are_split_and_priced() -> None:
    """A short one stays whole; Chinese costs more per character."""
    assert pieces_of("short") == ("short",)
    long = "This is a sentence of some length. " * 40
    assert len(pieces_of(long)) > 3
    assert "".join(pieces_of(long)).replace(" ", "") == long.replace(" ", "")
    assert pieces_of(" " * 300) == (" " * 300,)
    assert price_of("电影" * 50) > price_of("ab" * 50)
    assert price_of("\ud800") > 0
