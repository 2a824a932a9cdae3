"""Facts: for which time an attribute or a relation holds, folded from lines in order, with the person's word on top.

One sweep for each node, predicate and end of the relation: what is said opens a span or adds evidence to the open one; another
value of a single-valued predicate, an end, or the opposite closes it. Hints close nothing that is surer. Owns no names and no
caches but the groups' own. Before: `graph/weave`. After: `graph/fold`, `graph/reading/conflicts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from backscroll.graph.index import Line, Order
from backscroll.graph.naming.group import NOWHERE, Group
from backscroll.graph.naming.names import key_of, value_key
from backscroll.graph.overrides import Stand
from backscroll.graph.predicates import Direction, adds, direction, listed
from backscroll.graph.reading.view import Evidence, Fact, Rank
from backscroll.graph.weave import Weave
from backscroll.vocab.assertion import Change, Claim, Override
from backscroll.vocab.ids import Ref

#: Roles in which a node takes part in a predicate: with a value, as subject, as object, or at either end alike.
VALUE, SUBJECT, OBJECT, EITHER = "v", "s", "o", "x"

What = Group | str  # the other end: a node, or the key of a value
_LATE = b""


class Span:
    """One thing that holds for a time."""

    __slots__ = ("by", "contested", "lines", "opened", "other", "shown", "stands", "until", "weak")

    def __init__(self, other: What, opened: Order) -> None:
        self.other = other
        self.opened = opened
        self.until: Order | None = None
        self.by: Line | Stand | None = None  # what closed it
        self.lines: list[Line] = []
        self.stands: list[Stand] = []
        self.contested: list[Span] = []  # what the text held when the person's word was put over it
        self.weak = True
        self.shown: Fact | None = None  # as it was last told; a span belongs to one node in one role

    @property
    def sure(self) -> float:
        """How sure the surest of its evidence is."""
        return 1.0 if self.stands else max((line.claim.sure for line in self.lines), default=1.0)


class _Step:
    """One thing in the sweep: something is said of the other end, or ends."""

    __slots__ = ("by", "opens", "order", "other")

    def __init__(self, order: Order, other: What | None, by: Line | Stand, opens: bool) -> None:
        self.order = order
        self.other = other  # None: whatever is open
        self.by = by
        self.opens = opens


def _late(stand: Stand) -> Order:
    return (1, _LATE, NOWHERE, stand.number)


def spans(weave: Weave, group: Group, predicate: str, role: str) -> list[Span]:
    """Everything of one predicate that ever held for a node in a role, by when it began."""
    known = group.spans.get((predicate, role))
    if known is None:
        steps = list(
            _values(weave, group, predicate) if role == VALUE else _edges(weave, group, predicate, role)
        )
        steps.sort(key=lambda step: step.order)
        way = direction(predicate)
        one = way.object_one if role == OBJECT else way.subject_one
        known = group.spans[predicate, role] = _swept(steps, one=one, lists=predicate in listed())
    return cast("list[Span]", known)


def _swept(steps: list[_Step], *, one: bool, lists: bool = False) -> list[Span]:
    """The sweep. `one`: only one may be open at a time; `lists`: unless one sentence names several."""
    opened: dict[What, Span] = {}
    closed: list[Span] = []
    for step in steps:
        by = step.by
        weak = isinstance(by, Line) and by.weak
        if not step.opens:
            for other in [o for o in opened if step.other is None or o == step.other]:
                _close(opened, closed, other, step, weak)
            continue
        assert step.other is not None
        others = [other for other in opened if one and other != step.other]
        if lists and isinstance(by, Line):
            on_top = adds(by.claim.quote)
            others = [other for other in others if not on_top and not _one_sentence(by, opened[other])]
        if weak and any(not opened[other].weak for other in others):
            continue
        displaced = [opened[other] for other in others]
        for other in others:
            _close(opened, closed, other, step, weak)
        span = opened.get(step.other)
        if span is None and isinstance(by, Stand):
            span = _again(step.other, closed)
        if span is None:
            span = Span(step.other, step.order)
        opened[step.other] = span
        span.weak = span.weak and weak
        if isinstance(by, Line):
            span.lines.append(by)
        else:
            span.stands.append(by)
            span.contested = [old for old in displaced if not old.stands]
    return sorted([*closed, *opened.values()], key=lambda span: span.opened)


def _one_sentence(line: Line, span: Span) -> bool:
    """True where the sentence that says something also said what is open."""
    said, quote = line.claim.source, line.claim.quote
    return bool(quote) and any(
        old.opening == line.opening and (old.claim.source, old.claim.quote) == (said, quote)
        for old in span.lines
    )


def _close(opened: dict[What, Span], closed: list[Span], other: What, step: _Step, weak: bool) -> None:
    span = opened[other]
    if weak and not span.weak:
        return
    span.until, span.by = step.order, step.by
    closed.append(opened.pop(other))


def _again(other: What, closed: list[Span]) -> Span | None:
    """What the person says had been said before: it goes on, as if nothing had come between."""
    for span in reversed(closed):
        if span.other == other:
            closed.remove(span)
            span.until = span.by = None
            return span
    return None


def _values(weave: Weave, group: Group, predicate: str) -> Iterator[_Step]:
    stands = [s for s in weave.layer.of(group.members) if s.predicate == predicate and not s.relation]
    forbids = [s for s in stands if s.forbids]
    for key in group.members:
        for line in weave.index.lines(key, predicate):
            if line.subject != key:
                continue
            if line.kind is Claim.ATTRIBUTE:
                value = value_key(line.claim.value)
                if not any(not s.value or value_key(s.value) == value for s in forbids):
                    yield _Step(line.order, value, line, opens=True)
            elif line.kind is Claim.END and not line.object:
                value = value_key(line.claim.value) if line.claim.value.strip() else None
                yield _Step(line.order, value, line, opens=False)
    for stand in stands:
        beaten = any(s.number > stand.number and not s.value for s in forbids)
        if not stand.forbids and stand.value and not beaten:
            yield _Step(_late(stand), value_key(stand.value), stand, opens=True)


def _other(way: Direction, role: str, line: Line, key: str) -> str | None:
    """The key at the other end of a line, seen from a key in a role; nothing where it stands in another role."""
    if way.symmetric:
        return line.object if line.subject == key else line.subject
    if role == SUBJECT:
        return line.object if line.subject == key else None
    return line.subject if line.object == key else None


def _edges(weave: Weave, group: Group, predicate: str, role: str) -> Iterator[_Step]:
    way = direction(predicate)
    stands = _stands(weave, group, predicate, role)
    others: dict[int, Group] = {}
    for order, other, by, opens in _own(weave, group, way, role, stands):
        if other is not None:
            others[id(other)] = other
        yield _Step(order, other, by, opens)
    for opposite in way.opposites:
        for _, other, by, opens in _own(weave, group, direction(opposite), role, []):
            if opens and other is not None and isinstance(by, Line):
                yield _Step(by.order, other, by, opens=False)
    yield from _closed_elsewhere(weave, group, way, role, others.values())


def _stands(weave: Weave, group: Group, predicate: str, role: str) -> list[Stand]:
    """What the person says of this relation of the node in this role."""
    symmetric = direction(predicate).symmetric
    return [
        stand
        for stand in weave.layer.of(group.members)
        if stand.predicate == predicate
        and stand.relation
        and (symmetric or (stand.subject if role == SUBJECT else stand.object) in group.members)
    ]


def _other_end(stand: Stand, group: Group, way: Direction, role: str) -> str:
    if way.symmetric:
        return stand.object if stand.subject in group.members else stand.subject
    return stand.object if role == SUBJECT else stand.subject


def _own(
    weave: Weave, group: Group, way: Direction, role: str, stands: list[Stand]
) -> Iterator[tuple[Order, Group | None, Line | Stand, bool]]:
    """What is said about a relation of this very node: when, of whom, by what, and whether it begins or ends."""
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
                and not (line.weak and _outranked(weave, way, line))
            ):
                yield line.order, other, line, True
    for stand in stands:
        if stand.forbids:
            continue
        key = _other_end(stand, group, way, role)
        if key and (other := weave.group(key)) is not group and not _beaten(weave, stand, way, group, other):
            yield _late(stand), other, stand, True


def _forbidden(weave: Weave, way: Direction, line: Line, group: Group, other: Group) -> bool:
    """True where a person says that this relation is not so."""
    if not weave.layer.stands:
        return False
    subject, object_ = (group, other) if line.subject in group.members else (other, group)
    return any(_denies(stand, way, subject, object_) for stand in _forbids(weave, way, subject, object_))


def _beaten(weave: Weave, said: Stand, way: Direction, group: Group, other: Group) -> bool:
    """True where a person later took back what they had said themselves."""
    subject, object_ = (group, other) if said.subject in group.members else (other, group)
    return any(
        stand.number > said.number and _denies(stand, way, subject, object_)
        for stand in _forbids(weave, way, subject, object_)
    )


def _forbids(weave: Weave, way: Direction, *groups: Group) -> Iterator[Stand]:
    for group in groups:
        for key in group.members:
            for stand in weave.layer.stands.get(key, ()):
                if stand.forbids and stand.relation and stand.predicate == way.name:
                    yield stand


def _denies(stand: Stand, way: Direction, subject: Group, object_: Group) -> bool:
    def fits(one: Group, two: Group) -> bool:
        return (not stand.subject or stand.subject in one.members) and (
            not stand.object or stand.object in two.members
        )

    return fits(subject, object_) or (way.symmetric and fits(object_, subject))


def _outranked(weave: Weave, way: Direction, hint: Line) -> bool:
    """True for a hint where, at an end that may have only one, something surer was said before and not ended since.

    Judged by the lines alone, so that it looks the same from both ends.
    """
    for key, one, at_subject in (
        (hint.subject, way.subject_one, True),
        (hint.object, way.object_one, False),
    ):
        if not one:
            continue
        group = weave.group(key)
        other = weave.group(hint.object if at_subject else hint.subject)
        newest: Line | None = None
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
    weave: Weave, group: Group, way: Direction, role: str, others: Iterable[Group]
) -> Iterator[_Step]:
    """What the other ends say that ends it: they are somebody else's now, or nobody's any more."""
    back = EITHER if way.symmetric else OBJECT if role == SUBJECT else SUBJECT
    one = way.object_one if role != OBJECT else way.subject_one
    for other in others:
        if one:
            stands = _stands(weave, other, way.name, back)
            for order, far, by, opens in _own(weave, other, way, back, stands):
                if far is not group and (opens or far is None):
                    yield _Step(order, other, by, opens=False)
            continue
        for key in other.members:
            for line in weave.index.lines(key, way.name):
                if line.kind is not Claim.END or line.claim.value.strip() or (line.subject and line.object):
                    continue
                if way.symmetric or (line.subject if back == SUBJECT else line.object) == key:
                    yield _Step(line.order, other, line, opens=False)


# From spans to facts.


def evidence(span: Span) -> tuple[Evidence, ...]:
    """What a span rests on, the person's word first."""
    said = tuple(Evidence(line.opening, line.claim) for line in span.lines)
    own = tuple(
        Evidence(stand.override.id or NOWHERE, override=stand.override) for stand in reversed(span.stands)
    )
    return own + said


