"""What was learned: a log of what was asked for again after it had been condensed, and the weights that follow from it.

Lessons hold no words, only what a message was like (`tool:read`, `content:error`); they can be looked at and dropped.
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

_LEAST = 0.02  # a lesson below this teaches nothing
_LOOK = 2_000  # lessons back; older ones have faded


@dataclass(frozen=True, slots=True)
class FeatureWorth:
    """What one feature is worth now."""

    feature: str
    weight: float  # 1: as everything else
    lessons: int
    last: str  # when the last lesson was learned


def note(engine: EngineScope, thread: str, message: Message, amount: float = 1.0) -> int:
    """Learn from one message that was asked for again (or, with a negative amount, was not needed)."""
    return note_all(engine, thread, [message], amount)


def note_all(engine: EngineScope, thread: str, messages: Sequence[Message], amount: float = 1.0) -> int:
    """Learn from several messages at once, which share the amount; return how many lessons were written."""
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
    """Factors by feature, from all threads or from one."""
    return weights(engine.store.read(lambda reader: reader.lessons(thread, _LOOK)))


def list_lessons(engine: EngineScope, thread: str | None = None) -> list[FeatureWorth]:
    """Return what was learned, the heaviest first."""
    lessons = engine.store.read(lambda reader: reader.lessons(thread, _LOOK))
    by_feature: dict[str, list[Lesson]] = {}
    for lesson in lessons:
        by_feature.setdefault(lesson.feature, []).append(lesson)
    rows = [FeatureWorth(f, w, len(by_feature[f]), by_feature[f][0].at) for f, w in weights(lessons).items()]
    return sorted(rows, key=lambda row: (-abs(row.weight - 1), row.feature))


def reset(engine: EngineScope, thread: str | None) -> int:
    """Drop what was learned in a thread, or (None) in all of them; return how many lessons went."""
    return engine.store.write(lambda tx: tx.unlearn(thread))
