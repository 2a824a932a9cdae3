"""Personal needs: allergies, diet, ailments, people cooked for.

Such statements matter in every later conversation and are short, so they are read by a few patterns of their own, in English
and Chinese, from the words of the user alone. A question, a supposition or a story states nothing. What the other readers
make of the same words ("health: allergic") gives way. Refuses guessing: a sentence that fits no pattern says nothing here.
Word lists are data (`personal.toml`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from backscroll.derive.essence.sentences import sentences
from backscroll.derive.extract.tuning import NEEDS_SURE
from backscroll.derive.extract.utterance import Utterance
from backscroll.vocab.assertion import Assertion, Claim
from backscroll.vocab.values.table import read_table

_LONGEST = 8_000  # characters of a message that are searched
_VALUE = 60  # characters of a named item
_CUES = re.compile(
    r"allerg|intoleran|vegetarian|vegan|(?:\beat\b|\beats\b|\bdrink\b|\bdrinks\b|\bavoid)|kosher|halal|suffer|tarian|teetotal|c(?:o)?eliac|\bketo\b|\bpaleo\b"
    r"|过敏|不耐受|素|清真|[不戒忌](?:能|可以|得)?[吃喝沾碰]|[有得患]|会说|养了",
    re.IGNORECASE,
)
#: The end of a named item.
_END_EN = re.compile(
    r"\s*(?:[,;:.!?()—]|\b(?:so|but|because|since|although|though|which|who|when|while|please|and (?:i|we|my|so|please|then)|or (?:i|we))\b)",
    re.IGNORECASE,
)
_LIST_EN = re.compile(r"\s*(?:,|\band\b|\bor\b|\bnor\b|&|/)\s*", re.IGNORECASE)
_LIST_ZH = re.compile(r"[、和跟与及或]|以及|还有")
_BARE = frozenset(
    "it that this them much anything everything here there out lunch dinner breakfast now today at in on with before after until when alone "
    "together enough well very too any more less often".split()
)


@dataclass(frozen=True, slots=True)
class _Patterns:
    unreal: re.Pattern[str]
    rules: tuple[tuple[re.Pattern[str], str], ...]  # with the predicate that they find


@cache
def _table() -> Mapping[str, Mapping[str, Sequence[str]]]:
    return read_table("backscroll.derive", "personal.toml")


def _any(words: Sequence[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


@cache
def _english() -> _Patterns:
    table = _table()["en"]
    who = rf"(?P<who>\bI|\bwe|\bmy (?:{_any(table['kin'])}))"
    be = r"(?:['’](?:m|re|s|ve)|\s+(?:am|are|is|was|were|have|has))(?:\s+been)?"
    between = r"(?:[^.;!?\n]{0,60}?\s)??"
    verb = (
        r"\s+(?:do|does|can|must|should|may|will)?\s*(?:n['’]t|not|never|no longer)\s+(?:really\s+|ever\s+)?"
    )
    rules = (
        (rf"{who}{be}\s+{between}allergic\s+to\s+(?P<what>[^\n]+)", "allergic_to"),
        (rf"{who}\s+(?:have|has)\s+an?\s+(?P<one>[\w-]+(?:\s[\w-]+)?)\s+allerg(?:y|ies)\b", "allergic_to"),
        (rf"{who}{be}\s+{between}(?P<one>[\w-]+[\s-]intolerant)\b", "ailment"),
        (rf"{who}\s+suffers?\s+from\s+(?P<what>[^\n]+)", "ailment"),
        (
            rf"{who}{be}\s+(?!not\b|n['’]t|never\b|no\b){between}(?:an?\s+|on\s+an?\s+)?(?P<one>{_any(table['diets'])})\b",
            "diet",
        ),
        (
            rf"{who}\s+(?:keeps?|eats?|only eats?|follow)\s+(?:only\s+)?(?P<one>{_any(table['diets'])})\b",
            "diet",
        ),
        (rf"{who}{verb}eat\s+(?P<what>[^\n]+)", "does_not_eat"),
        (
            rf"{who}\s*(?:can['’]t|cannot|don['’]t|doesn['’]t|won['’]t)\s+eat\s+(?P<what>[^\n]+)",
            "does_not_eat",
        ),
        (rf"{who}\s+never\s+eats?\s+(?P<what>[^\n]+)", "does_not_eat"),
        (
            rf"{who}\s*(?:can['’]t|cannot|don['’]t|doesn['’]t|won['’]t)\s+drink\s+(?P<what>[^\n]+)",
            "does_not_drink",
        ),
        (rf"{who}(?:\s+never\s+drinks?|{verb}drink)\s+(?P<what>[^\n]+)", "does_not_drink"),
        (rf"{who}\s+avoids?\s+(?P<what>[^\n]+)", "does_not_eat"),
    )
    unreal = rf"\b(?:{_any(table['unreal'])})\b|\?\s*$|^\s*(?:can|could|should|do|does|am|is|are|what|how|why|who|where|when)\b"
    return _Patterns(
        re.compile(unreal, re.IGNORECASE),
        tuple((re.compile(rule, re.IGNORECASE), name) for rule, name in rules),
    )


@cache
def _chinese() -> _Patterns:
    table = _table()["zh"]
    who = rf"(?P<who>我(?:们)?家?的?(?:{_any(table['kin'])})|我们?)"
    # Words between "I" and the statement; no other person may be among them.
    between = r"[^，。；！？\n我你他她它]{0,10}?"
    what = r"(?P<what>[^，。；！？\n的了呢吧啊]{1,30})"
    rules = (
        (
            rf"{who}(?:[^。；！？\n你他她它]{{0,16}}?)对(?P<what>[^，。；！？\n]{{1,30}}?)(?:都|严重|有点|特别|会)?过敏",
            "allergic_to",
        ),
        (rf"{who}{between}(?P<one>[^，。；！？\n我有是]{{1,6}}不耐受)", "ailment"),
        (rf"{who}{between}(?<!不)是(?:一?[名个位])?{between}(?P<one>{_any(table['diets'])})", "diet"),
        (rf"{who}(?:[^。；！？\n不没你他她它]{{0,10}}?)(?P<one>吃(?:全|纯)?素)", "diet"),
        (rf"{who}(?:[^。；！？\n没你他她它]{{0,10}}?)只吃(?P<one>{_any(table['diets'])})", "diet"),
        (rf"{who}{between}(?:不|不能|不可以|不得|从不|从来不|忌|戒了?)吃{what}", "does_not_eat"),
        (rf"{who}{between}(?:不|不能|不可以|从不|从来不|戒了?)喝{what}", "does_not_drink"),
        (
            rf"{who}{between}(?:有|患有|得了|患了)(?P<one>[^，。；！？\n的]{{0,6}}?(?:{_any(table['ailments'])}))(?=[，。；！\s]|$)",
            "ailment",
        ),
        (rf"{who}{between}会说(?:一点|一些)?{what}", "language"),
        (
            rf"{who}家?{between}养了?(?:[一两二三四五几\d]+[只条匹个缸])(?P<one>[^，。；！？\n叫的]{{1,6}})",
            "has_pet",
        ),
    )
    unreal = rf"{_any(table['unreal'])}|[？?]\s*$|[吗呢么][。！]?\s*$"
    return _Patterns(re.compile(unreal), tuple((re.compile(rule), name) for rule, name in rules))


def read(told: Sequence[Utterance]) -> list[Assertion]:
    """Return the users' statements about their own needs, in text order."""
    out: list[Assertion] = []
    for said in told:
        if said.role != "user" or not _CUES.search(said.text[:_LONGEST]):
            continue
        for sentence in sentences(said.text[:_LONGEST]):
            if sentence.shape in ("prose", "item") and _CUES.search(sentence.text):
                out += _sentence(said, sentence.text)
    return list(dict.fromkeys(out))


