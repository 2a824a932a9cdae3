"""The person's layer over a real log: it survives lifting and forgetting, and leaves nothing behind that was to be gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.knowledge.analysis import catch_up
from backscroll.vocab.assertion import Change
from tests.properties.living import graph_dump
from tests.properties.memory import Clock, opened


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[backscroll.Engine, backscroll.Engine]]:
    """Two engines on one file, as two processes have them."""
    clock = Clock()
    with opened(tmp_path / "store.db", clock, 1) as one, opened(tmp_path / "store.db", clock, 2) as other:
        yield one, other


def told(engine: backscroll.Engine, *said: str) -> backscroll.Thread:
    """A thread in which all of this is said and analysed."""
    thread = engine.create("a tale")
    for text in said:
        thread.append("user", text)
        thread.append("assistant", "I see.")
    thread.graph.flush()
    return thread


def held(thread: backscroll.Thread, node: str, predicate: str) -> list[str]:
    """What the graph says of a node."""
    return [f.value or f.object for f in thread.graph.why(node, predicate) if f.current]


def test_pin_is_erased_with_its_only_source(
    two: tuple[backscroll.Engine, backscroll.Engine], tmp_path: Path
) -> None:
    """Forgetting the message that a pinned value comes from erases the pin, for every engine, in every byte."""
    one, other = two
    thread = told(one, "Tom's job is secretspyjob.", "Tom is 30 years old.")
    (fact,) = [f for f in thread.graph.node("Tom").attributes if "secretspyjob" in f.value]
    thread.graph.pin("Tom", fact.predicate)
    far = other.thread(thread.id)
    assert held(far, "Tom", fact.predicate) == ["secretspyjob"]
    thread.forget(next(iter(thread)).id)
    assert [o.change for o in far.graph.overrides()] == []
    assert "secretspyjob" not in repr(graph_dump(far))
    assert graph_dump(far) == graph_dump(thread)
    assert not [p for p in tmp_path.iterdir() if b"secretspyjob" in p.read_bytes()]


def test_pin_stays_while_another_message_supports_it(
    two: tuple[backscroll.Engine, backscroll.Engine],
) -> None:
    """Forgetting one of two sources keeps the pin."""
    one, _ = two
    thread = told(one, "Tom is 30 years old.", "Tom is 30 years old.")
    thread.graph.pin("Tom", "age")
    messages = [m.id for m in thread if m.role == "user"]
    thread.forget(messages[0])
    assert [o.change for o in thread.graph.overrides()] == [Change.PIN]
    thread.forget(messages[1])
    assert thread.graph.overrides() == []


def test_erased_override_disappears_from_cached_graphs(
    two: tuple[backscroll.Engine, backscroll.Engine],
) -> None:
    """In another process, and in a fork there."""
    one, other = two
    thread = told(one, "Tom lives in Greenvale.")
    made = thread.graph.set("Tom", "mood", "secretmood")
    fork = thread.fork()
    far = [other.thread(thread.id), other.thread(fork.id)]
    assert [held(t, "Tom", "mood") for t in far] == [["secretmood"], ["secretmood"]]
    assert made.id is not None
    one.forget_acts(thread.id, [made.id.seq], actor="tester")
    assert [held(t, "Tom", "mood") for t in far] == [[], []]
    assert "secretmood" not in repr([graph_dump(t) for t in far])
    assert one.verify().ok


def test_lifting_one_split_keeps_the_other(
    two: tuple[backscroll.Engine, backscroll.Engine],
) -> None:
    """Of two splits of one name, each keeps its node and overrides if the other is lifted."""
    one, _ = two
    thread = told(one, "Tom is 30 years old.", "Tom is a baker.", "Tom lives in Greenvale.")
    first = thread.graph.split("Tom", [2], "Tom the baker")
    thread.graph.split("Tom", [3], "Tom of Greenvale")
    thread.graph.set("Tom of Greenvale", "mood", "glad")
    assert first.id is not None
    thread.graph.lift(first.id)
    assert held(thread, "Tom of Greenvale", "mood") == ["glad"]
    assert held(thread, "Tom of Greenvale", "lives_in") == ["greenvale"]
    third = thread.graph.split("Tom", [2], "Another Tom")
    thread.graph.set("Another Tom", "mood", "cross")
    thread.undo()
    thread.undo()
    thread.redo()
    assert third.id is not None
    assert held(thread, "Tom of Greenvale", "mood") == ["glad"]
    assert len([n for n in thread.graph.nodes() if "tom" in n.name.casefold()]) == 3
    catch_up(one, thread.id)
