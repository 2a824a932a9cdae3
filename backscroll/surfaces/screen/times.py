"""Times as the user writes and reads them. Shown in the local zone; stored and JSON times stay as they are."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from backscroll.errors import InvalidInput
from backscroll.surfaces.i18n import t

_AGO = re.compile(r"(\d{1,5})\s*(m|h|d|w)")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def format_time(iso: str, *, short: bool = False) -> str:
    """Return a stored time in the local zone; short leaves out the current year."""
    if not iso:
        return ""
    try:
        moment = datetime.fromisoformat(iso).astimezone()
    except (ValueError, OverflowError, OSError):
        return iso
    this_year = moment.year == datetime.now().astimezone().year
    return moment.strftime("%m-%d %H:%M" if short and this_year else "%Y-%m-%d %H:%M")


def parse_time(text: str | None, *, end: bool = False, now: datetime | None = None) -> str | None:
    """Parse a time as typed: ISO 8601, a date, `today`, `yesterday`, or an age such as 3d.

    A date alone means its beginning, or its end if an end is wanted.
    """
    if text is None:
        return None
    given = text.strip().lower()
    moment = now or datetime.now().astimezone()
    if found := _AGO.fullmatch(given):
        return (moment - timedelta(**{_UNITS[found[2]]: int(found[1])})).isoformat()
    days = {t("times.today"): 0, t("times.yesterday"): 1, "today": 0, "yesterday": 1}
    if given in days:
        given = (moment - timedelta(days=days[given])).date().isoformat()
    try:
        value = datetime.fromisoformat(given.upper())
    except ValueError as error:
        raise InvalidInput(t("times.wrong", text=text), hint=t("times.hint")) from error
    if end and re.fullmatch(r"\d{4}-?\d{2}-?\d{2}", given):
        value += timedelta(days=1) - timedelta(microseconds=1)
    return value.astimezone().isoformat() if value.tzinfo is None else value.isoformat()
