"""Moments as numbers."""

from __future__ import annotations

import pytest

from backscroll.vocab.values.moment import microseconds


def test_moment_is_one_number_in_every_time_zone() -> None:
    """A microsecond makes a difference."""
    assert microseconds("2026-11-15T09:30:00+08:00") == microseconds("2026-11-15T01:30:00+00:00")
    assert microseconds("2026-11-15T01:30:00.000001+00:00") - microseconds("2026-11-15T01:30:00+00:00") == 1


def test_invalid_time_is_refused() -> None:
    """It is never taken for some moment."""
    with pytest.raises(ValueError, match="yesterday"):
        microseconds("yesterday")
