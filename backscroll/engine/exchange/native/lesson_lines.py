"""Lessons in native files: which messages were requested again, one line each, so that a copy condenses as the original does.

Owns the shape of such a line and reading it back. Lessons contain no text; duplicates are merged. A program that does not
know lessons skips these lines and reports it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from backscroll.formats.sources.json_text import dumps
from backscroll.record.derived import Lesson
from backscroll.record.ports import Writer
from backscroll.vocab.part import Json
from backscroll.vocab.values.fields import Check, is_name, is_thread, is_time, wrong_field

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

_MOST = 200  # characters of a feature: they are names such as `tool:read`


def lesson_lines(engine: EngineScope, threads: Sequence[str]) -> Iterator[str]:
    """Yield a line for every lesson learned in these threads, oldest first."""
    for thread in threads:
        found = engine.store.read(lambda reader, t=thread: reader.lessons(t))
        for lesson in reversed(found):
            data: dict[str, Json] = {"lesson": lesson.feature, "for": lesson.thread, "amount": lesson.amount}
            yield dumps({**data, "at": lesson.at})


def lesson_from(row: Mapping[str, Json]) -> Lesson:
    """Return the lesson that `lesson_lines` wrote; raises ValueError where the line is damaged."""
    wrong = wrong_field(row, _LESSON, {})
    if wrong is not None:
        raise ValueError(f"the field {wrong} is missing or not valid")
    return Lesson(row["at"], row["for"], row["lesson"], float(row["amount"]))


def _is_feature(value: Json) -> bool:
    return is_name(value) and len(value) <= _MOST


def _is_amount(value: Json) -> bool:
    whole = isinstance(value, int | float) and not isinstance(value, bool)
    return whole and isfinite(value) and abs(value) <= 1


_LESSON: Mapping[str, Check] = {"lesson": _is_feature, "for": is_thread, "amount": _is_amount, "at": is_time}


def take_lesson(engine: EngineScope, row: Mapping[str, Json]) -> None:
    """Store a lesson from a file if its thread is here. A damaged line was reported by the survey."""
    try:
        lesson = lesson_from(row)
    except ValueError:
        return

    def work(tx: Writer) -> None:
        if tx.thread(lesson.thread) is not None:
            tx.learn(lesson)

    engine.store.write(work)
