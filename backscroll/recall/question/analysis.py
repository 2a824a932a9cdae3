"""Question analysis without a model: times, names, quoted words, paths, identifiers, the person it is about.

Owns reading a message as a question about the past, and the decision whether it is one (`needs_past`). The cue phrases are
data: `cues.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import cast

from backscroll.derive.extract.runs import break_long_runs
from backscroll.recall.question.times import DaySpan, find_times
from backscroll.recall.text.terms import terms_of
from backscroll.recall.tuning import NEEDS_PAST
from backscroll.vocab.values.pattern import late
from backscroll.vocab.values.table import read_table

#: The rest of a longer message adds nothing about the question; a pasted file is not a question.
LONGEST = 6_000
_SENTENCE = late(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")
_QUOTED = late(
    r"\"([^\"\n]{2,80})\"|“([^”\n]{2,80})”|「([^」\n]{2,80})」|『([^』\n]{2,80})』|《([^》\n]{1,80})》|`([^`\n]{2,80})`"
)
_PATH = late(
    r"(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]*|\b[\w-]+\.(?:py|js|ts|tsx|jsx|rs|go|c|h|cpp|java|rb|sh|md|txt|json|ya?ml|toml|csv|sql|html|css|ipynb|lock|log|cfg|ini|pdf)\b",
    re.ASCII,
)
_IDENTIFIER = late(
    r"\b(?:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\(?|[a-z]+(?:[A-Z][a-z0-9]+)+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+|[A-Za-z]+_\w+|[A-Z]{2,}[-_]\d+|#\d+|[0-9a-f]{7,40}(?=\b))",
    re.ASCII,
)
_NAME = late(r"(?<![.!?。！？\n\"“]\s)(?<!^)\b[A-Z][a-z]+(?:\s+[A-Z][a-z]+)*\b")
_ASKS = late(
    r"[?？]|^\s*(?:what|which|who|whom|whose|when|where|why|how|did|do|does|is|are|was|were|can|could|have|has)\b|[吗呢]\s*$|什么|怎么|为什么|哪|谁|几|多少",
    re.IGNORECASE,
)


@lru_cache(maxsize=1)
def _cues() -> dict[str, re.Pattern[str]]:
    """Return the patterns of `cues.toml`, one for each entry."""
    raw = read_table("backscroll.recall", "cues.toml")
    flat: dict[str, dict[str, list[str]]] = {}
    for name, entry in raw.items():
        if "english" in entry:
            flat[name] = cast("dict[str, list[str]]", entry)
        else:
            flat |= {f"{name}.{inner}": cast("dict[str, list[str]]", lists) for inner, lists in entry.items()}
    return {
        name: re.compile(
            rf"(?<![A-Za-z0-9])(?:{'|'.join(lists['english'])})(?![A-Za-z0-9])|{'|'.join(lists['chinese'])}",
            re.IGNORECASE,
        )
        for name, lists in flat.items()
    }


def cue(name: str, text: str) -> bool:
    """Return True if a text contains this cue."""
    return _cues()[name].search(text) is not None


def cues_in(name: str, text: str, most: int = 3) -> int:
    """Return how often a text contains a cue, counted up to `most`."""
    count = 0
    for _ in _cues()[name].finditer(text):
        count += 1
        if count == most:
            break
    return count


def without_cue(name: str, text: str) -> str:
    """Return a text without the words of a cue."""
    return _cues()[name].sub(" ", text)


@dataclass(frozen=True, slots=True)
class QuestionAnalysis:
    """A parsed question."""

    text: str
    words: tuple[str, ...]  # terms, each once
    pairs: tuple[str, ...]
    sentences: tuple[str, ...]  # the last one is the question; the others lead up to it
    times: tuple[DaySpan, ...]
    quoted: tuple[str, ...]
    paths: tuple[str, ...]
    identifiers: tuple[str, ...]
    names: tuple[str, ...]  # as written, capitalised inside a sentence
    first_person: bool
    second_person: bool
    asks_number: bool
    asks_time: bool
    asks_past: bool  # about a past state, not the current one
    asks_list: bool  # for a list, or an order
    requests: bool  # requests an action now
    asks: bool

    @property
    def exact(self) -> tuple[str, ...]:
        """Strings that must be found literally."""
        return (*self.quoted, *self.paths, *self.identifiers)


def understand(text: str, now: date | None = None) -> QuestionAnalysis:
    """Parse a question."""
    text = break_long_runs(text[:LONGEST])
    words, pairs = terms_of(text)
    sentences = tuple(s.strip() for s in _SENTENCE.split(text) if s and s.strip())
    return QuestionAnalysis(
        text,
        tuple(dict.fromkeys(words)),
        tuple(dict.fromkeys(pairs)),
        sentences or (text,),
        tuple(find_times(text, now)),
        tuple(dict.fromkeys(next(filter(None, found)) for found in _QUOTED.findall(text))),
        tuple(dict.fromkeys(_PATH.findall(text))),
        tuple(dict.fromkeys(_IDENTIFIER.findall(text))),
        tuple(dict.fromkeys(_NAME.findall(text))),
        cue("first_person", text),
        cue("second_person", text),
        cue("asks_number", text),
        cue("asks_time", text),
        cue("past", text),
        cue("lists", text),
        cue("requests", text),
        _ASKS.search(text) is not None,
    )


@dataclass(frozen=True, slots=True)
class RecallNeed:
    """Whether a message needs old details, the confidence (0 to 1), and the reasons."""

    strength: float
    reasons: tuple[str, ...]
    sure: bool = False  # it refers to the past explicitly, beyond being a question

    def __bool__(self) -> bool:
        return self.strength >= 0.5


def needs_past(asked: QuestionAnalysis, visible: Collection[str] = (), now: date | None = None) -> RecallNeed:
    """Decide whether a message asks for something that the prompt may not show.

    `visible` are the terms of what the prompt shows anyway: a path among them needs no search of the past.
    """
    reasons: list[tuple[float, str]] = []
    if cue("points_back.sure", asked.text):
        reasons.append((0.8, "points back"))
    elif cue("points_back.maybe", asked.text):
        reasons.append((0.4, "may point back"))
    if any(now is None or span.first < now or (asked.asks and span.first == now) for span in asked.times):
        reasons.append((0.6, "names a time"))
    unseen = [thing for thing in asked.exact if not _is_visible(thing, visible)]
    if unseen:
        reasons.append((0.6, f"names {unseen[0]}"))
    if asked.asks:
        reasons.append((0.3, "asks"))
    if asked.asks and asked.first_person:
        reasons.append((0.2, "asks about the speaker"))
    if asked.asks and asked.asks_past:
        reasons.append((0.3, "asks about what was"))
    if asked.asks and asked.names:
        reasons.append((0.2, "asks about a person"))
    strange = [word for word in asked.words if word not in visible]
    if asked.asks and visible and asked.words and len(strange) * 2 > len(asked.words):
        reasons.append((0.3, "asks about something else"))
    missing = 1.0
    for strength, _ in reasons:
        missing *= 1 - strength
    told = tuple(reason for _, reason in reasons)
    points = any(strength >= NEEDS_PAST for strength, _ in reasons) or "asks about something else" in told
    points = points and (not asked.requests or "points back" in told)
    return RecallNeed(round(1 - missing, 3), told, points and missing <= 0.5)


def _is_visible(thing: str, visible: Collection[str]) -> bool:
    terms = terms_of(thing)[0]
    return bool(terms) and all(term in visible for term in terms)
