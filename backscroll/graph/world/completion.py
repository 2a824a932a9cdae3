"""Node completion: what the text does not state comes from the world description, then from the type, marked as inferred.

Owns the sources of a missing attribute, in this order: the entry about the node, entries about its kind ("all elves are …"),
its place and its group, defaults of its type. Every addition names its reason and ranks below any statement; nothing stated
or set by the user is touched. Owns also the form in which whole nodes are shown. Not here: guessing beyond that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple, cast

from backscroll.derive.extract.ontology import is_relation, predicate, types
from backscroll.graph.claims.names import key_of
from backscroll.graph.tuning import DEFAULT_SURE, WORLD_SURE
from backscroll.graph.view import Evidence, Fact, NodeView, Options, Rank, WorldEntry
from backscroll.graph.world.words import covers, form_of, is_han, is_kind, kind_words, plain
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json
from backscroll.vocab.values.table import read_table

#: The turn of facts from no turn: of nodes known only from an override or the world description.
NOWHERE = Ref("0" * 32, 0)


class _WorldSource(NamedTuple):
    """One statement of the world description, and its entry."""

    predicate: str
    value: str
    entry: WorldEntry


@dataclass(frozen=True, slots=True)
class WorldIndex:
    """A world description indexed for lookups."""

    by_name: Mapping[str, tuple[_WorldSource, ...]]  # plain name → statements about it
    kinds: Mapping[
        str, tuple[tuple[str, tuple[_WorldSource, ...]], ...]
    ]  # by their endings, the most distinctive first
    types: Mapping[str, str]
    forms: Mapping[str, str]  # names in the singular → plain names, if unambiguous

    def resolve_name(self, name: str) -> str:
        """Return the plain name that the world description uses; the name itself if there is none."""
        key = plain(name)
        return key if key in self.by_name else self.forms.get(form_of(name), key)

    def about_kind(self, value: str) -> Iterator[_WorldSource]:
        """Yield statements about kinds that cover a value, the nearest kind first."""
        for kind, sources in self.kinds.get(_ending(value), ()):
            if covers(kind, value):
                yield from sources


@cache
def _table() -> Mapping[str, Mapping[str, object]]:
    return read_table("backscroll.graph", "complete.toml")


@cache
def _names(section: str, field: str) -> tuple[str, ...]:
    return tuple(cast("list[str]", _table()[section][field]))


def world_index(world: Sequence[WorldEntry]) -> WorldIndex:
    """Index a world description; disabled entries are skipped."""
    by_name: dict[str, list[_WorldSource]] = {}
    kinds: dict[str, tuple[str, list[_WorldSource]]] = {}
    known: dict[str, str] = {}
    for entry in world:
        if not entry.enabled:
            continue
        own = [_WorldSource(p, v, entry) for p, v in entry.attributes]
        passing: dict[str, list[_WorldSource]] = {}
        for who, name, value in entry.also:
            passing.setdefault(who, []).append(_WorldSource(name, value, entry))
        names = entry.names or entry.keys
        for name, sources, kind in [
            *((each, own, entry.type) for each in names),
            *((who, said, "") for who, said in passing.items()),
        ]:
            key = plain(name)
            by_name.setdefault(key, []).extend(sources)
            if is_kind(name, kind):
                kinds.setdefault(key, (name, []))[1].extend(sources)
        for each in names if entry.type else ():
            known.setdefault(plain(each), entry.type)
    ranked = sorted(kinds.items(), key=lambda item: (-_telling(item[1][0]), item[0]))
    ends: dict[str, list[tuple[str, tuple[_WorldSource, ...]]]] = {}
    for _, (name, sources) in ranked:
        if sources:
            ends.setdefault(_ending(name), []).append((name, tuple(sources)))
    return WorldIndex(
        {key: tuple(sources) for key, sources in by_name.items()},
        {key: tuple(rows) for key, rows in ends.items()},
        known,
        _forms(by_name),
    )


def _forms(names: Iterable[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(form_of(name), []).append(name)
    return {form: keys[0] for form, keys in found.items() if len(keys) == 1}


def _ending(kind: str) -> str:
    """Return what a kind shares with every value it covers: its head word, or the last character in Chinese."""
    head = kind_words(kind)[0]
    return head[-1:] if is_han(head) else head


def _telling(kind: str) -> int:
    """Return how specific a kind is: the more words, the nearer ("forest elves" before "elves")."""
    return len(plain(kind)) if is_han(kind) else len(kind_words(kind)[1])


_KEPT = 8  # cached descriptions: a process reads a few threads
_ready: tuple[tuple[Sequence[WorldEntry], WorldIndex], ...] = ()


def let_go() -> None:
    """Drop the cached descriptions; called when text is erased."""
    global _ready
    _ready = ()
    kind_words.cache_clear()


def _index(world: Sequence[WorldEntry]) -> WorldIndex:
    """Return the index of a description. Those of the last tuples are cached, because a whole graph uses the same one."""
    global _ready
    for held, index in _ready:
        if held is world:
            return index
    made = world_index(world)
    if isinstance(world, tuple):
        _ready = ((world, made), *_ready[: _KEPT - 1])
    return made


def complete_node(
    node: NodeView,
    world: Sequence[WorldEntry],
    options: Options,
    refused: Callable[[Fact], bool] | None = None,
) -> NodeView:
    """Return the node with what can be inferred about it; the node itself if nothing can. `refused` returns True for a fact that
    the user rejects (a forbidden one is not inferred again).
    """
    if not options.auto_infer or options.min_attributes <= 0:
        return node
    attributes, relations = list(node.attributes), list(node.relations)
    kind = node.type
    if options.use_world and world:
        index = _index(world)
        kind = kind or next(
            (t for n in _iter_names(node) if (t := index.types.get(index.resolve_name(n)))), ""
        )
        for source, how in _find_world_facts(node, index):
            fact = _of_world(node, source, how, attributes, relations)
            if fact is not None and not (refused and refused(fact)):
                (relations if fact.object else attributes).append(fact)
    if not kind and any(f.predicate in _names("kinds", "people") for f in (*attributes, *relations)):
        kind = "person"
    have = {fact.predicate for fact in attributes} - {"name"}
    language = "zh" if options.language == "zh" or _han(node.name) else options.language
    for name, value in _defaults(kind, language):
        if len(have) >= options.min_attributes:
            break
        fact = _make_inferred_fact(node, name, value, Rank.DEFAULT, f"default of type {kind or 'thing'}")
        if name not in have and not (refused and refused(fact)):
            have.add(name)
            attributes.append(fact)
    return replace(node, type=kind, attributes=tuple(attributes), relations=tuple(relations))


def _han(name: str) -> bool:
    """Return True for a name in Chinese characters: inferences about it are worded in Chinese."""
    return any("\u4e00" <= sign <= "\u9fff" for sign in name)


def _iter_names(node: NodeView) -> Iterator[str]:
    yield from (node.name, *node.aliases, node.id)


def _find_world_facts(node: NodeView, index: WorldIndex) -> Iterator[tuple[_WorldSource, str]]:
    """Yield the world's statements that hold for a node, the nearest first, with the reason why they do."""
    own = [source for name in _iter_names(node) for source in index.by_name.get(index.resolve_name(name), ())]
    for source in dict.fromkeys(own):
        yield source, ""
    facts = [(fact.predicate, fact.value) for fact in node.attributes]
    facts += [(source.predicate, source.value) for source in own]
    left_out, relations = _names("kinds", "not_inherited"), _names("kinds", "inherited_relations")
    for name, value in facts:
        if name not in _names("kinds", "of") or len(value) > 60:
            continue
        for source in index.about_kind(value):
            if source.predicate in (relations if is_relation(source.predicate) else ()) or (
                not is_relation(source.predicate) and source.predicate not in left_out
            ):
                yield source, value
    linked = [(fact.predicate, fact.value or fact.object) for fact in node.relations]
    linked += [(source.predicate, source.value) for source in own if is_relation(source.predicate)]
    for section in ("from_place", "from_group"):
        for name, value in linked:
            if name not in _names(section, "through"):
                continue
            for source in index.by_name.get(plain(value), ()):
                if source.predicate in _names(section, "attributes"):
                    yield source, value


