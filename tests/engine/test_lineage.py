"""Reading along forks: which thread's entry counts, how many there are, and what happens where the line is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

import backscroll
from backscroll.engine.core.lineage import View, ancestors
from backscroll.errors import StoreCorrupt
from backscroll.record.ports import Reader, ThreadState
from tests.contracts.talk import say

T = TypeVar("T")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[backscroll.Engine]:
    """An empty store."""
    with backscroll.open(tmp_path / "store.db") as opened:
        yield opened


def viewed(thread: backscroll.Thread, work: Callable[[View], T], as_of: int | None = None) -> T:
    """Something about a thread, read along its line."""

    def look(reader: Reader) -> T:
        state = reader.thread(thread.id)
        assert state is not None
        return work(View(reader, state, as_of))

    return thread.engine.store.read(look)


def test_ancestors_go_from_the_fork_to_the_root(engine: backscroll.Engine) -> None:
    """Each thread comes with its parent, the nearest first."""
    root = engine.create("root")
    say(root, "u a")
    child = root.fork()
    grandchild = child.fork()

    def line(reader: Reader) -> list[tuple[str, str]]:
        state = reader.thread(grandchild.id)
        assert state is not None
        return [(fork.id, parent.id) for fork, parent in ancestors(reader, state)]

    assert engine.store.read(line) == [(grandchild.id, child.id), (child.id, root.id)]


def test_broken_lineage_is_an_error(engine: backscroll.Engine) -> None:
    """A parent that is missing, or that descends from its own fork, ends the walk with a clear error."""
    root = engine.create("root")
    fork = root.fork()

    def walk(reader: Reader, parent: str, **changes: ThreadState) -> None:
        state = reader.thread(fork.id)
        assert state is not None
        list(ancestors(_Changed(reader, changes), replace(state, parent=parent)))  # pyright: ignore[reportArgumentType]

    with pytest.raises(StoreCorrupt, match="missing"):
        engine.store.read(lambda reader: walk(reader, "0" * 32))
    with pytest.raises(StoreCorrupt, match="descendant"):
        engine.store.read(lambda reader: walk(reader, fork.id))

    def circle(reader: Reader) -> None:
        state = reader.thread(root.id)
        assert state is not None
        walk(reader, root.id, **{root.id: replace(state, parent=fork.id)})

    with pytest.raises(StoreCorrupt, match="descendant"):
        engine.store.read(circle)


class _Changed:
    """A reader that tells other rows than there are."""

    def __init__(self, reader: Reader, rows: dict[str, ThreadState]) -> None:
        self._reader, self._rows = reader, rows

    def thread(self, thread: str) -> ThreadState | None:
        return self._rows.get(thread) or self._reader.thread(thread)


def test_nearest_entry_wins(engine: backscroll.Engine) -> None:
    """A fork's entry hides its parent's in the fork only; beyond the fork's message there is none."""
    root = engine.create("root")
    a, b, c = say(root, "u a", "a b", "u c")
    fork = root.fork(b.id)
    fork.pin(a.id)
    entry = viewed(fork, lambda view: view.entry(a.id))
    assert entry is not None
    assert (entry.flags, entry.since) == (4, fork.head)
    assert viewed(fork, lambda view: view.entry(c.id)) is None
    shared = viewed(fork, lambda view: view.entry(b.id))
    assert shared is not None
    assert shared.since == b.id.seq
    plain = viewed(root, lambda view: view.entry(a.id))
    assert plain is not None
    assert plain.flags == 0


def test_count_spans_forks(engine: backscroll.Engine) -> None:
    """Live messages are counted once, by role, after one position and up to another, now and earlier."""
    root = engine.create("root")
    messages = say(root, "u 0", "a 1", "u 2", "a 3", "u 4")
    fork = root.fork(messages[3].id)
    fork.delete(messages[0].id)
    fork.edit(messages[1].id, "one")
    fork.move(messages[2].id, after=messages[3].id)
    say(fork, "u 5")
    assert viewed(fork, lambda view: view.count()) == 4
    assert viewed(fork, lambda view: view.count(role="user")) == 2
    places = [m.position for m in fork]
    for low, after in enumerate([None, *places]):
        for high, upto in enumerate([*places, None], start=1):
            wanted = max(0, min(high, 4) - low)
            assert viewed(fork, lambda view, a=after, u=upto: view.count(after=a, upto=u)) == wanted
    assert viewed(fork, lambda view: view.count(), fork.info.events - 1) == 3
    assert viewed(root, lambda view: view.count()) == 5


def test_pages_of_every_size_give_the_same_messages(engine: backscroll.Engine) -> None:
    """However small the pages, from either end, the same messages come in the same order."""
    root = engine.create("root")
    messages = say(root, *(f"u {n}" for n in range(12)))
    fork = root.fork(messages[8].id)
    fork.delete(*(m.id for m in messages[2:6]))
    fork.edit(messages[6].id, "six")
    say(fork, "u end")
    whole = [entry.message for entry, _ in viewed(fork, lambda view: view.page(100))]
    assert len(whole) == 6
    for size in range(1, 8):
        for backwards in (False, True):
            seen = _by_pages(fork, size, backwards=backwards)
            assert seen == (whole[::-1] if backwards else whole)


def _by_pages(thread: backscroll.Thread, size: int, *, backwards: bool) -> list[backscroll.Ref]:
    out: list[backscroll.Ref] = []
    edge: bytes | None = None
    while True:
        after, before = (None, edge) if backwards else (edge, None)
        rows = viewed(
            thread,
            lambda view, a=after, b=before: view.page(size, after=a, before=b, newest_first=backwards),
        )
        out += [entry.message for entry, _ in rows]
        if len(rows) < size:
            return out
        edge = rows[-1][0].position
