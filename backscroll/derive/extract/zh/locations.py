"""Locations of things, in Chinese: 钥匙在蓝色抽屉里, 我把护照放在书房的保险柜里了.

Owns plain statements that put a thing in a storage place (`locating.toml`). Refuses questions, denials and
suppositions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from backscroll.derive.extract.en.grammar.words import table
from backscroll.derive.extract.zh.rules import clauses
from backscroll.derive.extract.zh.scene import Scene
from backscroll.derive.extract.zh.values import is_noun
from backscroll.derive.extract.zh.words import normal, words_of
from backscroll.vocab.assertion import Assertion, Claim

_THING = r"(?P<x>[^\s，。！？；：、“”《》在把将没不]{1,10}?)"
_SPOT = r"(?P<y>[^\s，。！？；：、“”《》]{1,12}?)(?:里面|里|上面|上|下面|底下|下|后面|旁边|边上|中|内)?(?:了|呢|哦|呀|啊|哈)?"
_IS = re.compile(
    rf"^(?:那个?|这个?|你的|你要的)?{_THING}(?:就|都|还|一直|现在|应)?(?:在|放在|藏在|搁在|收在|锁在|落在|挂在|存在)(?:了)?{_SPOT}$"
)
_PUT = re.compile(
    rf"(?:把|将){_THING}(?:都|先|又|也)?(?:放在|放到|放进|藏在|藏到|藏进|搁在|收在|收进|锁在|锁进|落在|忘在|挂在|塞进|塞到|存在|停在)(?:了)?{_SPOT}$"
)


@cache
def _list(name: str) -> frozenset[str]:
    return frozenset(str(table("locating")[name]).split())


def read_locations(scene: Scene) -> Iterator[Assertion]:
    """Read the things that a sentence locates."""
    text = scene.marked.plain
    plain = normal(text)
    if "在" not in plain and "进" not in plain and "到" not in plain:
        return
    for clause in clauses(plain):
        if clause.asks or clause.supposes:
            continue
        words = clause.text.strip(" ，。！!；;,.~…")
        found = _PUT.search(words) or _IS.match(words)
        if found is None:
            continue
        thing, spot = _thing(found["x"], scene), found["y"].strip("的")
        if thing and any(spot.endswith(w) for w in _list("zh")):
            made = scene.claim(
                Claim.RELATION, thing, "located_in", 0.85, object=spot, type="thing", object_type="thing"
            )
            if made:
                yield made


def _thing(text: str, scene: Scene) -> str:
    mine = text.startswith("我的")
    name = text.removeprefix("我的").removeprefix("你的")
    if len(name) < 2 or name in _list("zh_never") or not is_noun(name, strict=True):
        return ""
    if any(word.tag[0] not in "nabjx" or word.tag.startswith("nr") for word in words_of(name)):
        return ""
    if any(m.name == name and m.kind in "PLO" for m in scene.marked.mentions):
        return ""
    return f"{scene.me}的{name}" if mine and scene.me else name
