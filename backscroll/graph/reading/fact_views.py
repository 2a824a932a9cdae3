"""Facts for readers: spans with their evidence, and the predicates of a node."""

from __future__ import annotations

from backscroll.graph.claims.claim import ClaimLine
from backscroll.graph.claims.names import key_of
from backscroll.graph.claims.predicates import direction
from backscroll.graph.facts import EITHER, OBJECT, SUBJECT, VALUE, FactSpan
from backscroll.graph.naming.identity import NOWHERE, NameGroup
from backscroll.graph.overrides import OverrideStatement
from backscroll.graph.state import GraphState
from backscroll.graph.view import Evidence, Fact, Rank
from backscroll.vocab.assertion import Change, Claim, Override
from backscroll.vocab.ids import Ref


def evidence(span: FactSpan) -> tuple[Evidence, ...]:
    """Return the evidence of a span, overrides first."""
    said = tuple(Evidence(line.opening, line.claim) for line in span.lines)
    own = tuple(
        Evidence(stand.override.id or NOWHERE, override=stand.override) for stand in reversed(span.stands)
    )
    return own + said


def fact(weave: GraphState, group: NameGroup, predicate: str, role: str, span: FactSpan) -> Fact:
    """Return a span as a fact of a node."""
    node = weave.first(group)[1]
    end = "" if isinstance(span.other, str) else weave.first(span.other)[1]
    if span.shown is None or (span.shown.node, span.shown.object) != (node, end):
        span.shown = _make_fact(node, end, group, predicate, role, span)
    return span.shown


def _make_fact(node: str, other: str, group: NameGroup, predicate: str, role: str, span: FactSpan) -> Fact:
    name = predicate
    derived = False
    value = ""
    if isinstance(span.other, str):
        value = span.lines[0].claim.value.strip() if span.lines else span.stands[0].value
    else:
        way = direction(predicate)
        if role == OBJECT:
            name = way.inverse
        own = [line for line in span.lines if _from_here(line, group)]
        derived = not own and not any(s.override.node and _stands_here(s, group) for s in span.stands)
    newest = span.stands[-1] if span.stands else None
    return Fact(
        node,
        name,
        value,
        other,
        rank=Rank.PERSON if newest else Rank.SAID,
        since=span.lines[0].opening if span.lines else None,
        until=_until(span),
        evidence=evidence(span),
        sure=span.sure,
        pinned=any(stand.override.change is Change.PIN for stand in span.stands),
        contested=_find_contested_evidence(span, newest.override) if newest else (),
        derived=derived,
    )


def _from_here(line: ClaimLine, group: NameGroup) -> bool:
    """Return True if the text states it of this node, not of the other end."""
    return (line.object if line.flipped else line.subject) in group.members


def _stands_here(stand: OverrideStatement, group: NameGroup) -> bool:
    return key_of(stand.override.node) in group.members


def _until(span: FactSpan) -> Ref | None:
    if span.by is None:
        return None
    if isinstance(span.by, ClaimLine):
        return span.by.opening
    return span.by.override.id or (span.lines[-1].opening if span.lines else NOWHERE)


def _find_contested_evidence(span: FactSpan, own: Override) -> tuple[Evidence, ...]:
    """Return evidence of the text that contradicts a later override (or is of unknown time)."""
    return tuple(
        Evidence(line.opening, line.claim)
        for old in span.contested
        for line in old.lines
        if not line.weak and _after(line, own)
    )


def _after(line: ClaimLine, own: Override) -> bool:
    source = line.claim.source or line.opening
    return own.id is None or source.thread != own.id.thread or source.seq > own.id.seq


def predicates_of(weave: GraphState, group: NameGroup) -> dict[str, set[str]]:
    """Return every predicate of a node, with its roles."""
    out: dict[str, set[str]] = {}
    for key in group.members:
        for predicate, by_turn in weave.index.slots.get(key, {}).items():
            if predicate == "alias":
                continue
            roles = out.setdefault(predicate, set())
            for lines in by_turn.values():
                for line in lines:
                    if line.kind is Claim.ATTRIBUTE:
                        roles.add(VALUE)
                    elif line.kind is Claim.RELATION:
                        roles.add(SUBJECT if line.subject == key else OBJECT)
    for stand in weave.layer.of(group.members):
        roles = out.setdefault(stand.predicate, set())
        if stand.forbids:
            continue
        if not stand.relation:
            roles.add(VALUE)
        else:
            roles |= {SUBJECT} if stand.subject in group.members else set()
            roles |= {OBJECT} if stand.object in group.members else set()
    return {
        name: ({EITHER} if roles & {SUBJECT, OBJECT} else set()) | (roles & {VALUE})
        if direction(name).symmetric
        else roles
        for name, roles in out.items()
    }
