"""Seals and links: no byte of the log can be changed unseen, and what was forgotten still verifies."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from backscroll.errors import InvalidInput, StoreCorrupt
from backscroll.record.chain import (
    DEEPEST,
    commitment,
    flaws,
    from_bytes,
    genesis,
    link,
    make_corrupt_error,
    seal_event,
    to_bytes,
)
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json
from tests.vocab.drawn import extras, json_values

THREAD = "a" * 32
PREVIOUS = genesis(THREAD)
BODY_CHANGED = "the body was changed: it no longer fits its seal"
HEAD_CHANGED = "the head was changed, or the event before it: the hash does not follow"

threads = st.text("0123456789abcdef", min_size=32, max_size=32)
refs = st.builds(Ref, threads, st.integers(1, 2**32))
lines = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=12)
salts = st.binary(min_size=16, max_size=16)
unsealed = st.builds(
    Event,
    threads,
    st.integers(1, 2**32),
    st.sampled_from(Kind),
    lines,
    lines,
    st.none() | refs,
    extras,
    st.none() | extras.map(to_bytes),
)


@given(json_values)
def test_json_is_stored_to_the_letter(value: Json) -> None:
    """Any JSON comes back, lone surrogates and the character NUL included."""
    data = to_bytes(value)
    assert from_bytes(data) == value
    assert to_bytes(from_bytes(data)) == data


@pytest.mark.parametrize("value", [{1, 2}, b"bytes", {"when": object()}, [10**5000], {("a", "b"): 1}])
def test_values_that_are_not_json_are_refused(value: Json) -> None:
    """The error says that plain values are required."""
    with pytest.raises(InvalidInput, match="cannot be stored") as refused:
        to_bytes(value)
    assert "plain JSON" in refused.value.hint


def nested(depth: int, outermost: Json = ()) -> Json:
    """Lists and objects in turn, this deep."""
    value: Json = list(outermost)
    for level in range(depth - 1):
        value = [value] if level % 2 else {"in": value}
    return value


def test_deep_nesting_is_refused() -> None:
    """The limit is exact, and what it allows can be read."""
    assert from_bytes(to_bytes(nested(DEEPEST))) == nested(DEEPEST)
    for depth in (DEEPEST + 1, 100_000):
        with pytest.raises(InvalidInput, match="cannot be stored"):
            to_bytes(nested(depth))


def test_circular_value_is_refused() -> None:
    """A list inside itself could never be written to the end."""
    endless: list[Json] = []
    endless.append(endless)
    with pytest.raises(InvalidInput, match="cannot be stored"):
        to_bytes(endless)


def test_wide_value_is_not_too_deep() -> None:
    """Neither many small lists side by side nor brackets in text are depth."""
    for value in ([[]] * 1000, "[{" * 1000):
        assert from_bytes(to_bytes(value)) == value


@given(st.binary(max_size=20))
def test_damaged_bytes_are_called_damaged(data: bytes) -> None:
    """Reading random bytes gives a value or the one error for damage."""
    with contextlib.suppress(StoreCorrupt):
        assert repr(from_bytes(data)) == repr(json.loads(data))  # repr: NaN is not equal to itself


def test_damage_error_names_thing_and_cause() -> None:
    """With or without a class of the cause, and with what to do."""
    assert "verify" in make_corrupt_error("a row", ValueError("odd")).hint
    assert make_corrupt_error("a row", ValueError("odd")).message == "a row cannot be read (ValueError: odd)"
    assert make_corrupt_error("a row", InvalidInput("odd", hint="x")).message == "a row cannot be read (odd)"


@given(unsealed, salts)
def test_a_sealed_event_has_no_flaws(event: Event, salt: bytes) -> None:
    """Whatever an event says, sealing it gives one that verifies, with a seal where there is a body."""
    done = seal_event(event, PREVIOUS, salt)
    assert flaws(done, PREVIOUS) == []
    assert bool(done.commit) == (event.body is not None)
    assert not done.forgotten
    assert replace(done, salt=None, commit=b"", hash=b"") == event


def flipped(data: bytes, draw: st.DataObject) -> bytes:
    """The same bytes but for one bit."""
    place = draw.draw(st.integers(0, len(data) * 8 - 1), "bit")
    out = bytearray(data)
    out[place // 8] ^= 1 << place % 8
    return bytes(out)


def altered(event: Event, field: str, draw: st.DataObject) -> Event:
    """The event with another value in one field."""
    value: Any = getattr(event, field)
    if isinstance(value, bytes):
        return replace(event, **{field: flipped(value, draw)})
    others: dict[str, st.SearchStrategy[Any]] = {
        "thread": threads,
        "seq": st.integers(1, 2**32),
        "kind": st.sampled_from(Kind),
        "actor": lines,
        "at": lines,
        "target": st.none() | refs,
        "head": extras,
    }
    other = draw.draw(others[field], field)
    assume(other != value)
    return replace(event, **{field: other})


HEAD = ["thread", "seq", "kind", "actor", "at", "target", "head", "hash"]


@pytest.mark.parametrize("field", HEAD)
@given(unsealed, salts, st.data())
def test_any_change_of_the_head_is_named(field: str, event: Event, salt: bytes, data: st.DataObject) -> None:
    """Who, when, what, about which message, in which place: none can be changed unseen."""
    done = seal_event(event, PREVIOUS, salt)
    assert flaws(altered(done, field, data), PREVIOUS) == [HEAD_CHANGED]


@pytest.mark.parametrize("field", ["body", "salt"])
@given(unsealed, extras.map(to_bytes), salts, st.data())
def test_any_change_of_the_words_is_named(
    field: str, event: Event, body: bytes, salt: bytes, data: st.DataObject
) -> None:
    """One bit of the body or of its salt is enough, and the head is not blamed for it."""
    done = seal_event(replace(event, body=body), PREVIOUS, salt)
    assert flaws(altered(done, field, data), PREVIOUS) == [BODY_CHANGED]


@given(unsealed, extras.map(to_bytes), salts, st.data())
def test_a_changed_seal_is_named_twice(event: Event, body: bytes, salt: bytes, data: st.DataObject) -> None:
    """A seal that was changed fits neither the body nor the chain."""
    done = seal_event(replace(event, body=body), PREVIOUS, salt)
    assert flaws(altered(done, "commit", data), PREVIOUS) == [BODY_CHANGED, HEAD_CHANGED]


@given(unsealed, extras.map(to_bytes), salts, salts)
def test_other_words_under_a_seal_of_their_own_are_named(
    event: Event, body: bytes, salt: bytes, other: bytes
) -> None:
    """Replacing and resealing the words still breaks the chain."""
    done = seal_event(replace(event, body=body), PREVIOUS, salt)
    forged = body + b" "
    swapped = replace(done, body=forged, salt=other, commit=commitment(other, forged))
    assert flaws(swapped, PREVIOUS) == [HEAD_CHANGED]


@given(unsealed, extras.map(to_bytes), salts)
def test_a_forgotten_event_still_verifies(event: Event, body: bytes, salt: bytes) -> None:
    """Without body and salt, the chain holds and the event says that its words are gone."""
    gone = replace(seal_event(replace(event, body=body), PREVIOUS, salt), body=None, salt=None)
    assert flaws(gone, PREVIOUS) == []
    assert gone.forgotten


@given(unsealed, salts)
def test_words_without_seal_or_salt_are_named(event: Event, salt: bytes) -> None:
    """A body that was slipped in, and one whose salt was taken away, are both found."""
    bare = seal_event(replace(event, body=None), PREVIOUS, salt)
    assert flaws(replace(bare, body=b"{}"), PREVIOUS) == ["the body has no seal"]
    done = seal_event(replace(event, body=b"{}"), PREVIOUS, salt)
    assert flaws(replace(done, salt=None), PREVIOUS) == ["the salt of the body is missing"]


def chained(events: Sequence[Event]) -> list[Event]:
    """The events linked to each other."""
    out: list[Event] = []
    previous = PREVIOUS
    for event in events:
        out.append(seal_event(event, previous, bytes(16)))
        previous = out[-1].hash
    return out


def breaks(events: Sequence[Event]) -> list[int]:
    """The places at which a chain does not follow."""
    before = [PREVIOUS, *(event.hash for event in events)]
    return [
        n for n, (event, previous) in enumerate(zip(events, before, strict=False)) if flaws(event, previous)
    ]


@given(st.lists(unsealed, min_size=3, max_size=5), st.data())
def test_an_event_cannot_be_taken_out_or_swapped(events: list[Event], data: st.DataObject) -> None:
    """Where one is missing, or two changed places, the chain breaks just there."""
    chain = chained(events)
    assert breaks(chain) == []
    place = data.draw(st.integers(0, len(chain) - 2), "place")
    assert breaks(chain[:place] + chain[place + 1 :]) == [place]
    swapped = [*chain[:place], chain[place + 1], chain[place], *chain[place + 2 :]]
    assert breaks(swapped)[:2] == [place, place + 1]


@given(threads, threads, salts, salts, st.binary(max_size=8))
def test_beginnings_and_seals_are_their_own(
    one: str, other: str, salt: bytes, another: bytes, body: bytes
) -> None:
    """Different threads begin with different hashes; different salts seal the same words differently."""
    assert (genesis(one) == genesis(other)) == (one == other)
    assert (commitment(salt, body) == commitment(another, body)) == (salt == another)


def test_hashes_never_change() -> None:
    """Logs written once must verify forever."""
    event = Event(
        THREAD, 2, Kind.EDITED, "user:安", "2024-05-01T10:00:00+00:00", Ref(THREAD, 1), {"a": "你"}, b"{}"
    )
    done = seal_event(event, PREVIOUS, b"0123456789abcdef")
    assert PREVIOUS.hex() == "c025fe2e36f08f39ee6d9a39458cbe82c3a6dfaa7ecfd2d71e130721eccf700c"
    assert done.commit.hex() == "3601f574200e4788f443bfeee30e4188fae7330554764a6388d31c0e497943cc"
    assert done.hash.hex() == "faa4f6b74aa7e44a455fd1426e763c6073a04061dd2ef4061a6c3a0989c9b60f"
    assert link(PREVIOUS, done) == done.hash


def test_head_fields_do_not_run_together() -> None:
    """The same letters in another field make another head."""
    pieces = [("user", "1x"), ("user1", "x"), ("user1x", "")]
    events = [
        Event(THREAD, 1, Kind.NOTED, actor, at, head=head) for actor, at in pieces for head in ({}, {"a": 1})
    ]
    for one, other in itertools.combinations(events, 2):
        assert link(PREVIOUS, one) != link(PREVIOUS, other)
