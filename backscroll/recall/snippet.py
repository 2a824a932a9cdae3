"""Snippets: the part of a text that best shows why it was found.

Owns the choice of the window and the marking. Works on the original text; words are compared by the rules of
`recall/text/words`, so that a search for `running` marks `runs`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from unicodedata import combining, east_asian_width

from backscroll.recall.question.query import Query, Term
from backscroll.recall.text.words import (
    SPACED_WORD,
    UNSPACED,
    fold_word,
    humps_of,
    index_words,
    is_unspaced,
    runs_of,
)

#: How far into a text to search, and how many places of one word to compare: enough for any message, bounded for a book.
LOOKED_AT = 2_000_000
_PLACES = 300
_ELLIPSIS = "…"
_KNOWN = 10_000  # words cached for the needles of one query
_FIRST_UNSPACED = UNSPACED[0]  # comparing letters is quicker than a pattern, and settles most

_WORD = re.compile(SPACED_WORD)
_ACCENTED = "\u00c0-\u024f\u0370-\u03ff\u0400-\u052f\u1e00-\u1fff\uff10-\uff19\uff21-\uff3a\uff41-\uff5a"
_HAS_ACCENTS = re.compile(f"[{_ACCENTED}]")
_STICKS = "\u200d\ufe0e\ufe0f"  # characters that must not be separated from the one before


@dataclass(frozen=True, slots=True)
class _NeedleHit:
    start: int
    end: int
    needle: str


def columns(text: str) -> int:
    """Return the width of a text in a terminal or in a fixed-width font: a Chinese character counts two."""
    if text.isascii():
        return len(text)
    return sum(map(_columns_of, text))


@lru_cache(maxsize=8192)
def _columns_of(character: str) -> int:
    if east_asian_width(character) in "WF":
        return 2
    return 0 if combining(character) or character in _STICKS else 1


@lru_cache(maxsize=1)
def _plain_letters() -> dict[int, str]:
    """Return accented letters -> the plain letter, only if that is one letter for one letter."""
    found: dict[int, str] = {}
    for span in re.findall(r"(.)-(.)", _ACCENTED):
        for code in range(ord(span[0]), ord(span[1]) + 1):
            plain = fold_word(chr(code)) if code < 0xFF00 else chr(code - 0xFEE0).lower()
            if len(plain) == 1 and plain != chr(code):
                found[code] = plain
    return found


def _comparable(text: str) -> str:
    """Return a text in lower case without accents, with all characters at their offsets."""
    lower = text.lower()
    if len(lower) != len(text):  # a few letters, like İ, have no lower case of the same length
        lower = "".join(low if len(low := c.lower()) == 1 else c for c in text)
    if lower.isascii() or not _HAS_ACCENTS.search(lower):
        return lower
    return lower.translate(_plain_letters())


class _Needles:
    """What to mark: stems, beginnings of words, and runs of unspaced script."""

    def __init__(self, stems: set[str], beginnings: set[str], runs: set[str]) -> None:
        self.stems, self.beginnings, self.runs = stems, beginnings, runs
        self._known: dict[str, list[tuple[int, int, str]]] = {}
        heads = {head for stem in stems for head in _heads_of(stem)} | beginnings
        choices = [*sorted(runs, key=lambda run: (-len(run), run)), *sorted(heads)]
        self.pattern = re.compile("|".join(map(re.escape, choices))) if choices else None

    def without(self, needle: str) -> _Needles:
        """Return all needles but this one."""
        gone = {needle}
        return _Needles(self.stems - gone, self.beginnings - gone, self.runs - gone)

    def in_word(self, word: str) -> list[tuple[int, int, str]]:
        """Return which parts of a spaced word match which needle: parts of an identifier, or the whole word."""
        found = self._known.get(word)
        if found is None:
            if len(self._known) >= _KNOWN:
                self._known.clear()
            found = self._known[word] = self._find(word)
        return found

    def _find(self, word: str) -> list[tuple[int, int, str]]:
        found: list[tuple[int, int, str]] = []
        at = 0
        for hump in humps_of(word):
            needle = self._match(hump)
            if needle:
                found.append((at, at + len(hump), needle))
            at += len(hump)
        if not found and (needle := self._match(word)):
            found.append((0, len(word), needle))
        return found

    def _match(self, word: str) -> str | None:
        for found in index_words(word).split():
            if found in self.stems:
                return found
        plain = fold_word(word)
        return next((head for head in self.beginnings if plain.startswith(head)), None)


def _heads_of(stem: str) -> tuple[str, ...]:
    """Return the possible beginnings of words with this stem: they differ from it at the last letter at the earliest (happi, happy)."""
    if len(stem) < 3:
        return (stem,)
    return (stem[:-1], stem[0] + "y") if stem[1:] == "ie" else (stem[:-1],)  # die, dying


@lru_cache(maxsize=16)  # all hits of one search use it
def _needles_of(terms: tuple[Term, ...]) -> _Needles:
    stems: set[str] = set()
    beginnings: set[str] = set()
    runs: set[str] = set()
    for term in terms:
        runs.update(run for run in runs_of(term.text) if is_unspaced(run))
        for phrase in term.phrases:
            *before, last = phrase.words
            begins = phrase.prefix and not is_unspaced(last)
            words = before if begins else [*before, last]
            stems.update(word for word in words if not is_unspaced(word))
            runs |= _joined_pairs(words)
            if begins:
                beginnings.add(last)
    return _Needles(stems, beginnings, runs)


def _joined_pairs(words: list[str]) -> set[str]:
    """Return the runs of unspaced script that overlapping pairs came from."""
    runs: set[str] = set()
    run = ""
    for word in [*words, ""]:
        goes_on = bool(run) and word.startswith(run[-1])
        if goes_on and len(word) == 2:
            run += word[1]
            continue
        if run:
            runs.add(run)
        run = word if is_unspaced(word) and not goes_on else ""
    return runs


def _hits_of(text: str, needles: _Needles, places: int = _PLACES) -> list[_NeedleHit]:
    """Return the positions of the needles. A needle found very often is not searched further."""
    plain = _comparable(text)
    counts: dict[str, int] = {}
    hits: list[_NeedleHit] = []
    at = 0
    while needles.pattern and (found := needles.pattern.search(plain, at)):
        start, at = found.span()
        if is_unspaced(found[0]):
            while plain[at - 1 : at + 1] in needles.runs:  # overlapping pairs of a relaxed query
                at += 1
            new = [(0, at - start, found[0])]
        else:
            floor = max(0, start - 64)
            while start > floor and (before := text[start - 1]).isalnum():
                if before >= _FIRST_UNSPACED and is_unspaced(before):
                    break
                start -= 1
            word = _WORD.match(text, start)
            at = max(at, word.end() if word else at)
            new = needles.in_word(word[0]) if word else []
        for begin, end, needle in new:
            hits.append(_NeedleHit(start + begin, start + end, needle))
            counts[needle] = counts.get(needle, 0) + 1
            if counts[needle] == places:
                needles = needles.without(needle)
    return hits


def _best(text: str, hits: list[_NeedleHit], width: int) -> tuple[int, int]:
    """Return the range that the best window must cover: most different needles, then rare ones, then adjacent ones."""
    rarity = {needle: 1 / count for needle, count in Counter(hit.needle for hit in hits).items()}
    best, best_score = (0, 0), (0, 0.0, 0)
    left = 0
    for right, last in enumerate(hits):
        while left < right and (
            last.end - hits[left].start > width or columns(text[hits[left].start : last.end]) > width
        ):
            left += 1
        window = hits[left : right + 1]
        kinds = {hit.needle for hit in window}
        close = sum(b.start - a.end <= 1 for a, b in pairwise(window))
        score = (len(kinds), sum(rarity[needle] for needle in kinds), close)
        if score > best_score:
            best, best_score = (window[0].start, last.end), score
    return best


def _left_of(text: str, end: int, room: int) -> int:
    """Return how far left of `end` a window may start."""
    near = text[max(0, end - max(0, room)) : end]
    if near.isascii():  # one column for each
        end, room = end - len(near), room - len(near)
    while end > 0 and (room := room - _columns_of(text[end - 1])) >= 0:
        end -= 1
    return end


def _right_of(text: str, start: int, room: int) -> int:
    """Return how far right of `start` a window may end."""
    near = text[start : start + max(0, room)]
    if near.isascii():
        start, room = start + len(near), room - len(near)
    while start < len(text) and (room := room - _columns_of(text[start])) >= 0:
        start += 1
    return start


def _inside_word(text: str, at: int) -> bool:
    """Return True if a cut at this place would split a word, or separate a mark from its letter."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if combining(after) or after in _STICKS:
        return True
    if not (before.isalnum() and after.isalnum()):
        return False
    return max(before, after) < _FIRST_UNSPACED or not (is_unspaced(before) or is_unspaced(after))


