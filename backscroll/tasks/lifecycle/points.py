"""Points: the individual requests in feedback, in English and Chinese.

Owns the splitting (sentences, list items, "also", 还有) and the kind of a point (fix, add, remove, change, answer). A verdict
that does not say what is wrong ("still broken", 不对) is marked vague, so that the assistant asks instead of guessing. The
cues are data (`planning.toml`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, NamedTuple, TypeAlias, cast

from backscroll.derive.essence.cues import CODE, lower_aligned, paths_in
from backscroll.derive.essence.sentences import sentences
from backscroll.tasks.lifecycle.tuning import POINTS, READ, VAGUE
from backscroll.tasks.notes import quote_text
from backscroll.vocab.part import Json

Wish: TypeAlias = Literal["error", "missing", "remove", "change", "question", "other", "unclear"]
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_BULLET = re.compile(
    r"^\s*(?:[-*+•·▪◦]|\d{1,3}[.)、）:：]|[(（]\d{1,3}[)）]|[一二三四五六七八九十]{1,3}[、.）)]|第[一二三四五六七八九十][点，、：:]?|首先[，,]?|\[[ xX]\])\s*"
)
_LOUD = re.compile(
    r"[\w.]*(?:Error|Exception)\b[^\n]*|(?:error|fatal|panic)(?:\[\w+\])?[:：][^\n]*|(?:错误|异常)[:：][^\n]*"
)
_LATIN = re.compile(r"[A-Za-z]{2,}")
_EDGE = " \t\u3000,，;；、"
_BETWEEN = frozenset(",.!?;:…，。！？；：、~～-—'\"“”")
_END = " \t\u3000.。!！,，;；"


@dataclass(frozen=True, slots=True)
class Point:
    """One requested item."""

    text: str
    wish: Wish

    @property
    def vague(self) -> bool:
        """True if it says that something is wrong, but not what."""
        return self.wish == "unclear"


class _PointCues(NamedTuple):
    words: Mapping[str, str]
    lead: re.Pattern[str]
    parts: re.Pattern[str]
    vague: re.Pattern[str]
    filler: re.Pattern[str]
    verdict: re.Pattern[str]
    hedge: re.Pattern[str]
    kinds: Mapping[str, re.Pattern[str]]


@cache
def _cues(language: str) -> _PointCues:
    raw = resources.files("backscroll.tasks").joinpath("planning.toml").read_text(encoding="utf-8")
    data = cast("Mapping[str, Json]", tomllib.loads(raw))[language]
    kinds = {name: re.compile(pattern) for name, pattern in data["kinds"].items()}
    words = {name: text for name, text in data.items() if isinstance(text, str)}
    lead, parts, vague, filler = (re.compile(data[name]) for name in ("lead", "parts", "vague", "filler"))
    edge = r"\b" if language == "en" else ""
    verdict, hedge = (re.compile(f"(?:{data[name]}){edge}") for name in ("verdict", "hedge"))
    return _PointCues(words, lead, parts, vague, filler, verdict, hedge, kinds)


def plan_words(language: str) -> Mapping[str, str]:
    """Return the words of plans in a language."""
    return _cues("zh" if language.startswith("zh") else "en").words


def points_of(text: str) -> list[Point]:
    """Return the points of a text, in order, each once."""
    out: dict[str, Point] = {}
    for piece in sentences(text[:READ]):
        if piece.shape == "code":
            loud = _LOUD.findall(piece.text)
            if loud:
                _take(out, loud[-1], "error")
            continue
        if piece.shape in ("heading", "row"):
            continue
        language = "zh" if _HAN.search(piece.text) else "en"
        cues = _cues(language)
        for part in _split_points(_BULLET.sub("", piece.text), cues):
            bare = part.strip(_EDGE)
            leading = cues.lead.match(lower_aligned(bare))
            bare = bare[leading.end() :] if leading else bare
            low = lower_aligned(bare).strip(_END)
            if not any(c.isalnum() for c in low) or cues.filler.fullmatch(low):
                continue
            _take(out, bare, _wish(low, bare, cues))
    found = list(out.values())
    told = [p for p in found if not p.vague]
    # "Still broken. The button does nothing.": the second sentence explains the first.
    return (told or found)[:POINTS]


def _split_points(text: str, cues: _PointCues) -> list[str]:
    low = lower_aligned(text)
    out: list[str] = []
    start = 0
    for cut in cues.parts.finditer(low):
        out.append(text[start : cut.start()])
        start = cut.end()
    return [part for part in (*out, text[start:]) if part.strip()]


def _take(out: dict[str, Point], text: str, wish: Wish) -> None:
    words = quote_text(text, 300)
    out.setdefault(lower_aligned(words), Point(words, wish))


def _wish(low: str, text: str, cues: _PointCues) -> Wish:
    if is_vague(text):
        return "unclear"
    for name, pattern in cues.kinds.items():
        if pattern.search(low):
            return cast("Wish", name)
    return "other"


def is_vague(text: str) -> bool:
    """Return True for a verdict that says that something is wrong, but not what."""
    if paths_in(text) or CODE.search(text) or any(c.isdigit() for c in text):
        return False
    cues, low = _cues("zh" if _HAN.search(text) else "en"), lower_aligned(text).strip(_END)
    if cues.vague.fullmatch(low) is not None:
        return True
    return len(low) <= VAGUE and _says_nothing(low, cues)


def _says_nothing(low: str, cues: _PointCues) -> bool:
    """Return True if a text consists of verdicts and hedges alone, matching the longest first."""
    at, judged = 0, False
    while at < len(low):
        if low[at].isspace() or low[at] in _BETWEEN:
            at += 1
            continue
        verdict, hedge = cues.verdict.match(low, at), cues.hedge.match(low, at)
        ends = [0 if hit is None else hit.end() for hit in (verdict, hedge)]
        if max(ends) <= at:
            return False
        judged = judged or ends[0] >= ends[1]
        at = max(ends)
    return judged


def language_in(text: str, otherwise: str = "") -> str:
    """Return the language of a text: `zh` or `en`; `otherwise` if it is too short to tell."""
    if _HAN.search(text):
        return "zh"
    if len(_LATIN.findall(text)) > 1:
        return "en"  # texts exist in two languages only: users of the Latin script rather read English
    return otherwise or "en"
