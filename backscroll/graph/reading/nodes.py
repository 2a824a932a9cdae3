"""A node in its current state, assembled from its facts; its neighbourhood.

Views are made on read and cached until something touches them. What the text does not state is filled in by `graph/world/completion`, below
everything that was stated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from backscroll.graph.claims.claim import ClaimLine
from backscroll.graph.claims.names import ROLES, readable, value_key
from backscroll.graph.claims.predicates import direction, suits
from backscroll.graph.facts import OBJECT, VALUE, FactSpan, spans
from backscroll.graph.naming.identity import NameGroup
from backscroll.graph.reading.fact_views import fact, predicates_of
from backscroll.graph.reading.lookup import choose_name, choose_spelling
from backscroll.graph.state import GraphState
from backscroll.graph.view import Evidence, Fact, Neighbourhood, NodeView, Options, Rank, WorldEntry
from backscroll.graph.world.completion import complete_node

#: Predicates that tell a node from others of its name, the most distinctive first.
_QUALIFIERS = ("race", "occupation", "title", "kind")


def view_of(weave: GraphState, group: NameGroup, world: Sequence[WorldEntry], options: Options) -> NodeView:
    """Return the node of a group, in its current state."""
    if group.view is None:
        group.view = _make_view(weave, group, world, options)
    return group.view


def _make_view(
    weave: GraphState, group: NameGroup, world: Sequence[WorldEntry], options: Options
) -> NodeView:
    attributes: list[Fact] = []
    relations: list[Fact] = []
    for predicate, role in _roles(weave, group):
        for span in spans(weave, group, predicate, role):
            if span.until is None and _is_visible(weave, span):
                (attributes if role == VALUE else relations).append(fact(weave, group, predicate, role, span))
    openings = weave.openings(group)
    name = _name(weave, group, options)
    view = NodeView(
        weave.first(group)[1],
        readable(name),
        name,
        weave.type(group),
        _aliases(weave, group, name),
        tuple(attributes),
        tuple(relations),
        tuple(openings),
        first=openings[0] if openings else None,
        last=openings[-1] if openings else None,
        overridden=any(key in weave.layer.about for key in group.members),
    )
    view = complete_node(view, world, options, lambda told: _is_refused(weave, group, told))
    return replace(view, readable=readable(name, _qualifier(view)))


def _is_refused(weave: GraphState, group: NameGroup, told: Fact) -> bool:
    """Return True for what an override denies, and for a default that a sentence contradicts: it is not inferred either."""
    if told.rank is Rank.DEFAULT and any(
        told.predicate in weave.index.doubts.get(key, ()) for key in group.members
    ):
        return True
    stands = (stand for key in group.members for stand in weave.layer.stands.get(key, ()))
    return any(
        stand.forbids
        and stand.predicate == told.predicate
        and (not stand.value or value_key(stand.value) == value_key(told.value))
        and (not stand.object or stand.object == told.object)
        for stand in stands
    )


def _name(weave: GraphState, group: NameGroup, options: Options) -> str:
    name = choose_name(weave, group)
    if options.character and name.casefold() == "assistant" and "assistant" in group.members:
        return options.character
    return options.user if name.casefold() == "user" and "user" in group.members else name


def _aliases(weave: GraphState, group: NameGroup, name: str) -> tuple[str, ...]:
    """Return the other names of a node, in the order of their keys; roles are not names."""
    given = weave.layer.spelled
    keys = [key for key in group.members if (weave.lives(key) or key in given) and key not in ROLES]
    written = dict.fromkeys(choose_spelling(weave, key) for key in keys)
    return tuple(text for text in written if text != name)


def _qualifier(view: NodeView) -> str:
    for predicate in _QUALIFIERS:
        for known in view.attributes:
            if known.predicate == predicate and known.rank is not Rank.DEFAULT and len(known.value) <= 24:
                return known.value
    return ""


def _roles(weave: GraphState, group: NameGroup) -> Iterator[tuple[str, str]]:
    """Yield predicates and roles seen from a node, in a fixed order."""
    kind = weave.type(group)
    for predicate, roles in sorted(predicates_of(weave, group).items()):
        for role in sorted(roles):
            if direction(predicate).inverse if role == OBJECT else suits(kind, predicate):
                yield predicate, role


def _is_visible(weave: GraphState, span: FactSpan) -> bool:
    """Return False for facts that lead to a deleted node."""
    return isinstance(span.other, str) or weave.visible(span.other)


def all_facts(weave: GraphState, group: NameGroup, predicate: str = "") -> list[Fact]:
    """Return every fact that ever held about a node, in order; only of one predicate (either direction), if given."""
    found: list[tuple[FactSpan, Fact]] = []
    for name, role in _roles(weave, group):
        way = direction(name)
        if predicate and predicate not in (name, way.inverse):
            continue
        for span in spans(weave, group, name, role):
            told = fact(weave, group, name, role, span)
            if _is_visible(weave, span) and predicate in ("", told.predicate):
                found.append((span, told))
    if predicate in ("", "alias"):
        found += [(FactSpan("", line.order), told) for line, told in _alias_facts(weave, group)]
    found.sort(key=lambda pair: (pair[0].opened, pair[1].predicate, pair[1].value, pair[1].object))
    return [told for _, told in found]


def _alias_facts(weave: GraphState, group: NameGroup) -> Iterator[tuple[ClaimLine, Fact]]:
    """Yield facts that explain the other names of a node."""
    lines: dict[str, list[ClaimLine]] = {}
    for key in group.members:
        for line in weave.index.lines(key, "alias"):
            if line.subject == key:
                lines.setdefault(line.claim.value.strip(), []).append(line)
    for value, known in lines.items():
        known.sort(key=lambda line: line.order)
        yield (
            known[0],
            Fact(
                weave.first(group)[1],
                "alias",
                value,
                since=known[0].opening,
                evidence=tuple(Evidence(line.opening, line.claim) for line in known),
                sure=max(line.claim.sure for line in known),
            ),
        )


def neighbours(weave: GraphState, group: NameGroup) -> list[tuple[NameGroup, Fact]]:
    """Return nodes currently related to this one, with the relation as stated; in both directions."""
    out: list[tuple[NameGroup, Fact]] = []
    for predicate, roles in sorted(predicates_of(weave, group).items()):
        for role in sorted(roles - {VALUE}):
            for span in spans(weave, group, predicate, role):
                if span.until is not None or isinstance(span.other, str) or not _is_visible(weave, span):
                    continue
                if not suits(weave.type(span.other if role == OBJECT else group), predicate):
                    continue
                if role == OBJECT:
                    told = fact(weave, span.other, predicate, "s", _seen_from(span, group))
                else:
                    told = fact(weave, group, predicate, role, span)
                out.append((span.other, told))
    return out


def _seen_from(span: FactSpan, group: NameGroup) -> FactSpan:
    """Return the same span seen from the other end."""
    turned = FactSpan(group, span.opened)
    turned.lines, turned.stands, turned.contested = span.lines, span.stands, span.contested
    turned.until, turned.by, turned.weak = span.until, span.by, span.weak
    return turned


def surroundings(
    weave: GraphState,
    starts: Sequence[NameGroup],
    depth: int,
    limit: int,
    world: Sequence[WorldEntry],
    options: Options,
) -> Neighbourhood:
    """Return nodes around the given ones, the nearest first; among equally near ones those with more relations, then the newest.

    A relation counts by its share of all relations of the node it leads from: if a node is related to
    every other node, each relation says little, and its neighbours do not push out those of a node that has three.
    """
    picked: dict[int, NameGroup] = {id(group): group for group in starts}
    links: dict[int, list[tuple[NameGroup, Fact]]] = {}
    ring = list(picked.values())
    left_out = 0
    for _ in range(max(depth, 0)):
        if not ring:
            break  # everything reachable is included, whatever the depth
        found: dict[int, tuple[NameGroup, float]] = {}
        for group in ring:
            links[id(group)] = around = neighbours(weave, group)
            for other, _fact in around:
                if id(other) not in picked:
                    so_far = found.get(id(other), (other, 0.0))[1]
                    found[id(other)] = (other, so_far + 1 / len(around))
        ranked = sorted(found.values(), key=lambda pair: weave.first(pair[0]))
        ranked.sort(key=lambda pair: (pair[1], weave.newest(pair[0])), reverse=True)
        room = max(limit - len(picked), 0)
        left_out += len(ranked) - len(ranked[:room])
        ring = [group for group, _ in ranked[:room]]
        picked.update((id(group), group) for group in ring)
    relations: dict[tuple[str, str, str], Fact] = {}
    for group in picked.values():
        for other, told in links.get(id(group), ()):
            if id(other) in picked:
                one, two = told.node, told.object
                if direction(told.predicate).symmetric:
                    one, two = min(one, two), max(one, two)
                relations.setdefault((one, told.predicate, two), told)
    views = tuple(view_of(weave, group, world, options) for group in list(picked.values())[: max(limit, 1)])
    shown = {view.id for view in views}
    return Neighbourhood(
        views,
        tuple(f for f in relations.values() if f.node in shown and f.object in shown),
        left_out + max(0, len(starts) - max(limit, 1)),
    )
