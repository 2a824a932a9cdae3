"""Overrides: the user's own changes to the graph, which no analysis overwrites, in order.

Owns the effect of each change on names, nodes and facts; a later change of the same thing wins. Knows no
text. Overrides refer to keys of names, so they outlive every turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from backscroll.derive.extract.ontology import is_relation
from backscroll.graph.claims.claim import NAMING
from backscroll.graph.claims.names import key_of, value_key
from backscroll.graph.claims.predicates import direction, normalize_predicate
from backscroll.graph.naming.identity import Pair, pair
from backscroll.vocab.assertion import Change, Override
from backscroll.vocab.ids import Ref


@dataclass(frozen=True, slots=True)
class OverrideStatement:
    """A user's statement about a node: true (`SET`, `PIN`) or false (`FORBID`), in the folded direction."""

    number: int
    override: Override
    predicate: str
    subject: str  # key; empty: any
    object: str = ""  # key, of a relation; empty: any, or an attribute
    value: str = ""
    relation: bool = False

    @property
    def forbids(self) -> bool:
        """True if it denies something."""
        return self.override.change is Change.FORBID

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that it concerns."""
        return tuple(key for key in (self.subject, self.object) if key)

    def same(self, other: OverrideStatement) -> bool:
        """Return True if both concern the same fact."""
        return (self.predicate, self.subject, self.object, value_key(self.value), self.relation) == (
            other.predicate,
            other.subject,
            other.object,
            value_key(other.value),
            other.relation,
        )


@dataclass(slots=True)
class OverrideLayer:
    """All overrides, indexed by key."""

    stands: dict[str, list[OverrideStatement]] = field(default_factory=dict[str, list[OverrideStatement]])
    merges: list[Pair] = field(default_factory=list[Pair])
    bars: set[Pair] = field(default_factory=set[Pair])
    names: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    types: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    shown: dict[str, int] = field(default_factory=dict[str, int])  # nodes that rest on overrides
    spelled: dict[str, str] = field(default_factory=dict[str, str])
    deleted: dict[str, int] = field(default_factory=dict[str, int])
    splits: dict[Ref, dict[str, str]] = field(default_factory=dict[Ref, dict[str, str]])
    about: dict[str, list[Override]] = field(default_factory=dict[str, list[Override]])

    @property
    def keys(self) -> set[str]:
        """Every key that an override refers to or introduces."""
        tied = {key for pairs in (self.merges, self.bars) for two in pairs for key in two}
        split = {key for by_key in self.splits.values() for key in by_key.values()}
        return {
            *self.stands,
            *self.about,
            *self.spelled,
            *self.shown,
            *self.names,
            *self.types,
            *self.deleted,
            *tied,
            *split,
        }

    def split(self, opening: Ref) -> Mapping[str, str]:
        """Return the keys that mean another node in a turn."""
        return self.splits.get(opening, {})

    def newest(self, what: Mapping[str, tuple[int, str]], keys: Iterable[str]) -> str:
        """Return the newest entry for any of these keys."""
        found = [what[key] for key in keys if key in what]
        return max(found)[1] if found else ""

    def hides(self, keys: Iterable[str]) -> bool:
        """Return True if the node was deleted and not stated again since."""
        if not self.deleted:
            return False
        gone = back = -1
        for key in keys:
            gone = max(gone, self.deleted.get(key, -1))
            back = max(back, self.shown.get(key, -1))
        return gone > back

    def of(self, keys: Iterable[str]) -> list[OverrideStatement]:
        """Return the statements about any of these keys, in order."""
        found = {stand.number: stand for key in keys for stand in self.stands.get(key, ())}
        return [found[number] for number in sorted(found)]


def layer_of(overrides: Sequence[Override]) -> OverrideLayer:
    """Return the layer made by overrides, the oldest first."""
    layer = OverrideLayer()
    copies: dict[str, int] = {}
    for number, override in enumerate(overrides):
        key = key_of(override.node)
        if not key:
            continue
        layer.about.setdefault(key, []).append(override)
        if override.change in (Change.SET, Change.PIN, Change.FORBID):
            _state(layer, number, key, override)
        elif override.change is Change.SPLIT:
            _split(layer, key, override, copies, number)
        else:
            _name(layer, number, key, override)
    return layer


def _state(layer: OverrideLayer, number: int, key: str, override: Override) -> None:
    predicate = normalize_predicate(override.predicate)
    forbids = override.change is Change.FORBID
    if predicate in NAMING and override.value:
        two = pair(key, key_of(override.value))
        if forbids:
            layer.bars.add(two)
        else:
            layer.bars.discard(two)
            layer.merges.append(two)
            layer.spelled.setdefault(key_of(override.value), override.value)
        return
    if predicate == "type" and override.value:
        if not forbids:
            layer.types[key] = (number, override.value)
            layer.shown[key] = number
        return
    if override.type:
        layer.types[key] = (number, override.type)
    if not predicate:
        if not forbids:
            layer.shown[key] = number
        return
    _stand(layer, number, key, predicate, override)


def _stand(layer: OverrideLayer, number: int, key: str, predicate: str, override: Override) -> None:
    """Record that an attribute or a relation is true or false, in the direction in which it is folded."""
    relation = bool(override.object) or (not override.value and is_relation(predicate))
    subject, object_ = key, key_of(override.object) if override.object else ""
    if relation:
        way = direction(predicate)
        predicate = way.name
        if object_ and key_of(override.value) == object_:
            layer.spelled.setdefault(object_, override.value)
        if way.flipped:
            subject, object_ = object_, subject
    value = "" if relation else override.value
    stand = OverrideStatement(number, override, predicate, subject, object_, value, relation)
    for known in stand.keys:
        kept = [old for old in layer.stands.get(known, ()) if not old.same(stand)]
        layer.stands[known] = [*kept, stand]
        if not stand.forbids and (override.value or override.object):
            layer.shown[known] = number


def _split(layer: OverrideLayer, key: str, override: Override, copies: dict[str, int], number: int) -> None:
    """Assign the name to another node in some turns; without turns: keep two names apart."""
    if not override.turns:
        if other := key_of(override.object):
            layer.bars.add(pair(key, other))
        return
    # A separate number, so that overrides of the other node stay with it when an earlier split is lifted.
    mine = override.copy or copies.get(key, 1) + 1
    copies[key] = max(mine, copies.get(key, 1))
    copy = f"{key}#{mine}"
    layer.bars.add(pair(key, copy))  # whatever ties the text makes later
    taken = [name for name in map(key_of, (key, *override.names)) if name]
    for opening in override.turns:
        layer.splits.setdefault(opening, {}).update(dict.fromkeys(taken, copy))
    if override.value:
        layer.names[copy] = (number, override.value)
        fresh = key_of(override.value)
        if fresh and fresh not in taken:  # names for finding it
            layer.merges.append(pair(copy, fresh))
            layer.bars.discard(pair(copy, fresh))
    if override.type:
        layer.types[copy] = (number, override.type)


def _name(layer: OverrideLayer, number: int, key: str, override: Override) -> None:
    other = key_of(override.object)
    if override.change is Change.MERGE:
        other = other or key_of(override.value)
        if other and other != key:
            layer.merges.append(pair(key, other))
            layer.bars.discard(pair(key, other))
            for copy in (k for k in (key, other) if "#" in k):  # they are the same after all
                layer.bars.discard(pair(copy.partition("#")[0], copy))
    elif override.change is Change.RENAME:
        fresh = key_of(override.value)
        if fresh:
            layer.names[key] = (number, override.value)
            if fresh != key:
                layer.merges.append(pair(key, fresh))
                layer.bars.discard(pair(key, fresh))
    elif override.change is Change.DELETE:
        layer.deleted[key] = number
    else:
        layer.shown[key] = number
        if override.value:
            layer.spelled[key] = override.value
    if override.type and override.change is not Change.DELETE:
        layer.types[key] = (number, override.type)
