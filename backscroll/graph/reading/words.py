"""The graph as text: compact lines for a prompt, the most useful for their length first, within a token budget.

Owns the wording in English and Chinese, what is worth stating, and the marks: assumed facts and contested facts
say so, and everything names the turn since which it holds. The text is marked as a record, and no value can break out of its line.
Not here: choosing the nodes (`fold.around` did).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from backscroll.derive.extract.ontology import is_relation, predicate, types
from backscroll.graph.tuning import CONTESTED_WORTH, FULL_FACTS, HALVED_AFTER, PINNED_WORTH, PLACE_DISCOUNT
from backscroll.graph.view import Fact, Neighbourhood, NodeView, Rank
from backscroll.graph.world.completion import NOWHERE
from backscroll.vocab.ids import Ref
from backscroll.vocab.values.pattern import late
from backscroll.vocab.values.table import read_table

#: Weight of a fact by its rank; overrides matter most.
_WORTH = {Rank.PERSON: 4.0, Rank.SAID: 3.0, Rank.WORLD: 1.6, Rank.DEFAULT: 0.0}
_EMPTY = {"unknown", "未知", "none", "无", ""}
_LONGEST = 160  # characters of a value
_CONTROL = late(
    "[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202f\u2060-\u206f\ufeff\ud800-\udfff\ufff9-\ufffb]+"
)


@dataclass(frozen=True, slots=True)
class FactText:
    """The text, its sources, and the number of facts that did not fit."""

    text: str
    facts: tuple[Fact, ...]
    sources: tuple[Ref, ...]  # revisions with the sentences (the turn's opening if the sentence is unknown)
    left_out: int


@dataclass(frozen=True, slots=True)
class _FactPhrase:
    """One fact as text, with its place and weight."""

    node: int
    order: int
    words: str
    fact: Fact
    worth: float


@cache
def _table() -> Mapping[str, Mapping[str, str]]:
    return read_table("backscroll.graph", "telling.toml")


def one_line(text: str, limit: int = _LONGEST) -> str:
    """Return text that stays on its line: white space folded, control characters and direction marks removed, cut if too long."""
    line = " ".join(_CONTROL.sub(" ", text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def tell(
    neighbourhood: Neighbourhood,
    count: Callable[[str], int],
    room: int,
    *,
    language: str = "en",
    number: Callable[[Ref], int] | None = None,
) -> FactText:
    """Render the neighbourhood in at most `room` tokens; `count` counts them, `number` gives the number of a turn."""
    words = _table()["zh" if language == "zh" else "en"]
    names = {node.id: one_line(node.name, 60) for node in neighbourhood.nodes}
    phrases = [
        phrase
        for place, node in enumerate(neighbourhood.nodes)
        for phrase in _phrases(place, node, neighbourhood.relations, names, words, number)
    ]
    ranked = _rank_phrases(phrases, neighbourhood.nodes, words, count)

    def text_of(n: int) -> str:
        return _text(ranked[:n], neighbourhood.nodes, words, len(ranked) - n)

    fits = _most(len(ranked), lambda n: count(text_of(n)) <= room)
    if not fits:
        return FactText("", (), (), len(ranked))
    facts = tuple(phrase.fact for phrase in _in_order(ranked[:fits]))
    return FactText(text_of(fits), facts, _sources(facts), len(ranked) - fits)


def _most(n: int, fits: Callable[[int], bool]) -> int:
    """Return the largest prefix that fits. A longer text has more tokens, except for a few at the seams, hence the last steps one
    by one.
    """
    low, high = 0, n
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    while low and not fits(low):
        low -= 1
    return low


def _phrases(
    place: int,
    node: NodeView,
    relations: Sequence[Fact],
    names: Mapping[str, str],
    words: Mapping[str, str],
    number: Callable[[Ref], int] | None,
) -> list[_FactPhrase]:
    own = [fact for fact in relations if fact.node == node.id and not fact.derived]
    own += [fact for fact in node.relations if not fact.derived or fact.object not in names]
    said = {_identity(fact): fact for fact in [*node.attributes, *own] if fact.current}
    out: list[_FactPhrase] = []
    for order, fact in enumerate(said.values()):
        if fact.predicate == "name" or (not fact.object and fact.value.casefold() in _EMPTY):
            continue
        if (
            fact.rank is Rank.DEFAULT
        ):  # the defaults of a type say nothing about this node: no tokens for them
            continue
        if text := _fact_words(fact, names, words, number):
            out.append(_FactPhrase(place, order, text, fact, _worth(fact, place)))
    return out


def _identity(fact: Fact) -> tuple[str, str, str]:
    return fact.predicate, fact.object, "" if fact.object else fact.value


def _worth(fact: Fact, place: int) -> float:
    worth = _WORTH[fact.rank] * (0.5 + 0.5 * min(max(fact.sure, 0.0), 1.0))
    worth += PINNED_WORTH if fact.pinned else 0.0
    worth += CONTESTED_WORTH if fact.contested else 0.0
    return worth / (1.0 + PLACE_DISCOUNT * place)


def _fact_words(
    fact: Fact, names: Mapping[str, str], words: Mapping[str, str], number: Callable[[Ref], int] | None
) -> str:
    about = predicate(fact.predicate)
    zh = words is _table()["zh"]
    label = one_line(about.zh if zh else about.en, 40)
    if fact.object or is_relation(fact.predicate):
        other = names.get(fact.object) or one_line(fact.value or fact.object, 60)
        if zh:
            text = label.replace("…", other) if "…" in label else f"{label}{other}"
        else:
            text = f"{label} {other}"
    else:
        text = words["attribute"].format(label=label, value=one_line(fact.value))
    marks = _marks(fact, words, number)
    return text + (words["marks"].format(marks=words["listed"].join(marks)) if marks else "")


def _marks(fact: Fact, words: Mapping[str, str], number: Callable[[Ref], int] | None) -> list[str]:
    marks: list[str] = []
    if fact.rank in (Rank.WORLD, Rank.DEFAULT):
        marks.append(words["assumed"])
    elif fact.rank is Rank.PERSON:
        marks.append(words["by_person"])
    elif fact.sure < 0.5:
        marks.append(words["unsure"])
    if fact.contested:
        marks.append(words["contested"])
    if fact.rank is Rank.SAID and fact.since not in (None, NOWHERE) and number is not None:
        marks.append(words["since"].format(turn=number(fact.since)))
    return marks


def _rank_phrases(
    phrases: Sequence[_FactPhrase],
    nodes: Sequence[NodeView],
    words: Mapping[str, str],
    count: Callable[[str], int],
) -> list[_FactPhrase]:
    """Order phrases by weight per token; the first of a node carries the node's head.

    Each further fact about a well-known node weighs less: otherwise one node that every turn mentions would fill the
    section.
    """
    heads = [count(_node_line(node, "", words)) for node in nodes]
    costs = {id(phrase): max(count(phrase.words), 1) for phrase in phrases}
    taken = [0] * len(nodes)

    def value(phrase: _FactPhrase) -> float:
        many = taken[phrase.node]
        extra = 0 if many else heads[phrase.node]
        return phrase.worth / (costs[id(phrase)] + 1 + extra) / (1 + max(0, many - FULL_FACTS) / HALVED_AFTER)

    by_node: dict[int, list[_FactPhrase]] = {}
    for phrase in phrases:
        by_node.setdefault(phrase.node, []).append(phrase)
    for rows in by_node.values():
        rows.sort(key=lambda p: (-p.worth / costs[id(p)], p.order))
    out: list[_FactPhrase] = []
    while by_node:  # the best head of all queues; there is one queue for each node in view
        place = max(by_node, key=lambda n: (value(by_node[n][0]), -n))
        out.append(by_node[place].pop(0))
        taken[place] += 1
        if not by_node[place]:
            del by_node[place]
    return out


def _in_order(phrases: Sequence[_FactPhrase]) -> list[_FactPhrase]:
    return sorted(phrases, key=lambda phrase: (phrase.node, phrase.order))


def _text(
    phrases: Sequence[_FactPhrase], nodes: Sequence[NodeView], words: Mapping[str, str], left: int
) -> str:
    lines = [words["head"]]
    grouped: dict[int, list[str]] = {}
    for phrase in _in_order(phrases):
        grouped.setdefault(phrase.node, []).append(phrase.words)
    lines += [_node_line(nodes[place], words["between"].join(told), words) for place, told in grouped.items()]
    if left and phrases:
        lines.append(words["more"].format(n=left))
    return "\n".join(lines)


def _node_line(node: NodeView, facts: str, words: Mapping[str, str]) -> str:
    known = types().get(node.type)
    kind = (known.zh if words is _table()["zh"] else known.en) if known else one_line(node.type, 30)
    name = one_line(node.name, 60)
    others = [one_line(alias, 40) for alias in node.aliases if alias.casefold() != node.name.casefold()][:4]
    if others:
        kind = words["between"].join(
            filter(None, [kind, words["aka"].format(names=words["listed"].join(others))])
        )
    template = words["node"] if kind else words["node_untyped"]
    return template.format(name=name, type=kind, facts=facts)


def _sources(facts: Sequence[Fact]) -> tuple[Ref, ...]:
    found: dict[Ref, None] = {}
    for fact in facts:
        for evidence in fact.evidence:
            if evidence.assertion is not None:
                found.setdefault(evidence.assertion.source or evidence.opening)
    return tuple(found)
