"""The JSON formats with stable keys that `--json` promises. Text is text, times are as stored, ids are full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backscroll.vocab.part import Json, part_to_json

if TYPE_CHECKING:
    from backscroll.vocab.event import Event
    from backscroll.vocab.message import Message, Revision
    from backscroll.vocab.thread import ThreadInfo, Turn


def of_thread(info: ThreadInfo) -> dict[str, Json]:
    """Return a thread without its messages."""
    return {
        "id": info.id,
        "title": info.title,
        "project": info.project,
        "user": info.user,
        "key": info.key,
        "kind": info.kind,
        "language": info.language,
        "tags": list(info.tags),
        "messages": info.messages,
        "turns": info.turns,
        "events": info.events,
        "created_at": info.created_at,
        "updated_at": info.updated_at,
        "parent": info.parent,
        "forked_at": None if info.forked_at is None else str(info.forked_at),
        "forgotten": info.forgotten,
        "metadata": dict(info.metadata),
    }


def of_message(message: Message, number: int | None, thread: str) -> dict[str, Json]:
    """Return a message in its current state; `number` is None for a deleted one."""
    return {
        "number": number,
        "id": str(message.id),
        "thread": thread,
        "role": message.role,
        "author": message.author,
        "at": message.at,
        "text": message.text,
        "parts": [part_to_json(part) for part in message.parts],
        "revision": str(message.revision),
        "edited": is_edited(message),
        "alternative": message.alternative + 1,
        "alternatives": message.alternatives,
        "hidden": message.hidden,
        "pinned": message.pinned,
        "deleted": message.deleted,
        "metadata": dict(message.content.metadata),
    }


def is_edited(message: Message) -> bool:
    """Return True if the first alternative of a message no longer has its original text."""
    return message.alternative == 0 and message.revision != message.id


def of_turn(turn: Turn, first: int, thread: str) -> dict[str, Json]:
    """Return a turn with its messages; `first` is the number of its first message."""
    return {
        "turn": turn.sequence,
        "id": turn.id,
        "at": turn.timestamp,
        "version": turn.version,
        "processed": turn.processed,
        "messages": [of_message(m, first + i, thread) for i, m in enumerate(turn.messages)],
    }


def of_revision(revision: Revision, live: bool) -> dict[str, Json]:
    """Return one revision of a message; its text is null once forgotten."""
    content = revision.content
    return {
        "id": str(revision.id),
        "message": str(revision.message),
        "alternative": revision.alternative + 1,
        "live": live,
        "at": revision.at,
        "actor": revision.actor,
        "author": None if content is None else content.author,
        "text": None if content is None else content.text,
        "parts": None if content is None else [part_to_json(part) for part in content.parts],
    }


def of_event(event: Event, what: str) -> dict[str, Json]:
    """Return an event of the log; `what` is a short description for the user."""
    return {
        "event": event.seq,
        "id": str(event.id),
        "kind": str(event.kind),
        "actor": event.actor,
        "at": event.at,
        "message": None if event.message is None else str(event.message),
        "head": dict(event.head),
        "what": what,
        "forgotten": event.forgotten,
        "hash": event.hash.hex(),
    }
