"""Relatives in Chinese sentences: 我妹妹小芳, 他是我老师, 我妈, 他们俩是同事.

Owns the words for kin, friends and work (`extract_zh_kin.toml`) and people known only by them ("user的妈妈"). Refuses
questions and suppositions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from backscroll.derive.extract.zh.marks import MarkedSentence, SentenceMention, compile_pattern, remark
from backscroll.derive.extract.zh.words import one_of
from backscroll.vocab.values.table import read_table

_ADJ = "(?:亲生|亲|好|老|新|最好的|唯一的|可爱的|小|大|二|三|傻|乖|那个|这个|一个|一位|现任|双胞胎|异父|高中|大学|小学|初中|公司|办公室|隔壁|英语|数学|语文|钢琴){0,2}"
_ADVERB = "(?:也|都|就|还|现在|曾经|曾|以前|其实|可|一直|已经|确实|的确|真的){0,2}"


class FamilyTie(NamedTuple):
    """One person's tie to another: `predicate` holds of `one` towards `other`."""

    at: int  # position in the marked text
    one: SentenceMention
    predicate: str
    other: str  # owner: name or pronoun marker, not yet resolved
    past: bool = False
    denied: bool = False
    alias: str = ""  # the phrase for `one`, if known only by the tie


@cache
def _table() -> dict[str, dict[str, str]]:
    return read_table("backscroll.derive", "extract_zh_kin.toml")


@cache
def _by_word(section: str) -> dict[str, str]:
    return {word: name for name, words in _table()[section].items() for word in words.split()}


@cache
def _composite() -> re.Pattern[str]:
    kin = one_of(frozenset(_by_word("kin")))
    return compile_pattern(
        f"(?P<a>{{P}})(?:的|家的?|那|这|家那个)?(?P<past>前任?)?(?P<adj>{_ADJ})(?P<kin>{kin})(?![妈爸哥姐弟妹子夫们儿婆公家板师生长])"
    )


@cache
def _pairs() -> re.Pattern[str]:
    return compile_pattern(
        f"(?P<a>{{P}})(?:和|跟|与)(?P<b>{{P}}){_ADVERB}(?P<neg>不)?(?:是|成为|成了|变成)(?:了)?(?:很|非常|最)?(?:一对)?(?P<kin>{one_of(frozenset(_by_word('pairs')))})"
    )


@cache
def _ties() -> tuple[re.Pattern[str], ...]:
    return (
        compile_pattern(
            r"(?P<c>{P})(?:，|,|——|：|:)?(?:的名字)?(?:就)?(?:是叫|名叫|叫做|叫|是|：)?(?P<b>{P})"
        ),
        compile_pattern(
            rf"(?P<b>{{P}}){_ADVERB}(?P<neg>不|并不|不再)?(?:是|成为|成了|变成|当了)(?:了)?(?P<c>{{P}})"
        ),
        compile_pattern(r"(?P<b>{P})[，,—(（]{1,2}(?:也就是|就是|也是)?(?P<c>{P})(?=[，。,)）！!]|$)"),
        compile_pattern(
            r"(?P<c>{P})(?:的名字)?(?:就)?(?:名叫|叫做|叫|名字是|名字叫)[“\"]?(?P<x>[^\s，。！？；、：“”\"（）()《》的了吧啊呀呢吗嘛]{1,8})"
        ),
    )


def slot_of(word: str) -> str:
    """Return the predicate for a word for a property; the word itself if it is unknown."""
    return _by_word("slots").get(word, word)


def sex_of(kin: str) -> str:
    """Return the pronoun for a kinship word that shows the sex."""
    for sex, words in _table()["sex"].items():
        if kin in words.split():
            return "@she" if sex == "female" else "@he"
    return ""


