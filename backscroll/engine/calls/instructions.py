"""The system prompt of a thread that a program or an agent uses: recorded once, edited only when it changes.

Owns the one system message that is maintained; other system messages are left alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from backscroll.engine.calls.replies import AGENT
from backscroll.engine.core.checks import checked_content
from backscroll.vocab.message import Content, ContentLike, Message
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread

_FIRST = 3  # messages among which it is searched


def instruct(thread: Thread, said: ContentLike, actor: str = AGENT) -> None:
    """Make this the system message of a thread; nothing is written if it is unchanged."""
    given = checked_content(said, None)
    about = cast("dict[str, Json]", given.metadata.get("act") or {})
    content: Content = replace(given, metadata={**given.metadata, "act": {**about, "system": True}})
    pen, ours = thread.as_actor(actor), _ours(thread)
    if ours is not None:
        if ours.content.parts != content.parts:
            pen.edit(ours.id, content)
    elif content.parts and thread.info.messages:
        pen.insert("system", content)
    elif content.parts:
        pen.append("system", content)


def _ours(thread: Thread) -> Message | None:
    for message in thread.legible.messages(0, _FIRST):
        about = cast("dict[str, Json]", message.content.metadata.get("act") or {})
        if message.role == "system" and about.get("system"):
            return message
    return None
