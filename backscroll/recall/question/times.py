"""Times in a question: absolute and relative dates in English and Chinese, as spans of days.

Owns reading "last Friday", "two weeks ago", "in March", "上周三", "前天", "三月五号" against a given `now`; knows no clock of its own. A
date without a year is the latest one that is not after `now`; without `now` only dates with a year are read. Refuses nothing:
an invalid date (the 31st of June) is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TypeAlias

from backscroll.derive.extract.runs import break_long_runs

_DAY = timedelta(days=1)
#: Longer texts are pasted pages, not questions about a time.
LONGEST = 4_000


@dataclass(frozen=True, slots=True)
class DaySpan:
    """A span of days, including the last one, and the words that state it."""

    first: date
    last: date
    words: str


_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        1,
    )
    for name in names.split()
}
_WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            "monday mon",
            "tuesday tues tue",
            "wednesday wed",
            "thursday thurs thu",
            "friday fri",
            "saturday sat",
            "sunday sun",
        )
    )
    for name in names.split()
}
_SMALL = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
} | {"a": 1, "an": 1, "couple": 2, "few": 3, "several": 3}
_HAN = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0, "几": 3}

_M = rf"(?P<m>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\.?"
_W = rf"(?P<w>{'|'.join(sorted(_WEEKDAYS, key=len, reverse=True))})"
_N = rf"(?P<n>\d{{1,3}}|{'|'.join(sorted(_SMALL, key=len, reverse=True))})(?: of)?"
_H = "[0-9０-９零〇一二两三四五六七八九十几]{1,4}"


def number_of(text: str) -> int | None:
    """Return a small number in digits, English or Chinese; None if it is not one."""
    text = text.lower()
    if text.isdecimal():
        return int(text)
    if text in _SMALL:
        return _SMALL[text]
    if not text or any(c not in _HAN and c != "十" for c in text):
        return None
    if "十" in text:
        tens, _, ones = text.partition("十")
        if len(tens) > 1 or len(ones) > 1:
            return None
        return (_HAN[tens] if tens else 1) * 10 + (_HAN[ones] if ones else 0)
    return int("".join(str(_HAN[c]) for c in text))


def _day(year: int, month: int, day: int) -> tuple[date, date] | None:
    try:
        found = date(year, month, day)
    except ValueError:
        return None
    return found, found


def _month(year: int, month: int) -> tuple[date, date] | None:
    if not (1 <= month <= 12 and 1 <= year < 9999):
        return None
    after = date(year + month // 12, month % 12 + 1, 1)
    return date(year, month, 1), after - _DAY


def _latest(now: date | None, month: int, day: int | None) -> tuple[date, date] | None:
    """Return the latest such day or month that has begun by now."""
    if now is None:
        return None
    for year in range(now.year, now.year - 5, -1):  # the 29th of February may be some years back
        found = _month(year, month) if day is None else _day(year, month, day)
        if found is not None and found[0] <= now:
            return found
    return None


def _ago(now: date, amount: int, unit: str) -> tuple[date, date] | None:
    """Return the day, week, month or year so many of them ago."""
    try:
        if unit == "day":
            return now - amount * _DAY, now - amount * _DAY
        if unit == "week":
            middle = now - 7 * amount * _DAY
            return middle - 3 * _DAY, middle + 3 * _DAY
        if unit == "year":
            return date(now.year - amount, 1, 1), date(now.year - amount, 12, 31)
        months = now.year * 12 + now.month - 1 - amount
        return _month(months // 12, months % 12 + 1)
    except (ValueError, OverflowError):
        return None


def _past(now: date, amount: int, unit: str) -> tuple[date, date] | None:
    """Return the last so many days, weeks …, until now."""
    try:
        return now - amount * {"day": 1, "week": 7, "month": 31, "year": 366}[unit] * _DAY, now
    except OverflowError:
        return None


def _week(now: date, back: int) -> tuple[date, date]:
    monday = now - (now.weekday() + 7 * back) * _DAY
    return monday, monday + 6 * _DAY


def _weekday(now: date, which: int, back: int | None) -> tuple[date, date]:
    """Return that day of the week so many weeks ago; without a week, the latest one before today."""
    if back is None:
        found = now - ((now.weekday() - which - 1) % 7 + 1) * _DAY
    else:
        found = _week(now, back)[0] + which * _DAY
    return found, found


_Found: TypeAlias = "tuple[date, date] | None"
_Read: TypeAlias = Callable[[re.Match[str], date | None], _Found]
_BACK = {
    "last": 1,
    "past": 1,
    "previous": 1,
    "this": 0,
    "current": 0,
    "next": -1,
    "上上": 2,
    "上": 1,
    "这": 0,
    "本": 0,
    "下": -1,
}


def _ymd(found: re.Match[str], _: date | None) -> _Found:
    return _day(int(found["y"]), int(found["m"]), int(found["d"]))


def _read_named_month(found: re.Match[str], now: date | None) -> _Found:
    """Read a month by name, with or without day and year."""
    groups = found.groupdict()
    month = _MONTHS[found["m"].lower()]
    day = int(groups["d"]) if groups.get("d") else None
    if groups.get("y"):
        year = int(found["y"])
        return _month(year, month) if day is None else _day(year, month, day)
    return _latest(now, month, day)


def _han_date(found: re.Match[str], now: date | None) -> _Found:
    month, day = number_of(found["m"]), number_of(found["d"]) if found["d"] else None
    if month is None or (found["d"] and day is None):
        return None
    year = number_of(found["y"]) if found["y"] else None
    if year is None:
        word = found["r"]
        if word is None or now is None:
            return _latest(now, month, day)
        year = now.year - {"今": 0, "去": 1, "前": 2}[word]
    return _month(year, month) if day is None else _day(year, month, day)


def _amount(found: re.Match[str], now: date | None) -> _Found:
    amount = number_of(found["n"])
    if now is None or amount is None:
        return None
    unit = found["u"].lower()
    unit = {
        "天": "day",
        "日": "day",
        "周": "week",
        "星期": "week",
        "礼拜": "week",
        "月": "month",
        "年": "year",
    }.get(unit, unit)
    read = _past if found.groupdict().get("past") else _ago
    return read(now, amount, unit)


def _period(found: re.Match[str], now: date | None) -> _Found:
    """Read "last week", "this month", 上个月, 去年."""
    if now is None:
        return None
    back = _BACK[found["b"].lower()]
    unit = found["u"].lower()
    if unit in ("week", "周", "星期", "礼拜"):
        return _week(now, back)
    if unit in ("weekend", "周末"):
        monday = _week(now, back)[0]
        return monday + 5 * _DAY, monday + 6 * _DAY
    return _ago(now, back, "month" if unit in ("month", "月") else "year")


def _on_weekday(found: re.Match[str], now: date | None) -> _Found:
    if now is None:
        return None
    word = found["b"].lower() if found["b"] else None
    name = found["w"].lower()
    which = _WEEKDAYS[name] if name in _WEEKDAYS else "一二三四五六日天".index(name)
    which = min(which, 6)
    if word in ("last", "past", "previous"):
        # "last Friday" on a Monday is the Friday just past; on a Saturday people mean that too.
        return _weekday(now, which, None)
    return _weekday(now, which, None if word is None else _BACK[word])


def _make_day_reader(days: int) -> _Read:
    return lambda _, now: None if now is None else (now - days * _DAY, now - days * _DAY)


def _years_back(years: int) -> _Read:
    return lambda _, now: None if now is None else _ago(now, years, "year")


def _year(found: re.Match[str], _: date | None) -> _Found:
    year = int(found["y"])
    return date(year, 1, 1), date(year, 12, 31)


_Y = r"(?P<y>(?:19|20)\d\d)"
_D = r"(?P<d>[0-3]?\d)(?:st|nd|rd|th)?"
_BW = r"(?:(?P<b>last|past|previous|this|next)\s+)"
_U = r"(?P<u>day|week|month|year)s?"
#: In order: text matched by an earlier one is not matched again.
_READERS: list[tuple[re.Pattern[str], _Read]] = [
    (re.compile(pattern, re.IGNORECASE), read)
    for pattern, read in (
        (rf"(?<!\d){_Y}[-/.](?P<m>[01]?\d)[-/.](?P<d>[0-3]?\d)(?!\d)", _ymd),
        (rf"(?<!\d)(?P<d>[0-3]?\d)\.(?P<m>[01]?\d)\.{_Y}(?!\d)", _ymd),
        (rf"\b{_M}[\s-]+{_D},?[\s-]+(?:of\s+)?{_Y}\b", _read_named_month),
        (rf"\b{_D}[\s-]+(?:of\s+)?{_M},?[\s-]+{_Y}\b", _read_named_month),
        (rf"\b{_M},?[\s-]+(?:of\s+)?{_Y}\b", _read_named_month),
        (rf"\b{_M}\s+{_D}\b", _read_named_month),
        (rf"\b{_D}\s+(?:of\s+)?{_M}(?![\w'])", _read_named_month),
        (
            rf"(?:(?P<y>(?:[12]\d|[一二][零〇九])[0-9零〇一二三四五六七八九]{{2}})年|(?P<r>今|去|前)年)?(?P<m>{_H})月(?:份)?(?:(?P<d>{_H})[日号])?",
            _han_date,
        ),
        (
            r"\b(?:in|during|since|of|last|this)\s+(?P<m>january|february|march|april|may|june|july|august|september|october|november|december)\b(?!\s+\d)",
            _read_named_month,
        ),
        (rf"\b(?P<past>last|past)\s+{_N}\s+{_U}\b", _amount),
        (rf"\b{_N}\s+{_U}\s+(?:ago|back|earlier|before now)\b", _amount),
        (rf"(?P<n>{_H})\s*个?(?P<u>天|日|周|星期|礼拜|月|年)(?:之前|以前|前)", _amount),
        (rf"(?P<past>最近|过去|近|这|前)(?P<n>{_H})\s*个?(?P<u>天|日|周|星期|礼拜|月|年)", _amount),
        (rf"\b{_BW}(?P<u>weekend|week|month|year)\b", _period),
        (rf"\b{_BW}{_W}\b", _on_weekday),
        (rf"\bon\s+(?P<b>last\s+)?{_W}\b", _on_weekday),
        (r"(?P<b>上上|上|这|本|下)个?(?:周|星期|礼拜)(?P<w>[一二三四五六日天])(?!天)", _on_weekday),
        (r"(?P<b>上上|上|这|本|下)个?(?P<u>周末|周|星期|礼拜|月)", _period),
        (r"(?P<b>)(?:周|星期|礼拜)(?P<w>[一二三四五六日天])", _on_weekday),
        (r"\bthe day before yesterday\b|(?<!大)前天", _make_day_reader(2)),
        (r"大前天", _make_day_reader(3)),
        (r"\b(?:yesterday|last night)\b|昨[天晚夜日早]", _make_day_reader(1)),
        (
            r"\b(?:today|tonight|this (?:morning|afternoon|evening)|earlier today)\b|今[天晚早日]",
            _make_day_reader(0),
        ),
        (r"去年", _years_back(1)),
        (r"前年", _years_back(2)),
        (r"今年", _years_back(0)),
        (rf"(?<![\d.]){_Y}(?:年|(?![\d.年:-]))", _year),
    )
]


def find_times(text: str, now: date | None = None) -> list[DaySpan]:
    """Return the times that a text names, in the order in which they occur in it."""
    text = break_long_runs(text[:LONGEST])
    taken = bytearray(len(text))
    found: list[tuple[int, DaySpan]] = []
    for pattern, read in _READERS:
        for match in pattern.finditer(text):
            low, high = match.span()
            if any(taken[low:high]):
                continue
            days = read(match, now)
            if days is not None:
                taken[low:high] = b"\1" * (high - low)
                found.append((low, DaySpan(*days, match[0])))
    return [days for _, days in sorted(found, key=lambda pair: pair[0])]
