"""Application of rules to one marked sentence of a turn, producing assertions.

Owns the step from a match to a claim: subject, topic, certainty, negation. Refuses questions and
suppositions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from backscroll.derive.extract.zh.ends import read_ends
from backscroll.derive.extract.zh.locations import read_locations
from backscroll.derive.extract.zh.marks import KIND_OF, SentenceMention, is_mark, restore_subjects
from backscroll.derive.extract.zh.naming.names import ANIMAL, ORGANISATION, PERSON, PLACE, WORK
from backscroll.derive.extract.zh.relatives import sex_of, slot_of, ties
from backscroll.derive.extract.zh.rules import ClaimRule, Clause, asking, asks, clauses, fitting, is_denied
from backscroll.derive.extract.zh.scene import Scene, find_owner_before, infer_topic, nearest
from backscroll.derive.extract.zh.values import as_written, event_of, is_deed, is_noun, thing_of, value_of
from backscroll.derive.extract.zh.words import load_words, normal
from backscroll.vocab.assertion import Assertion, Claim

#: Ties that a person has with many people: those known only by such a tie get no node.
_VAGUE = {"friend_of", "colleague_of", "classmate_of", "client_of", "student_of", "enemy_of", "pet_of"}
#: Properties that regions do not have.
VENUES = frozenset({"price", "opening_hours", "visit_time", "near", "address", "phone"})
_TOWARDS = set("为给帮对向替到见从问")
_ONLY = {"parent_of", "spouse_of", "partner_of", "boss_of"}


def read_sentence(scene: Scene) -> list[Assertion]:
    """Return the assertions of a sentence."""
    scene = replace(scene, marked=restore_subjects(scene.marked))
    parts = clauses(scene.marked.text)
    out = list(_ties(scene, parts))
    answered: set[int] = set()
    kinds = frozenset(m.kind for m in scene.marked.mentions)
    for rule, pattern in fitting(scene.marked.text, kinds):
        for whole in pattern.finditer(scene.marked.text):
            m = cut_question(pattern, whole, parts)
            clause = clause_of(parts, m.start(), m.end())
            if clause is None or clause.asks or clause.supposes:
                continue
            found = list(apply(scene, rule, m, clause))
            out += found
            if found:
                answered.add(rule.number)
    out += _answers(scene, parts, answered)
    out += read_locations(scene)
    return out


def note_questions(scene: Scene) -> None:
    """Note what a sentence asks, so that a bare answer can be understood."""
    context = scene.context
    for clause in clauses(scene.marked.text) if asks(scene.marked.text) else ():
        if not clause.asks:
            continue
        for rule in asking():
            if any(p.search(clause.text) for p in rule.ask):
                venue = rule.predicate in VENUES
                subject = nearest(scene, rule.of, clause.end, clause.start, venue=venue)
                subject = subject or context.about(rule.of)[0]
                subject = (
                    subject or _find_asked_pronoun(scene, rule, clause) or infer_topic(scene, rule.of, 0)[0]
                )
                if subject:
                    if context.asking != scene.number:
                        context.asked.clear()
                        context.asking = scene.number
                    context.asked.append((rule, subject, scene.number))


def _find_asked_pronoun(scene: Scene, rule: ClaimRule, clause: Clause) -> str:
    """Return the pronoun that a question asks about, if it names no person: 他是哪年出生的."""
    if PERSON not in rule.of:
        return ""
    low, high = scene.marked.places[clause.start], scene.marked.places[clause.end]
    said = [m for m in scene.marked.mentions if low <= m.start < high and m.name in ("@he", "@she", "@you")]
    return scene.settle(said[0]) if said else ""


def clause_of(parts: list[Clause], start: int, end: int) -> Clause | None:
    """Return the clause in which a match ends: the last clause decides the mood; one supposed part is enough."""
    touched = [c for c in parts if c.start < end and c.end > start]
    if not touched:
        return None
    return replace(
        touched[-1],
        asks=any(c.asks for c in touched),
        supposes=any(c.supposes for c in touched),
        sure=min(c.sure for c in touched),
    )


def cut_question(pattern: re.Pattern[str], m: re.Match[str], parts: list[Clause]) -> re.Match[str]:
    """Return a match without the question at its end, if it states something before: 有甲、乙等，看过吗？"""
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
        one, other = scene.settle(tie.one), scene.settle(SentenceMention("P", 0, 0, tie.other))
        kind = Claim.END if tie.past or tie.denied else Claim.RELATION
        sure = (0.9 if not tie.one.of else 0.8) * (clause.sure if clause else 1.0)
        made = scene.claim(kind, one, tie.predicate, sure, object=other, type=PERSON, object_type=PERSON)
        if made:
            yield made
        if sex := sex_of(tie.one.of.removeprefix("前") or tie.alias.rpartition("的")[2]):
            scene.context.sexes |= {one: sex, tie.alias: sex}
        if tie.alias and tie.predicate not in _VAGUE:
            # a person may have two sisters, but has one mother
            sure = 0.8 if tie.predicate in _ONLY else 0.45
            made = scene.claim(Claim.ALIAS, one, sure=sure, value=tie.alias, type=PERSON)
            if made:
                yield made


def _subject(scene: Scene, rule: ClaimRule, m: re.Match[str]) -> tuple[str, str]:
    """Return the subject of a match, and its type."""
    groups = m.re.groupindex
    if "a" in groups and m["a"]:
        one = scene.marked.at(m["a"])
        if one.kind == "P" and m.string[m.start("a") - 1 : m.start("a")] in _TOWARDS:
            return "", ""  # 为你感到高兴: not you
        return scene.settle(one), rule.type or KIND_OF.get(one.kind, "")
    if not rule.of:
        return "", ""
    start = min(m.start(g) for g in groups if m[g] is not None)
    kinds = _find_award_kinds(rule, m, scene) or rule.of
    near = nearest(scene, kinds, start, venue=rule.predicate in VENUES) or find_owner_before(scene, m)
    asked = scene.context.asked_about(rule.number, scene.number)
    asked = "" if asked in ("@it", "@topic") else asked  # the answer may name what the question did not
    if near and not asked:
        kind = next(
            (KIND_OF[x.kind] for x in scene.marked.mentions if x.name == near and x.kind in KIND_OF), ""
        )
        return near, kind if kind in kinds else kinds[0]
    if asked:
        return asked, next((k for k in kinds if scene.context.topics.get(k) == asked), kinds[0])
    return scene.context.about(kinds) if scene.context.about(kinds)[0] else infer_topic(scene, kinds, start)


def _find_award_kinds(rule: ClaimRule, m: re.Match[str], scene: Scene) -> tuple[str, ...]:
    """Return the kind of thing that a value itself names: an award for a film is not an award for a person."""
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
    scene: Scene, rule: ClaimRule, m: re.Match[str], clause: Clause, subject: tuple[str, str] | None = None
) -> Iterator[Assertion]:
    """Yield the claims of a rule's match; `subject`: its subject, if known."""
    sure = rule.sure * clause.sure
    if rule.claim == "slot":
        yield from _slot(scene, m, sure)
        return
    name, kind = subject or _subject(scene, rule, m)
    if not name:
        return
    if rule.predicate == "mood" and name == scene.said.role == "assistant":
        sure *= 0.5  # an unnamed assistant is being polite
    if rule.claim in ("alias", "self"):
        yield from _read_alias(scene, rule, m, name, kind, sure)
        return
    groups = m.re.groupindex
    shown = (
        m[0]
        if "v" not in groups or m["v"] is None
        else m.string[m.start() : m.start("v")] + m.string[m.end("v") : m.end()]
    )
    against = is_denied(shown) and rule.negated != "ignore"
    if against and (rule.negated == "drop" or rule.claim not in ("relation", "attribute")):
        return
    if rule.claim in ("give", "pet"):
        yield from _read_possession(scene, rule, m, name, sure)
        return
    claim = (
        Claim.END
        if against or rule.claim == "end"
        else Claim.RELATION
        if rule.claim == "relation"
        else Claim.ATTRIBUTE
    )
    ends = list(read_ends(scene, rule, m, name))
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


