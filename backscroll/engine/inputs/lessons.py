"""Lessons: a log of messages that were requested again after being condensed, and the weights that follow from it.

Lessons contain no text, only features of the message (`tool:read`, `content:error`); they can be listed and dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backscroll.derive.essence.learning import features_of, weights
from backscroll.engine.core.history import legible_message
from backscroll.record.derived import Lesson
from backscroll.record.ports import Writer
from backscroll.vocab.message import Message

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

_LEAST = 0.02  # a lesson below this has no effect
_LOOK = 2_000  # the number of newest lessons read; older ones have faded


@dataclass(frozen=True, slots=True)
class FeatureWorth:
    """The current weight of one feature."""

    feature: str
    weight: float  # 1: neutral
    lessons: int
    last: str  # when the last lesson was learned


def note(engine: EngineScope, thread: str, message: Message, amount: float = 1.0) -> int:
    """Record that one message was requested again (or, with a negative amount, was not needed)."""
    return note_all(engine, thread, [message], amount)


def note_all(engine: EngineScope, thread: str, messages: Sequence[Message], amount: float = 1.0) -> int:
    """Record several messages at once, which share the amount; return how many lessons were written."""
    sums: dict[str, float] = {}
    for message in messages:
        for feature in features_of(legible_message(message)):
            sums[feature] = sums.get(feature, 0.0) + amount / len(messages)
    lessons = {f: max(-1.0, min(1.0, a)) for f, a in sorted(sums.items()) if abs(a) >= _LEAST}
    if not lessons:
        return 0
    at = engine.means.now()

    def work(tx: Writer) -> None:
        for feature, value in lessons.items():
            tx.learn(Lesson(at, thread, feature, round(value, 6)))

    engine.store.write(work)
    return len(lessons)


def weights_of(engine: EngineScope, thread: str | None = None) -> dict[str, float]:
    """Return factors by feature, from all threads or from one."""
    return weights(engine.store.read(lambda reader: reader.lessons(thread, _LOOK)))


def list_lessons(engine: EngineScope, thread: str | None = None) -> list[FeatureWorth]:
    """Return what was learned, by descending weight."""
    lessons = engine.store.read(lambda reader: reader.lessons(thread, _LOOK))
    by_feature: dict[str, list[Lesson]] = {}
    for lesson in lessons:
        by_feature.setdefault(lesson.feature, []).append(lesson)
    rows = [FeatureWorth(f, w, len(by_feature[f]), by_feature[f][0].at) for f, w in weights(lessons).items()]
    return sorted(rows, key=lambda row: (-abs(row.weight - 1), row.feature))


def reset(engine: EngineScope, thread: str | None) -> int:
    """Drop the lessons of a thread, or (None) of all threads; return how many."""
    return engine.store.write(lambda tx: tx.unlearn(thread))
