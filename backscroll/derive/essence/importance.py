"""Importance: how much a sentence or a message is worth keeping, and why.

Owns the weighing of signs (role, decisions, constraints, errors, identifiers and numbers, questions and their answers, pins);
the numbers are in `importance.toml`. What depends on later turns (references) or on age (recency) is passed in, and frozen by
the caller. Learned weights multiply the weight of a message's features.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import log1p
from typing import NamedTuple

from backscroll.derive.digest import Digest
from backscroll.derive.essence.cues import CODE, ID, NUMBER, CueSentence, mark_sentences, paths_in
from backscroll.derive.essence.learning import factor, features_of
from backscroll.vocab.message import Message
from backscroll.vocab.part import ToolCall, ToolResult
from backscroll.vocab.values.table import read_table

_SHORT, _LONG = 12, 500  # bytes below which a sentence says little, above which it is a paragraph
_WIDE = 100_000


class ImportanceScore(NamedTuple):
    """A score and its components."""

    value: float
    reasons: tuple[str, ...] = ()


@cache
def _weights() -> Mapping[str, Mapping[str, float]]:
    return read_table("backscroll.derive", "importance.toml")


def weigh_sentence(
    piece: CueSentence,
    *,
    role: str = "assistant",
    first: bool = False,
    last: bool = False,
    answers: bool = False,
) -> ImportanceScore:
    """Return the score of a sentence with reasons; `answers`: it follows a question."""
    table = _weights()
    cue, sign = table["cue"], table["sign"]
    total = table["role"].get(role, 0.5)
    reasons = [role]
    for kind in sorted(piece.cues):
        if kind in cue:
            total += cue[kind]
            reasons.append(kind)
    for name in _signs(piece, first=first, last=last, answers=answers):
        total += sign[name]
        reasons.append(name)
    return ImportanceScore(round(total, 4), tuple(reasons))


def _signs(piece: CueSentence, *, first: bool, last: bool, answers: bool) -> list[str]:
    text, shape = piece.text, piece.sentence.shape
    out = [name for name, on in (("first", first), ("last", last), ("answer", answers)) if on]
    if shape in ("code", "heading", "row"):
        out.append(shape)
    if shape != "code":
        if paths_in(text):
            out.append("path")
        if ID.search(text):
            out.append("id")
        elif NUMBER.search(text):
            out.append("number")
        if CODE.search(text):
            out.append("name")
    size = len(text.encode("utf-8", "surrogatepass"))
    if not any(c.isalnum() for c in text[:200]):
        out.append("empty")
    elif size < _SHORT:
        out.append("short")
    elif size > _LONG:
        out.append("long")
    return out


def score_sentence(text: str, *, role: str = "assistant") -> float:
    """Return the score of a sentence by itself."""
    scores = [weigh_sentence(piece, role=role).value for piece in mark_sentences(text[:_WIDE])]
    return max(scores, default=0.0)


def weigh_message(
    message: Message,
    *,
    digests: Sequence[Digest] = (),
    referenced: int = 0,
    recency: float = 0.0,
    weights: Mapping[str, float] | None = None,
) -> ImportanceScore:
    """Return the score of a message with reasons.

    `digests` are those of its calls or results; `referenced` counts later mentions of it; `recency` goes from 0 (old) to
    1 (newest); `weights` are learned factors by feature (`derive/essence/learning`).
    """
    table = _weights()["message"]
    best = _best_sentence(message)
    total, reasons = best.value, list(best.reasons)
    if message.pinned:
        total += table["pinned"]
        reasons.append("pinned")
    if any(d.is_error or d.exit_code for d in digests) or _has_failed(message):
        total += table["error"]
        reasons.append("failed")
    if any(d.kind in ("edit", "write") for d in digests):
        total += table["change"]
        reasons.append("change")
    if referenced > 0:
        total += table["referenced"] * log1p(referenced)
        reasons.append(f"referenced {referenced}×")
    if recency > 0:
        total += table["recent"] * min(1.0, recency)
        reasons.append("recent")
    if weights:
        times = factor(features_of(message), weights)
        if times != 1.0:
            total *= times
            reasons.append(f"learned ×{times:.2f}")
    return ImportanceScore(round(total, 4), tuple(reasons))


def _best_sentence(message: Message) -> ImportanceScore:
    pieces = mark_sentences(message.text[:_WIDE]) if message.role != "tool" else ()
    if not pieces:
        base = _weights()["role"].get(message.role, 0.5)
        calls = any(isinstance(p, ToolCall | ToolResult) for p in message.parts)
        return ImportanceScore(base if calls else base / 2, (message.role,))
    scores = [
        weigh_sentence(p, role=message.role, first=i == 0, last=i == len(pieces) - 1)
        for i, p in enumerate(pieces)
    ]
    best = max(scores, key=lambda s: s.value)
    several = sum(1 for s in scores if s.value > 1.5)
    return ImportanceScore(best.value + 0.1 * log1p(several), best.reasons)


def _has_failed(message: Message) -> bool:
    return any(isinstance(p, ToolResult) and p.is_error for p in message.parts)
