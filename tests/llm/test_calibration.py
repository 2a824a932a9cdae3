"""The running ratio between our token counts and a vendor's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import InvalidInput
from backscroll.llm.tokens.calibration import (
    LEAST,
    MOST,
    SMALL,
    Calibration,
    key_of,
    restore_calibration,
    update_calibration,
)

REPORTS = st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**7)), max_size=30)


def after(*reports: tuple[int, int]) -> Calibration:
    now = Calibration()
    for counted, reported in reports:
        now = update_calibration(now, counted=counted, reported=reported)
    return now


def test_calibration_without_reports_is_neutral() -> None:
    assert Calibration().ratio == 1.0


def test_ratio_is_rounded_up_to_a_step() -> None:
    """A prompt that fits by it does fit, and the ratio does not change with every call."""
    assert after((10_000, 12_310)).ratio == 1.24
    assert after((10_000, 12_400)).ratio == 1.24
    assert after((10_000, 12_410)).ratio == 1.26


def test_larger_prompts_weigh_more() -> None:
    assert after((100_000, 120_000), (1_000, 2_000)).ratio < 1.24


def test_old_reports_fade() -> None:
    """So that a change of the vendor's tokenizer is followed."""
    before = after(*[(200_000, 200_000)] * 20)
    later = before
    for _ in range(60):
        later = update_calibration(later, counted=200_000, reported=280_000)
    assert before.ratio == 1.0
    assert later.ratio >= 1.38


def test_small_prompts_and_absurd_reports_are_ignored() -> None:
    assert after((SMALL - 1, SMALL * 2)) == Calibration()
    assert after((10_000, 10_000 * 4)) == Calibration()
    assert after((10_000, 0)) == Calibration()


@pytest.mark.parametrize(("counted", "reported"), [(-1, 5), (5, -1)])
def test_negative_tokens_are_refused(counted: int, reported: int) -> None:
    with pytest.raises(InvalidInput, match="cannot have -1 tokens"):
        update_calibration(Calibration(), counted=counted, reported=reported)


@given(REPORTS)
def test_the_ratio_is_bounded_and_the_same_reports_give_the_same_bytes(
    reports: list[tuple[int, int]],
) -> None:
    now = after(*reports)
    assert LEAST <= now.ratio <= MOST
    assert restore_calibration(now.to_json()) == now
    assert after(*reports).to_json() == now.to_json()


@pytest.mark.parametrize(
    "text", [None, "", "{}", "[]", "7", "{", '{"counted": "x"}', '{"counted": NaN, "reported": 1, "calls": 1}',
             '{"counted": -5, "reported": 1, "calls": 1}', '{"counted": 1e999, "reported": 1, "calls": 1}', "null"]
)  # fmt: skip
def test_unreadable_calibration_starts_anew(text: str | None) -> None:
    assert restore_calibration(text) == Calibration()


@given(st.text())
def test_any_name_gives_a_key_that_a_database_can_hold(model: str) -> None:
    key = key_of(model)
    assert key.isprintable()
    assert len(key) < 250
