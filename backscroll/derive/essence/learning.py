"""Learned weights: messages that were requested again after being condensed, and similar ones, count for more next time.

Owns the features by which messages are compared and the arithmetic from lessons to weights: bounded on both sides, fading as
newer lessons arrive, deterministic. `derive/essence/importance` multiplies by these weights. Refuses the log of
lessons (`engine/inputs/lessons` keeps it).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import exp

from backscroll.derive.digests.calls import kind_of
from backscroll.derive.essence.cues import CODE, mark_sentences, paths_in
from backscroll.derive.essence.tuning import HALF_LIFE, HIGHEST, LOWEST, PULL
from backscroll.record.derived import Lesson
from backscroll.vocab.message import Message
from backscroll.vocab.part import Media, Text, ToolCall, ToolResult

_WIDE = 20_000
_TOLD = ("error", "constraint", "decision", "todo", "question", "finding", "preference")


def features_of(message: Message) -> tuple[str, ...]:
    """Return the features of a message: its role, kinds of tools, kinds of content."""
    out = [f"role:{message.role}"]
    text = message.text[:_WIDE]
    for part in message.parts:
        if isinstance(part, ToolCall):
            out.append(f"tool:{kind_of(part.name, part.arguments)}")
        elif isinstance(part, ToolResult):
            if part.name:
                out.append(f"tool:{kind_of(part.name)}")
            if part.is_error:
                out.append("content:error")
            text += "\n" + "\n".join(p.text[:2000] for p in part.content if isinstance(p, Text))
        elif isinstance(part, Media):
            out.append("content:media")
    cues = (
        {cue for piece in mark_sentences(text[:_WIDE]) for cue in piece.cues}
        if message.role != "tool"
        else set[str]()
    )
    out += [f"content:{name}" for name in _TOLD if name in cues]
    if "```" in text or CODE.search(text):
        out.append("content:code")
    if paths_in(text[:4000]):
        out.append("content:path")
    if any(c.isdigit() for c in text[:4000]):
        out.append("content:number")
    return tuple(dict.fromkeys(out))


def weights(lessons: Sequence[Lesson]) -> dict[str, float]:
    """Return factors by feature, from lessons newest first; a feature without lessons is missing and counts as 1."""
    pulls: dict[str, float] = {}
    for age, lesson in enumerate(lessons):
        amount = max(-1.0, min(1.0, lesson.amount))
        pulls[lesson.feature] = pulls.get(lesson.feature, 0.0) + amount * PULL * 0.5 ** (age / HALF_LIFE)
    return {feature: round(_squash_pull(pull), 4) for feature, pull in sorted(pulls.items())}


def _squash_pull(pull: float) -> float:
    """Map any pull to a factor within the bounds; no pull gives 1."""
    if pull >= 0:
        return 1 + (HIGHEST - 1) * (1 - exp(-pull))
    return 1 - (1 - LOWEST) * (1 - exp(pull))


def factor(features: Iterable[str], learned: Mapping[str, float]) -> float:
    """Return the factor of a message with these features: the mean of the known ones."""
    known = [learned[f] for f in features if f in learned]
    return max(LOWEST, min(HIGHEST, sum(known) / len(known))) if known else 1.0
