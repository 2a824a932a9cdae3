"""Handles are read back as written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import InvalidInput
from backscroll.vocab.handle import IN_TEXT, Handle, handle_of, parse_handle
from backscroll.vocab.ids import LAST, Ref

NUMBERS = st.integers(1, LAST)


@given(NUMBERS, NUMBERS, st.none() | st.text("0123456789abcdef", min_size=8, max_size=8))
def test_a_handle_survives_being_written(first: int, last: int, thread: str | None) -> None:
    handle = Handle(first, last, thread)
    assert parse_handle(str(handle)) == handle
    assert IN_TEXT.findall(f"see {handle}, please") == [str(handle)]


def test_brackets_and_prefix_of_a_handle_are_optional() -> None:
    assert parse_handle("17") == parse_handle("bs:17") == parse_handle(" [bs:17] ") == Handle(17, 17)


def test_handle_of_another_thread_names_it() -> None:
    assert handle_of(Ref("ab" * 16, 4), elsewhere=True) == "[bs:abababab.4]"
    assert handle_of(Ref("ab" * 16, 4), Ref("ab" * 16, 9)) == "[bs:4-9]"


@pytest.mark.parametrize("text", ["", "[bs:]", "bs:0", "[bs:x]", "17-", "[bs:99999999999]", "12.5.6"])
def test_invalid_handle_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="not a handle"):
        parse_handle(text)
