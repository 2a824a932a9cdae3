"""Statements in Chinese prose of a world description: class, residence, membership and properties of its subjects.

Owns a small grammar: a sentence is cut at its commas, and a clause begins with a subject or continues with the last one; known
verbs directly follow the subject. Not here: questions, conditions, and anything it does not understand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import cast

from backscroll.derive.extract.ontology import is_relation
from backscroll.graph.world.words import (
    WorldStatement,
    adjectives,
    is_field,
    is_han,
    noun_of,
    plain,
    predicate_of,
    table,
    tidy,
    words,
)

_SENTENCE = re.compile(r"[^。！？!?；;\n]{1,600}[。！？!?；;]?")
_COMMA = re.compile(r"[，,]")
_DOUBT = re.compile(r"如果|假如|要是|也许|或许|可能|据说|传说|是否|吗[？?]|[？?]\s*$")
_PRONOUN = re.compile(r"(?:她们|他们|它们|这里|那里|此地|她|他|它|其)")
_SOFT = re.compile(
    r"^(?:大多|大都|一般|通常|往往|几乎|全都|全部|都|也|还|就(?![读职任])|则|从小|一直|始终|现在|目前|如今|曾经|平时)+"
)
_NOT = re.compile(r"^(?:不|没|没有|并不|并非|从不|不再)")
_MEASURE = re.compile(
    r"^(?:一(?:个|名|位|只|座|条|把|种|片|家|群|支|件|本|头|匹|间|所|处|款|类)|[个名位](?=.{2}))"
)
_AGE = re.compile(
    r"^(?:今年|年仅|年龄|年纪|已经|已|约|大约)*\s*([0-9]{1,5}|[一二三四五六七八九十百千两]{1,6})\s*岁"
)
_GENERAL = re.compile(r"^(?:所有的?|每个|每一个|每位|凡是|大多数的?|多数)")
_PLAIN_SUBJECT = re.compile(r"^[\u3400-\u9fffA-Za-z·][\u3400-\u9fffA-Za-z· -]{0,11}$")
_LINK = re.compile(r"^(?:但是|但|却|而且|而|并且|并|且|不过|同时|又)")
_LOOSE = re.compile(r"^(?:性格|为人|生性|性情|待人|脾气|天性)(?:上|很|十分|非常)?")
_NO_SUBJECT = re.compile(
    r"[的但却]|[不并没非]$|^(?:不|没|并|性格|为人|生性|性情|待人|脾气|天性|对|在|从|因为|由于)"
)
_FEELINGS = frozenset({"likes", "dislikes", "hates", "fears", "loves", "wants"})
_WITH = re.compile(
    r"^[与和跟同](.{1,12}?)(?:(敌对|为敌|交战|不和|势不两立)|(结盟|交好|友好|是(?:好)?朋友|为友)|(结婚|成婚))"
)
_LONGEST = 40


@cache
def _verbs() -> tuple[tuple[str, str], ...]:
    pairs = [(phrase, predicate) for predicate, phrases in words("verbs_zh").items() for phrase in phrases]
    return tuple(sorted(pairs, key=lambda pair: (-len(pair[0]), pair[0])))


@cache
def _phrases() -> tuple[tuple[str, str, str], ...]:
    sections = cast("dict[str, dict[str, list[str]]]", table()["phrases_zh"])
    found = [
        (p, name, value) for name, values in sections.items() for value, ps in values.items() for p in ps
    ]
    return tuple(sorted(found, key=lambda row: (-len(row[0]), row[0])))


@cache
def _first_verb() -> re.Pattern[str]:
    known = (
        [p for p, _ in _verbs()] + [p for p, _, _ in _phrases()] + ["是", "有", "都", "很", "非常", "十分"]
    )
    return re.compile("|".join(re.escape(p) for p in sorted(known, key=lambda p: (-len(p), p))))


@cache
def _kin() -> tuple[tuple[str, str], ...]:
    pairs = [(noun, relation) for relation, nouns in words("kin_zh").items() for noun in nouns]
    return tuple(sorted(pairs, key=lambda pair: (-len(pair[0]), pair[0])))


def read_chinese(text: str, names: frozenset[str]) -> Iterator[WorldStatement]:
    """Yield the statements of the sentences; `names` are those of the entry, in plain form. An empty subject means the entry's own."""
    known = sorted((name for name in names if name), key=lambda name: (-len(name), name))
    current = ""
    for found in _SENTENCE.finditer(text):
        sentence = found[0].strip().lstrip("-*+• \t")
        if not is_han(sentence) or _DOUBT.search(sentence):
            continue
        for clause in _COMMA.split(sentence.rstrip("。！!；;")):
            bare = _LINK.sub("", clause.strip())
            if (of := _parse_possessive(bare)) is not None:
                label, name, more = of
                yield WorldStatement(current, predicate_of(label), name)
                yield from _clause(name, more) if more else ()
                continue
            subject, rest = _subject(bare, known, current)
            current = subject
            yield from _clause(subject, rest)


