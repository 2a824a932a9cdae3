"""Nodes and regrouping: what a node is named by, and how far a change reaches."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from backscroll.derive.summaries.gist import RECIPE, inputs_of
from backscroll.derive.summaries.spans import rank
from backscroll.derive.summaries.tree import (
    LevelSource,
    TreeMessage,
    just_before,
    opens,
    piece,
    regroup,
    role_of,
    span,
)
from backscroll.record.derived import SummaryNode
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from tests.derive.planted import THREAD, Talk


def said(message: Message) -> TreeMessage:
    return TreeMessage(
        message.id,
        message.revision,
        message.role,
        message.position,
        message.digest,
        message.pinned,
        message.hidden,
    )


def number(n: int) -> TreeMessage:
    """A user message at a place of its own."""
    ref = Ref(THREAD, n)
    return TreeMessage(ref, ref, "user", n.to_bytes(6, "big"), f"{n:x}", False, False)


def test_piece_has_the_key_of_its_gist() -> None:
    """Without reading any words the tree knows under which key the gist of some messages lies."""
    talk = Talk()
    talk.say("user", "one")
    talk.say("assistant", "two")
    node = piece(THREAD, [said(m) for m in talk.messages])
    assert node.key == RECIPE.key(inputs_of(talk.messages))
    assert (node.turns, node.messages, role_of(node)) == (1, 2, "user")


def test_hidden_message_changes_the_version_and_leaves_the_key() -> None:
    talk = Talk()
    talk.say("user", "one")
    talk.say("assistant", "two")
    one, two = (said(m) for m in talk.messages)
    hidden = piece(THREAD, [one, two._replace(hidden=True)])
    assert hidden.version != piece(THREAD, [one, two]).version
    assert hidden.key == piece(THREAD, [one]).key


def test_span_changes_with_its_children() -> None:
    nodes = [piece(THREAD, [number(n)]) for n in (1, 2, 3)]
    whole = span(THREAD, 1, nodes)
    assert (whole.opening, whole.position, whole.end) == (nodes[0].opening, nodes[0].position, nodes[2].end)
    other = span(THREAD, 1, [nodes[0], replace(nodes[1], key=b"x", version="u-"), nodes[2]])
    assert (other.key, other.version) != (whole.key, whole.version)
    assert opens(whole, 1) == (rank("user", Ref(THREAD, 1)) >= 1)


@given(st.binary(min_size=1, max_size=12), st.binary(min_size=1, max_size=12))
def test_just_before_a_position_nothing_else_stands(position: bytes, other: bytes) -> None:
    """Everything from a position on lies after it, everything before does not."""
    edge = just_before(position)
    assert edge < position
    assert (other > edge) == (other >= position)


@given(
    st.sets(st.integers(1, 120), min_size=1),
    st.sets(st.integers(1, 120), max_size=4),
    st.sets(st.integers(1, 120), max_size=4),
)
def test_regrouping_gives_what_cutting_everything_gives(
    before: set[int], gone: set[int], new: set[int]
) -> None:
    """Old spans outside of the regions and new runs inside them are the spans of the new history."""
    after = sorted((before - gone) | new)
    old = spans_of(sorted(before))
    starts = sorted(run[0] for run in old)

    def walk(edge: bytes | None) -> Iterator[TreeMessage | SummaryNode]:
        return (number(n) for n in after if edge is None or n.to_bytes(6, "big") > edge)

    def last_before(position: bytes) -> SummaryNode | None:
        at = bisect_left(starts, int.from_bytes(position, "big"))
        return piece(THREAD, [number(starts[at - 1])]) if at else None

    level = LevelSource(walk, opens_span, last_before, lambda p: int.from_bytes(p, "big") in starts)
    dirty = [n.to_bytes(6, "big") for n in (before & gone) | (new - before)]
    regions = list(regroup(level, dirty, None))
    kept = [run for run in old if not any(_in(run[0], r.start, r.stop) for r in regions)]
    made = [[int.from_bytes(s.position, "big") for s in run] for r in regions for run in r.runs]
    assert sorted(kept + made) == spans_of(after)


def opens_span(thing: TreeMessage | SummaryNode) -> bool:
    assert isinstance(thing, TreeMessage)
    return rank("user", thing.message) >= 1


def spans_of(numbers: list[int]) -> list[list[int]]:
    out: list[list[int]] = []
    for n in numbers:
        if out and not opens_span(number(n)):
            out[-1].append(n)
        else:
            out.append([n])
    return out


def _in(n: int, start: bytes | None, stop: bytes | None) -> bool:
    place = n.to_bytes(6, "big")
    return (start is None or place >= start) and (stop is None or place < stop)
