"""ChatGPT's account export: `conversations.json`, its numbered successors, one conversation, or the unpacked folder.

Owns: recognising it, reading one conversation at a time, and separating the live path from branches and second answers.
Attached files are imported if the folder has them. Read only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from backscroll.formats.chatgpt.message import (
    VENDOR,
    ChatGPTMessage,
    role_of,
    tool_called,
    tool_speaking,
    understand,
)
from backscroll.formats.language import language_of
from backscroll.formats.shape import Format, Source
from backscroll.formats.sources.account_exports import (
    ExportFiles,
    documents,
    moment,
    read_conversations,
    sniff_documents,
    with_leftovers,
)
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.rows import UNKNOWN, as_array, as_object, as_text, short_title
from backscroll.formats.sources.tree import BEGINNING, MessageNode, walk
from backscroll.vocab.foreign import Aside, ForeignMessage, ForeignThread, Item, Problem
from backscroll.vocab.part import Json

_MAPPING = re.compile(r'"mapping"\s*:\s*\{')
_NODE = re.compile(r'"(?:current_node|children|parent)"\s*:')
_SAMPLE = 4000  # characters used for language detection


def _likely(head: str) -> float:
    if _MAPPING.search(head):
        return 0.95 if _NODE.search(head) else 0.5
    return 0.6 if '"current_node"' in head and '"conversation_id"' in head else 0.0


def _sniff(source: Source) -> float:
    return sniff_documents(source, _likely)


def _read(source: Source) -> Iterator[ForeignThread]:
    return with_leftovers(_read_documents(source))


def _read_documents(source: Source) -> Iterator[ForeignThread | Problem | Aside]:
    files = ExportFiles(source)
    for document in documents(source):
        yield from read_conversations(
            document, _is_conversation, lambda found, name: _thread(found, name, files), "mapping of nodes"
        )


def _is_conversation(data: Mapping[str, Json]) -> bool:
    return as_object(data.get("mapping")) is not None


def _thread(conversation: Mapping[str, Json], name: str, files: ExportFiles) -> ForeignThread:
    mapping = as_object(conversation.get("mapping")) or {}
    facts = {key: value for key, value in conversation.items() if key != "mapping" and value is not None}
    silent = [id for id, node in mapping.items() if _message(node) is None]
    gizmo = as_text(conversation.get("gizmo_id"))
    return ForeignThread(
        VENDOR,
        as_text(conversation.get("conversation_id")) or as_text(conversation.get("id")) or name,
        _items(_ConversationTree(mapping, as_text(conversation.get("current_node")), files)),
        title=short_title(as_text(conversation.get("title"))),
        project=gizmo if gizmo.startswith("g-p-") else "",
        language=language_of(_sample(mapping)),
        started=moment(conversation.get("create_time")),
        metadata={VENDOR: {**facts, "silent_nodes": silent} if silent else facts},
    )


def _message(node: Json) -> dict[str, Json] | None:
    return as_object((as_object(node) or {}).get("message"))


def _sample(mapping: Mapping[str, Json]) -> str:
    """Return some text of the user, for language detection."""
    words: list[str] = []
    for node in mapping.values():
        message = _message(node)
        if message is not None and role_of(message) == "user":
            content = as_object(message.get("content")) or {}
            words += [as_text(part) for part in as_array(content.get("parts")) or []]
            if sum(map(len, words)) > _SAMPLE:
                break
    return "\n".join(words)[:_SAMPLE]


class _ConversationTree:
    """The nodes of a conversation and their links."""

    def __init__(self, mapping: Mapping[str, Json], current: str, files: ExportFiles) -> None:
        self._files = files
        self.nodes: dict[str, dict[str, Json]] = {}
        self.odd: dict[str, Json] = {}
        for id, value in mapping.items():
            node = as_object(value)
            if node is None:
                self.odd[id] = value
            else:
                self.nodes[id] = node
        places: dict[str, tuple[int, str]] = {}
        for id, node in self.nodes.items():
            for place, child in enumerate(as_array(node.get("children")) or []):
                places.setdefault(as_text(child), (place, id))
        self.parents = {
            id: as_text(node.get("parent")) or places.get(id, (0, ""))[1] for id, node in self.nodes.items()
        }
        # Siblings are in the order of their parent's list; one that is missing there comes last.
        self.order = sorted(self.nodes, key=lambda id: places.get(id, (len(self.nodes), ""))[0])
        self.leaf = current if current in self.nodes else max(self.order, key=self._time, default=None)

    def _time(self, id: str) -> str:
        return moment((_message(self.nodes[id]) or {}).get("create_time")) or ""

    def tree(self) -> list[MessageNode]:
        """Return the nodes for `walk`."""
        return [
            MessageNode(id, self.parents[id] or None, role_of(message) if message is not None else "")
            for id in self.order
            for message in [_message(self.nodes[id])]
        ]

    def read_node(self, id: str) -> ChatGPTMessage:
        """Return the message of a node."""
        return understand(self.nodes[id], id, self._files, self._find_answered_call(id))

    def _find_answered_call(self, id: str) -> str:
        """Return the call that a tool's message answers: the nearest before it to that tool, else the nearest at all."""
        message = _message(self.nodes[id]) or {}
        if role_of(message) != "tool":
            return ""
        nearest = ""
        seen = {id}
        while (id := self.parents[id]) and id in self.nodes and id not in seen:
            seen.add(id)
            before = _message(self.nodes[id]) or {}
            if before and role_of(before) == "user":
                break
            called = tool_called(before)
            if called == tool_speaking(message):
                return as_text(before.get("id")) or id
            if called and not nearest:
                nearest = as_text(before.get("id")) or id
        return nearest


def _items(conversation: _ConversationTree) -> Iterator[Item]:
    for id, value in conversation.odd.items():
        yield Problem(f"the node {id} is not an object; it is kept as it is")
        yield Aside(UNKNOWN, dumps({id: value}), source_id=id)
    ids: dict[str, str] = {BEGINNING: BEGINNING}
    used: set[str] = set()
    for step in walk(conversation.tree(), conversation.leaf):
        versions = step.versions or (step.node,)
        told = [conversation.read_node(id) for id in versions]
        for each in told:
            yield from each.problems
        said = told[versions.index(step.node)]
        ids[step.node] = step.node if said.id in used else said.id
        used.add(ids[step.node])
        many = len(told) > 1
        yield ForeignMessage(
            said.role,
            said.content,
            said.at,
            source_id=ids[step.node],
            parent_id=ids[step.leaves_from] if step.leaves_from is not None else None,
            alternatives=tuple(each.content for each in told) if many else (),
            alternative_times=tuple(each.at for each in told) if many else (),
            chosen=versions.index(step.node),
            hidden=said.hidden,
        )


FORMAT = Format(VENDOR, "ChatGPT export", ".json", _sniff, _read)
