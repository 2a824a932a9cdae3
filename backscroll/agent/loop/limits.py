"""Limits of one run, and whether a thread still awaits an answer.

Separate from the loop, so that an agent can check both before the loop is loaded. Refuses: running anything (`agent/loop/loop`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from backscroll.vocab.message import Message, is_cut
from backscroll.vocab.part import Json


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The limits of one run."""

    steps: int = 60
    spend: float = 0.0  # US dollars; 0: no limit


def is_open(newest: Message) -> bool:
    """Return True if an answer is pending: after a user message, a result, or an answer that broke off or stopped at its limit.

    A command that the user ran needs no answer.
    """
    about = cast("dict[str, Json]", newest.content.metadata.get("act") or {})
    if newest.role == "tool":
        return about.get("by") != "person" or "refused" in about
    return newest.role == "user" or bool(about.get("interrupted")) or is_cut(newest)
