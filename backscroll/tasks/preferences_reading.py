"""What one message of the user says about what they prefer: in English, in Chinese, in both.

Owns the reading: which sentences state a preference, how firmly, for or against what, and what it is about (a language, a name, a
style, a tool, or just a way to do things). Local: one message is read by itself. The phrases are data (`preferences_en.toml`,
`preferences_zh.toml`, `preferences_matters.toml`). Refuses questions, code, quotations, what programs put into a user's message, and
weighing one statement against another (`tasks/preferences`). Before: `derive/sentences_cues`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, NamedTuple, TypeAlias, cast

from backscroll.derive.sentences_cues import lowered, marked
from backscroll.formats.json_text import dumps
from backscroll.record.chain import DAMAGE, damaged, words_from_bytes
from backscroll.tasks.memory_notes import quoted
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json
from backscroll.vocab.pattern import late

Aspect: TypeAlias = Literal["language", "name", "style", "tool", "practice", "taste"]
_WIDE, _END = (
    6_000,
    1_500,
)  # a longer message is a paste: only its beginning and its end are the user's own words
_FIRM = 0.8
_MANY = 3  # of one sentence
_LONG = 400  # characters of a sentence that may state a preference
_HAN = late(r"[\u3400-\u9fff\uf900-\ufaff]")
_INJECTED = late(r"<([a-zA-Z][\w-]{2,40})(?:\s[^<>]*)?>.*?</\1>", re.DOTALL)
_CLAUSE = late(r"[.!?;:,，。！？；：、\n\r(（\"“—–…]\s*|\s-\s")
_EDGE = " \t\u3000,，.。;；:：!！\"'“”‘’`*()（）"


@dataclass(frozen=True, slots=True)
class Stated:
    """One statement of a preference."""

    aspect: Aspect
    topic: str  # of which only one value can hold; empty: told by its words
    value: str  # in its topic; empty where the words are all there is
    sign: int  # 1: do; -1: do not
    matter: str  # what is wanted or not, in the user's words
    text: str  # the sentence
    strength: float
    message: Ref
    revision: Ref
    at: str
    number: int = 0  # among those of its message


class _Pattern(NamedTuple):
    aspect: str  # said, named, spoken, styled
    sign: int
    strength: float
    taste: bool  # what somebody likes, rather than what is to be done
    pattern: re.Pattern[str]


class _Phrases(NamedTuple):
    firm: re.Pattern[str]
    lead_in: tuple[str, ...]
    not_these: tuple[str, ...]
    patterns: tuple[_Pattern, ...]


class _Matters(NamedTuple):
    languages: Mapping[str, str]  # by name
    styles: Sequence[tuple[re.Pattern[str], str, str]]  # what tells it, group, value
    opposites: Mapping[tuple[str, str], str]
    tools: Sequence[tuple[re.Pattern[str], str, str]]


def _read(name: str) -> Mapping[str, Json]:
    raw = resources.files("backscroll.tasks").joinpath(name).read_text(encoding="utf-8")
    return cast("Mapping[str, Json]", tomllib.loads(raw))


@cache
def _trigger(language: str) -> re.Pattern[str]:
    """Without what this finds a text states nothing; most texts are not looked at any further."""
    return re.compile(_read(f"preferences_{language}.toml")["trigger"])


@cache
def _phrases(language: str) -> _Phrases:
    data = _read(f"preferences_{language}.toml")
    patterns = tuple(
        _Pattern(
            aspect,
            int(row.get("sign", 1)),
            float(row["strength"]),
            bool(row.get("taste")),
            re.compile(pattern),
        )
        for aspect in ("named", "spoken", "styled", "said")
        for row in data[aspect]
        for pattern in row["patterns"]
    )
    # Longer ways to lead in are taken off first.
    lead_in = tuple(sorted(data["lead_in"], key=lambda word: (-len(word), word)))
    firm = re.compile(data["firm"])
    return _Phrases(firm, lead_in, tuple(data["not_these"]), patterns)


@cache
def _matters() -> _Matters:
    data = _read("preferences_matters.toml")
    languages = {name: code for code, names in data["languages"].items() for name in names}
    styles = [
        (_named(names), group, value)
        for group, values in data["styles"].items()
        for value, names in values.items()
    ]
    opposites: dict[tuple[str, str], str] = {}
    for group, values in data["styles"].items():
        one, other = values
        opposites[group, one], opposites[group, other] = other, one
    same = cast("Mapping[str, str]", data["same"])
    tools = [
        (_named([name]), group, same.get(name, name))
        for group, names in data["tools"].items()
        for name in sorted(names, key=lambda n: (-len(n), n))
    ]
    return _Matters(languages, styles, opposites, tools)


def _named(names: Sequence[str]) -> re.Pattern[str]:
    spelled = [
        re.escape(n) if _HAN.search(n) else rf"(?<![\w./-]){re.escape(n)}(?![\w/-])"
        for n in sorted(names, key=lambda n: (-len(n), n))
    ]
    return re.compile("|".join(spelled))


# -- from a message to statements --------------------------------------------------------------------------------


def statements(message: Message) -> list[Stated]:
    """What a message says about preferences; only the user's own words count."""
    if message.role != "user" or message.hidden or message.deleted or not message.text.strip():
        return []
    out: list[Stated] = []
    for number, found in enumerate(read_text(message.text)):
        aspect, topic, value, sign, matter, text, strength = found
        out.append(
            Stated(
                aspect, topic, value, sign, matter, text, strength,
                message.id, message.revision, message.at, number,
            )
        )  # fmt: skip
    return out


