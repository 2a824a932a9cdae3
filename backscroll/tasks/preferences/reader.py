"""Reader of preferences: what one message of the user states, in English, in Chinese, in both.

Owns the reading: which sentences state a preference, how firmly, for or against what, and what it is about (a language, a name, a
style, a tool, or just a way to do things). Local: one message is read by itself. The phrases are data (`preferences_en.toml`,
`preferences_zh.toml`, `preferences_matters.toml`). Not here: questions, code, quotations, what programs put into a user's
message, and weighing one statement against another (`tasks/preferences/preferences`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, cast

from backscroll.derive.essence.cues import lower_aligned, mark_sentences
from backscroll.formats.sources.json_text import dumps
from backscroll.record.chain import DAMAGE, make_corrupt_error, words_from_bytes
from backscroll.tasks.notes import quote_text
from backscroll.tasks.preferences.phrases import HAN, PreferencePhrases, matters, phrases, trigger
from backscroll.tasks.preferences.tuning import FIRM, MANY, OWN_WORDS, PASTE, SENTENCE
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json
from backscroll.vocab.values.pattern import late

Aspect: TypeAlias = Literal["language", "name", "style", "tool", "practice", "taste"]
_INJECTED = late(r"<([a-zA-Z][\w-]{2,40})(?:\s[^<>]*)?>.*?</\1>", re.DOTALL)
_CLAUSE = late(r"[.!?;:,，。！？；：、\n\r(（\"“—–…]\s*|\s-\s")
_ENDS = late(r"[.!?;,，。！？；\n]")
_QUOTED = late(r"\"[^\"\n]{3,}\"|“[^”\n]{2,}”|「[^」\n]{2,}」|『[^』\n]{2,}』")
#: Polite words before a statement.
_CHAT = late(
    r"(?i)(?:(?:thanks|thank you|ok|okay|great|perfect|good|nice|cool|fine|oh|hey|please remember(?: that)?|remember(?: that)?"
    r"|please (?:keep|bear) in mind(?: that)?|(?:keep|bear) in mind(?: that)?|please note(?: that)?|note that"
    r"|好的|好|可以了?|谢谢|嗯|行|请?(?:你|帮我)?(?:记住|记一下|记着|记下来?|别忘了))(?:[\s,，:：!！.。]+|(?<=[\u3400-\u9fff])))+"
)
_ASKING = late(
    r"(?is)(?P<said>.{4,}?[,，;；])\s*(?:(?:so|but|and|now|then|please|那么?|所以|请问)[,，]?\s*)?"
    r"(?:(?:can|could|would|will|do|does|did|how|what|why|where|which|when|who|is|are|should|shall|may|any)\b[^,，;；]*(?:[,，][^,，;；]*)*[?？]"
    r"|[^,，;；?？]{1,40}(?:[吗呢么][。？?！!]?|[?？]))\s*$"
)
_COURTESY = late(r"\b(?:please|so|and|thanks|thank you|just|for me)\b|请|麻烦你?|你|也")
_EDGE = " \t\u3000,，.。;；:：!！\"'“”‘’`*()（）"


@dataclass(frozen=True, slots=True)
class PreferenceStatement:
    """One statement of a preference."""

    aspect: Aspect
    topic: str  # on which only one value can hold; empty: derived from its words
    value: str  # in its topic; empty if there are only words
    sign: int  # 1: do; -1: do not
    matter: str  # what is wanted or not, in the user's words
    text: str  # the sentence, without the small talk before it
    strength: float
    message: Ref
    revision: Ref
    at: str
    number: int = 0  # among those of its message


# -- from a message to statements --------------------------------------------------------------------------------


def statements(message: Message) -> list[PreferenceStatement]:
    """Return the preferences stated in a message; only the user's own words count."""
    if message.role != "user" or message.hidden or message.deleted or not message.text.strip():
        return []
    out: list[PreferenceStatement] = []
    for number, found in enumerate(read_text(message.text)):
        aspect, topic, value, sign, matter, text, strength = found
        out.append(
            PreferenceStatement(
                aspect, topic, value, sign, matter, text, strength,
                message.id, message.revision, message.at, number,
            )
        )  # fmt: skip
    return out


class SentenceReading(NamedTuple):
    """The statements of a sentence."""

    aspect: Aspect
    topic: str
    value: str
    sign: int
    matter: str
    text: str
    strength: float


