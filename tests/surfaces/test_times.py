"""Times as typed by users."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from backscroll.errors import InvalidInput
from backscroll.surfaces import i18n
from backscroll.surfaces.screen.times import format_time, parse_time

NOW = datetime(2026, 11, 15, 10, 30, tzinfo=UTC).astimezone()


def moment(text: str, *, end: bool = False) -> datetime:
    found = parse_time(text, end=end, now=NOW)
    assert found is not None
    return datetime.fromisoformat(found)


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("3d", timedelta(days=3)),
        ("12h", timedelta(hours=12)),
        ("2w", timedelta(weeks=2)),
        ("5 m", timedelta(minutes=5)),
    ],
)
def test_ages_count_back_from_now(text: str, ago: timedelta) -> None:
    """An age counts back from now."""
    assert moment(text) == NOW - ago


def test_date_means_its_start_or_its_end() -> None:
    """`--until 2026-11-01` includes that whole day, in the user's time zone."""
    assert moment("2026-11-01") == datetime(2026, 11, 1).astimezone()
    assert moment("2026-11-01", end=True) == datetime(2026, 11, 1, 23, 59, 59, 999999).astimezone()


def test_time_keeps_its_zone() -> None:
    """A time without one is local."""
    assert moment("2026-11-15T09:30:00+08:00").utcoffset() == timedelta(hours=8)
    assert moment("2026-11-15T09:30") == datetime(2026, 11, 15, 9, 30).astimezone()
    assert moment("2026-11-15t09:30z") == datetime(2026, 11, 15, 9, 30, tzinfo=UTC)


def test_relative_words_work_in_both_languages() -> None:
    """Today and yesterday are understood in the current language, and always in English."""
    assert moment("yesterday").date() == NOW.date() - timedelta(days=1)
    i18n.use("zh")
    try:
        assert moment("昨天") == moment("yesterday")
    finally:
        i18n.use("en")


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "123456w", "3y", "昨", "12:30"])
def test_invalid_time_is_refused_with_a_hint(text: str) -> None:
    """With examples."""
    with pytest.raises(InvalidInput) as refusal:
        parse_time(text, now=NOW)
    assert "2026-11-15" in refusal.value.hint


def test_missing_time_stays_missing() -> None:
    """No time given, no time wanted."""
    assert parse_time(None) is None


def test_stored_times_are_shown_locally() -> None:
    """Unreadable ones are shown as they are."""
    local = datetime(2025, 1, 2, 3, 4, tzinfo=UTC).astimezone().strftime("%Y-%m-%d %H:%M")
    assert format_time("2025-01-02T03:04:00Z") == local
    assert format_time("2025-01-02T03:04:00Z", short=True) == local
    assert format_time("") == ""
    assert format_time("once upon a time") == "once upon a time"


def test_current_year_is_left_out() -> None:
    """Short times are unmistakable."""
    now = datetime.now().astimezone()
    assert format_time(now.isoformat(), short=True) == now.strftime("%m-%d %H:%M")
