"""A profile: lasting facts about a user, as lines for a prompt, each with its sources.

Owns which facts of a graph last, their order, and their wording. A line states nothing that its own sources do not: a name
that only another message states is not used, so that deleting the one never leaves the other behind. Not here: choosing threads and
reading graphs from a store. Words are data (`profile.toml`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, cast

from backscroll.derive.extract.ontology import is_relation, predicate, types
from backscroll.graph.fold import Graph
from backscroll.graph.reading.words import one_line
from backscroll.graph.view import Evidence, Fact, NodeView, Rank
from backscroll.tasks.preferences.tuning import CLOSE, NAMED, NAMED_IN, SURE
from backscroll.tasks.relevance import Encode, terms_of
from backscroll.vocab.assertion import Assertion
from backscroll.vocab.ids import Ref


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """One fact as text."""

    line: str
    predicate: str  # empty: several, about another node
    facts: tuple[Fact, ...]
    sources: tuple[Ref, ...]  # the sources of the line; if there are many, the newest
    everywhere: frozenset[Ref]  # every revision that states it


@cache
def _table() -> Mapping[str, Any]:
    text = resources.files("backscroll.tasks").joinpath("profile.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def _place() -> Mapping[str, int]:
    return {name: n for n, name in enumerate(cast("list[str]", _table()["lasting"]))}


def words(language: str) -> Mapping[str, str]:
    """Return the words around the facts."""
    return cast("Mapping[str, str]", _table()["zh" if language.startswith("zh") else "en"])


def is_lasting(fact: Fact) -> bool:
    """Return True for a fact that lasts and was stated, or set by the user; not for a mood, an errand, a default."""
    name = "favourite" if fact.predicate.startswith("favourite") else fact.predicate
    said = fact.rank is Rank.PERSON or (fact.rank is Rank.SAID and fact.sure >= SURE)
    return said and name in _place()


def person_in(graph: Graph, *names: str) -> NodeView | None:
    """Return the node of the user: by name, or by role."""
    for name in (*names, "user"):
        found = graph.find(name) if name else None
        if found is not None:
            return graph.node(found)
    return None


def traits_of(graph: Graph, person: NodeView, language: str) -> list[ProfileLine]:
    """Return lasting facts about a person, the heaviest first, then the newest."""
    facts = [f for f in (*person.attributes, *person.relations) if f.current and is_lasting(f)]
    out = [trait for fact in _once(facts) if (trait := trait_of(graph, fact, language)) is not None]
    return sorted(out, key=lambda trait: _place().get(_plain(trait.predicate), len(_place())))


def trait_of(graph: Graph, fact: Fact, language: str) -> ProfileLine | None:
    """Return one fact about a person as text; None if its sources do not state all of it."""
    told = _phrase(graph, fact, language)
    if told is None:
        return None
    text, source = told
    mark = words(language)["by_person"] if fact.rank is Rank.PERSON else ""
    return ProfileLine(f"- {text}{mark}", fact.predicate, (fact,), (source,), said_in(fact))


def around(
    graph: Graph,
    person: NodeView | None,
    text: str,
    language: str,
    said: Callable[[Ref], Sequence[Assertion]],
    hides: Callable[[Fact], bool] = lambda _: False,
) -> list[ProfileLine]:
    """Return facts about what a text names, and then about people close to the user: one line for each node.

    `said` returns the assertions of a turn, by its opening; `hides` returns True for a fact that must not be shown.
    """
    own = "" if person is None else person.id
    named = [name for name in graph.find_mentioned_nodes(text) if name != own][:NAMED]
    close = [] if person is None else [f.object for f in person.relations if f.predicate in _table()["close"]]
    out: list[ProfileLine] = []
    for name in dict.fromkeys([*named, *close[:CLOSE]]):
        node = graph.node(name)
        if (
            node.type in _table()["told"]
            and (trait := _node_line(graph, node, own, language, said, hides)) is not None
        ):
            out.append(trait)
    return out


def _node_line(
    graph: Graph,
    node: NodeView,
    person: str,
    language: str,
    said: Callable[[Ref], Sequence[Assertion]],
    hides: Callable[[Fact], bool],
) -> ProfileLine | None:
    """Return a node with its lasting facts; facts about the user are on the user's own lines."""
    known = (*node.attributes, *node.relations)
    facts = [f for f in known if f.current and is_lasting(f) and not hides(f)]
    naming = _naming(node, said) if facts else frozenset[Ref]()
    phrases: list[tuple[Fact, str, Ref]] = []
    for fact in _once(facts):
        told = None if fact.object and fact.object == person else _phrase(graph, fact, language)
        if told is not None and (node.overridden or naming):
            phrases.append((fact, *told))
    if not phrases:
        return None
    table = words(language)
    kind = types()[node.type].zh if language.startswith("zh") else types()[node.type].en
    told_ = table["between"].join(text for _, text, _ in phrases)
    line = table["node"].format(name=one_line(node.name, 60), type=kind, facts=told_)
    sources = tuple(dict.fromkeys(source for _, _, source in phrases))
    if naming.isdisjoint(sources) and not node.overridden:
        sources = (*sources, max(naming))
    every = frozenset(ref for fact, _, _ in phrases for ref in said_in(fact))
    return ProfileLine(f"- {line}", "", tuple(fact for fact, _, _ in phrases), sources, every)


