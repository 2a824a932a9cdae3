"""Assertions by rules from English prose: who and what is spoken of, what is said of them, how they stand to each other.

Owns which parts of a message are read (prose, items; never code, tables, headings or data), in which order the rules run, and the
limits. Refuses to decide who a pronoun means beyond the message: `graph/identity` does. Before: `derive/said`. After:
`derive/assertions`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from backscroll.derive.extract_en_being import appositions, being, having, owned_names
from backscroll.derive.extract_en_calling import calls, introductions, names, relatives
from backscroll.derive.extract_en_doing import doing
from backscroll.derive.extract_en_names import Seen, merge, survey
from backscroll.derive.extract_en_phrases import Line, starts_question
from backscroll.derive.extract_en_reading import Reading, Turn
from backscroll.derive.extract_en_words import Word, cut
from backscroll.derive.said import Said
from backscroll.derive.sentences import Sentence, sentences
from backscroll.vocab.assertion import Assertion

#: Characters of a message that are read in full; of longer ones the first three quarters of this and the last quarter.
WHOLE = 20_000
LONGEST = 600  # characters of a sentence; longer ones are data, or no prose
_DATA = re.compile(r"\S{60}|[{}<>|=\\]{2}|[\w.-]+/[\w.-]+/[\w.-]+|https?://")


def read(sentences: Sequence[Said]) -> list[Assertion]:
    """What the messages of one turn say, in order."""
    turn = Turn()
    cut_up = [_lines(said.text) for said in sentences]
    seen = survey(words for lines in cut_up for _, words in lines)
    for said, lines in zip(sentences, cut_up, strict=True):
        _message(said, lines, seen, turn)
    return [claim for claim in turn.found.values()]


def _lines(text: str) -> list[tuple[Sentence, list[Word]]]:
    out: list[tuple[Sentence, list[Word]]] = []
    for part, at in _parts(text):
        for sentence in sentences(part):
            if (
                sentence.shape not in {"prose", "item"}
                or len(sentence.text) > LONGEST
                or _DATA.search(sentence.text)
            ):
                continue
            moved = sentence._replace(start=sentence.start + at, end=sentence.end + at)
            out.append((moved, cut(moved.text, moved.start)))
    return out


def _parts(text: str) -> list[tuple[str, int]]:
    if len(text) <= WHOLE:
        return [(text, 0)]
    first = text.rfind("\n", 0, WHOLE * 3 // 4) + 1 or WHOLE * 3 // 4
    last = text.find("\n", len(text) - WHOLE // 4) + 1 or len(text) - WHOLE // 4
    return [(text[:first], 0), (text[last:], last)]


def _message(said: Said, lines: list[tuple[Sentence, list[Word]]], seen: Seen, turn: Turn) -> None:
    r = Reading(said, turn, Line([], "", 0))
    for number, (sentence, tokens) in enumerate(lines):
        tokens = merge(tokens, seen)
        if not tokens:
            continue
        r.line = Line(tokens, sentence.text, sentence.start, starts_question(tokens))
        r.number = number
        _sentence(r)


def _sentence(r: Reading) -> None:
    names(r)
    calls(r)
    introductions(r)
    relatives(r)
    owned_names(r)
    appositions(r)
    for i, word in enumerate(r.line.words):
        if word.tag in "A'":
            if not being(r, i):
                having(r, i)
        elif word.tag in "BwR":
            if word.low == "got":
                having(r, i)
            doing(r, i)
