"""Ids in the log: parsed, shortened, and made into the UUIDs of turns."""

from __future__ import annotations

import hashlib
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import InvalidInput
from backscroll.vocab.ids import LAST, THREAD_ID, Ref, parse_ref, turn_uuid

THREAD = "0123456789abcdef0123456789abcdef"

threads = st.text("0123456789abcdef", min_size=32, max_size=32)
refs = st.builds(Ref, threads, st.integers(1, LAST))


@given(refs)
def test_id_round_trips(ref: Ref) -> None:
    """Writing and parsing it gives the same thread and number."""
    assert parse_ref(str(ref)) == ref
    assert str(ref) == f"{ref.thread}.{ref.seq}"
    assert THREAD_ID.fullmatch(ref.thread)


def test_parsed_id_is_left_alone() -> None:
    """A `Ref` passes through unchanged."""
    ref = Ref(THREAD, 7)
    assert parse_ref(ref) is ref


@pytest.mark.parametrize(
    "text",
    [
        "",
        THREAD,
        f"{THREAD}.",
        f"{THREAD}.0",
        f"{THREAD}.07",
        f"{THREAD}.-1",
        f"{THREAD}.1.2",
        f"{THREAD}.1\n",
        f" {THREAD}.1",
        f"{THREAD}.١",
        f"{THREAD}.１",
        f"{THREAD}.12345678901",
        f"{THREAD.upper()}.1",
        f"{THREAD[:8]}.1",
        f"{THREAD}0.1",
        f"{THREAD[:-1]}g.1",
    ],
)
def test_invalid_id_is_refused_with_a_hint(text: str) -> None:
    """Only 32 lower-case hex digits, a dot and a number without leading zeros are valid."""
    with pytest.raises(InvalidInput) as refused:
        parse_ref(text)
    assert repr(text) in refused.value.message
    assert refused.value.hint


@given(refs)
def test_the_short_form_begins_like_the_thread_and_keeps_the_number(ref: Ref) -> None:
    """People type eight digits of the thread, a dot and the whole number."""
    digits, number = ref.short.split(".")
    assert len(digits) == 8
    assert ref.thread.startswith(digits)
    assert int(number) == ref.seq


@given(threads, st.integers(0, 2**32 - 1))
def test_the_name_of_a_turn_is_a_uuid(thread: str, seq: int) -> None:
    """It has the version for home-made UUIDs, the standard variant, and the usual spelling."""
    name = turn_uuid(Ref(thread, seq))
    read = uuid.UUID(name)
    assert str(read) == name
    assert read.version == 8
    assert read.variant == uuid.RFC_4122
    assert turn_uuid(Ref(thread, seq)) == name


@given(threads, st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_turns_of_one_thread_have_different_names(thread: str, one: int, other: int) -> None:
    """Two openings share the name of their turn only where they are the same."""
    assert (turn_uuid(Ref(thread, one)) == turn_uuid(Ref(thread, other))) == (one == other)


def test_turns_of_different_threads_have_different_ids() -> None:
    """Turn 0 included."""
    some = [hashlib.sha256(bytes([n])).hexdigest()[:32] for n in range(200)]
    names = {turn_uuid(Ref(thread, seq)) for thread in some for seq in range(20)}
    assert len(names) == 200 * 20


def test_turn_ids_never_change() -> None:
    """Users may have written them down."""
    assert turn_uuid(Ref(THREAD, 0)) == "01234567-89ab-8def-8123-000000000000"
    assert turn_uuid(Ref(THREAD, 258)) == "01234567-89ab-8def-8123-000000000102"


@pytest.mark.parametrize("thing", [None, 7, b"3f2a", 1.5, ["a"]])
def test_id_that_is_not_text_is_refused(thing: Any) -> None:
    """The error says what ids look like."""
    with pytest.raises(InvalidInput, match="invalid message or revision id"):
        parse_ref(thing)