def _parse_possessive(clause: str) -> tuple[str, str, str] | None:
    """Read 她的父亲林建国是警察: the label of a field, the name, and the statement about that person."""
    if not (head := re.match(r"(?:她|他|它|其)的", clause)):
        return None
    rest = clause[head.end() :]
    for size in (4, 3, 2):
        label, after = rest[:size], re.sub(r"^(?:是|叫|名叫|名为)", "", rest[size:])
        if len(label) == size and is_field(label):
            found = re.match(r"([\u3400-\u9fff·]{2,6}?)(?=(是|住在|来自)|$)", after)
            return (label, found[1], after[found.end() :]) if found and noun_of(found[1]) is None else None
    return None


def _subject(clause: str, names: list[str], current: str) -> tuple[str, str]:
    """Return the subject of a clause, and the rest of it."""
    low = clause.casefold()
    for name in names:
        rest = clause[len(name) :]
        if low.startswith(name) and not rest.startswith("的"):
            return "", rest.removeprefix("们").strip()
    if (found := _PRONOUN.match(clause)) and not clause[found.end() :].startswith("的"):
        return current, clause[found.end() :].strip()
    general = _GENERAL.match(clause)
    bare = clause[general.end() :] if general else clause
    verb = _first_verb().search(bare)
    if verb is not None and verb.start():
        who = _SOFT.sub("", bare[: verb.start()])
        who = re.sub(r"(?:大多|一般|通常|往往|几乎|全都|全部|都|也|还|并|曾|从|很)+$", "", who).removesuffix(
            "们"
        )
        if _PLAIN_SUBJECT.match(who) and not _NO_SUBJECT.search(who) and not _how_word(who):
            return ("" if plain(who) in names else who), bare[verb.start() :]
    return current, clause


def _how_word(text: str) -> bool:
    return any(word in text for word in words("disposition_zh")["words"])


def _clause(subject: str, clause: str) -> Iterator[WorldStatement]:
    clause = _SOFT.sub("", clause)
    for phrase, predicate, value in _phrases():
        if clause.startswith(phrase):
            yield WorldStatement(subject, predicate, value)
            return
    if age := _AGE.match(clause):
        yield WorldStatement(subject, "age", age[1])
        return
    if other := _WITH.match(clause):
        relation = "enemy_of" if other[2] else "friend_of" if other[3] else "spouse_of"
        yield WorldStatement(subject, relation, tidy(other[1]))
        return
    if clause.startswith("是"):
        yield from _is(subject, clause[1:])
        return
    for verb, predicate in _verbs():
        if clause.startswith(verb):
            yield from _object(subject, predicate, clause[len(verb) :])
            return
    if not _NOT.match(clause) or _how_word(clause):
        yield from _how(subject, clause)


