"""Clauses of an English sentence: the subject of a verb and its mood: denied, ended, wished, guessed, reported, asked.

Owns the subject of a verb and the mood of its clause. Refuses meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backscroll.derive.extract.en.grammar.phrases import NounPhrase, ParsedSentence, phrase_before
from backscroll.derive.extract.en.grammar.words import EnglishWord, words

#: Words after which the phrase takes "that" or nothing else.
_ENDS_PHRASE = frozenset("who which that where when because".split())


@dataclass(slots=True)
class Mood:
    """The mood of a clause."""

    sure: float = 1.0
    denied: bool = False
    over: bool = False  # "no longer", "used to", "not any more"
    past: bool = False


def subject(line: ParsedSentence, verb: int) -> tuple[tuple[NounPhrase, ...], Mood | None]:
    """Return the subject of the verb at `verb` and the mood; no mood: nothing is stated."""
    mood = Mood()
    at = verb - 1
    while at >= 0 and (line.tag(at) in "ANV" or _was_used(line, at) or _no_longer(line, at)):
        _auxiliary(line, at, mood)
        at -= 1
    low = line.low(at)
    if low == "*" and line.low(at - 1) != "*" and line.words[at].end == line.words[at + 1].start:
        return (NounPhrase(at, at, pronoun="i"),), mood  # narration: "*smiles*"
    if low == "to" or (line.tag(at) == "R" and low != "like") or line.tag(at) == "'":
        return (), None
    if low in _ENDS_PHRASE and (line.tag(at - 1) in "wK" or (low == "who" and line.low(at - 1) == ",")):
        found = phrase_before(line, at if line.low(at - 1) != "," else at - 1)
        return ((found,), _clause(line, found.start, mood)) if found else ((), None)
    if line.tag(at) == "C" or low == "," or line.tag(at) == "V":
        beside = _beside(line, at) if low == "," else None
        if beside is not None:
            return (beside,), _clause(line, beside.start, mood)
        if line.subjects and low in {"and", "but", ",", "or"} and line.subjects[0].pronoun != "you":
            return line.subjects, _clause(line, line.subjects[0].start, mood)
        return (), None
    found = phrase_before(line, at + 1)
    several = _joined_subjects(line, found) if found is not None else ()
    return (several, _clause(line, several[0].start, mood)) if several else ((), None)


def _joined_subjects(line: ParsedSentence, found: NounPhrase) -> tuple[NounPhrase, ...]:
    """Return the subject, and the one before it in "Ann and Tom"; none if the subject is unclear ("the man with the hat")."""
    if line.tag(found.start - 1) == "R":
        return ()
    other = phrase_before(line, found.start - 1) if line.low(found.start - 1) == "and" else None
    if other is None or line.tag(other.start - 1) in "AB":
        return (found,)
    return () if line.tag(other.start - 1) == "R" else (other, found)  # "places like Rome and Turin are"


def _beside(line: ParsedSentence, comma: int) -> NounPhrase | None:
    """Return the name before an apposition: "Ann, a forest elf, gave"."""
    inner = phrase_before(line, comma)
    if (
        inner is None
        or not (inner.det or inner.owner)
        or line.low(inner.start - 1) != ","
        or line.tag(inner.start - 2) != "K"
    ):
        return None
    return phrase_before(line, inner.start - 1)


def _no_longer(line: ParsedSentence, at: int) -> bool:
    return "no longer" in {f"{line.low(at - 1)} {line.low(at)}", f"{line.low(at)} {line.low(at + 1)}"}


def _was_used(line: ParsedSentence, at: int) -> bool:
    return (line.low(at) == "to" and line.low(at - 1) == "used") or (
        line.low(at) == "used" and line.low(at + 1) == "to"
    )


def _auxiliary(line: ParsedSentence, at: int, mood: Mood) -> None:
    low = line.low(at)
    if line.tag(at) == "N":
        mood.denied = not mood.denied or low == "never"
    elif low in words("hedges", "modals"):
        mood.sure = min(mood.sure, 0.3)
    elif low in {"was", "were", "did", "had"}:
        mood.past = True
    elif low == "used":
        mood.over = True
    elif low in {"maybe", "perhaps", "probably", "apparently"}:
        mood.sure = min(mood.sure, 0.45)
    elif low in {"longer", "anymore"}:
        mood.over = True


def _clause(line: ParsedSentence, start: int, mood: Mood) -> Mood | None:
    """Return the mood by what precedes the subject: conditions and doubts."""
    at = start - 1
    low = line.low(at)
    if line.asked and not _tagged_question(line):
        return None
    if line.tag(at) == "A" and line.tag(at - 1) in '.W,"':
        return None  # asked: "are you", or wished: "may he"
    if low in {"while", "once", "until", "till", "whenever"} or line.tag(at) == "W":
        mood.sure = min(mood.sure, 0.4)
    seen = 0
    while at >= 0 and seen < 14 and line.tag(at) not in '."':
        low = line.low(at)
        if low in words("hedges", "blocks") or (low == "as" and line.low(at + 1) in {"if", "though"}):
            return None
        if seen < 6:
            mood.sure = min(mood.sure, _doubt(line, at))
        if line.tag(at) == "C" and low not in {"and", "but", "because", "since", "so"}:
            break
        at -= 1
        seen += 1
    return mood


def _doubt(line: ParsedSentence, at: int) -> float:
    """Return how certain a word before a clause leaves it."""
    low = line.low(at)
    if low in words("hedges", "doubts"):
        return 0.6 if line.low(at - 1) == "i" else 0.45
    return 0.45 if low in words("hedges", "reports") else 1.0


def _tagged_question(line: ParsedSentence) -> bool:
    """Read a statement with a tag question: "you're Ann, right?"."""
    size = len(line.words)
    return any(
        line.low(i) in {"right", "correct", "yes", "no", "eh", "huh", "isn"} and line.low(i - 1) == ","
        for i in range(max(0, size - 4), size)
    )


def starts_question(tokens: Sequence[EnglishWord]) -> bool:
    """Return True for a sentence that begins as a question."""
    return any(w.low == "?" for w in tokens[-3:])


def any_more(line: ParsedSentence, at: int) -> bool:
    """Return True for "not … any more"."""
    return any(
        line.low(k) == "anymore" or (line.low(k) == "more" and line.low(k - 1) == "any")
        for k in range(at, min(at + 8, len(line.words)))
    )