def _of_world(
    node: NodeView, source: _WorldSource, how: str, attributes: Sequence[Fact], relations: Sequence[Fact]
) -> Fact | None:
    """Return the world's statements, except about predicates that are already known."""
    entry = source.entry
    where = f"{entry.source}: {entry.name}" if entry.source and entry.source != entry.name else entry.name
    note = f"world: {where}" + (f" ({how})" if how else "")
    single = predicate(source.predicate).single
    if is_relation(source.predicate):
        other = key_of(source.value)
        said = [fact for fact in relations if fact.predicate == source.predicate]
        if not other or other == node.id or (said and single) or any(fact.object == other for fact in said):
            return None
        return _make_inferred_fact(node, source.predicate, source.value, Rank.WORLD, note, other)
    said = [fact for fact in attributes if fact.predicate == source.predicate]
    surer = any(fact.rank in (Rank.PERSON, Rank.SAID) for fact in said)
    if surer or (said and single) or source.predicate == "name":
        return None
    if any(plain(fact.value) == plain(source.value) for fact in said):
        return None
    return _make_inferred_fact(node, source.predicate, source.value, Rank.WORLD, note)


def _make_inferred_fact(
    node: NodeView, name: str, value: str, rank: Rank, note: str, other: str = ""
) -> Fact:
    evidence = (Evidence(node.first or NOWHERE, note=note),)
    sure = WORLD_SURE if rank is Rank.WORLD else DEFAULT_SURE
    return Fact(node.id, name, value, other, rank, node.first, evidence=evidence, sure=sure)