class Read(NamedTuple):
    """What a sentence states."""

    aspect: Aspect
    topic: str
    value: str
    sign: int
    matter: str
    text: str
    strength: float


def read_text(text: str) -> list[Read]:
    """What a text states, in order, each sentence once for each aspect."""
    own = _INJECTED.sub(" ", text) if "</" in text else text
    if len(own) > _WIDE:
        own = f"{own[:_END]}\n{own[-_END:]}"
    low = lowered(own)
    if not _trigger("en").search(low) and not (_HAN.search(own) and _trigger("zh").search(own)):
        return []
    out: list[Read] = []
    for piece in marked(own):
        if piece.sentence.shape not in ("prose", "item") or len(piece.text) > _LONG:
            continue
        if piece.text.lstrip().startswith((">", "|")) or "question" in piece.cues:
            continue
        found: dict[tuple[str, str, str, int], Read] = {}
        for language in ("en", "zh") if _HAN.search(piece.text) else ("en",):
            for read in _sentence(piece.text, language):
                key = (read.aspect, read.topic or read.matter, read.value, read.sign)
                if key not in found or read.strength > found[key].strength:
                    found[key] = read
        out += _without_shadows(list(found.values()))[:_MANY]
    return out


def _without_shadows(found: list[Read]) -> list[Read]:
    """Of several readings of one sentence the telling ones: a mere way to do things steps back behind the rest."""
    if len(found) < 2:
        return found
    telling = [r for r in found if r.aspect not in ("practice", "taste")]
    if telling:
        return telling
    return [max(found, key=lambda r: (r.strength, len(r.matter)))]


def _sentence(sentence: str, language: str) -> Iterator[Read]:
    low = lowered(sentence)
    if not _trigger(language).search(low):
        return
    phrases = _phrases(language)
    if low.lstrip("-*+ \t0123456789.)").startswith(phrases.not_these):
        return
    # "From now on no X, use Y": what is said for good is meant for good in all of its clauses.
    least = _FIRM if phrases.firm.search(low) else 0.0
    for start in _clauses(low, phrases):
        for aspect, sign, strength, taste, pattern in phrases.patterns:
            hit = pattern.match(low, start)
            if hit is None:
                continue
            groups = hit.groupdict()
            matter = sentence[hit.start("m") : hit.end("m")] if groups.get("m") else ""
            against = sentence[hit.start("x") : hit.end("x")] if groups.get("x") else ""
            read = _classified(
                aspect, sign, max(least, strength), matter.strip(_EDGE), against.strip(_EDGE), sentence
            )
            if read is not None:
                yield read._replace(aspect="taste") if taste and read.aspect == "practice" else read
                break  # the first pattern that fits a clause is the firmest


