"""Boundary detection: where one task or topic ends and the next begins, as messages arrive, with reasons.

Owns the score of each message: learned weights of its style and subject (`tasks/boundary/features`,
`tasks/boundary/model`), adjusted by time, tools and files (`tasks/boundary/behaviour`), and explicit words ("next task", "换个话题"),
which override both. Suggests, never acts: a wrong guess costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

from backscroll.errors import InvalidInput
from backscroll.tasks.boundary.behaviour import Behaviour
from backscroll.tasks.boundary.features import ConversationState
from backscroll.tasks.boundary.model import BoundaryModel, load_model
from backscroll.tasks.boundary.reasons import Reason, evidence_of, reasons_of
from backscroll.tasks.boundary.signals import Signal, placed_signals, signals_of
from backscroll.tasks.boundary.tuning import SURE, THRESHOLD, UNSURE
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message

__all__ = ["THRESHOLD", "Boundary", "BoundaryScore", "Detector", "Reason", "Signal", "signals_of", "suggest"]


@dataclass(frozen=True, slots=True)
class BoundaryScore:
    """How likely it is that a new task or topic starts at a message."""

    value: float  # 0 to 1
    reasons: tuple[Reason, ...] = ()  # the heaviest first
    explicit: str = ""  # "start" or "end" if the message states it
    ended: bool = False  # it also says that the previous task is done


@dataclass(frozen=True, slots=True)
class Boundary:
    """A message at which a new task or topic seems to start."""

    message: Ref
    score: float
    reasons: tuple[Reason, ...]
    explicit: str = ""
    ended: bool = False  # the message also says that the previous task is done


class Detector:
    """The state of one conversation, fed message by message. The same messages give the same scores."""

    def __init__(self, language: str = "", model: BoundaryModel | None = None) -> None:
        self.language = language  # unused, because both languages are read in every message; kept for callers
        self._course = ConversationState()
        self._behaviour = Behaviour()
        self._model = model or load_model()

    def step(self, signal: Signal) -> BoundaryScore:
        """Return the score of the next message. Messages not by a person or model (system, tools) are never a boundary."""
        if signal.role not in ("user", "assistant"):
            return BoundaryScore(0.0)
        # Messages before the user's first one are a greeting; that first one starts the thread, not a new task.
        first = not self._behaviour.asked
        if signal.machine:
            self._behaviour.pass_by(signal)
            return BoundaryScore(0.0)
        row, said = self._course.measure(signal.role, signal.text)
        behaved = self._behaviour.weigh(signal, said)
        learned, parts = self._model.weigh(row)
        starts, ends = bool(said.read.starts), bool(said.read.ends)
        explicit = "start" if starts and signal.role == "user" else "end" if ends else ""
        if first or behaved.never:
            self._behaviour.learn(signal, boundary=first, done=explicit == "end")
            return BoundaryScore(0.0, (), explicit, ends)
        total = max(-SURE, min(SURE, learned + sum(r.weight for r in behaved.reasons)))
        value = min(behaved.most, 1 / (1 + exp(-total)))
        if value > THRESHOLD and evidence_of(self._model.names, parts) < behaved.evidence:
            value = UNSURE  # style alone never decides
        reasons = reasons_of(self._model.names, parts, said, behaved.reasons)
        if explicit == "start" and value < behaved.sure:
            lift = log(behaved.sure / (1 - behaved.sure)) - total
            others = [reason for reason in reasons if reason.name != "says_start"]
            reasons = (Reason("says_start", round(lift, 3), said.read.starts), *others)
            value = behaved.sure
        self._behaviour.learn(signal, boundary=value > THRESHOLD, done=explicit == "end")
        return BoundaryScore(round(value, 6), reasons, explicit, ends)


def suggest(
    messages: Sequence[Message],
    *,
    threshold: float = THRESHOLD,
) -> list[Boundary]:
    """Return the messages of a history at which a new task or topic seems to start, in order."""
    if not 0.0 <= threshold <= 1.0:
        raise InvalidInput(
            f"invalid threshold: {threshold} is not between 0 and 1",
            hint="0.5 is usual; higher suggests less",
        )
    detector = Detector()
    out: list[Boundary] = []
    for message, signal in placed_signals(messages):
        score = detector.step(signal)
        if score.value > threshold:
            out.append(Boundary(message, score.value, score.reasons, score.explicit, score.ended))
    return out
