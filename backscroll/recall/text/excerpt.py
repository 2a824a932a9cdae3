"""Excerpts: the sentences of a long text that answer a question, in order, within a token budget.

Owns cutting and choosing; a text that fits is unchanged. Sentences end as each script ends them (`。` needs no white space
after it); one that is too long is cut at its clauses, else between words, else anywhere. Omissions are marked,
so that no reader takes an excerpt for the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from backscroll.recall.text.terms import terms_of
from backscroll.recall.tuning import EXCERPT_NEAR
from backscroll.vocab.values.pattern import late

_GAP = "…"
_LOOKED_AT = 200_000  # characters
_LONGEST = 400  # characters of a sentence; a longer one is cut at its clauses, or anywhere
_WANTED = 40  # matching sentences that are tried
#: The end of a sentence: a line break, a stop of a script without spaces, else a stop and white space.
_SENTENCE = late(r"\n+|[。！？；｡…؟۔।॥።။។]+[”’」』）】》\"')\]]*|[.!?;]+[\"'”’)\]]*(?=\s)")
_CLAUSE = late(r"[，、：]|[,:](?=\s)|\s+[-–—]\s+")


def sentences_of(text: str) -> list[str]:
    """Split a text into sentences; joined together they are the text."""
    out: list[str] = []
    start = 0
    for seam in _SENTENCE.finditer(text):
        end = seam.end()
        while end < len(text) and text[end].isspace():  # the gap belongs to the sentence before it
            end += 1
        if end > start:
            out += _clauses(text[start:end])
            start = end
    if start < len(text):
        out += _clauses(text[start:])
    return _without_bare_marks(out)


def _without_bare_marks(pieces: Sequence[str]) -> list[str]:
    """Merge pieces without letters (the end of an emphasis, a rule of dashes) into the piece before."""
    out: list[str] = []
    for piece in pieces:
        if out and not any(sign.isalnum() for sign in piece):
            out[-1] += piece
        else:
            out.append(piece)
    return out


def _clauses(sentence: str) -> list[str]:
    if len(sentence) <= _LONGEST:
        return [sentence]
    out: list[str] = []
    start = 0
    ends = [seam.end() for seam in _CLAUSE.finditer(sentence)]
    ends.append(len(sentence))
    for before, end in zip([0, *ends], ends, strict=False):
        if end - start > _LONGEST and before > start:
            out.append(sentence[start:before])
            start = before
    out.append(sentence[start:])
    return [piece[i : i + _LONGEST] for piece in out for i in range(0, len(piece), _LONGEST)]


def excerpt(
    text: str,
    terms: Collection[str],
    rarity: Callable[[str], float],
    count: Callable[[str], int],
    room: int,
    near: Callable[[Sequence[str]], Sequence[float]] | None = None,
) -> str:
    """Return the best sentences of a text for these terms, each with its neighbours as far as there is room.

    `near` says how close each of some sentences is to the question in meaning (0 to 1), for those that share no word with it.
    If nothing matches, its beginning. Empty if not even a few words fit.
    """
    if len(text) <= _LOOKED_AT and count(text) <= room:
        return text
    pieces = sentences_of(text[:_LOOKED_AT])
    cut = len(text) > _LOOKED_AT
    scores = [sum(rarity(term) for term in set(terms_of(piece)[0]) if term in terms) for piece in pieces]
    if near is not None and pieces:
        top = max(scores) or 1.0
        scores = [
            score + EXCERPT_NEAR * top * max(nearness, 0.0)
            for score, nearness in zip(scores, near(pieces), strict=True)
        ]
    best = sorted(range(len(pieces)), key=lambda i: (-scores[i], i))
    wanted = [i for i in best if scores[i] > 0 and pieces[i].strip()][:_WANTED] or list(range(len(pieces)))[
        :_WANTED
    ]
    taken = _fitting(pieces, wanted, count, room)
    if wanted and wanted[0] not in taken:  # the best sentence is cut rather than left out
        return _shorten_piece(pieces[wanted[0]].strip(), terms, count, room)
    return _join_pieces(pieces, taken, count, room, cut=cut)


def _fitting(
    pieces: Sequence[str], wanted: Sequence[int], count: Callable[[str], int], room: int
) -> list[int]:
    """Return the pieces that fit, most important first: those that match, then their neighbours."""
    taken: dict[int, None] = {}
    costs: dict[int, int] = {}
    left = room - 2
    for steps in (0, 1, 2):
        for middle in wanted:
            for i in dict.fromkeys((middle - steps, middle + steps)):
                if not 0 <= i < len(pieces) or i in taken or left < 1:
                    continue
                if i not in costs:
                    costs[i] = count(pieces[i]) + 1
                if costs[i] <= left:
                    taken[i] = None
                    left -= costs[i]
    return list(taken)


def _shorten_piece(piece: str, terms: Collection[str], count: Callable[[str], int], room: int) -> str:
    """Return the part of one sentence that fits: around the first of the terms, else its beginning."""
    low, high = 0, len(piece)
    while high - low > 1:
        shown = f"{_GAP if low else ''}{piece[low:high].strip()}{_GAP if high < len(piece) else ''}"
        if count(shown) <= room:
            return shown if shown.strip(_GAP) else ""
        middle = (low + high) // 2
        seam = max(piece.rfind(" ", low + 1, middle), middle - 24)
        middle = seam if piece[seam : seam + 1].isspace() else middle
        first, second = piece[low:middle], piece[middle:high]
        has = [sum(term in terms for term in set(terms_of(half)[0])) for half in (first, second)]
        low, high = (middle, high) if has[1] > has[0] else (low, middle)
    return ""


def _join_pieces(
    pieces: Sequence[str], taken: Sequence[int], count: Callable[[str], int], room: int, *, cut: bool
) -> str:
    """Join the pieces in order, with marks between; marks cost too, so the least important may have to be dropped again."""
    while taken:
        order = sorted(taken)
        out = "" if order[0] == 0 else _GAP
        for place, number in enumerate(order):
            if place and number != order[place - 1] + 1:
                out = f"{out.rstrip()}{_GAP}\n" if out.endswith("\n") else f"{out.rstrip()} {_GAP} "
            out += pieces[number]
        out = out.rstrip()
        if order[-1] != len(pieces) - 1 or cut:
            out += _GAP
        if count(out) <= room:
            return out
        taken = taken[:-1]
    return ""