def _sentence(said: Utterance, text: str) -> Iterator[Assertion]:
    for patterns, split in ((_english(), _things_en), (_chinese(), _things_zh)):
        if patterns.unreal.search(text):
            continue
        for pattern, predicate in patterns.rules:
            for found in pattern.finditer(text):
                groups = found.groupdict()
                things = [groups["one"]] if groups.get("one") else split(groups.get("what") or "")
                for thing in things:
                    yield _claim(said, text, found["who"], predicate, thing.strip())


def _claim(said: Utterance, quote: str, who: str, predicate: str, thing: str) -> Assertion:
    """Assert something about the speaker, including the needs of relatives."""
    kin = who.casefold() not in ("i", "we", "我", "我们")
    if predicate == "has_pet":
        return Assertion(
            Claim.RELATION,
            said.who,
            predicate,
            object=thing,
            type="person",
            object_type="animal",
            quote=quote,
            source=said.source,
            speaker=said.who,
            sure=NEEDS_SURE,
        )
    value = thing
    if kin:
        name = re.sub(r"^(?:my\s+|我(?:们)?家?的?)", "", who, flags=re.IGNORECASE)
        value = _about_kin(name, predicate, thing)
    return Assertion(
        Claim.ATTRIBUTE,
        said.who,
        "household" if kin else predicate,
        value,
        type="person",
        quote=quote,
        source=said.source,
        speaker=said.who,
        sure=NEEDS_SURE,
    )


