"""What account exports share: times, files, and problems that belong to no conversation."""

from __future__ import annotations

from typing import Any

import pytest

from backscroll.errors import FormatError
from backscroll.formats.sources.account_exports import documents, moment, with_leftovers
from backscroll.vocab.foreign import Aside, ForeignThread, Problem
from tests.formats.memory_source import MemorySource


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1700000000, "2023-11-14T22:13:20+00:00"),
        (1700000000.25, "2023-11-14T22:13:20.250000+00:00"),
        ("1700000000.25", "2023-11-14T22:13:20.250000+00:00"),
        (1700000000250, "2023-11-14T22:13:20.250000+00:00"),
        ({"$date": {"$numberLong": "1700000000250"}}, "2023-11-14T22:13:20.250000+00:00"),
        ({"$date": "2023-11-14T22:13:20Z"}, "2023-11-14T22:13:20Z"),
        ("2024-01-02T03:04:05Z", "2024-01-02T03:04:05Z"),
        ("2024-01-02T03:04:05.5", "2024-01-02T03:04:05.500000+00:00"),
        (0, None),
        (None, None),
        (True, None),
        (-5, None),
        (float("inf"), None),
        (10**30, None),
        ("yesterday", None),
        ("9" * 400, None),
        ([], None),
        ({}, None),
    ],
)
def test_moment_parses_every_time_of_an_export(value: Any, expected: str | None) -> None:
    """Values that are not times give none."""
    assert moment(value) == expected


def test_documents_of_a_folder_are_found_in_order() -> None:
    """Single and numbered documents; other files are ignored."""
    names = ["conversations-001.json", "conversations-000.json", "shared_conversations.json", "user.json"]
    folder = MemorySource(dict.fromkeys(names, "[]") | {"conversations.json": {}}, "export")
    assert [document.name for document in documents(folder)] == [
        "conversations-000.json",
        "conversations-001.json",
    ]


def test_problems_travel_with_a_thread() -> None:
    """Problems before the first thread and after any thread travel with a thread; without one they are the error."""
    found = [
        Problem("0"),
        ForeignThread("f", "a", [Aside("k", "x")]),
        Problem("1"),
        ForeignThread("f", "b", [Aside("k", "y")]),
        Problem("2"),
    ]
    items = [list(thread.items) for thread in with_leftovers(found)]
    assert items == [[Aside("k", "x"), Problem("0"), Problem("1")], [Aside("k", "y"), Problem("2")]]
    assert list(with_leftovers([])) == []
    with pytest.raises(FormatError, match=r"broken.*line 3"):
        list(with_leftovers([Problem("broken", 3)]))
