"""Names in Latin letters inside Chinese text (被 Kelvin 拉去开会, 去 Manner 买咖啡): which uses show that a name is a person or a place.

A capital is weak evidence here, because nouns, brands and whole phrases are borrowed as well. Owns the words around such a
name that count. Refuses weighing them: `derive/extract/zh/naming/cues` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from backscroll.derive.extract.en.grammar.words import common
from backscroll.derive.extract.zh.naming.names import PERSON, PLACE

LATIN = re.compile(r"(?<![A-Za-z0-9_./@:-])[A-Z][a-z]{1,15}(?![A-Za-z0-9_./@-])(?! ?[A-Za-z])")
_TO_SOMEBODY = re.compile(r"(?:被|跟|和|给|问|叫|找|让|请|对|带|带上|陪|约|等|见|像|认识|告诉|听|@) ?$")
_DOES = re.compile(
    r" ?(?:说|问|答|笑|哭|也|还|又|刚|就|都|才|想|要|会|能|不|没|去|来|在|跟|把|被|给|让|觉得|知道|喜欢|昨天|今天|上次|那天|最近|真的|他|她|突然|已经|终于)"
)
_GOING = re.compile(r"(?:去|到|回|往|从|在|逛|路过|离) ?$")
_ON = re.compile(r" ?(?:上|里面|中|群)")


class LatinUse(NamedTuple):
    """One use of such a name: its place, and the kind it shows; an empty kind shows nothing."""

    name: str
    start: int
    kind: str


def latin_uses(text: str) -> Iterator[LatinUse]:
    """Yield the uses of such names in a sentence; ordinary English words only as destinations."""
    for m in LATIN.finditer(text):
        before, ordinary = text[max(0, m.start() - 3) : m.start()], m[0].lower() in common()
        if _GOING.search(before):
            kind = "" if _ON.match(text, m.end()) else PLACE
        elif not ordinary and (_TO_SOMEBODY.search(before) or _DOES.match(text, m.end())):
            kind = PERSON
        else:
            kind = ""
        if kind or not ordinary:
            yield LatinUse(m[0], m.start(), kind)
