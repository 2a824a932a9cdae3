"""The vectors of a conversation: its texts, their pieces, its sessions and its words.

Owns the matrices and how they grow. The common component of all texts is subtracted first; it is estimated from the first texts (512 of
them, 1,024, …: the largest such number available), so that a new text adds a row and changes no other, and a space that grew
equals one that was built at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from backscroll.recall.index.arrays import GrowingArray
from backscroll.recall.index.candidate import PreparedCandidate
from backscroll.recall.index.vectors import Encode, products, themes_of, unit
from backscroll.recall.tuning import KIN_FROM

if TYPE_CHECKING:
    from numpy import float16, float32
    from numpy.typing import NDArray

#: Vectors, one in each row; stored ones have half precision.
Rows: TypeAlias = "NDArray[float16 | float32]"
#: A text -> its vector and those of its pieces, one row each.
Vectors: TypeAlias = "Callable[[Sequence[PreparedCandidate]], list[NDArray[float32]]]"
_SETTLED = 512  # texts from which on the common component is estimated from the first ones
_KIN = 12  # similar terms considered for a term
_REMEMBERED = 4_000  # terms whose neighbours are cached


def vectors_of(encode: Encode) -> Vectors:
    """Return the vectors of texts and of their pieces, using an encoder."""

    def make(texts: Sequence[PreparedCandidate]) -> list[NDArray[float32]]:
        flat: list[str] = []
        sizes: list[int] = []
        for text in texts:
            rows = [text.candidate.text, *text.pieces] if len(text.pieces) > 1 else [text.candidate.text]
            flat += rows
            sizes.append(len(rows))
        encoded = encode(flat) if flat else np.zeros((0, 0), np.float32)
        return np.split(encoded, np.cumsum(sizes)[:-1]) if sizes else []

    return make


def round_sample_size(size: int) -> int:
    """Return how many of so many texts determine the common component."""
    return size if size < _SETTLED else _SETTLED << ((size // _SETTLED).bit_length() - 1)


@dataclass(frozen=True, slots=True)
class TermNeighbours:
    """Terms of the vocabulary with nearly the same meaning as a term: their indexes, and similarities (0 to 1)."""

    places: NDArray[np.intp]
    likeness: NDArray[float32]


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """The matrices of an index: vectors of texts, of pieces, of sessions, of terms; all centred but the last."""

    centre: NDArray[float32]
    themes: NDArray[
        float32
    ]  # the directions in which the texts differ most: the general subject of the conversation
    texts: NDArray[float32]
    peculiar: NDArray[float32]  # the part of each text that is not along these directions
    pieces: NDArray[float32]  # of texts that have several
    parted: NDArray[np.intp]  # those texts
    first_piece: NDArray[np.intp]  # of each of them
    sessions: NDArray[float32]
    vocabulary: list[str]  # every term that some text contains, in order of first use
    terms: NDArray[float32]  # of the vocabulary
    encode: Encode
    _kin: dict[str, tuple[int, TermNeighbours]]

    def kin(self, terms: Sequence[str]) -> list[dict[str, float]]:
        """Return the terms of the vocabulary that resemble each of these, with similarities; cached, because vocabularies only
        grow.
        """
        size = len(self.vocabulary)
        known = [self._kin.get(term) for term in terms]
        due = [number for number, found in enumerate(known) if found is None or found[0] < size]
        if due:
            start = min(found[0] if (found := known[n]) is not None else 0 for n in due)
            rows = self.encode([terms[n] for n in due])
            near = products(self.terms[start:], rows)
            if len(self._kin) > _REMEMBERED:
                self._kin.clear()
            for column, number in enumerate(due):
                found = known[number]
                since = 0 if found is None else found[0]
                values = near[since - start :, column]
                places = np.flatnonzero(values >= KIN_FROM)
                places, values = places + since, values[places]
                if found is not None:
                    places = np.concatenate([found[1].places, places])
                    values = np.concatenate([found[1].likeness, values])
                if len(places) > _KIN:
                    best = np.argsort(-values, kind="stable")[:_KIN]
                    places, values = places[best], values[best]
                known[number] = self._kin[terms[number]] = size, TermNeighbours(places, values)
        words = self.vocabulary
        return [
            {
                words[place]: float(value)
                for place, value in zip(found[1].places, found[1].likeness, strict=True)
            }
            for found in known
            if found is not None
        ]


class _Matrices:
    """The rows of texts under one common centre."""

    def __init__(self, whole: NDArray[float32]) -> None:
        """Compute the common centre of these texts."""
        width = int(whole.shape[1])
        self.settled = len(whole)
        self.centre: NDArray[float32] = whole.mean(axis=0, dtype=np.float32)
        self.themes = themes_of(whole - self.centre)
        self.texts, self.pieces = GrowingArray(np.float32, width), GrowingArray(np.float32, width)
        self.sums = GrowingArray(np.float32, width)  # of each session
        self.peculiar = GrowingArray(np.float32)
        self.parted, self.first = GrowingArray(np.intp), GrowingArray(np.intp)

    def extend(self, new: Sequence[Rows], sessions: Sequence[int]) -> None:
        """Add texts."""
        centred = np.stack([rows[0] for rows in new]).astype(np.float32) - self.centre
        texts = unit(centred)
        along = products(texts, self.themes)
        left = (texts * texts).sum(axis=1) - (along * along).sum(axis=1)
        for number, rows in enumerate(new, self.texts.size):
            if len(rows) > 1:
                self.parted.extend([number])
                self.first.extend([self.pieces.size])
                self.pieces.extend(unit(rows[1:].astype(np.float32) - self.centre))
        self.texts.extend(texts)
        self.peculiar.extend(np.sqrt(np.maximum(left, 1e-4)))
        more = sessions[-1] + 1 - self.sums.size
        if more > 0:
            self.sums.extend(np.zeros((more, self.sums.width), np.float32))
        np.add.at(self.sums.view, np.asarray(sessions, np.intp), centred)


@dataclass(slots=True)
class VectorSpaceBuilder:
    """Builds the matrices of an index on demand."""

    encode: Encode
    vectors: list[Rows] = field(default_factory=list["Rows"])
    sessions: list[int] = field(default_factory=list[int])
    _made: _Matrices | None = None
    _vocabulary: list[str] = field(default_factory=list[str])
    _terms: GrowingArray | None = None
    _kin: dict[str, tuple[int, TermNeighbours]] = field(
        default_factory=dict[str, "tuple[int, TermNeighbours]"]
    )
    _space: VectorSpace | None = None

    def extend(
        self, texts: Sequence[PreparedCandidate], sessions: Sequence[int], vectors: Sequence[Rows] | None
    ) -> None:
        """Add texts; their rows are computed on demand."""
        self._space = None
        self.vectors.extend(vectors_of(self.encode)(texts) if vectors is None else vectors)
        self.sessions.extend(sessions)

    def build_space(self, terms: Collection[str]) -> VectorSpace:
        """Return the matrices of all texts so far; `terms` are the vocabulary, which only grows at its end."""
        if self._space is None:
            many = round_sample_size(len(self.vectors))
            if self._made is None or self._made.settled != many:
                whole = np.stack([rows[0] for rows in self.vectors[:many]])
                self._made = _Matrices(whole.astype(np.float32))
            done = self._made.texts.size
            if done < len(self.vectors):
                self._made.extend(self.vectors[done:], self.sessions[done:])
            self._space = self._laid_out(self._made, terms)
        return self._space

    def _laid_out(self, made: _Matrices, terms: Collection[str]) -> VectorSpace:
        known = len(self._vocabulary)
        if self._terms is None:
            self._terms = GrowingArray(np.float32, len(made.centre))
        if known < len(terms):
            fresh = list(islice(terms, known, None))
            self._vocabulary += fresh
            self._terms.extend(self.encode(fresh))
        return VectorSpace(
            made.centre,
            made.themes,
            made.texts.view,
            made.peculiar.view,
            made.pieces.view,
            made.parted.view,
            made.first.view,
            unit(made.sums.view),
            self._vocabulary,
            self._terms.view,
            self.encode,
            self._kin,
        )
