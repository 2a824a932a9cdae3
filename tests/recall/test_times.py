"""Times in questions, in English and Chinese, against a fixed day."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.recall.question.times import find_times, number_of

NOW = date(2026, 11, 15)  # a Sunday


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("what did we say last Friday?", "2026-11-13", "2026-11-13"),
        ("two weeks ago", "2026-10-29", "2026-11-04"),
        ("in March", "2026-03-01", "2026-03-31"),
        ("in December", "2025-12-01", "2025-12-31"),
        ("on May 3rd", "2026-05-03", "2026-05-03"),
        ("the 5th of April 2024", "2024-04-05", "2024-04-05"),
        ("July-07-2024", "2024-07-07", "2024-07-07"),
        ("2:14 pm on 13 October, 2022", "2022-10-13", "2022-10-13"),
        ("12.01.2024, 16:35:22", "2024-01-12", "2024-01-12"),
        ("2023/05/23 (Tue) 22:09", "2023-05-23", "2023-05-23"),
        ("yesterday", "2026-11-14", "2026-11-14"),
        ("the day before yesterday", "2026-11-13", "2026-11-13"),
        ("last week", "2026-11-02", "2026-11-08"),
        ("last month", "2026-10-01", "2026-10-31"),
        ("in the last 3 days", "2026-11-12", "2026-11-15"),
        ("a couple of weeks ago", "2026-10-29", "2026-11-04"),
        ("in 2022", "2022-01-01", "2022-12-31"),
        ("上周三说的", "2026-11-04", "2026-11-04"),
        ("上上周五", "2026-10-30", "2026-10-30"),
        ("星期天", "2026-11-08", "2026-11-08"),
        ("前天", "2026-11-13", "2026-11-13"),
        ("大前天", "2026-11-12", "2026-11-12"),
        ("昨晚", "2026-11-14", "2026-11-14"),
        ("三月五号那次", "2026-03-05", "2026-03-05"),
        ("在5月3号", "2026-05-03", "2026-05-03"),
        ("二〇二四年三月五日", "2024-03-05", "2024-03-05"),
        ("去年十二月", "2025-12-01", "2025-12-31"),
        ("十二月三十一号", "2025-12-31", "2025-12-31"),
        ("三天前", "2026-11-12", "2026-11-12"),
        ("过去两周", "2026-11-01", "2026-11-15"),
        ("上个月", "2026-10-01", "2026-10-31"),
        ("去年", "2025-01-01", "2025-12-31"),
    ],
)
def test_time_expression_is_read(text: str, first: str, last: str) -> None:
    """With its first and its last day."""
    found = find_times(text, NOW)
    assert [(str(days.first), str(days.last)) for days in found] == [(first, last)]


@pytest.mark.parametrize("text", ["may I ask?", "version 2.2024.1", "周末愉快", "", "3:45"])
def test_lookalikes_of_times_are_ignored(text: str) -> None:
    """Words that look like dates are none."""
    assert find_times(text, NOW) == []


def test_only_full_dates_are_read_without_a_clock() -> None:
    """Which Friday, or the 3rd of May of which year, is unknown."""
    assert find_times("last Friday, May 3rd, 前天, 三月五号") == []
    assert [str(d.first) for d in find_times("on 2024-05-03 and 2023年4月1日")] == [
        "2024-05-03",
        "2023-04-01",
    ]


def test_several_times_keep_the_order_of_the_text() -> None:
    """Without duplicates."""
    found = find_times("between April 25 and May 1, 2024, or yesterday", NOW)
    assert [d.words for d in found] == ["April 25", "May 1, 2024", "yesterday"]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12),
        ("two", 2),
        ("三十一", 31),
        ("十", 10),
        ("二十", 20),
        ("两", 2),
        ("x", None),
        ("²", None),
        ("", None),
    ],
)
def test_small_numbers_are_read(text: str, number: int | None) -> None:
    """In digits, English and Chinese."""
    assert number_of(text) == number


@given(st.text(), st.one_of(st.none(), st.dates()))
def test_no_text_is_refused(text: str, now: date | None) -> None:
    """Whatever is typed, and whatever the day is."""
    for days in find_times(text, now):
        assert days.first <= days.last


@given(
    st.lists(
        st.sampled_from(
            [
                "last",
                "上",
                "周",
                "三",
                "2 weeks ago",
                "999 years ago",
                "999个月前",
                "9999年12月",
                "May",
                "5",
                "日",
                "0001-01-01",
                "去年",
                "next",
                "year",
                " ",
            ]
        )
    ).map("".join),
    st.dates(),
)
def test_pieces_of_times_make_no_error(text: str, now: date) -> None:
    """Also at the ends of the calendar: a span has its first day first, and its words are in the text."""
    for span in find_times(text, now):
        assert span.first <= span.last
        assert span.words
        assert span.words in text
