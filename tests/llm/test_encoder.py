"""Encoders: the base one, the gloss bridge, names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.errors import InvalidInput, MissingExtra
from backscroll.llm.encoders import encoder as encoders
from backscroll.llm.encoders.encoder import (
    Encoder,
    encoder_names,
    encoder_of,
    register_encoder,
    why_no_encoder,
)
from backscroll.llm.encoders.gloss import gloss, gloss_text


@pytest.fixture(scope="module")
def base() -> Encoder:
    """The encoder of the base install."""
    found = encoder_of("wordllama")
    if found is None:
        pytest.skip(why_no_encoder("wordllama"))
    return found


def test_vectors_have_length_one(base: Encoder) -> None:
    """Or are zeros if there is nothing to encode."""
    rows = base.encode(["a cat", "", "医生", "\ud800\udc00 x"])
    assert rows.shape == (4, base.dim)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1).round(4).tolist() == [1, 0, 1, 1]


def test_similar_texts_have_similar_vectors(base: Encoder) -> None:
    """In English, in Chinese, and across."""
    doctor, physician, rose, zh = base.encode(["the doctor", "a physician", "red roses", "医生"])
    assert doctor @ physician > doctor @ rose
    assert zh @ doctor > zh @ rose


@settings(max_examples=20)
@given(st.lists(st.text(max_size=40), max_size=40))
def test_a_vector_does_not_depend_on_its_company(base: Encoder, texts: list[str]) -> None:
    """The same text has the same vector, alone or among many."""
    together = base.encode(["a cat", *texts])[0]
    assert together.tolist() == base.encode(["a cat"])[0].tolist()


def test_chinese_words_are_glossed() -> None:
    """A word has English glosses; a particle has none; other text stays."""
    assert "doctor" in gloss("医生")
    assert gloss_text("see 医生 now").startswith("see ")
    assert "医生" not in gloss_text("医生")
    assert gloss("𠀀𠀁") == ""


def test_encoder_names_are_resolved() -> None:
    """Known ones, none, and an error that lists them."""
    assert {"none", "wordllama"} <= set(encoder_names())
    assert encoder_of("none") is None
    assert why_no_encoder("none")
    with pytest.raises(InvalidInput, match="unknown encoder") as error:
        encoder_of("nosuch")
    assert "wordllama" in error.value.hint


def test_missing_package_gives_a_reason_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recall then uses words alone."""
    monkeypatch.setattr(encoders, "_KNOWN", dict(encoders._KNOWN))

    def missing() -> Encoder:
        raise MissingExtra("the package is not installed")

    register_encoder("gone", missing)
    assert encoder_of("gone") is None
    assert "not installed" in why_no_encoder("gone")
    encoders._load_encoder.cache_clear()
