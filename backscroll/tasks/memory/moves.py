"""Speech acts of sentences: questions, requests, wishes, plans, instructions, problem reports, outcome reports.

Owns distinguishing these by grammar: word order, mood, aspect, negation, modal verbs and other closed classes
(`memory_moves.toml`), because subjects are unlimited and the ways to ask or report are not. Not here: deciding the outcome
of a task.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import cast

from backscroll.derive.essence.cues import NUMBER, CueSentence, lower_aligned
from backscroll.tasks.memory.tuning import FEW, FEW_HAN
from backscroll.vocab.values.pattern import late

_HAN = late(r"[\u3400-\u9fff\uf900-\ufaff]")
_WORD = late(r"[a-z]+(?:'[a-z]+)?")
_CLAUSES = late(r"[,;:，；：]\s*|\s+(?:and|but)\s+")
_BEFORE = late(
    r"^(?:(?:(?:yes|no),|ok(?:ay)?,?|(?:so|then|and|now|first|next|just|also|please|maybe|well|hm+|ah|oh),?)\s+)+"
)


@cache
def _tables() -> tuple[Mapping[str, Mapping[str, re.Pattern[str]]], Mapping[str, frozenset[str]]]:
    raw = resources.files("backscroll.tasks").joinpath("memory_moves.toml").read_text(encoding="utf-8")
    data = cast("Mapping[str, Mapping[str, str]]", tomllib.loads(raw))
    patterns = {
        name: {kind: re.compile(rows[kind]) for kind in rows}
        for name, rows in data.items()
        if name != "words"
    }
    return patterns, {name: frozenset(words.split()) for name, words in data["words"].items()}


def _has(kind: str, text: str) -> bool:
    low, patterns = lower_aligned(text), _tables()[0]
    if patterns["en"][kind].search(low):
        return True
    return bool(_HAN.search(low)) and patterns["zh"][kind].search(low) is not None


def asks(piece: CueSentence) -> bool:
    """Return True for a question, with or without its mark; a full stop rules it out, whatever the words."""
    text = piece.text.strip()
    return "question" in piece.cues or (not text.endswith((".", "。", "!", "！")) and _has("asks", text))


def wishes(text: str) -> bool:
    """Return True for what a person wants, hopes, plans or requests."""
    return _has("wishes", text.strip()) or instructs(text)


def wrong(piece: CueSentence, *, first: bool = False) -> bool:
    """Return True if a sentence reports a problem: it says no, not, too, still, but, or names an error.

    With `first`, for the opening of a talk, any statement about something other than oneself counts: no message begins by
    saying that all is as it should be.
    """
    if "error" in piece.cues or _has("why", piece.text):
        return True
    for clause in filter(None, map(str.strip, _CLAUSES.split(piece.text.strip()))):
        if _has("asks", clause) or ("question" in piece.cues and piece.text.strip().endswith(clause)):
            continue
        if _has("wrong", clause) or (
            first and len(clause) >= FEW and not wishes(clause) and not _has("own", clause)
        ):
            return True
    return False


def fails(piece: CueSentence) -> bool:
    """Return True if something still does not work."""
    return _has("fails", piece.text.strip()) or ("error" in piece.cues and "success" not in piece.cues)


def proposes(text: str) -> bool:
    """Return True for a suggestion, or a statement of what will be done differently from now on."""
    return _has("proposes", text.strip()) or instructs(text)


def instructs(text: str) -> bool:
    """Return True for a sentence in the imperative: it begins with a bare verb, followed by an object or a particle."""
    low = _BEFORE.sub("", lower_aligned(text.strip()))
    if _HAN.search(low):
        zh = _tables()[0]["zh"]
        return zh["instructs"].search(low) is not None and zh["perfect"].search(low) is None
    words = _tables()[1]
    found = _WORD.findall(low[:60])
    if len(found) < 2 or not low.startswith(found[0]):
        return False
    first = found[0]
    if first in words["never_verbs"] or first in words["past"] or first.endswith(("ed", "ing", "s", "ly")):
        return False
    return found[1] in words["objects"]


def reports(piece: CueSentence) -> bool:
    """Return True for a sentence that reports an outcome or a state: in the past or the perfect, or with a
    number.
    """
    text = piece.text.strip()
    if asks(piece) or wishes(text) or fails(piece):
        return False
    low, number = lower_aligned(text), NUMBER.search(text) is not None
    if _HAN.search(low):
        return _has("reports", low) or (number and len(low) >= FEW_HAN)
    words = low.split()
    past = _tables()[1]["past"]
    if any(word.strip(".,;:!") in past or word.strip(".,;:!").endswith("ed") for word in words):
        return True
    return _has("reports", low) or (number and len(words) >= FEW)
