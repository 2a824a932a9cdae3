"""Measure the graph that users get: write each dialogue into a store and read `thread.graph`.

    cd ../shared/bench/graph && PYTHONPATH=<this repository> python run.py --extractor bench.graph_product:Product

The first to speak writes as the user, everybody else as the assistant, each under their own name, as in a chat between people. The predicates of the
data are mapped to those of the ontology by the tables of `bench.graph_extract` and `bench.graph_extract_zh` (those adapters
measure the rules alone: a part, not the product).
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import backscroll

Triple = tuple[str, str, str]


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


_EN, _ZH = _table("graph_extract.toml"), _table("graph_extract_zh.toml")


def described(name: str) -> bool:
    """True for "Ann's sister": the data have names only."""
    return "的" in name or "'s " in name


def _store() -> Any:
    folder = tempfile.mkdtemp(prefix="backscroll-bench-")
    store = backscroll.open(Path(folder) / "graph.db", background=False)

    def close() -> None:
        store.close()
        shutil.rmtree(folder)

    atexit.register(close)
    return store


class Product:
    """Writes dialogues, reads `thread.graph`."""

    store: Any = None

    def start(self, lang: str, predicates: list[str], entities: list[str] | None = None) -> None:
        """Begin a new item: a thread."""
        if Product.store is None:
            Product.store = _store()
        self.thread = Product.store.create("dialogue", kind="chat")
        self.lang, self.allowed = lang, set(predicates)
        self.people = any(p.startswith("per:") for p in predicates)
        self.profile = "has_profession" in predicates
        self.wanted = entities
        self.first: str | None = None
        self.speakers: set[str] = set()

    def add(self, speaker: str | None, text: str) -> None:
        """The next message."""
        if self.first is None:
            self.first = speaker or ""
        self.speakers.add(speaker or "")
        self.thread.append("user" if (speaker or "") == self.first else "assistant", text, author=speaker)

    def result(self) -> dict[str, list[Any]]:
        """What the graph holds now, in the predicates of the data."""
        self.thread.graph.flush()
        graph = self.thread.graph
        if self.wanted is not None:
            return self._places(graph)
        nodes = graph.nodes()
        called = {node.id: self._name(node) for node in nodes}
        self.kinds = {n.id: f.value for n in nodes for f in n.attributes if f.predicate == "kind"}
        entities: set[str] = set()
        triples: set[Triple] = set()
        for node in nodes:
            mine = called[node.id]
            names = [a for a in (node.name, *node.aliases) if a != mine and not described(a)]
            entities |= {mine, *names} - {""}
            if self.people and not described(mine):
                triples |= {(mine, "per:alternate_names", a) for a in names}
            elif "alias" in _ZH["things"] and not self.profile:
                triples |= {
                    (mine, n, a) for n in _ZH["things"]["alias"] if n in self.allowed for a in node.aliases
                }
            for fact in node.attributes:
                if fact.rank in ("said", "person"):
                    found = self._triples(fact, mine, fact.value, node.type)
                    triples |= found
                    entities |= {fact.value} if found else set()
            for fact in node.relations:
                if fact.rank in ("said", "person") and not fact.derived:
                    triples |= self._triples(fact, mine, called.get(fact.object) or fact.object, node.type)
        return {"entities": sorted(entities), "triples": sorted(t for t in triples if t[1] in self.allowed)}

    def _name(self, node: Any) -> str:
        names = (node.name, *node.aliases)
        if self.profile and node.id == "user":
            return "I"
        return next((n for n in names if n in self.speakers), node.name)

    def _triples(self, fact: Any, mine: str, other: str, kind: str) -> set[Triple]:
        if mine == other or not other or described(mine) or described(other):
            return set()
        if self.lang == "zh" and self.people:
            return {
                (mine, n[1:], other) if n[0] == ">" else (other, n[1:], mine)
                for n in _ZH["people"].get(fact.predicate, ())
            }
        if self.lang == "zh":
            return (
                {(mine, n, other) for n in self._labels(fact, kind)} if mine not in self.speakers else set()
            )
        there, back = _EN["dialogue"]["relations"].get(fact.predicate, ("", ""))
        value = _EN["dialogue"]["values"].get(fact.predicate, "")
        found = {(mine, there, other), (other, back, mine), (mine, value, other)}
        return {t for t in found if t[1]}

    def _labels(self, fact: Any, kind: str) -> list[str]:
        things = _ZH["things"]
        names = [
            n
            for n in things.get(f"{fact.predicate}.{kind}", things.get(fact.predicate, ()))
            if n in self.allowed
        ]
        if len(names) > 1:
            usual = _ZH["kinds"].get(self.kinds.get(fact.node, ""), ())
            names.sort(key=lambda n: n not in usual)
            quote = " ".join(e.assertion.quote for e in fact.evidence if e.assertion is not None)
            told = [n for n in names if any(w in quote for w in _ZH["cues"].get(n, [n]))]
            return told[:1] or names[:1]
        return names

    def _places(self, graph: Any) -> dict[str, list[Any]]:
        out: list[Triple] = []
        for name in self.wanted or ():
            try:
                node = graph.node(name)
            except backscroll.BackscrollError:
                continue
            held = [f for f in node.relations if f.predicate == "located_in" and not f.derived]
            out += [(name, "at", graph.node(fact.object).name) for fact in held]
        return {"entities": [t[0] for t in out], "triples": out}
