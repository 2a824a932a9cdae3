"""Values and objects in a match of a Chinese rule: marks, enumerations, cleaned text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from backscroll.derive.extract.zh.marks import KIND_OF, is_mark
from backscroll.derive.extract.zh.naming.names import ORGANISATION, PLACE, WORK
from backscroll.derive.extract.zh.rules import ClaimRule
from backscroll.derive.extract.zh.scene import Scene
from backscroll.derive.extract.zh.values import (
    as_written,
    clean_taste,
    event_of,
    place_of,
    suits,
    thing_of,
    value_of,
)


def read_ends(scene: Scene, rule: ClaimRule, m: re.Match[str], name: str) -> Iterator[tuple[str, str, float]]:
    """Yield the objects of a relation, or the values: text, type, certainty."""
    groups = m.re.groupindex
    if rule.value:
        yield rule.value, "", 1.0
    elif "b" in groups and m["b"]:
        for mark in m["b"]:
            if is_mark(mark):
                one = scene.marked.at(mark)
                text = scene.settle(one)
                if one.kind == "P" and rule.object_type == ORGANISATION and one.name.startswith("@"):
                    continue
                if one.name in ("@i", "@you") and WORK in rule.of:
                    continue  # 这些演员我都喜欢: the speaker is not in the film
                if text != name and suits(rule.match, KIND_OF.get(one.kind, ""), text) and text != "@it":
                    kind = KIND_OF.get(one.kind, "")
                    yield text, (rule.object_type or kind) if one.kind == "P" else kind, one.sure
        if not any(is_mark(c) for c in m["b"]):
            yield m["b"], "", 1.0
    elif "list" in groups and m["list"]:
        yield from _read_enumeration(scene, rule, m, name)
    elif "v" in groups and m["v"]:
        yield from _read_values(scene, rule, m)


#: How a stretch of text becomes an object, by the rule's `clean`: the method, and the type.
_CLEANED: dict[str, tuple[Callable[[str], str], str]] = {
    "place": (place_of, PLACE),
    "thing": (thing_of, "thing"),
    "event": (event_of, "event"),
    "school": (place_of, ORGANISATION),
    "like": (clean_taste, "concept"),
    "value": (lambda text: value_of(text, 40), ""),
}


def _read_values(scene: Scene, rule: ClaimRule, m: re.Match[str]) -> Iterator[tuple[str, str, float]]:
    """Yield the values in a stretch of the sentence: a single mark gives what it stands for, other text is cleaned."""
    raw = m["v"].strip()
    marks = [scene.marked.at(c) for c in raw if is_mark(c)]
    plain = scene.marked.group(m, "v")
    if marks and len(raw) == 1 and rule.clean not in ("place", "profession"):
        one = marks[0]
        text = scene.settle(one) if one.kind in KIND_OF else plain.strip()
        if suits(rule.match, KIND_OF.get(one.kind, ""), text):
            yield text, KIND_OF.get(one.kind, ""), one.sure
    elif rule.clean == "profession":
        for part in scene.marked.parts(m, "v"):
            if text := value_of(re.sub(r"^(?:一|1)?(?:名|位|个)", "", part), 14):
                yield text, "", 1.0
    elif rule.match in ("each", "genre"):
        yield from ((part, "", 1.0) for part in scene.marked.parts(m, "v"))
    elif rule.clean in _CLEANED:
        if any(x.name.startswith("@") for x in marks) or (rule.clean == "like" and raw.startswith("的")):
            return
        clean, kind = _CLEANED[rule.clean]
        many = rule.clean == "like" and "的" not in plain
        for part in scene.marked.parts(m, "v") if many else [plain]:
            if text := as_written(clean, part):
                yield text, rule.object_type or kind, 0.9
    elif plain.strip():
        yield plain.strip(), "", 1.0


def _read_enumeration(
    scene: Scene, rule: ClaimRule, m: re.Match[str], name: str
) -> Iterator[tuple[str, str, float]]:
    """Yield the names in an enumeration of which not all were recognised."""
    wanted = {"places": (PLACE, ORGANISATION), "works": (WORK,)}.get(rule.match, (PLACE,))
    kind = wanted[0]
    marks = [scene.marked.at(c) for c in m["list"] if is_mark(c)]
    pieces = scene.marked.parts(m, "list")
    known = {x.name for x in marks if KIND_OF.get(x.kind) in wanted}
    for number, piece in enumerate(pieces):
        whole = re.sub(r"^(?:有|还有|比如|像|就是|是|叫|包括|推荐|去|可以去)+", "", piece)
        whole = re.sub(
            r"(?:等|这些|都|多个|几个|很多|之类)?(?:的)?(?:景点|景区|地方|好地方)?(?:呢|呀|啊|吧|哦|哈|了|等)*$",
            "",
            whole,
        )
        if whole in known or (
            len(pieces) > 1
            and 2 <= len(whole) <= 14
            and not re.search(
                r"[你我他她它吗么？?是有去想还很就都也]|知道|可以|不错|什么|哪|好多|很多|不少|许多", whole
            )
        ):
            if whole != name:
                yield whole, kind, 0.9 if whole in known else 0.75
        elif number == 0 and (
            inside := next((k for k in sorted(known, key=len, reverse=True) if k in piece), "")
        ):
            yield inside, kind, 0.8