def read_text(text: str) -> list[SentenceReading]:
    """Return the statements of a text, in order, each sentence once for each aspect."""
    own = _INJECTED.sub(" ", text) if "</" in text else text
    if len(own) > PASTE:
        own = f"{own[:OWN_WORDS]}\n{own[-OWN_WORDS:]}"
    low = lower_aligned(own)
    if not trigger("en").search(low) and not (HAN.search(own) and trigger("zh").search(own)):
        return []
    out: list[SentenceReading] = []
    before = ""
    for piece in mark_sentences(own):
        if piece.sentence.shape not in ("prose", "item") or len(piece.text) > SENTENCE:
            before = ""
            continue
        text = _find_statement(piece.text) if "question" in piece.cues else piece.text
        if not text or text.lstrip().startswith((">", "|")):
            before = ""
            continue
        found: dict[tuple[str, str, str, int], SentenceReading] = {}
        for language in ("en", "zh") if HAN.search(text) else ("en",):
            for read in _sentence(text, language, before):
                key = (read.aspect, read.topic or read.matter, read.value, read.sign)
                if key not in found or read.strength > found[key].strength:
                    found[key] = read
        out += _without_shadows(list(found.values()))[:MANY]
        before = text
    return out


def _find_statement(question: str) -> str:
    """Return the statement before a question: "I prefer short sessions, can you plan my week?"; empty if there is only a question."""
    hit = _ASKING.match(question)
    return "" if hit is None else hit["said"].rstrip(_EDGE)


def _without_shadows(found: list[SentenceReading]) -> list[SentenceReading]:
    """Choose among several readings of one sentence: a general practice gives way to the rest."""
    if len(found) < 2:
        return found
    telling = [r for r in found if r.aspect not in ("practice", "taste")]
    if telling:
        return telling
    return [max(found, key=lambda r: (r.strength, len(r.matter)))]


def _sentence(sentence: str, language: str, before: str) -> Iterator[SentenceReading]:
    low = lower_aligned(sentence)
    if not trigger(language).search(low):
        return
    known = phrases(language)
    if low.lstrip("-*+ \t0123456789.)").startswith(known.not_these):
        return
    told = known.reported.search(low)
    upto = len(low) if told is None else told.start()
    if told is None and (read := _meant_whole(sentence, low, before, known)) is not None:
        yield read
    quotes = [hit.span() for hit in _QUOTED.finditer(low)]
    # "From now on no X, use Y": a lasting lead-in applies to all clauses.
    least = FIRM if known.firm.search(low) else 0.0
    for start in _clauses(low, known):
        # Words of another person, or quoted from one, are not the user's wish.
        if start >= upto or any(begin < start < end for begin, end in quotes):
            continue
        read = _clause(sentence, low, start, least, known)
        if read is not None:
            yield read


def _meant_whole(sentence: str, low: str, before: str, known: PreferencePhrases) -> SentenceReading | None:
    """Return a sentence that is meant to last because it, or the one before it, says so."""
    hit = known.whole.search(low)
    if hit is None:
        return None
    rest = f"{sentence[: hit.start()]} {sentence[hit.end() :]}".strip(_EDGE)
    what = rest if len(_COURTESY.sub("", lower_aligned(rest)).strip(_EDGE)) > 3 else before.strip(_EDGE)
    if len(what) < 4 or known.once.search(lower_aligned(what)):
        return None
    text = sentence if what == rest else before
    return _classify_matter(
        lower_aligned(what), "", 1, known.whole_strength, what, _trim_sentence(text, len(text), known)
    )


def _clause(
    sentence: str, low: str, start: int, least: float, known: PreferencePhrases
) -> SentenceReading | None:
    """Return the statement of a clause, by the first pattern that matches: that is the firmest."""
    end = _ENDS.search(low, start)
    clause = low[start : len(low) if end is None else end.start()]
    for aspect, sign, strength, taste, plain, describes, pattern in known.patterns:
        hit = pattern.match(low, start)
        if hit is None:
            continue
        if not least and aspect != "named" and known.once.search(clause):
            continue
        if describes and known.happens.search(hit[0]):
            continue
        groups = hit.groupdict()
        matter = sentence[hit.start("m") : hit.end("m")] if groups.get("m") else ""
        against = sentence[hit.start("x") : hit.end("x")] if groups.get("x") else ""
        text, sure = _trim_sentence(sentence, start, known), max(least, strength)
        if plain:
            return SentenceReading("taste", "", "", sign, matter.strip(_EDGE), text, sure)
        read = _classify_preference(aspect, sign, sure, matter.strip(_EDGE), against.strip(_EDGE), text)
        if read is not None:
            return read._replace(aspect="taste") if taste and read.aspect == "practice" else read
    return None