def _window(text: str, first: int, last: int, width: int) -> tuple[int, int]:
    """Return the cuts that show `first` to `last`, with as much context as fits."""
    room = width - 2 * columns(_ELLIPSIS)
    last = min(last, _right_of(text, first, room))
    room -= columns(text[first:last])
    start = _left_of(text, first, room // 2)
    end = _right_of(text, last, room - columns(text[start:first]))
    start = _left_of(text, first, room - columns(text[last:end]))
    whole_start, whole_end = start, end
    while whole_start < first and (_inside_word(text, whole_start) or text[whole_start] == " "):
        whole_start += 1
    while whole_end > last and (_inside_word(text, whole_end) or text[whole_end - 1] == " "):
        whole_end -= 1
    # A single endless word has no good place to cut; then any place will do.
    return whole_start, whole_end if whole_end > whole_start else end


def _mark_hits(text: str, hits: list[_NeedleHit], mark: tuple[str, str]) -> str:
    """Return the text with marks around the hits; adjacent hits share one pair of marks."""
    spans: list[list[int]] = []
    for hit in hits:
        if spans and hit.start <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], hit.end)
        else:
            spans.append([hit.start, hit.end])
    out: list[str] = []
    at = 0
    for start, end in spans:
        out += [text[at:start], mark[0], text[start:end], mark[1]]
        at = end
    return "".join([*out, text[at:]])


def snippet(text: str, query: Query, width: int = 160, mark: tuple[str, str] = ("[", "]")) -> str:
    """Return the marked part of the text with most of what the query asks for, on one line, with `…` where it was cut.

    `width` counts columns, without the marks.
    """
    needles = _needles_of(query.terms)
    more = len(text) > LOOKED_AT
    text = " ".join(text[:LOOKED_AT].split())
    start, end = 0, len(text)
    if more or end > width or columns(text) > width:
        start, end = _window(text, *_best(text, _hits_of(text, needles), max(1, width - 2)), width)
        more = more or end < len(text)
    shown = text[start:end]
    body = _mark_hits(shown, _hits_of(shown, needles, len(shown) + 1), mark)
    return (_ELLIPSIS if start else "") + body + (_ELLIPSIS if more else "")
