"""Merge suggestions and questions for the user: what rules cannot decide.

Owns the similarity of names, and which contradictions deserve a question. Nothing is joined here: only the user turns a suggestion
into a merge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from backscroll.graph.claims.names import ROLES, code_like, key_of, shape_of
from backscroll.graph.claims.predicates import direction, rules
from backscroll.graph.facts import VALUE, spans
from backscroll.graph.naming.identity import NameGroup, pair, tokens_of
from backscroll.graph.reading.lookup import choose_name
from backscroll.graph.state import GraphState
from backscroll.graph.view import Contradiction, MergeSuggestion, NodeView, Question, WorldEntry
from backscroll.vocab.assertion import PRONOUN

#: A name shared by more keys than this is no evidence.
_CROWD = 12
#: Attributes that two nodes rarely share by chance.
_TELLING = ("email", "phone", "birthday")
_UNSETTLED = frozenset({"same turn", "dead", "circle", "excluded", "override"})
_Clue = tuple[str, str, float, str]


def suggestions(weave: GraphState, world: Sequence[WorldEntry]) -> list[MergeSuggestion]:
    """Return nodes that may be the same, the likeliest first."""
    keys = sorted(key for key in weave.index.surfaces if key not in ROLES and "#" not in key)
    best: dict[tuple[str, str], tuple[float, str]] = {}
    for clue in _clues(weave, keys, world):
        one, two, score, why = clue
        first, second = weave.group(one), weave.group(two)
        if first is second or not _may_be_one(weave, first, second, one, two):
            continue
        ids = (weave.first(first)[1], weave.first(second)[1])
        ids = ids if weave.first(first) <= weave.first(second) else (ids[1], ids[0])
        known = best.get(ids)
        if known is None or (score, why) > known:
            best[ids] = (score, why)
    least = float(rules()["mind"]["show"])
    out = [MergeSuggestion(*ids, score, why) for ids, (score, why) in best.items() if score >= least]
    return sorted(out, key=lambda s: (-s.score, s.first, s.second))


def _clues(weave: GraphState, keys: list[str], world: Sequence[WorldEntry]) -> Iterator[_Clue]:
    yield from _shared_parts(weave, keys)
    yield from _spelled_alike(keys)
    yield from _initials(keys)
    yield from _one_entry(weave, world)
    yield from _find_hinted_names(weave)
    yield from _same_attributes(weave)


def _may_be_one(weave: GraphState, first: NameGroup, second: NameGroup, one: str, two: str) -> bool:
    """Return False if types or genders differ, the user keeps them apart, or the text contrasts them."""
    if not (weave.visible(first) and weave.visible(second)):
        return False
    if any(pair(a, b) in weave.layer.bars for a in first.members for b in second.members):
        return False
    types = weave.type(first), weave.type(second)
    if all(types) and types[0] != types[1]:
        return False
    genders = (
        weave.kind(one).gender or _find_title_gender(one),
        weave.kind(two).gender or _find_title_gender(two),
    )
    return not (all(genders) and genders[0] != genders[1])


def _find_title_gender(key: str) -> str:
    shape = shape_of(key)
    return shape.gender if shape else ""


def _shared_parts(weave: GraphState, keys: list[str]) -> Iterator[_Clue]:
    """Yield a first, last or family name that several nodes share."""
    by_token: dict[str, list[str]] = {}
    for key in keys:
        for token in tokens_of(key):
            by_token.setdefault(token, []).append(key)
    for token, sharing in sorted(by_token.items()):
        if token[0] == "b" or not 2 <= len(sharing) <= _CROWD:
            continue
        for one, two in combinations(sharing, 2):
            shapes = shape_of(one), shape_of(two)
            if token[0] != "n" and "person" not in (weave.kind(one).type, weave.kind(two).type):
                continue  # South America is not America
            assert shapes[0] is not None
            assert shapes[1] is not None
            if token[0] == "n":
                yield one, two, 0.8, "the same name with another title"
            elif shapes[0].whole != shapes[1].whole:
                yield one, two, 0.6, "one name is part of the other"
            elif shapes[0].whole and _is_short_form(shapes[0].core, shapes[1].core):
                yield one, two, 0.75, "one name is a shorter form of the other"


def _is_short_form(one: tuple[str, ...], two: tuple[str, ...]) -> bool:
    """Return True for "john kennedy" and "john f kennedy", "j kennedy" and "john kennedy"."""
    if one[-1] != two[-1] or one[0][0] != two[0][0]:
        return False
    initials = len(one[0]) == 1 or len(two[0]) == 1
    return (one[0] == two[0] and len(one) != len(two)) or (initials and one[0] != two[0])


def _spelled_alike(keys: list[str]) -> Iterator[_Clue]:
    """Yield names that differ by one letter, by case or by word separation."""
    bare: dict[str, list[str]] = {}
    short: dict[str, list[str]] = {}
    for key in keys:
        bare.setdefault("".join(c for c in key.casefold() if c not in " -_.·/'"), []).append(key)
        chinese = key[:1] > "\u2e80"
        if len(key) >= (3 if chinese else 5) and len(key) <= 40 and not code_like(key):
            for at in range(len(key)):
                short.setdefault(key[:at] + "\0" + key[at + 1 :], []).append(key)  # one letter replaced
                short.setdefault(key[:at] + key[at + 1 :], []).append(key)  # one letter more
            short.setdefault(key, []).append(key)
    for _, alike in sorted(bare.items()):
        for one, two in combinations(alike, 2):
            yield one, two, 0.9, "spelled alike"
    for _, alike in sorted(short.items()):
        if 2 <= len(alike) <= _CROWD:
            for one, two in combinations(sorted(set(alike)), 2):
                if _slip(one, two):
                    yield one, two, 0.6 if one[0] == two[0] else 0.5, "spelled almost alike"


def _slip(one: str, two: str) -> bool:
    """Return True if two names differ by a letter, not by a number or a plural."""
    if abs(len(one) - len(two)) > 1 or one + "s" == two or two + "s" == one:
        return False
    at = next((n for n, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    if any(name[at : at + 1].isdigit() for name in (one, two)):
        return False
    rest = (one[at + 1 :], two[at + 1 :]) if len(one) == len(two) else (one[at:], two[at:])
    if len(one) != len(two):
        longer, shorter = (rest[0], rest[1]) if len(one) > len(two) else (rest[1], rest[0])
        return longer[1:] == shorter
    return rest[0] == rest[1]


def _initials(keys: list[str]) -> Iterator[_Clue]:
    wholes: dict[str, list[str]] = {}
    for key in keys:
        words = key.split(" ")
        if 2 <= len(words) <= 5 and all(word[:1].isalpha() for word in words):
            wholes.setdefault("".join(word[0] for word in words), []).append(key)
    for key in keys:
        plain = key.replace(".", "")
        if 2 <= len(plain) <= 5 and " " not in key and len(wholes.get(plain, ())) == 1:
            yield key, wholes[plain][0], 0.6, "one name is the initials of the other"


def _one_entry(weave: GraphState, world: Sequence[WorldEntry]) -> Iterator[_Clue]:
    """Yield names that belong to one entry of the world description."""
    for entry in world:
        if not entry.enabled or entry.constant:
            continue
        own = key_of(entry.name)
        if weave.lives(own):
            for key in dict.fromkeys(key_of(name) for name in entry.names or entry.keys):
                if key != own and weave.lives(key):
                    yield own, key, 0.7, "the same entry of the world description"


def _find_hinted_names(weave: GraphState) -> Iterator[_Clue]:
    """Yield other names that a text only hints at."""
    for said in weave.turns.values():
        for raw in said.raws:
            if raw.hinted and raw.subject[0] != PRONOUN and weave.lives(raw.hinted):
                yield raw.subject, raw.hinted, 0.6, "a sentence hints at it"


def _same_attributes(weave: GraphState) -> Iterator[_Clue]:
    holders: dict[tuple[str, str], list[str]] = {}
    for group in weave.groups():
        for predicate in _TELLING:
            if any(predicate in weave.index.slots.get(key, ()) for key in group.members):
                for span in spans(weave, group, predicate, VALUE):
                    if span.until is None and isinstance(span.other, str):
                        holders.setdefault((predicate, span.other), []).append(weave.first(group)[1])
    for (predicate, _), ids in sorted(holders.items()):
        if 2 <= len(ids) <= 3:
            for one, two in combinations(ids, 2):
                yield one, two, 0.65 if predicate == "birthday" else 0.8, f"the same {predicate}"


# Questions.


def questions(
    weave: GraphState,
    contradictions: Sequence[Contradiction],
    merges: Sequence[MergeSuggestion],
    view: Callable[[NameGroup], NodeView],
) -> list[Question]:
    """Return questions that only the user can answer: contradictions first, then merges, then overrides that no turn mentions any more."""
    out = [_about(weave, c) for c in contradictions if _worth_asking(c)]
    ask = float(rules()["mind"]["ask"])
    for merge in merges:
        if merge.score >= ask:
            names = [choose_name(weave, weave.group(node)) for node in (merge.first, merge.second)]
            text = f"Are {names[0]} and {names[1]} the same? ({merge.why})"
            out.append(
                Question(_id("merge", merge.first, merge.second), "merge", (merge.first, merge.second), text)
            )
    for group in weave.groups():
        node = weave.first(group)[1]
        if not any(key in weave.index.mentions for key in group.members):
            text = f"No turn speaks of {choose_name(weave, group)} any more. Should it stay?"
            facts = (*view(group).attributes, *view(group).relations)
            own = tuple(f for f in facts if f.rank.value == "person")
            out.append(Question(_id("orphan", node), "orphan", (node,), text, own))
        elif not weave.type(group) and _often_told(weave, group):
            text = f"What is {choose_name(weave, group)}: a person, a place, a thing?"
            out.append(Question(_id("missing", node), "missing", (node,), text))
    unique = {question.id: question for question in out}
    return list(unique.values())


def _often_told(weave: GraphState, group: NameGroup) -> bool:
    """Return True if many turns mention it and something is said of it: only then its type matters."""
    said = any(name != "alias" for key in group.members for name in weave.index.slots.get(key, ()))
    return said and len(weave.openings(group)) >= 5


def _worth_asking(found: Contradiction) -> bool:
    """Return False if the latest claim simply wins."""
    return found.kind in _UNSETTLED or found.predicate in rules()["change"]["never"]


def _about(weave: GraphState, found: Contradiction) -> Question:
    name = choose_name(weave, weave.group(found.node))

    def describe_value(value: str, other: str) -> str:
        return value or (choose_name(weave, weave.group(other)) if other else "not so")

    what = direction(found.predicate).name.replace("_", " ")
    held, other = (
        describe_value(found.held.value, found.held.object),
        describe_value(found.other.value, found.other.object),
    )
    text = f"{name}, {what}: “{held}” is held, and “{other}” is said too. Which is right?"
    nodes = tuple(dict.fromkeys(n for n in (found.node, found.held.object, found.other.object) if n))
    kind = "override" if found.kind == "override" else "contradiction"
    parts = (found.kind, found.node, found.predicate, held, other)
    return Question(_id("contradiction", *parts), kind, nodes, text, (found.held, found.other))


def _id(*parts: str) -> str:
    """Return a stable id of a question."""
    hashed = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hashed.update(len(data).to_bytes(4, "big") + data)
    return hashed.hexdigest()[:10]
