"""Check the schema of events: the fields of heads and bodies, and their values.

Owns: rejecting an event whose hashes match but whose fields Backscroll never writes. The chain proves that no byte changed,
not that the bytes are valid, and a file may come from anywhere. Unknown fields are accepted. The rest of the log is checked
by `record/rehearsal`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from backscroll.errors import BackscrollError
from backscroll.record.chain import from_bytes, to_bytes
from backscroll.record.thread_info import TELLING
from backscroll.vocab.event import SPEAKING, Event, Kind
from backscroll.vocab.message import ROLES
from backscroll.vocab.part import Json
from backscroll.vocab.values.fields import (
    Check,
    is_alternative,
    is_count,
    is_digest,
    is_flag,
    is_flags,
    is_name,
    is_object,
    is_place,
    is_position,
    is_ref,
    is_seq,
    is_text,
    is_thread,
    is_time,
    make_list_check,
    maybe,
    pair,
    shape,
    wrong_field,
)

_ENTRY = shape(
    {
        "message": is_ref,
        "position": is_position,
        "revision": is_ref,
        "alternative": is_alternative,
        "flags": is_flags,
    }
)
_HOLE = shape({"message": is_ref, "salt": is_place, "marks": make_list_check(is_text)})
_ECHOES = shape({"salt": is_place, "tags": make_list_check(is_text)})
#: Fields that mean the same in every head.
_ANYWHERE: Mapping[str, Check] = {
    "said": is_time,
    "group": is_seq,
    "src": is_text,
    "by": is_text,
    "sources": make_list_check(is_ref),
    "revisions": make_list_check(is_ref),
    "runs": make_list_check(pair(is_count)),
    "places": make_list_check(pair(is_place)),
    "count": is_count,
    "task": is_text,
    "whole": is_flag,
}
_PUT: Mapping[str, Check] = {"flags": is_flags}
_WORDS: Mapping[str, Check] = {"base": is_ref, "alternative": is_alternative, "aside": is_flag}
_SET_BACK: Mapping[str, Check] = {"of": make_list_check(is_seq), "entries": make_list_check(_ENTRY)}
_TASK: Mapping[str, Check] = {
    "place": is_place,
    "after": is_place,
    "other": is_text,
    "follows": is_text,
    "relevant": make_list_check(is_text),
    "as": is_text,
    "how": is_text,
    "media": make_list_check(is_digest),
}
_CODE: Mapping[str, Check] = {
    "message": is_ref,
    **dict.fromkeys(("call", "place", "before", "after", "rewind", "redo"), is_text),
    **dict.fromkeys(("order", "files", "added", "removed", "turn"), is_count),
    "own": is_flag,
}
#: Required and optional fields of the head, by kind.
_HEADS: Mapping[Kind, tuple[Mapping[str, Check], Mapping[str, Check]]] = {
    Kind.FORKED: (
        {"parent": is_thread, "at": is_seq},
        {"message": maybe(is_ref), "position": maybe(is_position)},
    ),
    Kind.APPENDED: ({"role": lambda v: v in ROLES}, {**_PUT, "position": is_position}),
    Kind.INSERTED: ({"role": lambda v: v in ROLES, "position": is_position}, _PUT),
    Kind.EDITED: ({}, _WORDS),
    Kind.REGENERATED: ({}, _WORDS),
    Kind.CHOSEN: ({"revision": is_ref, "alternative": is_alternative}, {}),
    Kind.MOVED: ({"position": is_position}, {}),
    Kind.UNDONE: ({"of": make_list_check(is_seq)}, _SET_BACK),
    Kind.REDONE: ({"of": make_list_check(is_seq)}, _SET_BACK),
    Kind.FORGOTTEN: (
        {},
        {
            "messages": make_list_check(_HOLE),
            "thread": is_flag,
            "acts": make_list_check(is_seq),
            "beside": _ECHOES,
        },
    ),
    Kind.CROPPED: ({}, {"place": is_place}),
    Kind.UNCROPPED: ({"of": make_list_check(is_seq)}, {}),
    Kind.LIFTED: ({"of": make_list_check(is_seq)}, {}),
    Kind.COMPACTED: (
        {},
        {
            "after": maybe(is_place),
            "reason": is_text,
            **dict.fromkeys(("before", "now", "room"), is_count),
            "asked": maybe(is_ref),
            "marked": make_list_check(is_ref),
        },
    ),
    Kind.PLACED: (
        {"behind": is_ref, "revision": is_ref, "under": is_count, "sources": make_list_check(is_ref)},
        {
            "prefix": shape({"head": is_text, "shown": is_count, "since": is_place}, {"doubted": is_flag}),
            "bound": is_flag,
        },
    ),
    Kind.TASKED: ({"act": is_text, "task": is_text}, _TASK),
    Kind.REMEMBERED: ({"act": is_text}, {"memory": is_text, "kind": is_text}),
    Kind.CODE_CHANGED: ({}, _CODE),
    Kind.REWOUND: ({"rewind": is_text}, {"turn": is_count, "what": is_text, "redo": is_text}),
    Kind.ASIDE: ({}, {"kind": is_text}),
    Kind.NOTED: ({}, {"about": is_text, "ambiguous": make_list_check(is_object)}),
}
_ABOUT: Mapping[str, Check] = {
    **dict.fromkeys(("title", "project", "kind", "language", "user", "key"), is_text),
    "tags": make_list_check(is_text),
    "metadata": maybe(is_object),
}
_FILE = shape(
    {"path": is_text},
    {
        **dict.fromkeys(("action", "before", "after", "old_path"), is_text),
        **dict.fromkeys(("added", "removed"), is_count),
        **dict.fromkeys(("binary", "kept"), is_flag),
        "executable": maybe(is_flag),
    },
)
_PLACED_TEXT = shape(
    {"section": is_text, "level": is_count, "sources": make_list_check(is_ref)},
    {
        **dict.fromkeys(("text", "reason", "kept"), is_text),
        "message": is_ref,
        "tells": make_list_check(is_text),
    },
)
#: Required and optional fields of sealed bodies, by kind; contents of messages are checked separately.
_BODIES: Mapping[Kind, tuple[Mapping[str, Check], Mapping[str, Check]]] = {
    Kind.TAGGED: ({"tag": is_text}, {}),
    Kind.UNTAGGED: ({"tag": is_text}, {}),
    Kind.ASIDE: ({"kind": is_text, "raw": is_text}, {"src": is_text}),
    Kind.CODE_CHANGED: (
        {"description": is_text, "file": is_text},
        {"files": make_list_check(_FILE), "diff": is_text, "root": is_text, "tool": is_text},
    ),
    Kind.CROPPED: ({}, {"summary": is_text}),
    Kind.COMPACTED: ({}, {}),
    Kind.PLACED: (
        {"texts": make_list_check(_PLACED_TEXT)},
        {"waits": make_list_check(is_text), "goes_on": is_text},
    ),
    Kind.TASKED: ({}, dict.fromkeys(("title", "result", "feedback", "note", "reason"), is_text)),
    Kind.REMEMBERED: ({"text": is_text}, {}),
    Kind.OVERRIDDEN: ({"change": is_text, "node": is_text}, {}),
    Kind.WORLD_TOLD: ({"name": is_text, "entries": make_list_check(is_object)}, {}),
    Kind.NOTED: ({}, {}),
    **dict.fromkeys(TELLING - {Kind.TAGGED, Kind.UNTAGGED}, ({}, {"about": shape({}, _ABOUT)})),
}
_PARTS: Mapping[str, tuple[Mapping[str, Check], Mapping[str, Check]]] = {
    "text": ({"text": is_text}, {}),
    "media": ({"type": is_text}, {"blob": maybe(is_digest), "url": maybe(is_text), "name": maybe(is_text)}),
    "call": ({"id": is_text, "name": is_text}, {}),
    "result": ({"call": is_text}, {"name": maybe(is_text), "error": is_flag}),
    "reasoning": ({"text": is_text}, {"signature": maybe(is_text)}),
    "opaque": ({"vendor": is_text, "kind": is_text, "raw": is_text}, {}),
}
_INNER = frozenset({"text", "media", "opaque"})
#: Kinds that are about one message.
TARGETED = frozenset(
    {Kind.EDITED, Kind.REGENERATED, Kind.CHOSEN, Kind.DELETED, Kind.RESTORED, Kind.HIDDEN, Kind.UNHIDDEN}
    | {Kind.PINNED, Kind.UNPINNED, Kind.MOVED}
)


def misshapen(event: Event) -> str | None:
    """Return what is invalid in an event, by what our writers produce; None if it is valid."""
    given: Any = event.head
    if not isinstance(given, dict):
        return "its head is not an object"
    if not is_name(event.actor):
        return "its actor is not a line of printable text"
    if not is_time(event.at):
        return "its time is not an ISO 8601 time with a zone"
    if (event.target is not None) != (event.kind in TARGETED):
        return "it names a message and may not" if event.target is not None else "it names no message"
    required, optional = _HEADS.get(event.kind, ({}, {}))
    wrong = wrong_field(event.head, required, {**_ANYWHERE, **optional})
    if wrong is not None:
        return f"the field {wrong} of its head is missing or not valid"
    try:
        to_bytes(event.head)
        return _wrong_body(event)
    except BackscrollError as error:
        return error.message


def _wrong_body(event: Event) -> str | None:
    if event.body is None:
        return "its words are missing" if event.kind in SPEAKING and not event.commit else None
    data: Json = from_bytes(event.body)
    to_bytes(data)  # rejects excessive nesting
    if not isinstance(data, dict):
        return "its body is not an object"
    body = cast("dict[str, Json]", data)
    if event.kind in SPEAKING:
        return _wrong_words(body)
    if event.kind not in _BODIES:
        return "it has a body and may not"
    wrong = wrong_field(body, *_BODIES[event.kind])
    return None if wrong is None else f"the field {wrong} of its body is missing or not valid"


def _wrong_words(body: Mapping[str, Json]) -> str | None:
    parts: Json = body.get("parts")
    if not isinstance(parts, list) or not all(map(_is_part, cast("list[Json]", parts))):
        return "its words are not a list of parts"
    wrong = wrong_field(body, {}, {"author": maybe(is_text), "meta": maybe(is_object)})
    return None if wrong is None else f"the field {wrong} of its body is missing or not valid"


def _is_part(value: Json, *, inner: bool = False) -> bool:
    if not isinstance(value, dict):
        return False
    part = cast("dict[str, Json]", value)
    kind: Json = part.get("t")
    if not isinstance(kind, str) or kind not in (_INNER if inner else _PARTS):
        return False
    required, optional = _PARTS[kind]
    if wrong_field(part, required, {**optional, "extra": maybe(is_object)}) is not None:
        return False
    if kind != "result":
        return True
    content: Json = part.get("content")
    return isinstance(content, list) and all(_is_part(p, inner=True) for p in cast("list[Json]", content))
