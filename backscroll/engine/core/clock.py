"""The clock and randomness that pure rooms may not have. Passed in, so that tests can fix them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="microseconds")


@dataclass(frozen=True, slots=True)
class ClockAndIds:
    """The clock and source of ids of one engine."""

    now: Callable[[], str] = _now
    random: Callable[[int], bytes] = os.urandom

    def new_thread(self) -> str:
        """Return a new thread id."""
        return self.random(16).hex()


def add_timezone(value: str | datetime | None) -> str | None:
    """Return a time in ISO 8601 with a time zone; a time without one is local."""
    if value is None:
        return None
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    if moment.tzinfo is None:
        moment = moment.astimezone()
    return moment.isoformat()


def utc(us: int) -> str:
    """Return microseconds since 1970 as an ISO time in UTC."""
    return datetime.fromtimestamp(us / 1_000_000, UTC).isoformat()
