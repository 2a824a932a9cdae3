"""Rules applied to one marked sentence of a turn: out come assertions.

Owns the step from a match to a claim: whose it is, what it is about, how sure, whether it is denied. Refuses what is asked or
supposed. Before: `extract_zh_rules`, `extract_zh_kin`, `extract_zh_context`. After: `extract_zh.read` puts the sentences of a turn together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from backscroll.derive.extract.zh.locations import located
from backscroll.derive.extract.zh.marks import KIND_OF, Mention, elided, is_mark
from backscroll.derive.extract.zh.naming.names import ANIMAL, ORGANISATION, PERSON, PLACE, WORK
from backscroll.derive.extract.zh.relatives import sex_of, slot_of, ties
from backscroll.derive.extract.zh.rules import Clause, Rule, asking, asks, clauses, denied, fitting
from backscroll.derive.extract.zh.scene import Scene, nearest, spelled, unnamed
from backscroll.derive.extract.zh.values import (
    as_written,
    event_of,
    is_deed,
    is_noun,
    liked,
    place_of,
    suits,
    thing_of,
    value_of,
)
from backscroll.derive.extract.zh.words import listed, normal
from backscroll.vocab.assertion import Assertion, Claim

#: Ties that somebody has with many: who is known by nothing else gets no node of their own.
_VAGUE = {"friend_of", "colleague_of", "classmate_of", "client_of", "student_of", "enemy_of", "pet_of"}
#: What regions do not have.
VENUES = frozenset({"price", "opening_hours", "visit_time", "near", "address", "phone"})
_TOWARDS = set("为给帮对向替到见从问")
_ONLY = {"parent_of", "spouse_of", "partner_of", "boss_of"}


def read_sentence(scene: Scene) -> list[Assertion]:
    """What a sentence says."""
    scene = replace(scene, marked=elided(scene.marked))
    parts = clauses(scene.marked.text)
    out = list(_ties(scene, parts))
    answered: set[int] = set()
    kinds = frozenset(m.kind for m in scene.marked.mentions)
    for rule, pattern in fitting(scene.marked.text, kinds):
        for whole in pattern.finditer(scene.marked.text):
            m = stated(pattern, whole, parts)
            clause = clause_of(parts, m.start(), m.end())
            if clause is None or clause.asks or clause.supposes:
                continue
            found = list(apply(scene, rule, m, clause))
            out += found
            if found:
                answered.add(rule.number)
    out += _answers(scene, parts, answered)
    out += located(scene)
    return out


def note_questions(scene: Scene) -> None:
    """Take note of what a sentence asks, so that a bare answer can be understood."""
    context = scene.context
    for clause in clauses(scene.marked.text) if asks(scene.marked.text) else ():
        if not clause.asks:
            continue
        for rule in asking():
            if any(p.search(clause.text) for p in rule.ask):
                venue = rule.predicate in VENUES
                subject = nearest(scene, rule.of, clause.end, clause.start, venue=venue)
                subject = subject or context.about(rule.of)[0]
                subject = subject or _meant(scene, rule, clause) or unnamed(scene, rule.of, 0)[0]
                if subject:
                    if context.asking != scene.number:
                        context.asked.clear()
                        context.asking = scene.number
                    context.asked.append((rule, subject, scene.number))


def _meant(scene: Scene, rule: Rule, clause: Clause) -> str:
    """The pronoun that a question asks about, where nobody is named: 他是哪年出生的."""
    if PERSON not in rule.of:
        return ""
    low, high = scene.marked.places[clause.start], scene.marked.places[clause.end]
    said = [m for m in scene.marked.mentions if low <= m.start < high and m.name in ("@he", "@she", "@you")]
    return scene.settle(said[0]) if said else ""


def clause_of(parts: list[Clause], start: int, end: int) -> Clause | None:
    """The clause in which a match ends: what is said last decides how it is meant; any part that supposes counts."""
    touched = [c for c in parts if c.start < end and c.end > start]
    if not touched:
        return None
    return replace(
        touched[-1],
        asks=any(c.asks for c in touched),
        supposes=any(c.supposes for c in touched),
        sure=min(c.sure for c in touched),
    )


def stated(pattern: re.Pattern[str], m: re.Match[str], parts: list[Clause]) -> re.Match[str]:
    """A match without what is asked at its end, where it says something before: 有甲、乙等，看过吗？"""
    touched = [c for c in parts if c.start < m.end() and c.end > m.start()]
    asking = next((c for c in touched if c.asks), None)
    if asking is None or asking is touched[0]:
        return m
    return pattern.match(m.string, m.start(), asking.start - 1) or m


def _ties(scene: Scene, parts: list[Clause]) -> Iterator[Assertion]:
    for tie in ties(scene.marked):
        clause = clause_of(parts, tie.at, tie.at + 1)
        if (clause is not None and clause.supposes) or (tie.one.of and tie.predicate in _VAGUE):
            continue
        asked = clause is not None and clause.asks and not (tie.alias or tie.one.of)
        if asked:
            continue
        one, other = scene.settle(tie.one), scene.settle(Mention("P", 0, 0, tie.other))
        kind = Claim.END if tie.past or tie.denied else Claim.RELATION
        sure = (0.9 if not tie.one.of else 0.8) * (clause.sure if clause else 1.0)
        made = scene.claim(kind, one, tie.predicate, sure, object=other, type=PERSON, object_type=PERSON)
        if made:
            yield made
        if sex := sex_of(tie.one.of.removeprefix("前") or tie.alias.rpartition("的")[2]):
            scene.context.sexes |= {one: sex, tie.alias: sex}
        if tie.alias and tie.predicate not in _VAGUE:
            # somebody may have two sisters, but has one mother
            sure = 0.8 if tie.predicate in _ONLY else 0.45
            made = scene.claim(Claim.ALIAS, one, sure=sure, value=tie.alias, type=PERSON)
            if made:
                yield made


def _subject(scene: Scene, rule: Rule, m: re.Match[str]) -> tuple[str, str]:
    """Whose it is that a match speaks of, and of which type."""
    groups = m.re.groupindex
    if "a" in groups and m["a"]:
        one = scene.marked.at(m["a"])
        if one.kind == "P" and m.string[m.start("a") - 1 : m.start("a")] in _TOWARDS:
            return "", ""  # 为你感到高兴: not you
        return scene.settle(one), rule.type or KIND_OF.get(one.kind, "")
    if not rule.of:
        return "", ""
    start = min(m.start(g) for g in groups if m[g] is not None)
    kinds = _wanted(rule, m, scene) or rule.of
    near = nearest(scene, kinds, start, venue=rule.predicate in VENUES) or spelled(scene, m)
    asked = scene.context.asked_about(rule.number, scene.number)
    asked = "" if asked in ("@it", "@topic") else asked  # the answer may name what the question did not
    if near and not asked:
        kind = next(
            (KIND_OF[x.kind] for x in scene.marked.mentions if x.name == near and x.kind in KIND_OF), ""
        )
        return near, kind if kind in kinds else kinds[0]
    if asked:
        return asked, next((k for k in kinds if scene.context.topics.get(k) == asked), kinds[0])
    return scene.context.about(kinds) if scene.context.about(kinds)[0] else unnamed(scene, kinds, start)


def _wanted(rule: Rule, m: re.Match[str], scene: Scene) -> tuple[str, ...]:
    """The kind of thing that a value itself speaks of: an award for a film is no award for a person."""
    if rule.match != "award":
        return ()
    value = scene.marked.group(m, "v")
    if re.search(
        r"终身成就|男主角|女主角|男配角|女配角|最佳导演|最佳编剧|歌手|演员|新人|影帝|影后|制作人|男星|女星|艺人",
        value,
    ):
        return (PERSON, ORGANISATION)
    return (WORK,) if re.search(r"影片|专辑|歌曲|外语片|动画片|单曲|金曲$", value) else ()


def apply(
    scene: Scene, rule: Rule, m: re.Match[str], clause: Clause, subject: tuple[str, str] | None = None
) -> Iterator[Assertion]:
    """What a match of a rule says; `subject`: of whom, where that is known."""
    sure = rule.sure * clause.sure
    if rule.claim == "slot":
        yield from _slot(scene, m, sure)
        return
    name, kind = subject or _subject(scene, rule, m)
    if not name:
        return
    if rule.predicate == "mood" and name == scene.said.role == "assistant":
        sure *= 0.5  # an assistant without a name is being polite
    if rule.claim in ("alias", "self"):
        yield from _named(scene, rule, m, name, kind, sure)
        return
    groups = m.re.groupindex
    shown = (
        m[0]
        if "v" not in groups or m["v"] is None
        else m.string[m.start() : m.start("v")] + m.string[m.end("v") : m.end()]
    )
    against = denied(shown) and rule.negated != "ignore"
    if against and (rule.negated == "drop" or rule.claim not in ("relation", "attribute")):
        return
    if rule.claim in ("give", "pet"):
        yield from _handed(scene, rule, m, name, sure)
        return
    claim = (
        Claim.END
        if against or rule.claim == "end"
        else Claim.RELATION
        if rule.claim == "relation"
        else Claim.ATTRIBUTE
    )
    ends = list(_ends(scene, rule, m, name))
    if not ends and rule.claim == "end" and "b" in groups and m["b"] is None:
        ends = [("", "", 1.0)]
    for predicate in rule.predicate.split():
        for text, other, weight in ends:
            if rule.claim in ("relation", "end"):
                made = scene.claim(
                    claim,
                    name,
                    predicate,
                    sure * weight,
                    object=text,
                    type=kind or rule.type,
                    object_type=other or rule.object_type,
                )
            else:
                made = scene.claim(claim, name, predicate, sure * weight, value=text, type=kind or rule.type)
            if made:
                yield made


def _ends(scene: Scene, rule: Rule, m: re.Match[str], name: str) -> Iterator[tuple[str, str, float]]:
    """The other ends of a relation, or the values: text, type, how sure."""
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
                    continue  # 这些演员我都喜欢: who speaks is in no film
                if text != name and suits(rule.match, KIND_OF.get(one.kind, ""), text) and text != "@it":
                    kind = KIND_OF.get(one.kind, "")
                    yield text, (rule.object_type or kind) if one.kind == "P" else kind, one.sure
        if not any(is_mark(c) for c in m["b"]):
            yield m["b"], "", 1.0
    elif "list" in groups and m["list"]:
        yield from _listed(scene, rule, m, name)
    elif "v" in groups and m["v"]:
        yield from _valued(scene, rule, m)


#: How a stretch of text becomes the other end, by the rule's `clean`: the way, and the type.
_CLEANED: dict[str, tuple[Callable[[str], str], str]] = {
    "place": (place_of, PLACE),
    "thing": (thing_of, "thing"),
    "event": (event_of, "event"),
    "school": (place_of, ORGANISATION),
    "like": (liked, "concept"),
    "value": (lambda text: value_of(text, 40), ""),
}


def _valued(scene: Scene, rule: Rule, m: re.Match[str]) -> Iterator[tuple[str, str, float]]:
    """The values that a stretch of the sentence holds: a single mark is what it marks, other text is made clean."""
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


def _listed(scene: Scene, rule: Rule, m: re.Match[str], name: str) -> Iterator[tuple[str, str, float]]:
    """Names in an enumeration of which not every one was recognised."""
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


def _named(
    scene: Scene, rule: Rule, m: re.Match[str], name: str, kind: str, sure: float
) -> Iterator[Assertion]:
    """Another name for somebody: 我叫…, 外号是…; 我是… only where it is a name that follows."""
    text = scene.marked.was(*m.span("x")).strip("“”\"' ")
    known = scene.marked.at(m["x"]) if len(m["x"]) == 1 and is_mark(m["x"]) else None
    if name in ("@we", "@they") or (known is not None and (known.name.startswith("@") or known.of)):
        return  # 我们都叫她晚晚: not we
    told_to = "a" in m.re.groupindex and m.string[m.start("a") - 1 : m.start("a")] in ("叫", "喊")
    if known is None and told_to and is_deed(text):
        return  # 他们都叫我早点睡
    if rule.claim == "self" and (
        known is None
        or known.sure < 0.7
        or scene.marked.at(m["a"]).name not in ("@i", "@you")
        or denied(m[0])
    ):
        return  # 我是医生 names nobody
    if "a" in m.re.groupindex and m["a"] and scene.marked.at(m["a"]).of:
        return  # 我妈妈叫…: said by the tie
    if known is None and (
        text in listed("not_names")
        or text in listed("endearments")
        or len(text) < 2
        or any(is_mark(c) for c in m["x"])
        or denied(m[0])
    ):
        return
    if text == name:
        return
    made = scene.claim(Claim.ALIAS, name, sure=sure, value=text, type=kind or PERSON)
    if made:
        yield made


def _slot(scene: Scene, m: re.Match[str], sure: float) -> Iterator[Assertion]:
    """What a thing has: X的…是…; X may be a name or any noun."""
    raw, word = m["s"], m["slot"]
    if len(raw) == 1 and is_mark(raw):
        one = scene.marked.at(raw)
        name, kind = scene.settle(one), KIND_OF.get(one.kind, "")
    else:
        name = scene.marked.group(m, "s")
        kind = "event" if event_of(normal(name)) else "thing"
        sure *= 0.9
        if (
            len(name) < 3
            or not is_noun(normal(name).split("(")[0], strict=True)
            or name.endswith(("上", "里", "中", "时", "后", "前"))
        ):
            return
    marks = [scene.marked.at(c) for c in raw[1:] + word + m["v"] if is_mark(c)]
    value = as_written(lambda text: value_of(text, 40), scene.marked.group(m, "v"))
    if not value or name.startswith("@") or denied(word) or any(x.name.startswith("@") for x in marks):
        return
    if any(is_mark(c) for c in word) or not is_noun(word, strict=True):
        return
    predicate = slot_of(word)
    if predicate == word and name in (scene.me, scene.you):
        return  # 我的意思是 …: what people have is said in too many ways
    if predicate in ("located_in", "comes_from"):
        made = scene.claim(Claim.RELATION, name, predicate, sure, object=value, type=kind, object_type=PLACE)
    else:
        made = scene.claim(
            Claim.ATTRIBUTE,
            name,
            predicate,
            sure if predicate != word else sure * 0.8,
            value=value,
            type=kind,
        )
    if made:
        yield made


def _handed(scene: Scene, rule: Rule, m: re.Match[str], name: str, sure: float) -> Iterator[Assertion]:
    """A thing that changes hands; an animal that somebody keeps."""
    if rule.claim == "pet":
        animal = scene.marked.group(m, "v")
        called = scene.marked.group(m, "x") if m["x"] else ""
        pet = called or f"{name}的{animal}"
        yield from filter(
            None,
            (
                scene.claim(
                    Claim.RELATION, name, "has_pet", sure, object=pet, type=PERSON, object_type=ANIMAL
                ),
                scene.claim(Claim.ATTRIBUTE, pet, "kind", sure, value=animal, type=ANIMAL),
            ),
        )
        return
    raw = [c for c in m["v"] if is_mark(c)]
    thing = as_written(thing_of, scene.marked.group(m, "v"))
    other = scene.settle(scene.marked.at(m["b"]))
    if not thing or any(scene.marked.at(c).name.startswith("@") for c in raw):
        return
    yield from filter(
        None,
        (
            scene.claim(Claim.END, name, "owns", sure, object=thing, object_type="thing"),
            scene.claim(Claim.RELATION, other, "owns", sure, object=thing, object_type="thing"),
        ),
    )


def _answers(scene: Scene, parts: list[Clause], answered: set[int]) -> Iterator[Assertion]:
    """A bare answer to what the message before asked."""
    context = scene.context
    for rule, subject, asked in list(context.asked):
        if scene.number == asked or rule.number in answered or rule.answer is None:
            continue
        if scene.number > asked + (3 if rule.more else 1):
            continue
        for whole in rule.answer.finditer(scene.marked.text):
            m = stated(rule.answer, whole, parts)
            clause = clause_of(parts, m.start(), m.end())
            if clause is None or clause.asks or clause.supposes:
                continue
            if denied(clause.text[: max(0, m.start() - clause.start)]):
                continue
            of = context.about(rule.of)[0] or subject if subject in ("@it", "@topic") else subject
            softer = replace(clause, sure=clause.sure * 0.85)
            found = list(apply(scene, rule, m, softer, (of, rule.of[0])))
            yield from found
            if found:
                answered.add(rule.number)
                break
