"""Measure the graph at size (100,000 assertions of 10,000 turns): building, neighbours of a node, changing a turn, finding names.

`python -m bench.graph_view`. Processor time, so that a busy machine shows the same figures. The talk is synthetic: people,
places and things with a few frequent ones, pronouns, other names, values that change. Needs no store.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable

from backscroll.graph.fold import Graph
from backscroll.graph.view import Options
from backscroll.vocab.assertion import Assertion, Change, Claim, Override, TurnClaims
from backscroll.vocab.ids import Ref
from bench.table import Row, print_table

THREAD = "b" * 32
_SOUNDS = "ba de fi go ku la mi no pe ru sa te vo wi xa yo zu".split()
_RELATIONS = (
    "friend_of",
    "likes",
    "colleague_of",
    "lives_in",
    "works_at",
    "owns",
    "visited",
    "dislikes",
    "child_of",
)
_ATTRIBUTES = ("mood", "occupation", "skill", "age", "hobby", "status")


class Talk:
    """Turns that speak of the same few thousand things, some far more often than others."""

    def __init__(self, seed: int, names: int) -> None:
        self.chance = random.Random(seed)
        self.people = [self._name() + " " + self._name() for _ in range(names // 2)]
        self.others = [self._name() for _ in range(names // 2)]

    def _name(self) -> str:
        return "".join(self.chance.choice(_SOUNDS) for _ in range(3)).capitalize()

    def _pick(self, among: list[str]) -> str:
        return among[min(int(self.chance.expovariate(8 / len(among))), len(among) - 1)]

    def claim(self) -> Assertion:
        """One thing that is said."""
        draw = self.chance.random()
        who = "@she" if draw < 0.08 else "user" if draw < 0.2 else self._pick(self.people)
        speaker = self.chance.choice(("user", "assistant"))
        if draw < 0.3:
            return Assertion(Claim.NODE, who, type="person", speaker=speaker)
        if draw < 0.32 and who[0] != "@":
            return Assertion(Claim.ALIAS, who, value=who.split(" ")[0] + "y", type="person", speaker=speaker)
        if draw < 0.65:
            value = self._pick(self.others).lower()
            return Assertion(
                Claim.ATTRIBUTE,
                who,
                self.chance.choice(_ATTRIBUTES),
                value,
                speaker=speaker,
                quote="So it was.",
            )
        relation = self.chance.choice(_RELATIONS)
        among = self.people if relation.endswith("_of") else self.others
        kind = Claim.END if draw > 0.97 else Claim.RELATION
        return Assertion(kind, who, relation, object=self._pick(among), speaker=speaker, quote="So it was.")

    def turn(self, number: int, claims: int) -> TurnClaims:
        """One turn."""
        said = tuple(self.claim() for _ in range(claims))
        return TurnClaims(Ref(THREAD, number), number.to_bytes(8, "big"), said)


def _median(runs: int, work: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(runs):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return statistics.median(times)


def _shown(seconds: float) -> str:
    return f"{seconds * 1000:,.2f} ms" if seconds < 1 else f"{seconds:.2f} s"


def measure(turns: int, claims: int, names: int, runs: int) -> list[Row]:
    """The figures."""
    talk = Talk(7, names)
    said = [talk.turn(number, claims) for number in range(1, turns + 1)]
    began = time.process_time()
    graph = Graph(said, options=Options(min_attributes=0))
    built = time.process_time() - began
    total = turns * claims
    rows = [Row(f"build a graph of {total:,} assertions", _shown(built), bar="about 1.5 s", ok=built < 1.5)]
    hub = _with_neighbours(graph, 100)
    size = len(graph.around([hub], limit=10_000).nodes) - 1
    changed = turns // 2

    def look() -> None:
        graph.around([hub])

    def fresh() -> None:
        graph.put(talk.turn(changed, claims))
        graph.around([hub])

    first = _median(1, lambda: Graph(said[: turns // 10]).around([hub]))
    rows += [
        Row(f"around a node with {size} neighbours", _shown(_median(runs, look)), bar="under 20 ms"),
        Row("put one turn", _shown(_median(runs, lambda: graph.put(talk.turn(changed, claims))))),
        Row("put one turn, then look around that node", _shown(_median(runs, fresh)), bar="under 20 ms"),
        Row("a tenth of it built and looked at", _shown(first)),
        Row(
            "look at the node that everybody speaks of, after a turn",
            _shown(_median(runs, _hub(graph, talk))),
        ),
    ]
    text = " ".join(talk.people[n * 7 % len(talk.people)] + " said that it rains;" for n in range(60))
    graph.find_mentioned_nodes(text)
    rows.append(
        Row(
            f"names in a text of {len(text):,} characters",
            _shown(_median(runs, lambda: graph.find_mentioned_nodes(text))),
        )
    )
    layer = [Override(Change.SET, hub, "mood", "calm")]
    rows.append(Row("one override", _shown(_median(1, lambda: graph.set_overrides(layer)))))
    rows.append(Row("all contradictions, the first time", _shown(_median(1, graph.conflicts))))
    rows.append(Row("names that may be one node", _shown(_median(1, graph.suggestions))))
    return rows


def _hub(graph: Graph, talk: Talk) -> Callable[[], object]:
    def work() -> None:
        graph.put(talk.turn(3, 10))
        graph.node("user")

    return work


def _with_neighbours(graph: Graph, wanted: int) -> str:
    """The node whose number of neighbours is nearest to the wanted one."""
    sizes = {view.id: len({f.object for f in view.relations}) for view in graph.nodes(limit=3000)}
    return min(sizes, key=lambda name: (abs(sizes[name] - wanted), name))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.graph_view", description=__doc__)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--claims", type=int, default=10, help="in each turn")
    parser.add_argument("--names", type=int, default=4_000)
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    print_table(measure(options.turns, options.claims, options.names, options.runs))


if __name__ == "__main__":
    main()
