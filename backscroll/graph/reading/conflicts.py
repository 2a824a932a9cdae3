"""Contradictions: two values where there can be one, overrides against the text, actions of the dead, cycles.

A report, not a repair: the latest wins and overrides hold; this lists what was passed over. Which predicates change often, never,
or exclude each other is data (`rules.toml`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple, cast

from backscroll.graph.claims.claim import ClaimLine
from backscroll.graph.claims.names import value_key
from backscroll.graph.claims.predicates import direction, rules
from backscroll.graph.facts import EITHER, OBJECT, SUBJECT, VALUE, FactSpan, spans
from backscroll.graph.naming.identity import NOWHERE, NameGroup
from backscroll.graph.overrides import OverrideStatement
from backscroll.graph.reading.fact_views import fact, predicates_of
from backscroll.graph.state import GraphState
from backscroll.graph.view import Contradiction, Evidence, Fact, Rank
from backscroll.vocab.assertion import Claim
from backscroll.vocab.ids import Ref


class _ConflictCandidate(NamedTuple):
    """A possible contradiction, before distances are known."""

    predicate: str
    held: Fact
    other: Fact
    kind: str
    between: tuple[Ref, Ref] | None = None  # turns whose distance decides


@cache
def _words(section: str, name: str) -> frozenset[str]:
    return frozenset(str(word) for word in rules()[section][name])


def conflicts(weave: GraphState) -> list[Contradiction]:
    """Return every contradiction, in order of appearance of the nodes."""
    out: list[Contradiction] = []
    groups = weave.groups()
    for group in groups:
        if group.told is None:
            group.told = list(_of_node(weave, group))
        node = weave.first(group)[1]
        out += [
            Contradiction(node, found.predicate, found.held, found.other, found.kind)
            for found in cast("list[_ConflictCandidate]", group.told)
            if found.between is None or _near(weave, *found.between)
        ]
    return out + list(_circles(weave, groups))


def _near(weave: GraphState, one: Ref, two: Ref) -> bool:
    places = [bisect_left(weave.places, weave.turns[ref].place) for ref in (one, two)]
    return abs(places[1] - places[0]) <= int(rules()["change"]["turns"])


def _of_node(weave: GraphState, group: NameGroup) -> Iterator[_ConflictCandidate]:
    for predicate, roles in sorted(predicates_of(weave, group).items()):
        for role in sorted(roles - {OBJECT}):
            for span in spans(weave, group, predicate, role):
                yield from _passed_over(weave, group, predicate, role, span)
    for stand in weave.layer.of(group.members):
        if stand.forbids:
            yield from _find_denied_claims(weave, group, stand)
    yield from _dead(weave, group)
    yield from _find_excluding_relations(weave, group)


def _passed_over(
    weave: GraphState, group: NameGroup, predicate: str, role: str, span: FactSpan
) -> Iterator[_ConflictCandidate]:
    """Yield values that another one replaced."""
    if span.stands and span.until is None:
        held = fact(weave, group, predicate, role, span)
        for old in span.contested:
            told = fact(weave, group, predicate, role, old)
            if set(told.evidence) & set(held.contested):
                yield _ConflictCandidate(predicate, held, told, "override")
    by = span.by
    if not isinstance(by, ClaimLine) or by.kind is Claim.END or by.weak or span.weak or span.stands:
        return
    after = _successor(weave, group, by, role)
    if after is None or _refines(span, after):
        return
    told = fact(weave, group, predicate, role, span)
    held = fact(weave, group, by.predicate, role, after)
    if by.opening == span.lines[-1].opening and by.claim.source == span.lines[-1].claim.source:
        if predicate not in _words("change", "often"):
            yield _ConflictCandidate(predicate, held, told, "same turn")
    elif predicate in _words("change", "never"):
        yield _ConflictCandidate(predicate, held, told, "superseded")
    elif predicate not in _words("change", "often"):
        yield _ConflictCandidate(predicate, held, told, "superseded", (span.lines[-1].opening, by.opening))


def _successor(weave: GraphState, group: NameGroup, by: ClaimLine, role: str) -> FactSpan | None:
    """Return the span that replaced a span, seen from the same node; None if the other end caused it."""
    if role == VALUE or by.subject in group.members or (role == EITHER and by.object in group.members):
        for span in spans(weave, group, by.predicate, role):
            if by in span.lines:
                return span
    return None


def _refines(one: FactSpan, two: FactSpan) -> bool:
    """Return True if one value is only more precise than the other ("elf", "forest elf")."""
    if isinstance(one.other, str) and isinstance(two.other, str):
        return one.other in two.other or two.other in one.other
    return False


def _find_denied_claims(
    weave: GraphState, group: NameGroup, stand: OverrideStatement
) -> Iterator[_ConflictCandidate]:
    """Yield claims of the text that the user denied."""
    own = stand.subject or stand.object
    if own not in group.members:
        return
    lines = [
        line
        for key in group.members
        for line in weave.index.lines(key, stand.predicate)
        if line.kind in (Claim.ATTRIBUTE, Claim.RELATION) and _meets(weave, stand, line)
    ]
    if not lines:
        return
    lines.sort(key=lambda line: line.order)
    role = VALUE if not stand.relation else SUBJECT if stand.subject else OBJECT
    first = lines[0]
    what = value_key(first.claim.value) if role == VALUE else weave.group(first.object or first.subject)
    if role == OBJECT:
        what = weave.group(first.subject)
    elif role == SUBJECT and first.subject not in group.members:
        what = weave.group(first.subject)  # a symmetric one, stated from the other end
    span = FactSpan(what, first.order)
    span.lines, span.weak = lines, False
    told = fact(weave, group, stand.predicate, role, span)
    held = Fact(
        told.node,
        told.predicate,
        rank=Rank.PERSON,
        evidence=(Evidence(stand.override.id or NOWHERE, override=stand.override),),
    )
    yield _ConflictCandidate(told.predicate, held, told, "override")


def _meets(weave: GraphState, stand: OverrideStatement, line: ClaimLine) -> bool:
    """Return True if a line states what an override denies."""
    if not stand.relation:
        same = not stand.value or value_key(stand.value) == value_key(line.claim.value)
        return line.kind is Claim.ATTRIBUTE and same
    if line.kind is not Claim.RELATION:
        return False

    def fits(subject: str, object_: str) -> bool:
        return (not stand.subject or stand.subject in weave.group(subject).members) and (
            not stand.object or stand.object in weave.group(object_).members
        )

    symmetric = direction(line.predicate).symmetric
    return fits(line.subject, line.object) or (symmetric and fits(line.object, line.subject))


def _dead(weave: GraphState, group: NameGroup) -> Iterator[_ConflictCandidate]:
    """Yield people who act after having died."""
    death = _death(weave, group)
    if death is None:
        return
    held, when = death
    for predicate, roles in sorted(predicates_of(weave, group).items()):
        for role in sorted(roles):
            said = direction(predicate).inverse if role == OBJECT else predicate
            if said not in _words("death", "acting"):
                continue
            for span in spans(weave, group, predicate, role):
                later = [line for line in span.lines if line.order > when and not line.weak]
                if later and span.until is None:
                    yield _ConflictCandidate(said, held, fact(weave, group, predicate, role, span), "dead")
                    break


def _death(weave: GraphState, group: NameGroup) -> tuple[Fact, tuple[int, bytes, Ref, int]] | None:
    if weave.type(group) not in ("person", "creature", "animal", ""):
        return None
    for predicate in rules()["death"]["attributes"]:
        for span in spans(weave, group, predicate, VALUE):
            if span.until is None and span.other in _words("death", "values") and not span.weak:
                return fact(weave, group, predicate, VALUE, span), span.opened
    for predicate in rules()["death"]["ended_by"]:
        for span in spans(weave, group, predicate, SUBJECT):
            if span.until is None and not span.weak:
                return fact(weave, group, predicate, SUBJECT, span), span.opened
    return None


def _find_excluding_relations(weave: GraphState, group: NameGroup) -> Iterator[_ConflictCandidate]:
    """Yield pairs of mutually exclusive relations between the same two nodes."""
    node = weave.first(group)[1]
    now: dict[str, dict[str, Fact]] = {}
    wanted = {str(name) for two in rules()["excludes"]["pairs"] for name in two}
    for predicate in sorted(wanted):
        way = direction(predicate)
        for role in (EITHER,) if way.symmetric else (SUBJECT, OBJECT):
            for span in spans(weave, group, way.name, role):
                if span.until is None and not isinstance(span.other, str) and weave.visible(span.other):
                    told = fact(weave, group, way.name, role, span)
                    now.setdefault(told.object, {})[told.predicate] = told
    for other, facts in sorted(now.items()):
        for one, two in rules()["excludes"]["pairs"]:
            # Seen from both ends; reported by the first one by name, or by the subject.
            if one in facts and two in facts and (node < other or not direction(two).symmetric):
                held, told = facts[one], facts[two]
                yield _ConflictCandidate(str(two), held, told, "excluded")


def _circles(weave: GraphState, groups: list[NameGroup]) -> Iterator[Contradiction]:
    """Yield people who are their own ancestors, and things that are part of themselves."""
    names = dict.fromkeys(direction(str(name)).name for name in rules()["circles"]["predicates"])
    for predicate in names:
        edges: dict[str, list[Fact]] = {}
        for group in groups:
            if (
                any(predicate in weave.index.slots.get(key, ()) for key in group.members)
                or weave.layer.stands
            ):
                facts = [
                    fact(weave, group, predicate, SUBJECT, span)
                    for span in spans(weave, group, predicate, SUBJECT)
                    if span.until is None and not isinstance(span.other, str) and weave.visible(span.other)
                ]
                if facts:
                    edges[weave.first(group)[1]] = facts
        yield from _back(predicate, edges)


def _back(predicate: str, edges: dict[str, list[Fact]]) -> Iterator[Contradiction]:
    """Yield edges that close a cycle, found depth first in a fixed order."""
    state: dict[str, int] = {}  # 1: in progress, 2: done
    for start, leaving in edges.items():
        if start in state:
            continue
        way: list[tuple[str, Iterator[Fact]]] = [(start, iter(leaving))]
        state[start] = 1
        while way:
            node, rest = way[-1]
            step = next(rest, None)
            if step is None:
                state[node] = 2
                way.pop()
            elif state.get(step.object) == 1:
                first = next(f for f in edges[step.object] if _leads(f, way, step))
                yield Contradiction(node, predicate, step, first, "circle")
            elif step.object not in state:
                state[step.object] = 1
                way.append((step.object, iter(edges.get(step.object, ()))))


def _leads(known: Fact, way: list[tuple[str, Iterator[Fact]]], step: Fact) -> bool:
    """Return True for the edge by which the cycle leaves the node that it returns to."""
    nodes = [node for node, _ in way]
    at = nodes.index(step.object)
    following = nodes[at + 1] if at + 1 < len(nodes) else step.object
    return known.object == following
