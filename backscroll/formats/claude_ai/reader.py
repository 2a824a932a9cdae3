"""The account export of claude.ai: `conversations.json`, one conversation, or the unpacked folder.

Owns: recognising it, reading one conversation at a time, and separating the live path from branches by the parents that newer
exports name. Read only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from backscroll.formats.claude_ai.message import VENDOR, content_of, role_of
from backscroll.formats.language import language_of
from backscroll.formats.shape import Format, Source
from backscroll.formats.sources.account_exports import (
    documents,
    moment,
    read_conversations,
    sniff_documents,
    with_leftovers,
)
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.rows import UNKNOWN, as_array, as_object, as_text, short_title
from backscroll.formats.sources.tree import MessageNode, build_message, walk
from backscroll.vocab.foreign import Aside, ForeignThread, Item, Problem
from backscroll.vocab.part import Json

_MESSAGES = re.compile(r'"chat_messages"\s*:\s*\[')
_SAMPLE = 4000  # characters used for language detection


def _likely(head: str) -> float:
    if _MESSAGES.search(head):
        return 0.95
    return 0.5 if all(f'"{key}"' in head for key in ("uuid", "account", "created_at", "summary")) else 0.0


def _sniff(source: Source) -> float:
    return sniff_documents(source, _likely)


def _read(source: Source) -> Iterator[ForeignThread]:
    return with_leftovers(_read_documents(source))


def _read_documents(source: Source) -> Iterator[ForeignThread | Problem | Aside]:
    for document in documents(source):
        yield from read_conversations(document, _is_conversation, _thread, "messages")


def _is_conversation(data: Mapping[str, Json]) -> bool:
    return as_array(data.get("chat_messages")) is not None


def _thread(conversation: Mapping[str, Json], name: str) -> ForeignThread:
    listed = as_array(conversation.get("chat_messages")) or []
    facts = {
        key: value for key, value in conversation.items() if key != "chat_messages" and value is not None
    }
    project = as_object(conversation.get("project")) or {}
    return ForeignThread(
        VENDOR,
        as_text(conversation.get("uuid")) or name,
        _items(listed, as_text(conversation.get("current_leaf_message_uuid"))),
        title=short_title(as_text(conversation.get("name")) or as_text(conversation.get("title"))),
        project=as_text(project.get("name")) or as_text(project.get("uuid")),
        language=language_of(_sample(listed)),
        started=moment(conversation.get("created_at")),
        metadata={VENDOR: facts},
    )


def _sample(listed: Sequence[Json]) -> str:
    """Return some text of the user, for language detection."""
    words: list[str] = []
    for value in listed:
        message = as_object(value) or {}
        if role_of(message) == "user":
            words.append(as_text(message.get("text")) or content_of(message, "").text)
            if sum(map(len, words)) > _SAMPLE:
                break
    return "\n".join(words)[:_SAMPLE]


def _items(listed: Sequence[Json], leaf: str) -> Iterator[Item]:
    messages: dict[str, dict[str, Json]] = {}
    for number, value in enumerate(listed, 1):
        message = as_object(value)
        if message is None:
            yield Problem("a message is not an object; it is kept as it is", where=f"message {number}")
            yield Aside(UNKNOWN, dumps(value))
            continue
        id = as_text(message.get("uuid")) or f"#{number}"
        messages[id if id not in messages else f"{id}#{number}"] = message
    tree = _tree(messages)
    for step in walk(tree, leaf if leaf in messages else _newest(messages)):
        yield build_message(
            step,
            role_of(messages[step.node]),
            lambda id: (content_of(messages[id], id), moment(messages[id].get("created_at"))),
        )


def _tree(messages: Mapping[str, Mapping[str, Json]]) -> list[MessageNode]:
    """Build the tree from parents; older exports are plain lists."""
    if not any(as_text(message.get("parent_message_uuid")) in messages for message in messages.values()):
        before = [None, *messages]
        return [
            MessageNode(id, parent, role_of(message))
            for (id, message), parent in zip(messages.items(), before, strict=False)
        ]
    return [
        MessageNode(id, as_text(message.get("parent_message_uuid")) or None, role_of(message))
        for id, message in messages.items()
    ]


def _newest(messages: Mapping[str, Mapping[str, Json]]) -> str | None:
    """Return the newest message that nothing follows; of several at one time the last in the file."""
    followed = {as_text(message.get("parent_message_uuid")) for message in messages.values()}
    times = {id: moment(message.get("created_at")) or "" for id, message in messages.items()}
    leaves = [id for id in messages if id not in followed] or list(messages)
    return max(reversed(leaves), key=lambda id: times[id], default=None)


FORMAT = Format(VENDOR, "claude.ai export", ".json", _sniff, _read)
