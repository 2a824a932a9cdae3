"""Verb patterns of English world descriptions, built from `world.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import cast

from backscroll.graph.world.words import is_han, table, words

_BE = r"(?:is|are|was|were|'s|'re)"
_HAVE = r"(?:has|have|had)"
ADVERB = r"(?:(?:also|often|usually|generally|mostly|always|never|still|now|currently|originally|typically|all|both|rarely|once)\s+)?"
_LONGEST_SUBJECT = 60


def _any(phrases: Iterable[str]) -> str:
    return "|".join(re.escape(p).replace(r"\ ", r"\s+") for p in sorted(phrases, key=lambda p: (-len(p), p)))


@cache
def verb_predicates() -> dict[str, str]:
    """Return predicates by verb phrase."""
    return {phrase: predicate for predicate, phrases in words("verbs_en").items() for phrase in phrases}


@cache
def be_predicates() -> dict[str, str]:
    """Return predicates by the phrase after a form of "be"."""
    return {phrase: predicate for predicate, phrases in words("after_be_en").items() for phrase in phrases}


@cache
def be_pattern() -> re.Pattern[str]:
    """Return the pattern of phrases that may follow a form of "be", the longest first."""
    known = sorted(be_predicates(), key=lambda phrase: (-len(phrase), phrase))
    return re.compile("(?:" + "|".join(re.escape(phrase) for phrase in known) + r")\b")


@cache
def appearance_pattern() -> re.Pattern[str]:
    """Return the pattern of words for appearance."""
    known = [word for word in words("appearance")["words"] if not is_han(word)]
    return re.compile(r"\b(?:" + "|".join(re.escape(word) for word in known) + r")\b")


@cache
def phrase_values() -> dict[str, tuple[str, str]]:
    """Return attribute and value by fixed phrase."""
    sections = cast("dict[str, dict[str, list[str]]]", table()["phrases_en"])
    return {p: (name, value) for name, values in sections.items() for value, ps in values.items() for p in ps}


@cache
def verb_pattern() -> re.Pattern[str]:
    """Return the pattern of a known verb, with an adverb before it."""
    known = _any([*verb_predicates(), *phrase_values()])
    return re.compile(rf"{ADVERB}(?P<verb>(?:{known}|{_BE}|{_HAVE})(?![\w-]))\s*", re.IGNORECASE)


@cache
def opening_pattern() -> re.Pattern[str]:
    """Return the pattern of a subject and the verb after it."""
    return re.compile(
        rf"(?P<subject>\S.{{0,{_LONGEST_SUBJECT}}}?)(?:,\s[^,]{{1,80}},)?\s+(?={verb_pattern().pattern})",
        re.IGNORECASE,
    )


@cache
def joint_pattern() -> re.Pattern[str]:
    """Return the pattern of a clause boundary: a joining word and a verb."""
    joins = r"(?:\s*[,;]\s*(?:and|but|who|which|that|yet)?|\s+(?:and|but|who|which|that|yet))\s+"
    return re.compile(rf"{joins}(?:(?:she|he|they|it)\s+)?(?={verb_pattern().pattern})", re.IGNORECASE)
