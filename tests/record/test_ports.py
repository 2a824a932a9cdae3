"""The interface of engine and store: bounds of a page, rows, and one set of methods."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.record.order import at_end
from backscroll.record.ports import Bounds, EventRow, Reader, RevisionBody, SearchFilter, ThreadState, Writer
from backscroll.record.thread_info import ThreadDescription
from backscroll.vocab.event import Event, Kind

THREAD = "a" * 32

positions = st.binary(max_size=3)
limits = st.none() | positions


@given(limits, limits, limits, st.lists(positions, max_size=12))
def test_bounds_hold_what_lies_strictly_between(
    after: bytes | None, before: bytes | None, upto: bytes | None, some: list[bytes]
) -> None:
    """Both ends are left out, the limit of a fork is included, and None is unlimited."""
    bounds = Bounds(5, after, before, upto)
    held = [p for p in some if bounds.hold(p)]
    expected = some
    if after is not None:
        expected = [p for p in expected if p > after]
    if before is not None:
        expected = [p for p in expected if p < before]
    if upto is not None:
        expected = [p for p in expected if p < upto or p == upto]
    assert held == expected


@pytest.mark.parametrize(
    ("bounds", "numbers"),
    [
        (Bounds(9), [1, 2, 3, 4, 5]),
        (Bounds(9, after=at_end(2)), [3, 4, 5]),
        (Bounds(9, before=at_end(4)), [1, 2, 3]),
        (Bounds(9, upto=at_end(4)), [1, 2, 3, 4]),
        (Bounds(9, at_end(1), at_end(5), at_end(3)), [2, 3]),
        (Bounds(9, at_end(3), at_end(4)), []),
        (Bounds(9, after=b""), [1, 2, 3, 4, 5]),
        (Bounds(9, before=b""), []),
    ],
)
def test_bounds_of_a_history_of_five(bounds: Bounds, numbers: list[int]) -> None:
    """The page after, before or up to a message."""
    assert [n for n in range(1, 6) if bounds.hold(at_end(n))] == numbers


def test_new_thread_is_no_fork_and_is_empty() -> None:
    """A row with only the required fields claims nothing else."""
    state = ThreadState(THREAD, THREAD, 1, b"hash", ThreadDescription(), "then", "now")
    assert (state.messages, state.turns, state.fork_seq) == (0, 0, 0)
    assert state.parent is state.fork_position is state.fork_message is None
    assert not state.forgotten


def test_event_is_not_searchable_or_undoable_by_default() -> None:
    """A store keeps unmarked events out of search and undo."""
    logged = EventRow(Event(THREAD, 1, Kind.NOTED, "user:ann", "now"), "now", 0)
    assert (logged.words, logged.tools, logged.role, logged.digest) == ("", (), "", None)
    assert not logged.undoable


def test_search_without_filters_finds_everything() -> None:
    """No filter is set by itself."""
    wanted = SearchFilter()
    assert wanted.threads is wanted.project is wanted.kind is wanted.tool is None
    assert wanted.since_us is wanted.until_us is None
    assert wanted.roles == ()


@pytest.mark.parametrize(
    "row",
    [
        ThreadState(THREAD, THREAD, 1, b"", ThreadDescription(), "then", "now"),
        RevisionBody(b"{}", b"", "now", "user:ann"),
        Bounds(1),
        SearchFilter(),
    ],
    ids=lambda row: type(row).__name__,
)
def test_rows_are_immutable(row: Any) -> None:
    """What was read stays what it was."""
    name = next(iter(row.__dataclass_fields__))
    with pytest.raises(FrozenInstanceError):
        setattr(row, name, None)


def test_writer_has_every_method_of_a_reader() -> None:
    """So what was read and what is written belong to one moment."""
    methods = {name for name in vars(Reader) if not name.startswith("_")}
    assert "page" in methods
    assert methods <= set(dir(Writer))
