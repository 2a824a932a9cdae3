"""Parse SillyTavern's many time formats to ISO 8601.

Over the years `send_date` was a number, a sentence in the language of the browser, two formats of its own and ISO. Some of
them have no time zone: those are read as UTC and marked as naive. Nothing is guessed: an uncertain value gives None, and the
raw value stays with the message.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from backscroll.vocab.part import Json


class SourceTime(NamedTuple):
    """A time as ISO 8601 with a zone; `naive` if the source had no zone."""

    iso: str
    naive: bool


#: Month names as browsers write them ("July 4, 2023 3:05pm" has the month in the user's language).
_MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december",
    "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec",
    "一月|二月|三月|四月|五月|六月|七月|八月|九月|十月|十一月|十二月",
    "1月|2月|3月|4月|5月|6月|7月|8月|9月|10月|11月|12月",
    "1월|2월|3월|4월|5월|6월|7월|8월|9월|10월|11월|12월",
    "januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember",
    "janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre",
    "enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre",
    "janeiro|fevereiro|março|abril|maio|junho|julho|agosto|setembro|outubro|novembro|dezembro",
    "gennaio|febbraio|marzo|aprile|maggio|giugno|luglio|agosto|settembre|ottobre|novembre|dicembre",
    "январь|февраль|март|апрель|май|июнь|июль|август|сентябрь|октябрь|ноябрь|декабрь",
    "styczeń|luty|marzec|kwiecień|maj|czerwiec|lipiec|sierpień|wrzesień|październik|listopad|grudzień",
)
_MONTH = {name: number for row in _MONTHS for number, name in enumerate(row.split("|"), 1)}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DIGITS = re.compile(r"\d{1,17}(\.\d+)?")
_SENTENCE = re.compile(
    r"([^\W_]+)\.? (\d{1,2}), (\d{4}),? (\d{1,2}):(\d{1,2})(?::(\d{1,2}))?\s*([ap])\.?m\.?", re.IGNORECASE
)
_HUMANIZED = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@ ?(\d{1,2})h ?(\d{1,2})m ?(\d{1,2})s ?(?:(\d{1,3})ms)?",
)
_NUMERIC = re.compile(r"(\d{4})[/.\-年](\d{1,2})[/.\-月](\d{1,2})日?[ ,T]+(\d{1,2}):(\d{1,2})(?::(\d{1,2}))?")
_AMERICAN = re.compile(
    r"(\d{1,2})/(\d{1,2})/(\d{4}),? (\d{1,2}):(\d{1,2})(?::(\d{1,2}))?\s*([ap])m", re.IGNORECASE
)


def when(value: Json) -> SourceTime | None:
    """Return the time of a `send_date`, `gen_started` or `create_date`; None if it is ambiguous."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _of_number(value)
    if not isinstance(value, str):
        return None
    text = value.strip().replace("\u202f", " ")  # newer browsers put a narrow space before am and pm
    if _DIGITS.fullmatch(text):
        return _of_number(float(text))
    return _iso(text) or _first_that_fits(text)


def _of_number(number: float) -> SourceTime | None:
    """Return milliseconds since 1970, as JavaScript counts; seconds where milliseconds would mean the early 1970s."""
    milliseconds = number if number >= 1e11 else number * 1000
    if not 1e11 <= milliseconds < 1e14:  # 1973 to 5138; also refuses NaN
        return None
    return SourceTime((_EPOCH + timedelta(milliseconds=milliseconds)).isoformat(), naive=False)


def _iso(text: str) -> SourceTime | None:
    if len(text) < 16 or text[4] != "-":  # dates without a time, week dates and bare digits are not accepted
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    if found.tzinfo is None:
        return SourceTime(found.replace(tzinfo=UTC).isoformat(), naive=True)
    return SourceTime(found.isoformat(), naive=False)


def _first_that_fits(text: str) -> SourceTime | None:
    for pattern, read in _SHAPES:
        match = pattern.fullmatch(text)
        if match:
            try:
                return SourceTime(read(match).isoformat(), naive=True)
            except (ValueError, KeyError):  # the thirtieth of February; a month in a language we do not know
                return None
    return None


def _sentence(found: re.Match[str]) -> datetime:
    month = _MONTH[found[1].lower()]
    return datetime(
        int(found[3]),
        month,
        int(found[2]),
        _hour(found[4], found[7]),
        int(found[5]),
        int(found[6] or 0),
        tzinfo=UTC,
    )


def _parse_humanized(found: re.Match[str]) -> datetime:
    year, month, day, hour, minute, second = (int(found[i]) for i in range(1, 7))
    return datetime(year, month, day, hour, minute, second, int(found[7] or 0) * 1000, tzinfo=UTC)


def _numeric(found: re.Match[str]) -> datetime:
    year, month, day, hour, minute = (int(found[i]) for i in range(1, 6))
    return datetime(year, month, day, hour, minute, int(found[6] or 0), tzinfo=UTC)


def _american(found: re.Match[str]) -> datetime:
    # Only with am or pm: that is how American browsers write, and they put the month first.
    month, day, year = (int(found[i]) for i in range(1, 4))
    return datetime(
        year, month, day, _hour(found[4], found[7]), int(found[5]), int(found[6] or 0), tzinfo=UTC
    )


def _hour(hour: str, half: str) -> int:
    number = int(hour)
    if not 1 <= number <= 12:
        raise ValueError(hour)
    return number % 12 + (12 if half.lower() == "p" else 0)


_SHAPES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], datetime]], ...] = (
    (_SENTENCE, _sentence),
    (_HUMANIZED, _parse_humanized),
    (_NUMERIC, _numeric),
    (_AMERICAN, _american),
)
