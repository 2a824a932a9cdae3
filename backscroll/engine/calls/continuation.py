"""Recognise by call ids that a message list continues exactly where a thread ends.

Agents repeat the same call and get the same answer: by its text alone, a list that starts late in the conversation could
match several places. Call ids are unique; where they show that the list starts with the end of the thread, what follows is
new and nothing needs to be compared. Without such an id `engine/exchange/sync` decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from backscroll.reconcile.normal import call_ids, exact
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.message import Content
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from backscroll.engine.thread import Thread


def known_part(thread: Thread, messages: Sequence[ForeignMessage]) -> int | None:
    """Return how many messages at the start of a list the thread ends with; None if that is not certain."""
    if not any(call_ids(m.content) for m in messages) or any(m.role == "system" for m in messages):
        return None
    ends = [_name(role, content) for role, content in _newest(thread, len(messages))]
    begins = [_name(m.role, m.content) for m in messages]
    for known in range(min(len(ends), len(begins)), 0, -1):
        if begins[known - 1] == ends[-1] and begins[:known] == ends[-known:]:
            sure = any(call_ids(m.content) for m in messages[:known])
            return known if sure else None
    return None


def _name(role: str, content: Content) -> tuple[str, str]:
    return role, exact(content)


def _newest(thread: Thread, most: int) -> list[tuple[str, Content]]:
    """Return the last messages of a thread, without the maintained system prompt; oldest first."""
    out: list[tuple[str, Content]] = []
    for message in thread.legible.messages(newest_first=True):
        about = cast("Mapping[str, Json]", message.content.metadata.get("act") or {})
        if message.role == "system" and about.get("system"):
            continue
        out.append((message.role, message.content))
        if len(out) == most:
            break
    return out[::-1]