def _clauses(low: str, phrases: _Phrases) -> list[int]:
    """Where clauses begin, behind words that only lead in."""
    starts = [0, *(m.end() for m in _CLAUSE.finditer(low))]
    out: dict[int, None] = {}
    for start in starts:
        at = _past_marks(low, start)
        out[at] = None
        while True:
            word = next((w for w in phrases.lead_in if low.startswith(w, at)), None)
            if word is None:
                break
            after = at + len(word)
            if word.isascii() and after < len(low) and (low[after].isalnum() or low[after] == "'"):
                break
            at = _past_marks(low, after)
            out[at] = None
    return list(out)


def _past_marks(low: str, at: int) -> int:
    while at < len(low) and low[at] in " \t\u3000-*+,，:：\"“'`":
        at += 1
    return at


# -- what it is about --------------------------------------------------------------------------------------------


def _classified(
    kind: str, sign: int, strength: float, matter: str, against: str, sentence: str
) -> Read | None:
    text = quoted(sentence.lstrip("-*+ \t"), 200)
    if kind == "named":
        return Read("name", "name", matter, 1, matter, text, strength) if matter else None
    low, other = lowered(matter), lowered(against)
    matters = _matters()
    if kind == "spoken" or low in matters.languages:
        code = matters.languages.get(low)
        if code is None:
            return None
        return Read("language", "language", code, sign, matter, text, max(strength, 0.7))
    if kind == "styled":
        found = _style(low, sign) or _style(other, -1)
        return None if found is None else Read("style", *found, matter or against, text, strength)
    return _said(low, other, sign, strength, matter, text)


def _said(low: str, other: str, sign: int, strength: float, matter: str, text: str) -> Read | None:
    matters = _matters()
    for name, code in matters.languages.items():
        # "always answer in Chinese": the language is what matters, not that something is answered.
        if re.search(rf"(?:\bin |用|说|讲){re.escape(name)}(?![a-z])", low) and sign > 0:
            return Read("language", "language", code, sign, matter, text, max(strength, 0.7))
    tool = next(((g, v) for pattern, g, v in matters.tools if pattern.search(low)), None)
    if tool is not None and len(low) <= 60:
        return Read("tool", tool[0], tool[1], sign, matter, text, strength)
    style = _style(low, sign)
    if style is not None and len(low) <= 60:
        return Read("style", *style, matter, text, max(strength, 0.5))
    if len(low) < 2 or (strength < 0.5 and len(low) > 80):
        return None
    # What takes the place of something that is named is meant for good more often than not.
    return Read("practice", "", "", sign, matter, text, strength + (0.05 if other else 0.0))


def _style(low: str, sign: int) -> tuple[str, str, int] | None:
    """Topic, value and sign: what is said against one value speaks for the other."""
    if not low:
        return None
    matters = _matters()
    for pattern, group, value in matters.styles:
        if pattern.search(low):
            return group, value if sign > 0 else matters.opposites[group, value], 1
    return None


# -- as it is stored ---------------------------------------------------------------------------------------------


def stored(stated: Sequence[Stated], edge: bytes) -> bytes:
    """Statements of a thread up to a position, as bytes."""
    rows = [
        [s.aspect, s.topic, s.value, s.sign, s.matter, s.text, s.strength, str(s.message), str(s.revision), s.at, s.number]
        for s in stated
    ]  # fmt: skip
    return dumps({"edge": edge.hex(), "stated": rows}).encode("utf-8", "surrogatepass")


def loaded(body: bytes) -> tuple[list[Stated], bytes]:
    """What `stored` wrote."""
    data = cast("Mapping[str, Json]", words_from_bytes(body))
    try:
        rows = [
            Stated(
                aspect, topic, value, sign, matter, text, strength,
                parse_ref(message), parse_ref(revision), at, number,
            )
            for aspect, topic, value, sign, matter, text, strength, message, revision, at, number in data["stated"]
        ]  # fmt: skip
        return rows, bytes.fromhex(data["edge"])
    except DAMAGE as error:
        raise damaged("what a thread says about preferences", error) from error
