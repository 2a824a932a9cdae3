"""Facts: when an attribute or a relation holds, folded from lines in order, with overrides on top.

One sweep for each node, predicate and end of the relation: a claim opens a span or adds evidence to the open one; another
value of a single-valued predicate, an end, or the opposite closes it. Hints close nothing that is more certain. Owns no names and
no caches but the groups' own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from backscroll.graph.claims.claim import ClaimLine, Order
from backscroll.graph.claims.names import value_key
from backscroll.graph.claims.predicates import PredicateDirection, adds, direction, load_list_predicates
from backscroll.graph.naming.identity import NOWHERE, NameGroup
from backscroll.graph.overrides import OverrideStatement
from backscroll.graph.state import GraphState
from backscroll.graph.view import Fact
from backscroll.vocab.assertion import Claim

#: Roles of a node in a predicate: with a value, as subject, as object, or at either end of a symmetric one.
VALUE, SUBJECT, OBJECT, EITHER = "v", "s", "o", "x"

What = NameGroup | str  # the other end: a node, or the key of a value
_LATE = b""


class FactSpan:
    """One fact with the time for which it holds."""

    __slots__ = ("by", "contested", "lines", "opened", "other", "shown", "stands", "until", "weak")

    def __init__(self, other: What, opened: Order) -> None:
        self.other = other
        self.opened = opened
        self.until: Order | None = None
        self.by: ClaimLine | OverrideStatement | None = None  # what closed it
        self.lines: list[ClaimLine] = []
        self.stands: list[OverrideStatement] = []
        self.contested: list[FactSpan] = []  # what the text stated when the override replaced it
        self.weak = True
        self.shown: Fact | None = None  # the latest claim; a span belongs to one node in one role

    @property
    def sure(self) -> float:
        """The certainty of its best evidence."""
        return 1.0 if self.stands else max((line.claim.sure for line in self.lines), default=1.0)


class _SweepPoint:
    """One event of the sweep: a claim about the other end, or an end."""

    __slots__ = ("by", "opens", "order", "other")

    def __init__(
        self, order: Order, other: What | None, by: ClaimLine | OverrideStatement, opens: bool
    ) -> None:
        self.order = order
        self.other = other  # None: whatever is open
        self.by = by
        self.opens = opens


def _late(stand: OverrideStatement) -> Order:
    return (1, _LATE, NOWHERE, stand.number)


def spans(weave: GraphState, group: NameGroup, predicate: str, role: str) -> list[FactSpan]:
    """Return everything of one predicate that ever held for a node in a role, ordered by its beginning."""
    known = group.spans.get((predicate, role))
    if known is None:
        steps = list(
            _values(weave, group, predicate) if role == VALUE else _edges(weave, group, predicate, role)
        )
        steps.sort(key=lambda step: step.order)
        way = direction(predicate)
        one = way.object_one if role == OBJECT else way.subject_one
        known = group.spans[predicate, role] = _sweep_spans(
            steps, one=one, lists=predicate in load_list_predicates()
        )
    return cast("list[FactSpan]", known)


def _sweep_spans(steps: list[_SweepPoint], *, one: bool, lists: bool = False) -> list[FactSpan]:
    """Run the sweep. `one`: only one may be open at a time; `lists`: unless one sentence names several."""
    opened: dict[What, FactSpan] = {}
    closed: list[FactSpan] = []
    for step in steps:
        by = step.by
        weak = isinstance(by, ClaimLine) and by.weak
        if not step.opens:
            for other in [o for o in opened if step.other is None or o == step.other]:
                _close(opened, closed, other, step, weak)
            continue
        assert step.other is not None
        others = [other for other in opened if one and other != step.other]
        if lists and isinstance(by, ClaimLine):
            on_top = adds(by.claim.quote)
            others = [other for other in others if not on_top and not _one_sentence(by, opened[other])]
        if weak and any(not opened[other].weak for other in others):
            continue
        displaced = [opened[other] for other in others]
        for other in others:
            _close(opened, closed, other, step, weak)
        span = opened.get(step.other)
        if span is None and isinstance(by, OverrideStatement):
            span = _again(step.other, closed)
        if span is None:
            span = FactSpan(step.other, step.order)
        opened[step.other] = span
        span.weak = span.weak and weak
        if isinstance(by, ClaimLine):
            span.lines.append(by)
        else:
            span.stands.append(by)
            span.contested = [old for old in displaced if not old.stands]
    return sorted([*closed, *opened.values()], key=lambda span: span.opened)


def _one_sentence(line: ClaimLine, span: FactSpan) -> bool:
    """Return True if one sentence states both the new and the open value."""
    said, quote = line.claim.source, line.claim.quote
    return bool(quote) and any(
        old.opening == line.opening and (old.claim.source, old.claim.quote) == (said, quote)
        for old in span.lines
    )


def _close(
    opened: dict[What, FactSpan], closed: list[FactSpan], other: What, step: _SweepPoint, weak: bool
) -> None:
    span = opened[other]
    if weak and not span.weak:
        return
    span.until, span.by = step.order, step.by
    closed.append(opened.pop(other))


def _again(other: What, closed: list[FactSpan]) -> FactSpan | None:
    """Continue a span that the user restates, as if there had been no gap."""
    for span in reversed(closed):
        if span.other == other:
            closed.remove(span)
            span.until = span.by = None
            return span
    return None


def _values(weave: GraphState, group: NameGroup, predicate: str) -> Iterator[_SweepPoint]:
    stands = [s for s in weave.layer.of(group.members) if s.predicate == predicate and not s.relation]
    forbids = [s for s in stands if s.forbids]
    for key in group.members:
        for line in weave.index.lines(key, predicate):
            if line.subject != key:
                continue
            if line.kind is Claim.ATTRIBUTE:
                value = value_key(line.claim.value)
                if not any(not s.value or value_key(s.value) == value for s in forbids):
                    yield _SweepPoint(line.order, value, line, opens=True)
            elif line.kind is Claim.END and not line.object:
                value = value_key(line.claim.value) if line.claim.value.strip() else None
                yield _SweepPoint(line.order, value, line, opens=False)
    for stand in stands:
        beaten = any(s.number > stand.number and not s.value for s in forbids)
        if not stand.forbids and stand.value and not beaten:
            yield _SweepPoint(_late(stand), value_key(stand.value), stand, opens=True)


def _other(way: PredicateDirection, role: str, line: ClaimLine, key: str) -> str | None:
    """Return the key at the other end of a line, seen from a key in a role; None if the key has another role."""
    if way.symmetric:
        return line.object if line.subject == key else line.subject
    if role == SUBJECT:
        return line.object if line.subject == key else None
    return line.subject if line.object == key else None


def _edges(weave: GraphState, group: NameGroup, predicate: str, role: str) -> Iterator[_SweepPoint]:
    way = direction(predicate)
    stands = _stands(weave, group, predicate, role)
    others: dict[int, NameGroup] = {}
    for order, other, by, opens in _own(weave, group, way, role, stands):
        if other is not None:
            others[id(other)] = other
        yield _SweepPoint(order, other, by, opens)
    for opposite in way.opposites:
        for _, other, by, opens in _own(weave, group, direction(opposite), role, []):
            if opens and other is not None and isinstance(by, ClaimLine):
                yield _SweepPoint(by.order, other, by, opens=False)
    yield from _closed_elsewhere(weave, group, way, role, others.values())


def _stands(weave: GraphState, group: NameGroup, predicate: str, role: str) -> list[OverrideStatement]:
    """Return the overrides of this relation of the node in this role."""
    symmetric = direction(predicate).symmetric
    return [
        stand
        for stand in weave.layer.of(group.members)
        if stand.predicate == predicate
        and stand.relation
        and (symmetric or (stand.subject if role == SUBJECT else stand.object) in group.members)
    ]


def _other_end(stand: OverrideStatement, group: NameGroup, way: PredicateDirection, role: str) -> str:
    if way.symmetric:
        return stand.object if stand.subject in group.members else stand.subject
    return stand.object if role == SUBJECT else stand.subject


def _own(
    weave: GraphState, group: NameGroup, way: PredicateDirection, role: str, stands: list[OverrideStatement]
) -> Iterator[tuple[Order, NameGroup | None, ClaimLine | OverrideStatement, bool]]:
    """Yield the claims about a relation of this node: when, the other end, the source, and whether it begins or ends."""
    for key in group.members:
        for line in weave.index.lines(key, way.name):
            if line.kind not in (Claim.RELATION, Claim.END):
                continue
            end = _other(way, role, line, key)
            if end is None or (line.kind is Claim.END and line.claim.value.strip() and not end):
                continue
            other = weave.group(end) if end else None
            if other is group:
                continue
            if line.kind is Claim.END:
                yield line.order, other, line, False
            elif (
                other is not None
                and not _forbidden(weave, way, line, group, other)
                and not (line.weak and _is_outranked(weave, way, line))
            ):
                yield line.order, other, line, True
    for stand in stands:
        if stand.forbids:
            continue
        key = _other_end(stand, group, way, role)
        if key and (other := weave.group(key)) is not group and not _beaten(weave, stand, way, group, other):
            yield _late(stand), other, stand, True


def _forbidden(
    weave: GraphState, way: PredicateDirection, line: ClaimLine, group: NameGroup, other: NameGroup
) -> bool:
    """Return True if an override denies this relation."""
    if not weave.layer.stands:
        return False
    subject, object_ = (group, other) if line.subject in group.members else (other, group)
    return any(_denies(stand, way, subject, object_) for stand in _forbids(weave, way, subject, object_))


def _beaten(
    weave: GraphState, said: OverrideStatement, way: PredicateDirection, group: NameGroup, other: NameGroup
) -> bool:
    """Return True if the user later took back an override."""
    subject, object_ = (group, other) if said.subject in group.members else (other, group)
    return any(
        stand.number > said.number and _denies(stand, way, subject, object_)
        for stand in _forbids(weave, way, subject, object_)
    )


def _forbids(weave: GraphState, way: PredicateDirection, *groups: NameGroup) -> Iterator[OverrideStatement]:
    for group in groups:
        for key in group.members:
            for stand in weave.layer.stands.get(key, ()):
                if stand.forbids and stand.relation and stand.predicate == way.name:
                    yield stand


def _denies(
    stand: OverrideStatement, way: PredicateDirection, subject: NameGroup, object_: NameGroup
) -> bool:
    def fits(one: NameGroup, two: NameGroup) -> bool:
        return (not stand.subject or stand.subject in one.members) and (
            not stand.object or stand.object in two.members
        )

    return fits(subject, object_) or (way.symmetric and fits(object_, subject))


def _is_outranked(weave: GraphState, way: PredicateDirection, hint: ClaimLine) -> bool:
    """Return True for a hint at an exclusive end about which something more certain was said before and has not ended.

    Judged by the lines alone, so that the result is the same from both ends.
    """
    for key, one, at_subject in ((hint.subject, way.subject_one, True), (hint.object, way.object_one, False)):
        if not one:
            continue
        group = weave.group(key)
        other = weave.group(hint.object if at_subject else hint.subject)
        newest: ClaimLine | None = None
        for member in group.members:
            for line in weave.index.lines(member, way.name):
                at_end = (line.subject if at_subject else line.object) == member or way.symmetric
                if at_end and not line.weak and line.order < hint.order:
                    newest = line if newest is None or line.order > newest.order else newest
        if newest is not None and newest.kind is Claim.RELATION:
            far = newest.object if newest.subject in group.members else newest.subject
            if weave.group(far) is not other:
                return True
    return False


def _closed_elsewhere(
    weave: GraphState, group: NameGroup, way: PredicateDirection, role: str, others: Iterable[NameGroup]
) -> Iterator[_SweepPoint]:
    """Yield claims at the other ends that end it: the relation moved to another node, or ended."""
    back = EITHER if way.symmetric else OBJECT if role == SUBJECT else SUBJECT
    one = way.object_one if role != OBJECT else way.subject_one
    for other in others:
        if one:
            stands = _stands(weave, other, way.name, back)
            for order, far, by, opens in _own(weave, other, way, back, stands):
                if far is not group and (opens or far is None):
                    yield _SweepPoint(order, other, by, opens=False)
            continue
        for key in other.members:
            for line in weave.index.lines(key, way.name):
                if line.kind is not Claim.END or line.claim.value.strip() or (line.subject and line.object):
                    continue
                if way.symmetric or (line.subject if back == SUBJECT else line.object) == key:
                    yield _SweepPoint(line.order, other, line, opens=False)
