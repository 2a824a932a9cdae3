"""Whether a list goes on exactly where a thread ends, told by the ids of calls.

Agents do the same thing again and get the same answer: by its words alone, a list that begins late in the conversation could stand
in several places. The ids of calls are of one time only; where they say that the list begins with the end of the thread, what
follows is new, and nothing needs to be compared. Refuses to guess: without such an id `engine/exchange/sync` decides.
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
    """Return how many messages at the beginning of a list the thread ends with; None if that is not certain."""
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
    """Return what a thread ends with, without the system prompt that is kept up to date; oldest first."""
    out: list[tuple[str, Content]] = []
    for message in thread.legible.messages(newest_first=True):
        about = cast("Mapping[str, Json]", message.content.metadata.get("act") or {})
        if message.role == "system" and about.get("system"):
            continue
        out.append((message.role, message.content))
        if len(out) == most:
            break
    return out[::-1]