def _trim_sentence(sentence: str, start: int, known: PreferencePhrases) -> str:
    """Return a sentence without the small talk before its statement."""
    text = sentence.lstrip("-*+ \t")
    start -= len(sentence) - len(text)
    low = lower_aligned(text)
    for hit in known.turns.finditer(low):
        if hit.end() <= max(start, 0):
            text = sentence[len(sentence) - len(low) + hit.end() :]
    chat = _CHAT.match(text)
    rest = text if chat is None else text[chat.end() :]
    return quote_text(rest if len(rest) >= 3 else text, 200)


def _clauses(low: str, known: PreferencePhrases) -> list[int]:
    """Return where clauses begin, after lead-in words."""
    starts = [0, *(m.end() for m in _CLAUSE.finditer(low))]
    out: dict[int, None] = {}
    for start in starts:
        at = _past_marks(low, start)
        out[at] = None
        while True:
            word = next((w for w in known.lead_in if low.startswith(w, at)), None)
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


# -- subjects ----------------------------------------------------------------------------------------------------


def _classify_preference(
    kind: str, sign: int, strength: float, matter: str, against: str, text: str
) -> SentenceReading | None:
    if kind == "named":
        return SentenceReading("name", "name", matter, 1, matter, text, strength) if matter else None
    low, other = lower_aligned(matter), lower_aligned(against)
    languages = matters().languages
    if kind == "spoken" or low in languages:
        code = languages.get(low)
        if code is None:
            return None
        return SentenceReading("language", "language", code, sign, matter, text, max(strength, 0.7))
    if kind == "styled":
        found = _style(low, sign) or _style(other, -1)
        return None if found is None else SentenceReading("style", *found, matter or against, text, strength)
    return _classify_matter(low, other, sign, strength, matter, text)


def _classify_matter(
    low: str, other: str, sign: int, strength: float, matter: str, text: str
) -> SentenceReading | None:
    known = matters()
    if sign > 0 and not known.written.search(low):
        for name, code in known.languages.items():
            # "always answer in Chinese": the language is the subject, not the answering.
            if name in low and re.search(rf"(?:\bin |用|说|讲){re.escape(name)}(?![a-z])", low):
                return SentenceReading("language", "language", code, sign, matter, text, max(strength, 0.7))
    tool = next(((g, v) for pattern, g, v in known.tools if pattern.search(low)), None)
    if tool is not None and len(low) <= 60:
        return SentenceReading("tool", tool[0], tool[1], sign, matter, text, strength)
    style = _style(low, sign)
    if style is not None and len(low) <= 60:
        return SentenceReading("style", *style, matter, text, max(strength, 0.5))
    if len(low) < 2 or (strength < 0.5 and len(low) > 80):
        return None
    # A replacement for something named is usually meant to last.
    return SentenceReading("practice", "", "", sign, matter, text, strength + (0.05 if other else 0.0))


def _style(low: str, sign: int) -> tuple[str, str, int] | None:
    """Return topic, value and sign: a statement against one value supports the other."""
    if not low:
        return None
    known = matters()
    for pattern, group, value in known.styles:
        hit = pattern.search(low)
        # One Chinese character is a style only by itself: in a sentence it is part of another word.
        if hit is not None and (len(hit[0]) > 1 or len(low) == 1):
            return group, value if sign > 0 else known.opposites[group, value], 1
    return None


# -- stored form -------------------------------------------------------------------------------------------------


def encode_statements(stated: Sequence[PreferenceStatement], edge: bytes) -> bytes:
    """Return statements of a thread up to a position, as bytes."""
    rows = [
        [s.aspect, s.topic, s.value, s.sign, s.matter, s.text, s.strength, str(s.message), str(s.revision), s.at, s.number]
        for s in stated
    ]  # fmt: skip
    return dumps({"edge": edge.hex(), "stated": rows}).encode("utf-8", "surrogatepass")


def decode_statements(body: bytes) -> tuple[list[PreferenceStatement], bytes]:
    """Read what `encode_statements` wrote."""
    data = cast("Mapping[str, Json]", words_from_bytes(body))
    try:
        rows = [
            PreferenceStatement(
                aspect, topic, value, sign, matter, text, strength,
                parse_ref(message), parse_ref(revision), at, number,
            )
            for aspect, topic, value, sign, matter, text, strength, message, revision, at, number in data["stated"]
        ]  # fmt: skip
        return rows, bytes.fromhex(data["edge"])
    except DAMAGE as error:
        raise make_corrupt_error("what a thread says about preferences", error) from error
