"""Trees as lines: the live path first, branches after it, every node exactly once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backscroll.formats.sources.tree import BEGINNING, MessageNode, PathStep, walk


def tree(*rows: str) -> list[MessageNode]:
    """Nodes from `id parent role`, where `-` is none."""
    found = [row.split() for row in rows]
    return [
        MessageNode(id, None if parent == "-" else parent, "" if role == "-" else role)
        for id, parent, role in found
    ]


U, A = "user", "assistant"


def test_history_without_branches_stays_in_order() -> None:
    """A conversation without branches comes in order, and nodes that say nothing are passed over."""
    nodes = tree("root - -", "a root user", "b a assistant", "c b user")
    assert list(walk(nodes, "c")) == [PathStep("a"), PathStep("b"), PathStep("c")]


def test_second_answers_are_versions() -> None:
    """Answers after which nothing was said are versions of the live one, in the order of siblings."""
    nodes = tree("a - user", "b1 a assistant", "b2 a assistant", "b3 a assistant", "c b2 user")
    assert list(walk(nodes, "c")) == [PathStep("a"), PathStep("b2", None, ("b1", "b2", "b3")), PathStep("c")]


def test_edits_are_branches() -> None:
    """A sibling that is not an answer, or that the conversation went on from, is a branch from the message before."""
    nodes = tree(
        "a - user", "b a assistant", "c1 b user", "d1 c1 assistant", "c2 b user", "d2 c2 assistant", "b2 a assistant",
        "x b2 user",
    )  # fmt: skip
    assert list(walk(nodes, "d2")) == [
        PathStep("a"),
        PathStep("b"),
        PathStep("c2"),
        PathStep("d2"),
        PathStep("b2", "a"),
        PathStep("x"),
        PathStep("c1", "b"),
        PathStep("d1"),
    ]


def test_an_edited_first_message_branches_from_the_beginning() -> None:
    """Its branch shares nothing with the live path."""
    nodes = tree("root - -", "a root user", "b a assistant", "a2 root user", "b2 a2 assistant")
    assert list(walk(nodes, "b2")) == [
        PathStep("a2"),
        PathStep("b2"),
        PathStep("a", BEGINNING),
        PathStep("b"),
    ]


def test_branches_of_branches_follow_their_branch() -> None:
    """A branch inside a branch names a message of that branch."""
    nodes = tree("a - user", "b a assistant", "c a user", "d c assistant", "e c user", "f e assistant")
    steps = list(walk(nodes, "b"))
    assert steps == [
        PathStep("a"),
        PathStep("b"),
        PathStep("c", "a"),
        PathStep("e"),
        PathStep("f"),
        PathStep("d", "c"),
    ]


def test_answers_below_the_live_end_are_one_branch() -> None:
    """Where the live path ends before them, second answers still are versions of one message."""
    nodes = tree("a - user", "b1 a assistant", "b2 a assistant")
    assert list(walk(nodes, "a")) == [PathStep("a"), PathStep("b2", "a", ("b1", "b2"))]


def test_last_node_is_live_if_none_is_named() -> None:
    """An unknown or missing live end is not an obstacle."""
    nodes = tree("a - user", "b a assistant", "c a user")
    assert (
        list(walk(nodes, "gone"))
        == list(walk(nodes, None))
        == [PathStep("a"), PathStep("c"), PathStep("b", "a")]
    )


def test_empty_tree_has_no_steps() -> None:
    """An empty list of nodes."""
    assert list(walk([], "x")) == []


def test_deep_trees_do_not_overflow() -> None:
    """A hundred thousand messages in a row are walked."""
    nodes = [MessageNode(str(n), str(n - 1) if n else None, U) for n in range(100_000)]
    assert sum(1 for _ in walk(nodes, None)) == 100_000


@given(
    st.lists(st.tuples(st.integers(-1, 12), st.sampled_from([U, A, "", "tool"])), max_size=12),
    st.integers(-1, 12),
)
def test_every_node_is_there_once(shape: list[tuple[int, str]], leaf: int) -> None:
    """Whatever the links say, circles and gaps included, each node that says something comes exactly once."""
    nodes = [
        MessageNode(str(n), str(parent) if parent >= 0 else None, role)
        for n, (parent, role) in enumerate(shape)
    ]
    steps = list(walk(nodes, str(leaf)))
    seen = [id for step in steps for id in (step.versions or (step.node,))]
    assert sorted(seen) == sorted(node.id for node in nodes if node.role)
    assert all(step.node in step.versions for step in steps if step.versions)
    known: set[str] = {BEGINNING}
    for step in steps:
        assert step.leaves_from is None or step.leaves_from in known
        known.add(step.node)
