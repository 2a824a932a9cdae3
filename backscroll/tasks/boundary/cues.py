"""Cues: phrases by which a message opens, closes or continues a subject, in English and Chinese.

Owns the reading of `boundary_cues_en.toml` and `boundary_cues_zh.toml`. Phrases that open a message also count behind a greeting
or an "ok". Long messages are read at both ends: people do not open a subject in the middle of a pasted page. Not
here: weights.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from backscroll.tasks.boundary.tuning import HEAD, NEXT, PHRASE, REVISING, TAIL
from backscroll.vocab.part import Json

#: Kinds of cues, in the order of their flags.
KINDS = (
    "shift", "more", "want", "start", "end", "thanks", "closing", "greeting", "offer", "settled", "accept", "refuse", "back",
    "follow", "ask_you", "tell_me", "correct", "build", "fix", "find", "explain",
)  # fmt: skip
_HEDGE = "hedge"
_REVISE = "revise"
_CLAUSE = re.compile(r"[,.;:!?，。；：！？、\n(（]")
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")
_QUOTED = re.compile(r"```.*?(?:```|\Z)|(?m:^>.*$)", re.DOTALL)
_BREAK = re.compile(r"(?<=[.!?。！？；\n])\s*")
#: What follows a word for done and makes it a request, not a remark about completion.
_AFTER_END = re.compile(
    r"\s*[,.;:!，。；：！~～、)）\n][\s,.;:!，。；：！~～、)）]*(?:(?:thanks|thank you|great|perfect|good|nice|提交吧?|谢谢|辛苦了?|好的?|了)[\s,.;:!，。；：！~～]*)*"
    r"(?P<next>(?:(?:ok(?:ay)?|so|and|then|now|next)[,:]? )*(?:let's|let us|next|now (?:let|we|i|the|for|on|add|fix|write|make|build|do|start|can|could)|"
    r"please (?:start|add|fix|write|build|create|look|help|make)|(?:can|could|would) you|i(?:'d| would) like|i (?:also )?(?:need|want)|"
    r"we (?:need|should|can|have to)|on to|moving on|start(?:ing)? (?:on|with|a|the)|the next)\b[^\n]*"
    r"|(?:那么?|然后|接着)?(?:接下来|下面|下一(?!步怎么)|现在(?:开始|来|做|帮)|开始(?:做|写|弄|搞|新)|重新开始|再帮|帮我|我们(?:来|开始|重新|做)|咱们(?:来|开始|做)|请(?:帮|你))[^\n]*)"
)
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


class CueReading(NamedTuple):
    """The cues of one message."""

    cues: frozenset[str]
    last: frozenset[str]  # of its last sentence, where it has several
    question: bool
    asks_last: bool  # the last sentence is a question
    sentences: int
    pronouns: int
    starts: str  # the phrase that announces something new
    ends: str
    revises: str = (
        ""  # the phrase that returns to the last answer: asks for another form, doubts it, asks about it
    )


class _BoundaryPhrases(NamedTuple):
    anywhere: re.Pattern[str] | None
    opens: re.Pattern[str] | None


@cache
def _table(name: str, *, spaced: bool) -> dict[str, _BoundaryPhrases]:
    data: dict[str, Json] = tomllib.loads(
        files("backscroll.tasks").joinpath(name).read_text(encoding="utf-8")
    )
    before, after = (r"(?<![a-z0-9_])(?:", r")(?![a-z0-9_])") if spaced else ("(?:", ")")
    out: dict[str, _BoundaryPhrases] = {}
    for kind in (*KINDS, _HEDGE, _REVISE):
        anywhere, opens = ("|".join(data[kind][way]) for way in ("anywhere", "opens"))
        out[kind] = _BoundaryPhrases(
            re.compile(before + anywhere + after) if anywhere else None,
            re.compile(f"(?:{opens}{after}") if opens else None,
        )
    return out


def ends_of(text: str) -> str:
    """Return the part of a message in which people state what they want: both ends of a long one, without code and quotations."""
    if "```" in text or "\n>" in text or text.startswith(">"):
        text = _QUOTED.sub("\n", text[:20_000])
    text = text.strip()
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}\n{text[-TAIL:]}"


def sentences_of(text: str) -> list[str]:
    """Split a short text into sentences."""
    return [piece for piece in _BREAK.split(text) if piece.strip()]


def _find_cues(low: str, *, chinese: bool) -> dict[str, str]:
    """Map each kind of cue to its phrase."""
    lead = _LEAD.match(low)
    places = (0,) if lead is None else (0, lead.end())
    out: dict[str, str] = {}
    tables = [_table("boundary_cues_en.toml", spaced=True)]
    if chinese:
        tables.insert(0, _table("boundary_cues_zh.toml", spaced=False))
    for table in tables:
        for kind, phrases in table.items():
            if kind in out or kind in (_HEDGE, _REVISE):
                continue
            hit = next((h for at in places if phrases.opens and (h := phrases.opens.match(low, at))), None)
            if hit is None and phrases.anywhere is not None:
                hit = phrases.anywhere.search(low)
            if hit is not None:
                out[kind] = hit[0].strip()
    return out


def _said_plainly(low: str, kind: str, *, chinese: bool) -> str:
    """Return the first phrase of a kind that its clause does not cancel ("once this task is done"); an end is not a question
    either.
    """
    hit = _plain_hit(low, kind, chinese=chinese)
    return "" if hit is None else hit[0].strip()


def _plain_hit(low: str, kind: str, *, chinese: bool) -> re.Match[str] | None:
    for table in _tables(chinese=chinese):
        phrases, hedges = table[kind], table[_HEDGE].anywhere
        opened = [h for at in _beginnings(low) if phrases.opens and (h := phrases.opens.match(low, at))]
        inside = list(phrases.anywhere.finditer(low)) if phrases.anywhere else []
        for hit in sorted([*opened, *inside], key=lambda h: h.start()):
            begin = max((c.end() for c in _CLAUSE.finditer(low, 0, hit.start())), default=0)
            end = _STOP.search(low, max(hit.start(), hit.end() - 1))
            rest = low[hit.end() - 1 : end.end() if end else len(low)]
            asked = kind == "end" and _QUESTION.search(rest) is not None
            if not asked and (hedges is None or hedges.search(low, begin, hit.start()) is None):
                return hit
    return None


def _beginnings(low: str) -> list[int]:
    """Return where sentences begin, and where they begin after a greeting or an "ok"."""
    out: dict[int, None] = {}
    for at in [0, *(m.end() for m in _BREAK.finditer(low))]:
        out[at] = None
        lead = _LEAD.match(low, at)
        if lead is not None:
            out[lead.end()] = None
    return list(out)


def _find_start(low: str, *, chinese: bool) -> str:
    """Return the phrase that announces something new; a request right after an end is such a phrase too."""
    said = _said_plainly(low, "start", chinese=chinese)
    if said:
        return said
    end = _plain_hit(low, "end", chinese=chinese)
    if end is None:
        return ""
    rest = _AFTER_END.match(low, end.end())
    if rest is None or len(rest["next"]) + len(_HAN.findall(rest["next"])) < NEXT:
        return ""
    return rest["next"].strip()[:PHRASE]


def read_cues(text: str) -> CueReading:
    """Return the cues of one message."""
    low = ends_of(text).lower().replace("’", "'").replace("‘", "'")
    chinese = _HAN.search(low) is not None
    pieces = sentences_of(low)
    found = _find_cues(low, chinese=chinese)
    last = found
    if len(pieces) > 1:
        last = _find_cues(pieces[-1].strip(), chinese=chinese)
    pronouns = len(_PRONOUN_EN.findall(low)) + (len(_PRONOUN_ZH.findall(low)) if chinese else 0)
    return CueReading(
        frozenset(found),
        frozenset(last),
        _QUESTION.search(low) is not None,
        bool(pieces) and _QUESTION.search(pieces[-1]) is not None,
        len(pieces),
        pronouns,
        _find_start(low, chinese=chinese)
        if found.keys() & {"start", "end", "shift", "want", "build"}
        else "",
        _said_plainly(low, "end", chinese=chinese) if "end" in found else "",
        _revising(low, chinese=chinese) if len(low) <= REVISING else "",
    )


def _revising(low: str, *, chinese: bool) -> str:
    """Return the phrase by which a message revises the last answer."""
    lead = _LEAD.match(low)
    for table in _tables(chinese=chinese):
        phrases = table[_REVISE]
        places = (0,) if lead is None else (0, lead.end())
        hit = next((h for at in places if phrases.opens and (h := phrases.opens.match(low, at))), None)
        if hit is None and phrases.anywhere is not None:
            hit = phrases.anywhere.search(low)
        if hit is not None and hit[0].strip():
            return hit[0].strip()
    return ""


def _tables(*, chinese: bool) -> list[dict[str, _BoundaryPhrases]]:
    tables = [_table("boundary_cues_en.toml", spaced=True)]
    return [_table("boundary_cues_zh.toml", spaced=False), *tables] if chinese else tables