def fact(weave: Weave, group: Group, predicate: str, role: str, span: Span) -> Fact:
    """A span as readers see it from a node."""
    node = weave.first(group)[1]
    end = "" if isinstance(span.other, str) else weave.first(span.other)[1]
    if span.shown is None or (span.shown.node, span.shown.object) != (node, end):
        span.shown = _told(node, end, group, predicate, role, span)
    return span.shown


def _told(node: str, other: str, group: Group, predicate: str, role: str, span: Span) -> Fact:
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
        contested=_contested(span, newest.override) if newest else (),
        derived=derived,
    )


def _from_here(line: Line, group: Group) -> bool:
    """True where the text says it of this node, not of the other end."""
    return (line.object if line.flipped else line.subject) in group.members


def _stands_here(stand: Stand, group: Group) -> bool:
    return key_of(stand.override.node) in group.members


def _until(span: Span) -> Ref | None:
    if span.by is None:
        return None
    if isinstance(span.by, Line):
        return span.by.opening
    return span.by.override.id or (span.lines[-1].opening if span.lines else NOWHERE)


def _contested(span: Span, own: Override) -> tuple[Evidence, ...]:
    """Where the text said something else after the person had spoken (or nobody knows when that was)."""
    return tuple(
        Evidence(line.opening, line.claim)
        for old in span.contested
        for line in old.lines
        if not line.weak and _after(line, own)
    )


def _after(line: Line, own: Override) -> bool:
    source = line.claim.source or line.opening
    return own.id is None or source.thread != own.id.thread or source.seq > own.id.seq


def predicates_of(weave: Weave, group: Group) -> dict[str, set[str]]:
    """Every predicate that is said of a node, with the roles in which."""
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
