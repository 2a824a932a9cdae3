"""Items between foreign files and the log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, FrozenInstanceError, fields
from typing import Any

import pytest

from backscroll.vocab.foreign import Aside, ForeignCodeChange, ForeignMessage, ForeignThread, Item, Problem
from backscroll.vocab.message import content_of

ITEMS: list[Item] = [
    ForeignMessage("user", content_of("hi")),
    Aside("snapshot", '{"type": "snapshot"}'),
    ForeignCodeChange("a new door", "caves/door.py"),
    Problem("half a line", line=3),
]


def test_conversation_is_read_lazily() -> None:
    """Items come one by one, once, so that a file of any size needs little memory."""
    read: list[int] = []

    def items() -> Iterator[Item]:
        for number, item in enumerate(ITEMS):
            read.append(number)
            yield item

    thread = ForeignThread("jsonl", "s1", items())
    assert read == []
    found = iter(thread.items)
    assert next(found) is ITEMS[0]
    assert read == [0]
    assert list(found) == ITEMS[1:]
    assert list(thread.items) == []


@pytest.mark.parametrize(
    ("kind", "needed"),
    [
        (ForeignMessage, {"role", "content"}),
        (Aside, {"kind", "raw"}),
        (ForeignCodeChange, {"description", "file_path"}),
        (Problem, {"what"}),
        (ForeignThread, {"format", "source_id", "items"}),
    ],
)
def test_most_fields_are_optional(kind: type[Any], needed: set[str]) -> None:
    """Whatever many tools do not record can be omitted."""
    assert {f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING} == needed


def test_missing_fields_have_neutral_defaults() -> None:
    """Without times, ids and flags in the source, a message has none."""
    message = ForeignMessage("assistant", content_of("hi"))
    assert message.at is message.source_id is message.parent_id is message.line is None
    assert (message.alternatives, message.chosen) == ((), 0)
    assert not message.hidden
    assert not message.pinned


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: type(item).__name__)
def test_items_are_immutable(item: Any) -> None:
    """A writer gets exactly what a reader handed over."""
    with pytest.raises(FrozenInstanceError):
        setattr(item, fields(item)[0].name, "somebody else's")


def test_metadata_is_not_shared_between_conversations() -> None:
    """No common mutable default."""
    one, other = ForeignThread("jsonl", "1", ()), ForeignThread("jsonl", "2", ())
    assert one.metadata == {}
    assert one.metadata is not other.metadata