_KIN_EN = {"allergic_to": "{name} is allergic to {thing}", "does_not_eat": "{name} does not eat {thing}", "does_not_drink": "{name} does not drink {thing}"}  # fmt: skip
_KIN_ZH = {"allergic_to": "{name}对{thing}过敏", "does_not_eat": "{name}不吃{thing}", "does_not_drink": "{name}不喝{thing}"}  # fmt: skip


def _about_kin(name: str, predicate: str, thing: str) -> str:
    table = _KIN_EN if name.isascii() else _KIN_ZH
    plain = "{name}: {thing}" if name.isascii() else "{name}：{thing}"
    return table.get(predicate, plain).format(name=name, thing=thing)


def _things_en(text: str) -> list[str]:
    """Return the listed items, up to the end of the clause."""
    out: list[str] = []
    while text.strip():
        end = _END_EN.search(text)
        head, rest = (text, "") if end is None else (text[: end.start()], text[end.start() :])
        found = [word for word in _LIST_EN.split(head) if _is_thing(word)]
        out += found
        # A comma may continue the list: "nuts, eggs and milk".
        more = re.match(r"\s*,\s*(?P<next>[\w-]+(?:\s[\w-]+)?(?=\s*(?:,|\band\b|\bor\b|[.!]|$))[^\n]*)", rest)
        if (
            not found
            or more is None
            or re.match(r"(?:so|but|i|we|which|please|and)\b", more["next"], re.IGNORECASE)
        ):
            break
        text = more["next"]
    return out[:6]


def _is_thing(word: str) -> bool:
    plain = word.strip().casefold()
    known = _BARE.isdisjoint((plain, plain.partition(" ")[0]))
    return 0 < len(plain) <= _VALUE and known and len(plain.split()) <= 4


def _things_zh(text: str) -> list[str]:
    return [word.strip() for word in _LIST_ZH.split(text) if 0 < len(word.strip()) <= 12][:6]


def without_repeats(found: Sequence[Assertion], personal: Sequence[Assertion]) -> list[Assertion]:
    """Return what the other readers found, without less precise claims from the same words ("health: allergic")."""
    if not personal:
        return list(found)
    values = {(claim.source, claim.value.casefold()) for claim in personal}
    allergic = {claim.source for claim in personal if claim.predicate == "allergic_to"}

    def is_less(claim: Assertion) -> bool:
        if claim.predicate not in ("health", "personality"):
            return False
        value = claim.value.casefold()
        return (claim.source, value) in values or (value == "allergic" and claim.source in allergic)

    return [claim for claim in found if not is_less(claim)]
