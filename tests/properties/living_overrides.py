"""A small model of what a person's changes come to, whatever the text says: for the properties of living memory.

It knows only the list of overrides in force. What a later change may have touched it leaves alone; the rest must stand in the graph.
"""

from __future__ import annotations

from collections.abc import Sequence

import backscroll
from backscroll.derive.extract.ontology import is_relation
from backscroll.graph.claims.names import key_of
from backscroll.graph.fold import Graph
from backscroll.graph.view import Rank
from backscroll.vocab.assertion import Change, Override

_NAMING = {Change.MERGE, Change.SPLIT, Change.DELETE, Change.RENAME}


def standing(thread: backscroll.Thread) -> None:
    """Every change in force that nothing later can have touched is what the graph says."""
    overrides = thread.graph.overrides()
    graph = thread.graph.current()
    one = _joined(overrides)
    for at, override in enumerate(overrides):
        later = [o for o in overrides[at + 1 :] if _keys(o, one) & _keys(override, one)]
        _check(graph, override, later)


def _joined(overrides: Sequence[Override]) -> dict[str, str]:
    """Which keys a person made one: each with a name for all of them."""
    names: dict[str, str] = {}
    for override in overrides:
        keys = [override.node, override.object]
        if override.change is Change.RENAME:
            keys[1] = key_of(override.value)
        if override.change in (Change.MERGE, Change.RENAME) and all(keys):
            old, new = (names.get(k, k) for k in keys)
            names |= {k: new for k, v in names.items() if v == old} | dict.fromkeys(keys, new) | {old: new}
    return names


def _keys(override: Override, one: dict[str, str]) -> set[str]:
    return {one.get(k, k) for k in (override.node, override.object) if k}


def _check(graph: Graph, override: Override, later: Sequence[Override]) -> None:
    change, predicate = override.change, override.predicate
    about = [
        o
        for o in later
        if o.predicate == predicate or o.change in (Change.DELETE, Change.SPLIT, Change.MERGE)
    ]
    if (
        change in (Change.SET, Change.PIN)
        and not override.object
        and not about
        and not is_relation(predicate)
    ):
        facts = [f for f in graph.node(override.node).attributes if f.predicate == predicate]
        assert [(f.value, f.rank) for f in facts] == [(override.value, Rank.PERSON)], override
    elif change is Change.SET and override.object and not later:
        found = graph.find(override.object)
        told = [(f.node, f.object) for f in graph.why(override.node, predicate) if f.rank is Rank.PERSON]
        if found != graph.find(override.node):  # nobody is related to himself
            assert any(found in ends for ends in told), (override, told)
    elif change is Change.FORBID and not about and not override.object and not override.value:
        node = graph.find(override.node)
        if node is not None:
            view = graph.node(node)
            assert predicate not in {f.predicate for f in view.attributes}, override
    elif change is Change.RENAME and not any(o.change in _NAMING for o in later):
        if graph.find(override.node) is not None:  # what nobody speaks of any more has no name either
            assert graph.node(override.node).name == override.value, override
    elif change is Change.DELETE and not later:
        assert graph.find(override.node) is None, override
    elif change is Change.ADD and not later:
        assert graph.node(override.node).id, override
    elif change is Change.MERGE and not any(o.change in _NAMING for o in later):
        assert graph.find(override.node) == graph.find(override.object), override