def _phrase(graph: Graph, fact: Fact, language: str) -> tuple[str, Ref] | None:
    """Return a fact as text, and the newest revision that states all of it."""
    table, about = words(language), predicate(fact.predicate)
    label = one_line(about.zh if language.startswith("zh") else about.en, 40)
    if not fact.object and not is_relation(fact.predicate):
        source = next((ref for evidence in reversed(fact.evidence) if (ref := _source(evidence))), None)
        text = table["attribute"].format(label=label, value=one_line(fact.value))
        return None if source is None else (text, source)
    names = [graph.node(fact.object).name] if fact.object and graph.find(fact.object) else []
    for evidence in reversed(fact.evidence):
        source = _source(evidence)
        claim = evidence.assertion
        spelt = [] if claim is None else [claim.object, claim.value]
        for name in (*names, *spelt, fact.value):
            if source is not None and name and (claim is None or name.casefold() in claim.quote.casefold()):
                other = one_line(name, 60)
                if "…" in label:
                    return label.replace("…", other), source
                return table["relation"].format(label=label, other=other), source
    return None


def _source(evidence: Evidence) -> Ref | None:
    if evidence.override is not None:
        return evidence.override.id
    return None if evidence.assertion is None else evidence.assertion.source


def _naming(node: NodeView, said: Callable[[Ref], Sequence[Assertion]]) -> frozenset[Ref]:
    """Return revisions that state the name of a node, the newest of them."""
    plain = node.name.casefold()
    claims = (claim for opening in node.interactions[-NAMED_IN:] for claim in said(opening))
    return frozenset(c.source for c in claims if c.source is not None and plain in c.quote.casefold())


def said_in(fact: Fact) -> frozenset[Ref]:
    """Return every revision, and every override, that states a fact."""
    return frozenset(ref for evidence in fact.evidence if (ref := _source(evidence)) is not None)


def quotes_of(trait: ProfileLine) -> list[str]:
    """Return the sentences that support a line, in lower case; one set by an override has none."""
    said = (e.assertion for fact in trait.facts for e in fact.evidence)
    found = [claim.quote.casefold() for claim in said if claim is not None and claim.source in trait.sources]
    return found or ["\0"]


def _once(facts: Iterable[Fact]) -> list[Fact]:
    return list({(f.predicate, f.object or f.value.casefold()): f for f in facts}.values())


def _plain(name: str) -> str:
    return "favourite" if name.startswith("favourite") else name


def choose_traits(
    traits: Sequence[ProfileLine], question: str, most: int, encode: Encode | None = None
) -> list[ProfileLine]:
    """Choose at most so many traits: first those that do harm when forgotten, then the most relevant ones."""
    always = [trait for trait in traits if trait.predicate in _table()["always"]][: most // 2]
    kept = {id(trait) for trait in always}
    rest = by_relevance([trait for trait in traits if id(trait) not in kept], question, encode)
    return [*always, *rest][:most]


def by_relevance(
    traits: Sequence[ProfileLine], question: str, encode: Encode | None = None
) -> list[ProfileLine]:
    """Order traits by relevance to a question, by words and (with an encoder) by meaning; equal ones keep their order."""
    asked = set(terms_of(question))
    lines = [trait.line[2:] for trait in traits]
    near = [0.0] * len(lines)
    if encode is not None and lines and question.strip():
        first, *rows = encode([question[:2_000], *lines])
        near = [sum(a * b for a, b in zip(first, row, strict=True)) for row in rows]
    score = [len(asked.intersection(terms_of(line))) + close for line, close in zip(lines, near, strict=True)]
    order = sorted(range(len(lines)), key=lambda n: (-round(score[n], 4), n))
    return [traits[n] for n in order]


def within(traits: Iterable[ProfileLine], room: int, count: Callable[[str], int]) -> list[ProfileLine]:
    """Return as many as fit, in order; one that is too long is skipped in favour of shorter ones."""
    out: list[ProfileLine] = []
    for trait in traits:
        cost = count(trait.line) + 1
        if cost <= room:
            out.append(trait)
            room -= cost
    return out