def _defaults(kind: str, language: str) -> Iterator[tuple[str, str]]:
    further = cast("Mapping[str, Mapping[str, str]]", _table()["further"])
    local = cast("Mapping[str, str]", _table()["zh"] if language == "zh" else {})
    seen: set[str] = set()
    known = types().get(kind)
    of_type = [known.defaults] if known is not None else []
    for source in (*of_type, *([further[kind]] if kind in further else [])):
        for name, value in source.items():
            if name not in seen:
                seen.add(name)
                yield name, local.get(value, value)


def seed_shape(
    node: NodeView, number: Callable[[Ref], int], named: Callable[[str], str] = str
) -> dict[str, Json]:
    """Return a node as in the design notes: its attributes, its relations, when it was met, and which of these are
    inferred.

    `resolve_name` returns the name of another node by its id.
    """
    renamed = cast("Mapping[str, str]", _table()["shape"]["types"])
    values: dict[str, Json] = {"name": node.name}
    inferred: list[str] = []
    for name, facts in _by_predicate(node.attributes):
        if name != "name":
            values[name] = facts[0].value if len(facts) == 1 else [fact.value for fact in facts]
            inferred += [name] if all(fact.rank in (Rank.WORLD, Rank.DEFAULT) for fact in facts) else []
    for field in ("location", "faction"):
        fact = _first_relation(node.relations, _names("shape", field))
        if field not in values and fact is not None:
            values[field] = fact.value or named(fact.object)
            inferred += [field] if fact.rank in (Rank.WORLD, Rank.DEFAULT) else []
    context = set(_names("shape", "world_context"))
    order = [*_names("shape", "first"), *values]
    base = {name: values[name] for name in dict.fromkeys(order) if name in values and name not in context}
    placed = {name: values[name] for name in values if name in context}
    return {
        "node_id": node.readable,
        "type": renamed.get(node.type, node.type),
        "base_attributes": base,
        "world_context_attributes": {**placed, "interaction_history": _history(node, number)},
        "inferred": sorted(inferred),
    }


def _by_predicate(facts: Iterable[Fact]) -> Iterator[tuple[str, list[Fact]]]:
    groups: dict[str, list[Fact]] = {}
    for fact in facts:
        groups.setdefault(fact.predicate, []).append(fact)
    yield from groups.items()


def _first_relation(relations: Sequence[Fact], wanted: Sequence[str]) -> Fact | None:
    found = [fact for fact in relations if fact.predicate in wanted and fact.current]
    return min(found, key=lambda fact: wanted.index(fact.predicate), default=None)


def _history(node: NodeView, number: Callable[[Ref], int]) -> list[Json]:
    """Return the turns that mention a node, each with a short line: the first sentence among its evidence."""
    lines: dict[Ref, str] = {}
    for fact in (*node.attributes, *node.relations):
        for evidence in fact.evidence:
            if evidence.assertion is not None and evidence.assertion.quote:
                lines.setdefault(evidence.opening, " ".join(evidence.assertion.quote.split()))
    return [{"turn": number(turn), "line": _short(lines.get(turn, ""))} for turn in node.interactions]


def _short(line: str) -> str:
    return line if len(line) <= 120 else line[:119].rstrip() + "…"