def _read_alias(
    scene: Scene, rule: ClaimRule, m: re.Match[str], name: str, kind: str, sure: float
) -> Iterator[Assertion]:
    """Yield another name for a person: 我叫…, 外号是…; 我是… only if a name follows."""
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
        or is_denied(m[0])
    ):
        return  # 我是医生 is not a name
    if "a" in m.re.groupindex and m["a"] and scene.marked.at(m["a"]).of:
        return  # 我妈妈叫…: handled as a tie
    if known is None and (
        text in load_words("not_names")
        or text in load_words("endearments")
        or len(text) < 2
        or any(is_mark(c) for c in m["x"])
        or is_denied(m[0])
    ):
        return
    if text == name:
        return
    made = scene.claim(Claim.ALIAS, name, sure=sure, value=text, type=kind or PERSON)
    if made:
        yield made


def _slot(scene: Scene, m: re.Match[str], sure: float) -> Iterator[Assertion]:
    """Yield the property of a thing: X的…是…; X may be a name or any noun."""
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
    if not value or name.startswith("@") or is_denied(word) or any(x.name.startswith("@") for x in marks):
        return
    if any(is_mark(c) for c in word) or not is_noun(word, strict=True):
        return
    predicate = slot_of(word)
    if predicate == word and name in (scene.me, scene.you):
        return  # 我的意思是 …: possessions of people are stated in too many ways
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


def _read_possession(
    scene: Scene, rule: ClaimRule, m: re.Match[str], name: str, sure: float
) -> Iterator[Assertion]:
    """Yield a thing that changes hands, or a pet."""
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
    """Yield a bare answer to a question of the previous message."""
    context = scene.context
    for rule, subject, asked in list(context.asked):
        if scene.number == asked or rule.number in answered or rule.answer is None:
            continue
        if scene.number > asked + (3 if rule.more else 1):
            continue
        for whole in rule.answer.finditer(scene.marked.text):
            m = cut_question(rule.answer, whole, parts)
            clause = clause_of(parts, m.start(), m.end())
            if clause is None or clause.asks or clause.supposes:
                continue
            if is_denied(clause.text[: max(0, m.start() - clause.start)]):
                continue
            of = context.about(rule.of)[0] or subject if subject in ("@it", "@topic") else subject
            softer = replace(clause, sure=clause.sure * 0.85)
            found = list(apply(scene, rule, m, softer, (of, rule.of[0])))
            yield from found
            if found:
                answered.add(rule.number)
                break
