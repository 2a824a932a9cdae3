"""An in-memory index of one conversation, ready for questions.

Owns the order of the candidates, their postings and their matrices. Grows at its end; anything else (an edit, a deletion) builds
a new index from prepared candidates, which is quick because the owner of the index prepares and encodes each text once.
So an index that grew equals one that was built at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from backscroll.recall.index.arrays import GrowingArray
from backscroll.recall.index.candidate import PreparedCandidate
from backscroll.recall.index.lexical import Postings
from backscroll.recall.index.space import Rows, VectorSpace, VectorSpaceBuilder, vectors_of
from backscroll.recall.index.vectors import Encode
from backscroll.recall.text.words import is_unspaced

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

__all__ = ["RecallIndex", "TextShape", "VectorSpace", "vectors_of"]


@dataclass(frozen=True, slots=True)
class TextShape:
    """The features of each text that do not depend on a query."""

    sessions: NDArray[np.intp]
    session_sizes: NDArray[np.intp]
    starts: NDArray[np.intp]  # the number of the first text of each text's session …
    ends: NDArray[np.intp]  # … and the one after its last
    assistant: NDArray[float64]
    letters: NDArray[float64]  # logarithm of the length
    asks: NDArray[float64]
    numbers: NDArray[float64]
    times: NDArray[float64]
    standing: NDArray[float64]
    personal: NDArray[float64]
    idle: NDArray[float64]  # 1 for a greeting or a nod
    days: NDArray[float64]  # ordinal of the day; NaN if unknown
    prices: NDArray[float64]
    speakers: NDArray[np.intp]  # by number
    words: NDArray[float64]  # how many
    pairs: NDArray[float64]
    session_words: NDArray[float64]
    piece_words: NDArray[float64]
    piece_of: NDArray[np.intp]  # the text of each piece, of texts that have several


#: How often a person must be addressed by a name before it is theirs; … times as often as they use it themselves.
_OFTEN, _MOSTLY = 2, 5
#: Numbers read from each text, in the order of the fields of `TextShape`.
_READ = ("assistant", "letters", "asks", "numbers", "times", "standing", "personal", "idle", "days", "prices")


def _read(text: PreparedCandidate) -> tuple[float, ...]:
    day = text.candidate.day
    return (
        float(text.candidate.assistant),
        float(np.log1p(len(text.candidate.text))),
        float(text.asks),
        float(text.numbers),
        float(text.times),
        float(text.standing),
        float(text.personal),
        float(text.idle),
        np.nan if day is None else float(day.toordinal()),
        text.price,
    )


@dataclass(slots=True)
class RecallIndex:
    """Candidates in order, ready for questions."""

    encode: Encode | None = None
    texts: list[PreparedCandidate] = field(default_factory=list[PreparedCandidate])
    words: Postings = field(default_factory=Postings)
    pairs: Postings = field(init=False)
    by_piece: Postings = field(default_factory=Postings)  # of texts that have several
    names: set[str] = field(default_factory=set[str])
    speakers: dict[tuple[str, ...], int] = field(default_factory=dict[tuple[str, ...], int])
    called: dict[str, Counter[int]] = field(
        default_factory=dict[str, "Counter[int]"]
    )  # name -> who uses it for whom
    unspaced: int = 0  # texts in a script without spaces
    sessions: list[int] = field(default_factory=list[int])
    _session: Hashable = None  # of the last text
    _spacing: VectorSpaceBuilder | None = field(init=False, default=None)
    _read: GrowingArray = field(init=False)
    _session_of: GrowingArray = field(init=False)
    _speaker_of: GrowingArray = field(init=False)
    _words: GrowingArray = field(init=False)
    _piece_of: GrowingArray = field(init=False)
    _piece_words: GrowingArray = field(init=False)
    _shape: TextShape | None = None

    def __post_init__(self) -> None:
        self.pairs = self.words
        self._spacing = None if self.encode is None else VectorSpaceBuilder(self.encode)
        self._read = GrowingArray(float, len(_READ))
        self._words, self._piece_words = GrowingArray(float), GrowingArray(float)
        self._session_of, self._speaker_of, self._piece_of = (
            GrowingArray(np.intp),
            GrowingArray(np.intp),
            GrowingArray(np.intp),
        )

    def __len__(self) -> int:
        return len(self.texts)

    def extend(
        self,
        texts: Sequence[PreparedCandidate],
        vectors: Sequence[Rows] | None = None,
        sessions: Sequence[Hashable] | None = None,
    ) -> None:
        """Add texts at the end. `vectors` are those of `vectors_of`, if the caller has them; `sessions` are their sessions,
        if they differ from those of the candidates.
        """
        if not texts:
            return
        self._shape = None
        for number, text in enumerate(texts):
            self._add(text, text.candidate.session if sessions is None else sessions[number])
        self._read.extend([_read(text) for text in texts])
        self._words.extend([len(text.words) for text in texts])
        self._session_of.extend(self.sessions[-len(texts) :])
        self._speaker_of.extend([self.speakers[text.names] for text in texts])
        if self._spacing is not None:
            self._spacing.extend(texts, self.sessions[-len(texts) :], vectors)

    def _add(self, text: PreparedCandidate, session: Hashable) -> None:
        number = len(self.texts)
        opens = bool(self.texts) and session != self._session
        self._session = session
        self.sessions.append(self.sessions[-1] + opens if self.sessions else 0)
        self.texts.append(text)
        self.words.add(number, text.words)
        self.unspaced += text.pairs != text.words
        if self.pairs is self.words and text.pairs != text.words:
            self.pairs = self._pairs_so_far(number)
        if self.pairs is not self.words:
            self.pairs.add(number, text.pairs)
        for words in text.piece_words:
            self.by_piece.add(self._piece_of.size, words)
            self._piece_of.extend([number])
            self._piece_words.extend([len(words)])
        self.names.update(text.names)
        speaker = self.speakers.setdefault(text.names, len(self.speakers))
        for name in text.addressed:
            self.called.setdefault(name, Counter())[speaker] += 1

    def speaker_called(self, name: str) -> int | None:
        """Return the speaker whom the other one of two addresses by a name other than their own label."""
        by = self.called.get(name)
        if by is None or name in self.names or len(self.speakers) != 2:
            return None
        ((speaker, times),) = by.most_common(1)
        return 1 - speaker if times >= max(_OFTEN, _MOSTLY * (by.total() - times)) else None

    def is_mixed(self, words: Sequence[str]) -> bool:
        """Return True if the texts or the words are in a script without spaces: then there may be counterparts."""
        return self.pairs is not self.words or any(is_unspaced(word) for word in words)

    def _pairs_so_far(self, number: int) -> Postings:
        """Return the postings of character pairs: separate ones from the first text in a script without spaces on; until then those of the
        words.
        """
        pairs = Postings()
        for before in range(number):
            pairs.add(before, self.texts[before].pairs)
        return pairs

    @property
    def shape(self) -> TextShape:
        """The features of the texts."""
        if self._shape is None:
            self._shape = self._make_shape()
        return self._shape

    @property
    def space(self) -> VectorSpace | None:
        """The matrices; None without an encoder."""
        if self._spacing is None or not self.texts:
            return None
        return self._spacing.build_space(self.words.held)

    def _make_shape(self) -> TextShape:
        sessions = self._session_of.view
        sizes = np.bincount(sessions)
        ends = np.cumsum(sizes)
        read = dict(zip(_READ, np.ascontiguousarray(self._read.view.T), strict=True))
        words = self._words.view
        return TextShape(
            sessions=sessions,
            session_sizes=sizes,
            starts=(ends - sizes)[sessions],
            ends=ends[sessions],
            speakers=self._speaker_of.view,
            words=words,
            pairs=words if self.pairs is self.words else np.asarray(self.pairs.lengths, float),
            session_words=np.bincount(sessions, words).astype(float),
            piece_words=self._piece_words.view,
            piece_of=self._piece_of.view,
            **read,
        )