def _object(subject: str, predicate: str, rest: str) -> Iterator[WorldStatement]:
    rest = rest.lstrip("了着过：:")
    if predicate == "led_by":
        found = re.match(r"(.{1,20}?)(?:统治|领导|率领|管理|统领|掌管)", rest)
        if found:
            yield WorldStatement(subject, "led_by", tidy(found[1]))
        return
    value = tidy(_MEASURE.sub("", rest))
    if not value or len(value) > (_LONGEST if is_relation(predicate) else 120):
        return
    if predicate in {"lives_in", "located_in"}:
        value = re.sub(r"(?:的)?(?:深处|里面|里|中|内|之中|附近|边上|旁边|旁|边缘)$", "", value) or value
        inner = re.match(r"(.{1,20}?)的(.{1,20})$", value)
        if inner and noun_of(inner[2]) is not None and (noun_of(inner[2]) or ("", ""))[0] == "place":
            value = value if noun_of(inner[1]) is None else inner[1]
    for piece in _pieces(predicate, value):
        if name := tidy(re.sub(r"^[和与及]|等$", "", piece)):
            yield WorldStatement(subject, predicate, name)


def _pieces(predicate: str, value: str) -> list[str]:
    if predicate in _FEELINGS or predicate == "skill":
        return re.split(r"、|和(?!平)|以及|与", value)
    return value.split("、") if is_relation(predicate) or predicate in {"alias", "language"} else [value]


def _is(subject: str, rest: str) -> Iterator[WorldStatement]:
    value = tidy(_MEASURE.sub("", rest.strip()))
    if not value or len(value) > _LONGEST:
        return
    if (hit := adjectives().get(value.removesuffix("的"))) is not None:
        yield WorldStatement(subject, *hit)
        return
    owner, _, noun = value.rpartition("的")
    if owner and not noun:
        yield from _how(subject, owner)
    elif owner and (relation := next((r for n, r in _kin() if noun == n), "")):
        yield WorldStatement(subject, relation, owner.removeprefix("来自"))
    elif owner and (
        verb := next((v for v in _verbs() if owner.startswith(v[0]) and is_relation(v[1])), None)
    ):
        yield from _object(subject, verb[1], owner[len(verb[0]) :])
        yield from _is(subject, noun)
    else:
        yield from _is_a(subject, owner, noun or value)


def _is_a(subject: str, owner: str, noun: str) -> Iterator[WorldStatement]:
    """Read 是（owner 的）noun: the class, and what precedes it."""
    noun = _MEASURE.sub("", noun) or noun
    what = noun_of(noun)
    if what is None:
        yield WorldStatement(subject, "description", f"{owner}的{noun}" if owner else noun)
        return
    yield WorldStatement(subject, "type", what.type)
    if owner and noun_of(owner) is not None and what.type in {"place", "group", "organisation"}:
        yield WorldStatement(subject, "part_of", owner)
    elif owner:
        yield from _how(subject, owner)
    if not (what.predicate == "kind" and what.type == "person"):
        yield WorldStatement(subject, what.predicate, noun)
    if re.search(r"(?:女孩|少女|女人|女子|女王|公主|女巫|修女|姑娘|女仆)$", noun):
        yield WorldStatement(subject, "gender", "女")
    elif re.search(r"(?:男孩|少年|男人|男子|国王|王子)$", noun):
        yield WorldStatement(subject, "gender", "男")


def _how(subject: str, clause: str) -> Iterator[WorldStatement]:
    bare = _LOOSE.sub("", clause.strip())
    value = tidy(bare.removesuffix("的"))
    short = re.sub(r"^(?:很|非常|十分|极其|比较|相当|都|特别)", "", value)
    if not value or len(value) > 24:
        return
    if (hit := adjectives().get(value) or adjectives().get(short)) is not None:
        yield WorldStatement(subject, *hit)
    elif _how_word(value) or (
        bare != clause.strip() and len(short) <= 8
    ):  # 性格孤傲: it names its own predicate
        yield WorldStatement(subject, "disposition", short)
    elif any(word in value for word in words("appearance")["words"] if is_han(word)):
        yield WorldStatement(
            subject, "appearance", re.sub(r"^(?:有着?|拥有|一头|长着|留着)", "", value) or value
        )
    elif (skill := re.match(r"^(?:有|具有|具备)(.{2,20})$", value)) is not None:
        yield WorldStatement(subject, "description", skill[1])
