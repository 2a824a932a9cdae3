"""Names in a text: on word edges, Chinese without spaces, the longest first."""

from __future__ import annotations

import pytest

from backscroll.graph.fold import Graph
from tests.graph.claims import alias, has, node, person, ref, turn

GRAPH = Graph(
    [
        turn(
            1, person("Ann"), person("Ann Lee"), node("Old Forest", "place"), person("艾莉"), person("艾莉娅")
        ),
        turn(
            2,
            node("src/App.tsx", "file"),
            has("user", "mood", "glad"),
            alias("Old Forest", "老森林"),
            person("龙"),
        ),
    ]
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Annie is not ann.", ["ann"]),
        ("ANN LEE'S hat", ["ann"]),  # the only full name with it: one node
        ("昨天艾莉去了老森林", ["艾莉", "old forest"]),
        ("艾莉娅来了", ["艾莉娅"]),
        ("look into src/App.tsx, please", ["src/App.tsx"]),
        ("the old\nforest; the old, forest", []),
        ("every user is welcome", []),
        ("龙来了", []),
        ("龙", ["龙"]),
        ("", []),
    ],
)
def test_mentioned_nodes_are_found_in_a_text(text: str, found: list[str]) -> None:
    assert GRAPH.find_mentioned_nodes(text) == found


def test_mentions_follow_puts_and_drops_of_turns() -> None:
    graph = Graph([turn(1, person("Ann"))])
    assert graph.find_mentioned_nodes("Ann met Bo") == ["ann"]
    graph.put(turn(2, person("Bo")))
    assert graph.find_mentioned_nodes("Bo met Ann") == ["bo", "ann"]
    graph.drop(ref(1))
    assert graph.find_mentioned_nodes("Bo met Ann") == ["bo"]