def together(marked: MarkedSentence, normal: str, settle: Callable[[SentenceMention], str]) -> MarkedSentence:
    """Return the sentence with 我妈妈 and the like merged into one person each, named after the owner."""
    joined: list[SentenceMention] = []
    for m in _composite().finditer(marked.text):
        owner = marked.at(m["a"])
        who = settle(owner)
        kin = m["kin"]
        if owner.of or m.end() - m.start() < 2 or "@the" in owner.name:
            continue
        plain = _table()["plain"].get(kin, kin)
        name = f"{who}的{'前' if m['past'] else ''}{plain}"
        joined.append(
            SentenceMention(
                "P",
                marked.places[m.start()],
                marked.places[m.end()],
                name,
                0.8,
                of=("前" if m["past"] else "") + kin,
                owner=who,
            )
        )
    return remark(marked, normal, joined) if joined else marked


@cache
def _having() -> re.Pattern[str]:
    kin = one_of(frozenset(_by_word("kin")))
    return compile_pattern(
        f"(?P<a>{{P}})(?:还)?有(?:一|两|三)?(?:个|位|名)?(?P<adj>{_ADJ})(?P<kin>{kin})[，,]?(?:他|她|名字)?(?:名叫|叫做|叫|是)"
        r"[“\"]?(?P<x>{P}|[^\s，。！？；、：“”\"（）()《》的了吧啊呀呢吗嘛]{2,8})"
    )


@cache
def _beside() -> re.Pattern[str]:
    """Read 小明和好朋友张伟: a kinship word after "and" relates to the person before it."""
    kin = one_of(frozenset(_by_word("kin")))
    return compile_pattern(
        f"(?P<a>{{P}})(?:和|跟|与|带着|陪)(?:自己的)?(?P<adj>{_ADJ})(?P<kin>{kin})(?P<b>{{P}})"
    )


def ties(marked: MarkedSentence) -> Iterator[FamilyTie]:
    """Yield the ties between people that the sentence states."""
    for m in _having().finditer(marked.text):
        start, end = m.span("x")
        one = SentenceMention("P", marked.places[start], marked.places[end], marked.was(start, end), 0.8)
        yield FamilyTie(m.start(), one, _by_word("kin")[m["kin"]], marked.at(m["a"]).name)
    for m in _beside().finditer(marked.text):
        one = marked.at(m["b"])
        if not one.of and not one.name.startswith("@"):
            yield FamilyTie(m.start(), one, _by_word("kin")[m["kin"]], marked.at(m["a"]).name)
    named: set[int] = set()
    for number, pattern in enumerate(_ties()):
        for m in pattern.finditer(marked.text):
            tie = _tie_named_relative(marked, m, number, named)
            if tie:
                yield tie
    for m in _pairs().finditer(marked.text):
        one, other = marked.at(m["a"]), marked.at(m["b"])
        yield FamilyTie(m.start(), one, _by_word("pairs")[m["kin"]], other.name, denied=m["neg"] is not None)
    for one in marked.mentions:
        if (
            one.of
            and one.start not in named
            and not one.owner.startswith("@")
            and _by_word("kin").get(one.of) != "pet_of"
        ):
            past = one.of.startswith("前") and one.of not in _by_word("kin")
            yield FamilyTie(
                _place(marked, one),
                one,
                _by_word("kin")[one.of.removeprefix("前") if past else one.of],
                one.owner,
                past,
            )


def _place(marked: MarkedSentence, mention: SentenceMention) -> int:
    return marked.places.index(mention.start)


def _tie_named_relative(
    marked: MarkedSentence, m: re.Match[str], number: int, named: set[int]
) -> FamilyTie | None:
    bound = marked.at(m["c"])
    if not bound.of or bound.start in named:
        return None
    if number == 3:
        start, end = m.span("x")
        one = SentenceMention("P", marked.places[start], marked.places[end], marked.was(start, end), 0.8)
    else:
        one = marked.at(m["b"])
        if one.of or (one.name.startswith("@") and number != 1):
            return None
    negated = number == 1 and m["neg"] is not None
    past = bound.of.startswith("前") and bound.of not in _by_word("kin")
    kin = bound.of.removeprefix("前") if past else bound.of
    named.add(bound.start)
    alias = "" if negated or past or bound.owner.startswith("@") or one.name.startswith("@") else bound.name
    return FamilyTie(m.start(), one, _by_word("kin")[kin], bound.owner, past, negated, alias)
