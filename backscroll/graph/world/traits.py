"""Implied traits of a person: "they distrust strangers but will help travellers".

Owns traits by clause: words that show one, inverted by a preceding denial, and combinations of traits
(`world_traits.toml`). Plain statements of an entry (`disposition: shy`) take precedence. Does not guess if clauses contradict
each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple, cast

from backscroll.graph.world.words import is_han
from backscroll.vocab.values.table import read_table

_CLAUSE = re.compile(
    r"[.;!?\n:。；！？：,，—]+|\b(?:and|but|yet|though|although|while|however|whereas)\b|但是|但|不过|然而|可是|却|虽然|尽管"
)
#: The trait shown by a denied one.
_DENIED = {
    "helpful": "",
    "trusting": "cautious",
    "cautious": "",
    "hostile": "harmless",
    "dangerous": "harmless",
}
_WHOLE = frozenset({"neutral", "expert", "harmless"})  # words that include their own denial
_AGAINST = {"hostile": "helpful", "dangerous": "harmless"}


class WorldTrait(NamedTuple):
    """An attribute that a description implies, and the clause that shows it."""

    predicate: str
    value: str
    clause: str


@cache
def _table() -> Mapping[str, Mapping[str, object]]:
    return read_table("backscroll.graph", "world_traits.toml")


@cache
def _patterns(language: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    edge = r"\b" if language == "en" else ""
    words = cast("Mapping[str, str]", _table()[language])
    return tuple(
        (
            name,
            re.compile(f"{edge}(?:{pattern}){edge}" if name != "denial" else f"(?:{pattern})", re.IGNORECASE),
        )
        for name, pattern in words.items()
    )


def traits(text: str) -> list[WorldTrait]:
    """Return the attributes that a description implies, each once."""
    language = "zh" if is_han(text) else "en"
    shown: dict[str, str] = {}
    for clause in _clauses(text):
        for name in _find_traits(clause, language):
            shown.setdefault(name, clause)
    for one, other in _AGAINST.items():
        if one in shown and other in shown:
            del shown[one], shown[other]  # it shows both
    return [
        WorldTrait(attribute, chinese if language == "zh" else english, shown[names[0]])
        for names, (attribute, english, chinese) in _match_values(shown)
    ]


def _clauses(text: str) -> Iterator[str]:
    """Yield clauses; a whole sentence follows its clauses, for statements across a comma."""
    for piece in _CLAUSE.split(text):
        if piece and piece.strip():
            yield piece.strip()


def _find_traits(clause: str, language: str) -> Iterator[str]:
    known = dict(_patterns(language))
    for name, pattern in known.items():
        found = pattern.search(clause) if name != "denial" else None
        if found is None:
            continue
        if name in _WHOLE:
            yield name
            continue
        denied = len(known["denial"].findall(clause, 0, found.start())) % 2 == 1  # 从不拒绝: they do
        meant = _DENIED.get(name, "") if denied else "" if name == "trusting" else name
        if meant:
            yield meant


def _match_values(shown: Mapping[str, str]) -> Iterator[tuple[list[str], tuple[str, str, str]]]:
    taken: set[str] = set()
    for names, value in cast("Mapping[str, list[str]]", _table()["values"]).items():
        parts = names.split()
        if value[0] not in taken and all(part in shown for part in parts):
            taken.add(value[0])
            yield parts, (value[0], value[1], value[2])
