"""Candidates: past texts that may answer, prepared so that any number of questions can be compared with them.

Owns what is computed for a text ahead of queries (its terms, its pieces, whether it asks or contains a number).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from datetime import date

from backscroll.recall.question.analysis import cues_in, without_cue
from backscroll.recall.text.terms import terms_of
from backscroll.vocab.values.pattern import late

_SENTENCE = late(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")
_QUESTION = late(r"[?？]")
_LETTER = late(r"[^\W_]")
#: A name after a greeting, or set off by a comma at the end of a sentence.
_CALLED = late(
    r"\b(?i:hi|hey|hello|hiya|thanks|thank you|good morning|good evening|good night|morning|bye|dear|congrats|congratulations)[ ,]+([A-Z][a-z]{1,14})\b(?=\s*[,.!?:;\n-]|\s*$)|,\s([A-Z][a-z]{1,14})(?=[.!?]|\s*$)"
)
_IDLE = 60  # characters up to which a text may be idle
_SHORT = 160  # characters up to which a text is one piece
_PIECE = 220
_MOST_PIECES = 24
_FRAME = 4.0  # tokens for naming the speaker
_LOOKED_AT = 2_000  # characters that are searched for numbers and times


@dataclass(frozen=True, slots=True)
class Candidate:
    """One past text."""

    key: Hashable
    text: str
    speaker: str = ""
    assistant: bool = False
    day: date | None = None
    session: Hashable = 0  # the sitting in which it was said; candidates of a session are adjacent


@dataclass(frozen=True, slots=True)
class PreparedCandidate:
    """A candidate with precomputed features."""

    candidate: Candidate
    words: tuple[str, ...]
    pairs: tuple[str, ...]
    names: tuple[str, ...]  # terms of the speaker's name
    pieces: tuple[str, ...]
    piece_words: tuple[tuple[str, ...], ...]  # terms of each piece; empty if there is only one
    asks: bool
    numbers: int
    times: int
    standing: int  # wishes that are meant to last
    personal: int  # words about the speaker
    addressed: tuple[str, ...]  # terms of the names by which it addresses a person
    idle: bool  # a greeting, thanks or a nod, without content
    price: float  # estimated cost in tokens


def pieces_of(text: str) -> tuple[str, ...]:
    """Split a text into pieces of some sentences each; short ones are one piece."""
    if len(text) < _SHORT:
        return (text,)
    pieces: list[str] = []
    for sentence in _sentences(text):
        if not sentence or not sentence.strip():
            continue
        if pieces and len(pieces[-1]) + len(sentence) <= _PIECE:
            pieces[-1] += f" {sentence}"
        elif len(pieces) == _MOST_PIECES:
            break
        else:
            pieces.append(sentence)
    return tuple(pieces) or (text,)


def _sentences(text: str) -> Iterator[str]:
    """Yield sentences lazily: of a result of many megabytes only the first are needed."""
    start = 0
    for seam in _SENTENCE.finditer(text):
        yield text[start : seam.start()]
        start = seam.end()
    yield text[start:]


def prepare(candidate: Candidate) -> PreparedCandidate:
    """Compute the features of a text."""
    words, pairs = terms_of(candidate.text)
    kept, pieces = tuple(words), pieces_of(candidate.text)
    return PreparedCandidate(
        candidate,
        kept,
        kept if pairs is words else tuple(pairs),
        tuple(terms_of(candidate.speaker)[0]),
        pieces,
        tuple(tuple(terms_of(piece)[0]) for piece in pieces) if len(pieces) > 1 else (),
        _QUESTION.search(candidate.text[-40:]) is not None,
        cues_in("number", candidate.text[:_LOOKED_AT]),
        cues_in("time", candidate.text[:_LOOKED_AT]),
        cues_in("standing", candidate.text[:_LOOKED_AT]),
        cues_in("first_person", candidate.text[:_LOOKED_AT]),
        addressed_in(candidate.text),
        is_idle(candidate.text),
        price_of(candidate.text) + _FRAME,
    )


def addressed_in(text: str) -> tuple[str, ...]:
    """Return terms of the names by which a text addresses a person: "Hey Kate, …", "Thanks, Kate!"."""
    names = [found[1] or found[2] for found in _CALLED.finditer(text[:_LOOKED_AT])]
    return tuple(dict.fromkeys(term for name in names for term in terms_of(name)[0]))


def is_idle(text: str) -> bool:
    """Return True for a greeting, thanks or a nod ("Yeah .", "嗯嗯，好的"): nothing remains without such words."""
    return len(text) <= _IDLE and not _LETTER.search(without_cue("idle", text))


def price_of(text: str) -> float:
    """Estimate the tokens of a text without counting: good enough to compare texts, not to keep a budget."""
    if text.isascii():
        return len(text) / 4.2
    wide = (len(text.encode("utf-8", "replace")) - len(text)) / 2
    return max(len(text) - wide, 0) / 4.2 + wide * 0.75
