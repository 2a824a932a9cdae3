"""Memories that the user added, edited, pinned and hid; withheld if their sources changed."""

from __future__ import annotations

from typing import Any

import pytest

from backscroll.errors import InvalidInput
from backscroll.record.chain import to_bytes
from backscroll.tasks.memory.acts import added_id, checked_kind, layer_acts
from backscroll.tasks.notes import WITHHELD
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.task import Memory, MemoryKind
from tests.tasks.builders import HOME

RULED = Memory("m1", MemoryKind.LESSON, "by rules", HOME, sources=(Ref(HOME, 3),))


def act(seq: int, what: str, text: str | None = None, **head: Any) -> Event:
    body = None if text is None else to_bytes({"text": text})
    return Event(
        HOME, seq, Kind.REMEMBERED, "ann", "2026-11-01T00:00:00+00:00", head={"act": what, **head}, body=body
    )


def alive(_act: Event, _ref: Ref) -> bool:
    return True


def dead(_act: Event, _ref: Ref) -> bool:
    return False


def test_edited_text_replaces_the_rule_based_text() -> None:
    found = layer_acts([RULED], [act(9, "edit", "mine", memory="m1", revisions=[f"{HOME}.3"])], alive).shown[
        0
    ]
    assert (found.text, found.by, found.note) == ("mine", "person", "")


def test_edited_text_is_withheld_when_its_source_changed() -> None:
    found = layer_acts([RULED], [act(9, "edit", "mine", memory="m1", revisions=[f"{HOME}.3"])], dead).shown[0]
    assert (found.text, found.by, found.note) == ("by rules", "rules", WITHHELD)


def test_edited_text_without_a_rule_based_one_leaves_a_note() -> None:
    found = layer_acts([], [act(9, "edit", "mine", memory="m1", revisions=[f"{HOME}.3"])], dead).shown[0]
    assert (found.text, found.note) == ("", WITHHELD)


def test_added_memory_follows_its_sources() -> None:
    event = act(9, "add", "the server is blue", kind="fact", revisions=[f"{HOME}.3"])
    found = layer_acts([], [event], alive).shown[0]
    assert (found.id, found.text, found.kind) == (added_id(event.id), "the server is blue", MemoryKind.FACT)
    assert layer_acts([], [event], dead).shown[0].text == ""


def test_memories_can_be_pinned_and_hidden() -> None:
    pinned = layer_acts([RULED], [act(9, "pin", memory="m1")], alive)
    assert pinned.shown[0].pinned
    off = layer_acts([RULED], [act(9, "pin", memory="m1"), act(10, "unpin", memory="m1")], alive)
    assert not off.shown[0].pinned
    hidden = layer_acts([RULED], [act(9, "hide", memory="m1")], alive)
    assert hidden.shown == ()
    assert [m.id for m in hidden.hidden] == ["m1"]


def test_act_under_an_earlier_id_reaches_the_memory() -> None:
    """A preference whose first statement was deleted has a new id; acts under the old one still apply."""
    found = layer_acts([RULED], [act(9, "pin", memory="m0")], alive, {"m0": "m1"})
    assert found.shown[0].pinned


def test_unknown_act_is_ignored() -> None:
    assert layer_acts([RULED], [act(9, "sing", memory="m1")], alive).shown == (RULED,)


def test_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput) as caught:
        checked_kind("song")
    assert "lesson" in (caught.value.hint or "")
