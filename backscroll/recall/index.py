"""An index of one conversation in memory: its texts, ready to be asked.

Owns the order of the candidates, their postings and their matrices. Grows at its end; anything else (an edit, a deletion) is an index
made anew from prepared candidates, which is quick because preparing and encoding are done once per text by whoever holds them.
So an index that grew equals one that was built at once. Before: `recall/candidate`. After: `recall/clues`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from backscroll.recall.candidate import Prepared
from backscroll.recall.lexical import Postings
from backscroll.recall.vectors import Encode, products, themes_of, unit

if TYPE_CHECKING:
    from numpy import float16, float32, float64
    from numpy.typing import NDArray

#: Vectors, one in each row; those that are kept have half precision.
Rows: TypeAlias = "NDArray[float16 | float32]"
#: A text -> its vector and those of its pieces, one row each.
Vectors: TypeAlias = "Callable[[Sequence[Prepared]], list[NDArray[float32]]]"


def vectors_of(encode: Encode) -> Vectors:
    """The vectors of texts and of their pieces, by an encoder."""

    def make(texts: Sequence[Prepared]) -> list[NDArray[float32]]:
        flat: list[str] = []
        sizes: list[int] = []
        for text in texts:
            rows = [text.candidate.text, *text.pieces] if len(text.pieces) > 1 else [text.candidate.text]
            flat += rows
            sizes.append(len(rows))
        encoded = encode(flat) if flat else np.zeros((0, 0), np.float32)
        return np.split(encoded, np.cumsum(sizes)[:-1]) if sizes else []

    return make


@dataclass(frozen=True, slots=True)
class Space:
    """The matrices of an index: vectors of texts, of pieces, of sessions, of terms; all centred but the last."""

    centre: NDArray[float32]
    themes: NDArray[
        float32
    ]  # the directions in which the texts differ most: what the conversation is about anyway
    texts: NDArray[float32]
    apart: NDArray[float32]  # the texts without these directions: what is peculiar to each
    pieces: NDArray[float32]
    first_piece: NDArray[np.intp]  # of each text
    sessions: NDArray[float32]
    vocabulary: list[str]  # every term that some text holds, in the order of their first use
    terms: NDArray[float32]  # of the vocabulary


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known of each text before anybody asks."""

    sessions: NDArray[np.intp]
    session_sizes: NDArray[np.intp]
    assistant: NDArray[float64]
    letters: NDArray[float64]  # logarithm of the length
    asks: NDArray[float64]
    numbers: NDArray[float64]
    times: NDArray[float64]
    standing: NDArray[float64]
    personal: NDArray[float64]
    days: NDArray[float64]  # ordinal of the day; NaN where nobody knows it
    words: NDArray[float64]  # how many
    pairs: NDArray[float64]
    session_words: NDArray[float64]


@dataclass(slots=True)
class Index:
    """Candidates in order, ready for questions."""

    encode: Encode | None = None
    texts: list[Prepared] = field(default_factory=list[Prepared])
    words: Postings = field(default_factory=Postings)
    pairs: Postings = field(init=False)
    by_session: Postings = field(default_factory=Postings)
    names: set[str] = field(default_factory=set[str])
    sessions: list[int] = field(default_factory=list[int])
    _vectors: list[Rows] = field(default_factory=list["Rows"])
    _terms: NDArray[float32] | None = None  # of the vocabulary, which only grows at its end
    _space: Space | None = None
    _shape: Shape | None = None

    def __post_init__(self) -> None:
        self.pairs = self.words

    def __len__(self) -> int:
        return len(self.texts)

    def extend(self, texts: Sequence[Prepared], vectors: Sequence[Rows] | None = None) -> None:
        """Add texts at the end. `vectors` are those of `vectors_of`, where somebody has them at hand."""
        self._space = self._shape = None
        if self.encode is not None:
            self._vectors.extend(vectors_of(self.encode)(texts) if vectors is None else vectors)
        for text in texts:
            number = len(self.texts)
            before = self.texts[-1].candidate.session if self.texts else None
            opens = not self.texts or text.candidate.session != before
            session = self.sessions[-1] + opens if self.sessions else 0
            self.sessions.append(session)
            self.texts.append(text)
            self.words.add(number, text.words)
            if self.pairs is self.words and text.pairs != text.words:
                self.pairs = self._pairs_so_far(number)
            if self.pairs is not self.words:
                self.pairs.add(number, text.pairs)
            self.by_session.add(session, text.words)
            self.names.update(text.names)

    def _pairs_so_far(self, number: int) -> Postings:
        """Pairs have postings of their own from the first text in a script without spaces on; until then they are the words."""
        pairs = Postings()
        for before in range(number):
            pairs.add(before, self.texts[before].pairs)
        return pairs

    @property
    def shape(self) -> Shape:
        """What is known of the texts."""
        if self._shape is None:
            self._shape = _shape_of(self)
        return self._shape

    @property
    def space(self) -> Space | None:
        """The matrices; None without an encoder."""
        if self._space is None and self.encode is not None and self.texts:
            self._space = self._make_space(self.encode)
        return self._space

    def _make_space(self, encode: Encode) -> Space:
        whole = np.stack([rows[0] for rows in self._vectors]).astype(np.float32)
        parts = [rows[1:] if len(rows) > 1 else rows for rows in self._vectors]
        centre = whole.mean(axis=0, dtype=np.float32)
        centred = unit(whole - centre)
        themes = themes_of(whole - centre)
        sums = np.zeros((self.sessions[-1] + 1, whole.shape[1]), np.float32)
        np.add.at(sums, self.sessions, whole - centre)
        vocabulary = list(self.words.held)
        terms = np.zeros((0, whole.shape[1]), np.float32) if self._terms is None else self._terms
        if len(terms) < len(vocabulary):
            terms = self._terms = np.concatenate([terms, encode(vocabulary[len(terms) :])])
        return Space(
            centre,
            themes,
            centred,
            unit((centred - products(centred, themes) @ themes).astype(np.float32)),
            unit(np.concatenate(parts).astype(np.float32) - centre),
            np.cumsum([0, *(len(p) for p in parts[:-1])]),
            unit(sums),
            vocabulary,
            terms,
        )


def _shape_of(index: Index) -> Shape:
    texts = index.texts
    sessions = np.asarray(index.sessions, np.intp)
    days = [t.candidate.day for t in texts]
    return Shape(
        sessions,
        np.bincount(sessions),
        np.asarray([t.candidate.assistant for t in texts], float),
        np.log1p([len(t.candidate.text) for t in texts]),
        np.asarray([t.asks for t in texts], float),
        np.asarray([t.numbers for t in texts], float),
        np.asarray([t.times for t in texts], float),
        np.asarray([t.standing for t in texts], float),
        np.asarray([t.personal for t in texts], float),
        np.asarray([np.nan if day is None else day.toordinal() for day in days], float),
        np.asarray(index.words.lengths, float),
        np.asarray(index.pairs.lengths, float),
        np.asarray(index.by_session.lengths, float),
    )
