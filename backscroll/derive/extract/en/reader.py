"""Assertions by rules from English prose: people and things, what is said of them, and their relations.

Owns which parts of a message are read (prose, items; never code, tables, headings or data), in which order the rules run, and
the limits. Refuses resolving pronouns beyond the message: `graph/naming/identity` does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from backscroll.derive.essence.sentences import Sentence, sentences
from backscroll.derive.extract.en.actions import doing, doing_words
from backscroll.derive.extract.en.attributes import being
from backscroll.derive.extract.en.grammar.clauses import starts_question
from backscroll.derive.extract.en.grammar.phrases import ParsedSentence, kin
from backscroll.derive.extract.en.grammar.words import EnglishWord, cut
from backscroll.derive.extract.en.introductions import introductions
from backscroll.derive.extract.en.message import MessageReading, TurnContext
from backscroll.derive.extract.en.names import NameEvidence, merge, survey
from backscroll.derive.extract.en.naming import calling_words, calls, names
from backscroll.derive.extract.en.places import locates, locating_words
from backscroll.derive.extract.en.possessions import appositions, having, owned_names
from backscroll.derive.extract.en.quotes import Quotation, find_quotes
from backscroll.derive.extract.en.relatives import relatives
from backscroll.derive.extract.utterance import Utterance
from backscroll.vocab.assertion import LEANS, Assertion, Claim

#: Characters of a message that are read in full; of a longer one, three quarters of this from the start and one from the end.
WHOLE = 20_000
LONGEST = 600  # characters of a sentence; longer ones are data, or no prose
_DATA = re.compile(r"\S{60}|[{}<>|=\\]{2}|[\w.-]+/[\w.-]+/[\w.-]+|https?://")


def read(sentences: Sequence[Utterance]) -> list[Assertion]:
    """Return what the messages of one turn say, in order."""
    turn = TurnContext()
    cut_up = [_lines(said.text) for said in sentences]
    seen = survey(words for lines in cut_up for _, words in lines)
    for said, lines in zip(sentences, cut_up, strict=True):
        _message(said, lines, seen, turn)
    return [_fill_type(claim, turn) for claim in turn.found.values()]


def _fill_type(claim: Assertion, turn: TurnContext) -> Assertion:
    """Set the type of a name that shows it only later in the turn."""
    known = turn.types.get(claim.subject) if claim.kind is Claim.NODE else ""
    if known and (not claim.type or claim.hint == LEANS):
        return replace(claim, type=known, hint="")
    return claim


def _lines(text: str) -> list[tuple[Sentence, list[EnglishWord]]]:
    out: list[tuple[Sentence, list[EnglishWord]]] = []
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


def _message(
    said: Utterance, lines: list[tuple[Sentence, list[EnglishWord]]], seen: NameEvidence, turn: TurnContext
) -> None:
    r = MessageReading(said, turn, ParsedSentence([], "", 0))
    marks = find_quotes(said.text, said.speaker)
    at = 0
    for number, (sentence, tokens) in enumerate(lines):
        while at < len(marks) and marks[at].end <= sentence.start:
            at += 1
        r.number = number
        for run, mark in _runs(tokens, marks, at):
            words = merge(run, seen)
            if not words:
                continue
            r.line = ParsedSentence(words, sentence.text, sentence.start, starts_question(words))
            r.voice = mark.voice if mark is not None else ""
            r.scale = 0.9 if r.voice else 1.0
            if mark is not None and mark.unread:
                _read_unattributed(r)
            else:
                _sentence(r)


def _runs(
    tokens: list[EnglishWord], marks: list[Quotation], at: int
) -> list[tuple[list[EnglishWord], Quotation | None]]:
    """Return the words of a sentence, split where quoted speech begins and ends; a title in quotation marks becomes one name."""
    if at >= len(marks) or not tokens or marks[at].start >= tokens[-1].end:
        return [(tokens, None)]
    out: list[tuple[list[EnglishWord], Quotation | None]] = []
    for word in tokens:
        while at < len(marks) and marks[at].end <= word.start:
            at += 1
        inside = marks[at] if at < len(marks) and marks[at].start <= word.start else None
        if inside is not None and inside.title:
            _append_title_word(out, word, inside)
            continue
        if not out or out[-1][1] is not inside:
            out.append(([], inside))
        out[-1][0].append(word)
    return out


def _append_title_word(
    out: list[tuple[list[EnglishWord], Quotation | None]], word: EnglishWord, mark: Quotation
) -> None:
    if not out or out[-1][1] is not None:
        out.append(([], None))
    run = out[-1][0]
    if run and run[-1].tag == "K" and run[-1].start == mark.start:
        last = run[-1]
        text = last.text + (" " if word.start > last.end else "") + word.text
        run[-1] = EnglishWord(text, text.lower(), "K", last.start, word.end, "work", quoted=True)
        return
    if run and run[-1].tag == '"':
        run.pop()
    run.append(EnglishWord(word.text, word.low, "K", word.start, word.end, quoted=True))


def _read_unattributed(r: MessageReading) -> None:
    """Read speech of an unknown speaker: only names and forms of address."""
    if any(w.tag == "K" for w in r.line.words):
        names(r)
        calls(r, overheard=True)


def _sentence(r: MessageReading) -> None:
    words = r.line.words
    named = any(w.tag == "K" for w in words)
    lows = {w.low for w in words}
    if named:
        names(r)
    if named or not lows.isdisjoint(calling_words()):
        calls(r)
    if named or "name" in lows:
        introductions(r)
    if not lows.isdisjoint(kin()):
        relatives(r)
    if named:
        owned_names(r)
        appositions(r)
    if not lows.isdisjoint(locating_words()):
        locates(r)
    _verbs(r)


def _verbs(r: MessageReading) -> None:
    verbs = doing_words()
    for i, word in enumerate(r.line.words):
        if word.tag in "A'":
            if not being(r, i):
                having(r, i)
            if word.low == "been":
                doing(r, i)
        elif word.low in verbs and word.tag in "BwR":
            if word.low == "got":
                having(r, i)
            doing(r, i)
