"""Candidates: texts of the past that may answer, prepared so that any number of questions can be put to them.

Owns what is looked at in a text ahead of queries (its terms, its pieces, whether it asks or tells a number).
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
_IDLE = 60  # characters up to which a text may say nothing
_SHORT = 160  # characters up to which a text is one piece
_PIECE = 220
_MOST_PIECES = 24
_FRAME = 4.0  # tokens for who said it
_LOOKED_AT = 2_000  # characters in which numbers and times are looked for


@dataclass(frozen=True, slots=True)
class Candidate:
    """One thing that was said."""

    key: Hashable
    text: str
    speaker: str = ""
    assistant: bool = False
    day: date | None = None
    session: Hashable = 0  # what was said in one sitting; candidates of a session are next to each other


@dataclass(frozen=True, slots=True)
class PreparedCandidate:
    """A candidate with what recall compares."""

    candidate: Candidate
    words: tuple[str, ...]
    pairs: tuple[str, ...]
    names: tuple[str, ...]  # terms of the speaker's name
    pieces: tuple[str, ...]
    piece_words: tuple[tuple[str, ...], ...]  # terms of each piece; none where there is one piece
    asks: bool
    numbers: int
    times: int
    standing: int  # wishes that are meant to last
    personal: int  # words about the speaker
    addressed: tuple[str, ...]  # terms of the names by which it calls a person
    idle: bool  # a greeting, thanks or a nod: says nothing
    price: float  # about how many tokens it costs


def pieces_of(text: str) -> tuple[str, ...]:
    """Return a text in pieces of some sentences each; short ones are one piece."""
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
    """Yield sentences one after the other: of a result of many megabytes only the first are wanted."""
    start = 0
    for seam in _SENTENCE.finditer(text):
        yield text[start : seam.start()]
        start = seam.end()
    yield text[start:]


def prepare(candidate: Candidate) -> PreparedCandidate:
    """Look at a text once."""
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
    """Return terms of the names by which a text calls a person: "Hey Kate, …", "Thanks, Kate!"."""
    names = [found[1] or found[2] for found in _CALLED.finditer(text[:_LOOKED_AT])]
    return tuple(dict.fromkeys(term for name in names for term in terms_of(name)[0]))


def is_idle(text: str) -> bool:
    """Return True for a greeting, thanks or a nod ("Yeah .", "嗯嗯，好的"): nothing is left when such words are taken away."""
    return len(text) <= _IDLE and not _LETTER.search(without_cue("idle", text))


def price_of(text: str) -> float:
    """Estimate the tokens of a text without counting: good enough to compare texts, not to keep a budget."""
    if text.isascii():
        return len(text) / 4.2
    wide = (len(text.encode("utf-8", "replace")) - len(text)) / 2
    return max(len(text) - wide, 0) / 4.2 + wide * 0.75
