"""Lessons in native files: what was asked for again, one line each, so that a copy condenses as the original does.

Owns the shape of such a line and its way back in. Lessons hold no words; the same lesson twice is one. A program that knows no lessons
leaves these lines out and says so. Before: `engine/learning`. After: `engine/native`, which reads and writes the rest of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, cast

from backscroll.engine.importing import ImportReport
from backscroll.errors import BackscrollError
from backscroll.formats.json_text import dumps
from backscroll.record.derived import Lesson
from backscroll.record.ports import Writer
from backscroll.vocab.foreign import Problem
from backscroll.vocab.moment import microseconds
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from backscroll.engine.engine import Engine

_MOST = 200  # characters of a feature: they are names such as `tool:read`


def lesson_lines(engine: Engine, threads: Sequence[str]) -> Iterator[str]:
    """A line for everything that was learned in these threads, oldest first."""
    for thread in threads:
        found = engine.store.read(lambda reader, t=thread: reader.lessons(t))
        for lesson in reversed(found):
            data: dict[str, Json] = {"lesson": lesson.feature, "for": lesson.thread, "amount": lesson.amount}
            yield dumps({**data, "at": lesson.at})


def lesson_from(row: Mapping[str, Json]) -> Lesson:
    """The lesson that `lesson_lines` wrote; raises ValueError, LookupError, TypeError or OverflowError where the line is damaged."""
    names = (row["at"], row["for"], row["lesson"])
    if not all(isinstance(name, str) for name in names):
        raise TypeError("a name is no text")
    at, thread, feature = cast("tuple[str, str, str]", names)
    microseconds(at)
    amount = row["amount"]
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        raise TypeError(f"amount {amount!r}")
    if not isfinite(amount) or abs(amount) > 1 or not 0 < len(feature) <= _MOST:
        raise ValueError(f"{feature[:_MOST]!r}, {amount!r}")
    return Lesson(at, thread, feature, float(amount))


def take_lesson(
    engine: Engine, row: Mapping[str, Json], report: ImportReport, line: int, *, dry_run: bool
) -> None:
    """Keep a lesson that came with a file, or say why not."""
    try:
        lesson = lesson_from(row)
    except (ValueError, LookupError, TypeError, OverflowError, BackscrollError) as error:
        report.problems.append(
            Problem(f"something that was learned is damaged and was left out: {error}", line)
        )
        return

    def work(tx: Writer) -> None:
        if tx.thread(lesson.thread) is not None:
            tx.learn(lesson)

    if not dry_run:
        engine.store.write(work)
