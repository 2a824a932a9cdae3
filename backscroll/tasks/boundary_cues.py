"""Cues: how a message opens, closes or goes on with a subject, told by everyday phrases in English and Chinese.

Owns the reading of `boundary_cues_en.toml` and `boundary_cues_zh.toml`. Phrases that open a message also count behind a greeting or
an "ok". Long messages are read at both ends: what stands in the middle of a pasted page is not how somebody opens a subject.
Refuses weights. After: `tasks/boundary_features`.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from backscroll.vocab.part import Json

#: Kinds of cues, in the order of their flags.
KINDS = (
    "shift", "more", "want", "start", "end", "thanks", "closing", "greeting", "offer", "settled", "accept", "refuse", "back",
    "follow", "ask_you", "tell_me", "correct", "build", "fix", "find", "explain",
)  # fmt: skip
_HEDGE = "hedge"
_HEAD, _TAIL = 500, 300
_CLAUSE = re.compile(r"[,.;:!?，。；：！？、\n(（]")
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")
_QUOTED = re.compile(r"```.*?(?:```|\Z)|(?m:^>.*$)", re.DOTALL)
_BREAK = re.compile(r"(?<=[.!?。！？；\n])\s*")
_STOP = re.compile(r"[.!?。！？\n]")
_QUESTION = re.compile(r"[?？]|(?:吗|呢|么)\s*(?:[。，,.!！~]|$)")
_PRONOUN_EN = re.compile(
    r"\b(?:it|its|it's|they|them|their|he|she|his|her|him|that|this|these|those|there|one|ones)\b"
)
_PRONOUN_ZH = re.compile("[它他她]们?|[这那](?:里|儿|个|家|部|首|位|座|些|样|边|条|款|种|本|道)?|其中|该|此")
_LEAD = re.compile(
    r"(?:(?:hi|hello|hey|ok|okay|alright|great|cool|thanks|thank you|perfect|good|nice|yes|yeah|sure|well|and|so|um+|oh|then|no"
    r"|你好|您好|好的?|嗯+|恩+|哦+|噢+|是的|谢谢|行|那)"
    r"(?:\s+(?:there|again|so much|very much|then))?[\s,.!;:，。！；：~、-]+){1,3}"
)


class Read(NamedTuple):
    """What the phrases of one message say."""

    cues: frozenset[str]
    last: frozenset[str]  # of its last sentence, where it has several
    question: bool
    asks_last: bool  # the last sentence is a question
    sentences: int
    pronouns: int
    starts: str  # the phrase that says that something new begins
    ends: str


class _Phrases(NamedTuple):
    anywhere: re.Pattern[str] | None
    opens: re.Pattern[str] | None


@cache
def _table(name: str, *, spaced: bool) -> dict[str, _Phrases]:
    data: dict[str, Json] = tomllib.loads(
        files("backscroll.tasks").joinpath(name).read_text(encoding="utf-8")
    )
    before, after = (r"(?<![a-z0-9_])(?:", r")(?![a-z0-9_])") if spaced else ("(?:", ")")
    out: dict[str, _Phrases] = {}
    for kind in (*KINDS, _HEDGE):
        anywhere, opens = ("|".join(data[kind][way]) for way in ("anywhere", "opens"))
        out[kind] = _Phrases(
            re.compile(before + anywhere + after) if anywhere else None,
            re.compile(f"(?:{opens}{after}") if opens else None,
        )
    return out


def ends_of(text: str) -> str:
    """The part of a message in which people say what they want: both ends of a long one, without code and quotations."""
    if "```" in text or "\n>" in text or text.startswith(">"):
        text = _QUOTED.sub("\n", text[:20_000])
    text = text.strip()
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"


def sentences_of(text: str) -> list[str]:
    """The sentences of a short text."""
    return [piece for piece in _BREAK.split(text) if piece.strip()]


def _found(low: str, *, chinese: bool) -> dict[str, str]:
    """Kind of cue -> the phrase."""
    lead = _LEAD.match(low)
    places = (0,) if lead is None else (0, lead.end())
    out: dict[str, str] = {}
    tables = [_table("boundary_cues_en.toml", spaced=True)]
    if chinese:
        tables.insert(0, _table("boundary_cues_zh.toml", spaced=False))
    for table in tables:
        for kind, phrases in table.items():
            if kind in out or kind == _HEDGE:
                continue
            hit = next((h for at in places if phrases.opens and (h := phrases.opens.match(low, at))), None)
            if hit is None and phrases.anywhere is not None:
                hit = phrases.anywhere.search(low)
            if hit is not None:
                out[kind] = hit[0].strip()
    return out


def _said_plainly(low: str, kind: str, *, chinese: bool) -> str:
    """The first phrase of a kind that its clause does not take back ("once this task is done"); an end is no question either."""
    tables = [_table("boundary_cues_en.toml", spaced=True)]
    if chinese:
        tables.append(_table("boundary_cues_zh.toml", spaced=False))
    lead = _LEAD.match(low)
    for table in tables:
        phrases, hedges = table[kind], table[_HEDGE].anywhere
        opened = [
            h
            for at in {0, lead.end() if lead else 0}
            if phrases.opens and (h := phrases.opens.match(low, at))
        ]
        inside = list(phrases.anywhere.finditer(low)) if phrases.anywhere else []
        for hit in sorted([*opened, *inside], key=lambda h: h.start()):
            begin = max((c.end() for c in _CLAUSE.finditer(low, 0, hit.start())), default=0)
            end = _STOP.search(low, max(hit.start(), hit.end() - 1))
            rest = low[hit.end() - 1 : end.end() if end else len(low)]
            asked = kind == "end" and _QUESTION.search(rest) is not None
            if not asked and (hedges is None or hedges.search(low, begin, hit.start()) is None):
                return hit[0].strip()
    return ""


def read_cues(text: str) -> Read:
    """The cues of one message."""
    low = ends_of(text).lower().replace("’", "'").replace("‘", "'")
    chinese = _HAN.search(low) is not None
    pieces = sentences_of(low)
    found = _found(low, chinese=chinese)
    last = found
    if len(pieces) > 1:
        last = _found(pieces[-1].strip(), chinese=chinese)
    pronouns = len(_PRONOUN_EN.findall(low)) + (len(_PRONOUN_ZH.findall(low)) if chinese else 0)
    return Read(
        frozenset(found),
        frozenset(last),
        _QUESTION.search(low) is not None,
        bool(pieces) and _QUESTION.search(pieces[-1]) is not None,
        len(pieces),
        pronouns,
        _said_plainly(low, "start", chinese=chinese) if "start" in found else "",
        _said_plainly(low, "end", chinese=chinese) if "end" in found else "",
    )
