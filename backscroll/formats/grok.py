"""Grok's account export: `prod-grok-backend.json`, or the unpacked folder that contains it at any depth.

Owns: recognising it, unwrapping conversations and responses, and finding branches by the parents of responses. Read only;
projects, tasks and media posts are not conversations and are kept as asides of the last one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from backscroll.formats.language import language_of
from backscroll.formats.shape import Format, Source
from backscroll.formats.sources.account_exports import beside, bytes_of, moment, with_leftovers
from backscroll.formats.sources.json_stream import Member, pieces
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.media_type import UNTOLD, media_type
from backscroll.formats.sources.rows import UNKNOWN, as_array, as_object, as_text, short_title, stem, under
from backscroll.formats.sources.tree import MessageNode, build_message, walk
from backscroll.vocab.foreign import Aside, ForeignThread, Item, Problem
from backscroll.vocab.message import Content, Role
from backscroll.vocab.part import Json, Media, Part, Reasoning, Text

VENDOR = "grok"
_DOCUMENT = "prod-grok-backend.json"
_FILES = "prod-mc-asset-server"
_SHAPE = re.compile(r'"conversations"\s*:\s*\[\s*\{\s*"(?:conversation|responses)"\s*:')
_SAMPLE = 4000  # characters used for language detection
_DEPTH = 4  # ttl/30d/export_data/<account>/


def _document(source: Source, depth: int = _DEPTH) -> Source | None:
    if not source.is_folder:
        return source
    names = source.children()
    if _DOCUMENT in names:
        return source.child(_DOCUMENT)
    for name in names if depth and len(names) < 50 else ():
        child = source.child(name) if "." not in name else None
        found = _document(child, depth - 1) if child is not None and child.is_folder else None
        if found is not None:
            return found
    return None


def _sniff(source: Source) -> float:
    document = _document(source)
    if document is None or document.is_folder:
        return 0.0
    head = document.head().lstrip()
    if not head.startswith("{"):
        return 0.0
    return 0.95 if _SHAPE.search(head) else 0.0


def _read(source: Source) -> Iterator[ForeignThread]:
    document = _document(source)
    return with_leftovers(_read_document(document)) if document is not None else iter(())


def _read_document(document: Source) -> Iterator[ForeignThread | Problem | Aside]:
    for piece in pieces(document, "conversations"):
        if isinstance(piece, Problem):
            yield piece
        elif isinstance(piece, Member):
            yield from beside({piece.key: piece.value})
        else:
            wrapped = as_object(piece.value) or {}
            if as_array(wrapped.get("responses")) is None:
                yield Problem(
                    f"element {piece.number} is not a conversation: it has no responses", piece.line
                )
            else:
                yield _thread(wrapped, f"{stem(document.name)}-{piece.number}", document)


def _thread(wrapped: Mapping[str, Json], name: str, document: Source) -> ForeignThread:
    conversation = as_object(wrapped.get("conversation")) or {}
    responses = as_array(wrapped.get("responses")) or []
    facts = {key: value for key, value in wrapped.items() if key not in ("conversation", "responses")}
    opened = [_unwrap_response(response) for response in responses]
    person = (as_text(each.get("message")) for each in opened if each and _role(each) == "user")
    return ForeignThread(
        VENDOR,
        as_text(conversation.get("id")) or as_text(conversation.get("_id")) or name,
        _items(responses, as_text(conversation.get("leaf_response_id")), document),
        title=short_title(as_text(conversation.get("title"))),
        language=language_of("\n".join(person)[:_SAMPLE]),
        started=moment(conversation.get("create_time")),
        metadata={VENDOR: {**facts, **conversation}},
    )


def _unwrap_response(wrapped: Json) -> dict[str, Json] | None:
    """Return a response unwrapped, with the fields of its wrapper."""
    outer = as_object(wrapped)
    inner = as_object((outer or {}).get("response"))
    if outer is None or inner is None:
        return outer
    return {
        **{key: value for key, value in outer.items() if key != "response" and value is not None},
        **inner,
    }


def _role(response: Mapping[str, Json]) -> Role:
    """Return the role; senders are `human`, `assistant`, `ASSISTANT` or names of models."""
    sender = as_text(response.get("sender")).lower()
    return "user" if sender in ("human", "user") else "system" if sender == "system" else "assistant"


def _items(responses: Sequence[Json], leaf: str, document: Source) -> Iterator[Item]:
    known: dict[str, dict[str, Json]] = {}
    for number, value in enumerate(responses, 1):
        response = _unwrap_response(value)
        if response is None:
            yield Problem("a response is not an object; it is kept as it is", where=f"response {number}")
            yield Aside(UNKNOWN, dumps(value))
            continue
        id = as_text(response.get("_id")) or as_text(response.get("id")) or f"#{number}"
        known[id if id not in known else f"{id}#{number}"] = response
    linked = any(as_text(each.get("parent_response_id")) in known for each in known.values())
    before = [None, *known]
    nodes = [
        MessageNode(id, as_text(each.get("parent_response_id")) or None if linked else parent, _role(each))
        for (id, each), parent in zip(known.items(), before, strict=False)
    ]
    for step in walk(nodes, leaf or None):
        yield build_message(
            step,
            _role(known[step.node]),
            lambda id: (_content(known[id], document), moment(known[id].get("create_time"))),
        )


def _content(response: Mapping[str, Json], document: Source) -> Content:
    parts: list[Part] = []
    if trace := as_text(response.get("thinking_trace")):
        parts.append(Reasoning(trace))
    for value in as_array(response.get("agent_thinking_traces")) or []:
        agent = as_object(value) or {}
        parts.append(Reasoning(as_text(agent.get("thinking_trace")), extra=under(VENDOR, agent)))
    if words := as_text(response.get("message")):
        parts.append(Text(words))
    for url in as_array(response.get("generated_image_urls")) or []:
        if isinstance(url, str):
            kind = media_type("", url.partition("?")[0])
            parts.append(Media("image/*" if kind == UNTOLD else kind, url=url))
    for key in ("image_attachments", "file_attachments"):
        parts += [_read_attachment(value, key, document) for value in as_array(response.get(key)) or []]
    used = ("message", "thinking_trace", "agent_thinking_traces")
    facts = {key: value for key, value in response.items() if key not in used and value is not None}
    return Content(tuple(parts) or (Text(""),), None, under(VENDOR, facts))


def _read_attachment(value: Json, key: str, document: Source) -> Media:
    """Return an attached file by its id; its bytes are in a folder of that name."""
    facts = as_object(value) or {}
    id = as_text(value) or as_text(facts.get("id")) or as_text(facts.get("file_id"))
    name = as_text(facts.get("file_name")) or as_text(facts.get("name"))
    plain = id and "/" not in id and id not in (".", "..")
    file = document.child(f"../{_FILES}/{id}/content") if plain else None
    data = bytes_of(file) if file is not None and not file.is_folder else None
    told = media_type(as_text(facts.get("mime_type")), name, data or b"")
    if told == UNTOLD and key == "image_attachments":
        told = "image/*"
    return Media(
        told, url=None if data else f"grok:{id}", name=name or None, data=data, extra=under(VENDOR, facts)
    )


FORMAT = Format(VENDOR, "Grok export", ".json", _sniff, _read)
