"""Write conversations as dialogue files; `dialogue/reader` explains the shape and its extra keys.

Owns: the text of such a file (streamed, code changes at the end), and the JSON of parts with their bytes embedded, so that
one file restores everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import cast

from backscroll.errors import InvalidInput
from backscroll.formats.losses import ExportLosses
from backscroll.formats.readable import readable
from backscroll.formats.shape import Blobs, FormatOutput
from backscroll.formats.sources.json_text import dumps, try_parse
from backscroll.formats.sources.media import bytes_of, from_base64, no_blobs, to_base64
from backscroll.formats.sources.rows import as_array, as_object, mint_id, of_vendor, own
from backscroll.vocab.foreign import Aside, ForeignCodeChange, ForeignMessage, ForeignThread, Problem
from backscroll.vocab.message import Content
from backscroll.vocab.part import (
    Json,
    Media,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    part_from_json,
    part_to_json,
)

KEY = "dialogue"
CHANGE = "dialogue-code-change"  # a code change with more fields than ours, or not a code change at all
MESSAGE = "dialogue-message"  # an entry of the list that is not a message


def write(thread: ForeignThread, blobs: Blobs) -> FormatOutput:
    """Return the file of one conversation."""
    problems: list[Problem] = []
    return FormatOutput(_pieces(thread, blobs, ExportLosses("a dialogue file", problems)), problems)


def _pieces(thread: ForeignThread, blobs: Blobs, unsaid: ExportLosses) -> Iterator[str]:
    kept = of_vendor(thread.metadata, KEY)
    items = iter(thread.items)
    first = next(items, None)
    at = thread.started or (first.at if isinstance(first, ForeignMessage) else None)
    yield '{\n  "start_time": ' + dumps(kept.get("start_time", at))
    yield ',\n  "messages": ['
    changes: list[Json] = []
    announced: Counter[tuple[Json, Json]] = Counter()
    gap = "\n"
    for item in chain([first] if first else [], items):
        if isinstance(item, ForeignMessage):
            unsaid.position += 1
            yield gap + _indent_json(message_out(item, blobs, unsaid))
            gap = ",\n"
        elif isinstance(item, Aside) and item.kind == MESSAGE:
            yield gap + _indent_json(try_parse(item.raw))
            gap = ",\n"
        elif isinstance(item, Aside) and item.kind == CHANGE:
            value = try_parse(item.raw)
            changes.append(value)
            if as_object(value) is not None:  # the code change that it says follows
                announced[_name(value)] += 1
        elif isinstance(item, ForeignCodeChange):
            change = _change(item, naive=bool(kept.get("naive")))
            if announced[_name(change)]:
                announced[_name(change)] -= 1
            else:
                changes.append(change)
        else:
            unsaid.leave_out(item)
    yield "]" if gap == "\n" else "\n  ]"
    unsaid.close()
    rest: dict[str, Json] = {} if kept.get("bare") and not changes else {"code_changes": changes}
    rest |= of_vendor(kept, "rest")
    if not kept or kept.get("thread"):
        rest["thread"] = _about(thread)
    yield from (f",\n  {dumps(key)}: " + dumps(value, 2).replace("\n", "\n  ") for key, value in rest.items())
    yield "\n}"


def _indent_json(value: Json) -> str:
    return "    " + dumps(value, 2).replace("\n", "\n    ")


def _name(change: Json) -> tuple[Json, Json]:
    """Return the key of a code change."""
    facts = as_object(change) or {}
    description, file = facts.get("description"), facts.get("file")
    return (description if isinstance(description, str) else "", file if isinstance(file, str) else "")


def _change(change: ForeignCodeChange, *, naive: bool) -> dict[str, Json]:
    at = change.at.removesuffix("+00:00") if naive and change.at else change.at
    return {"description": change.description, "file": change.file_path, "timestamp": at}


def _about(thread: ForeignThread) -> dict[str, Json]:
    facts: dict[str, Json] = {
        "source_id": thread.source_id,
        "title": thread.title,
        "project": thread.project,
        "kind": thread.kind,
        "language": thread.language,
        "forked_from": thread.forked_from,
        "metadata": {key: value for key, value in thread.metadata.items() if key != KEY},
    }
    return {key: value for key, value in facts.items() if value}


def message_out(message: ForeignMessage, blobs: Blobs, unsaid: ExportLosses) -> dict[str, Json]:
    """Return one message; the object it was read from if nothing has changed since."""
    facts = own(message.content, KEY)
    out: dict[str, Json] = {"role": facts.get("role", message.role)}
    out |= _content_out(message.content, blobs, unsaid)
    out["timestamp"] = facts.get("timestamp", message.at)
    if message.hidden:
        out["hidden"] = True
    if message.pinned:
        out["pinned"] = True
    if message.alternatives:
        out["alternatives"] = list(_alternatives_out(message, blobs, unsaid))
        out["chosen"] = message.chosen
    if message.parent_id is not None:
        unsaid.note("a dialogue file is one line of messages: the branch is written in place")
    out |= of_vendor(facts, "rest")
    ordered = {key: out[key] for key in ("role", "content", "timestamp")}
    ordered |= out
    if "raw" in facts and facts.get("written") == mint_id({**ordered, "timestamp": None}):
        return facts["raw"]
    return ordered


def written_mark(message: ForeignMessage) -> str:
    """Return a mark that detects later whether a message has changed since it was read."""
    return mint_id({**message_out(message, no_blobs, ExportLosses("", [])), "timestamp": None})


def _alternatives_out(
    message: ForeignMessage, blobs: Blobs, unsaid: ExportLosses
) -> Iterator[dict[str, Json]]:
    for index, content in enumerate(message.alternatives):
        times = message.alternative_times
        version = _content_out(content, blobs, unsaid)
        if index < len(times) and times[index]:
            version["timestamp"] = times[index]
        yield version


def _content_out(content: Content, blobs: Blobs, unsaid: ExportLosses) -> dict[str, Json]:
    """Return the text, and the parts if the text alone cannot restore them."""
    parts = content.parts
    out: dict[str, Json] = {"content": readable(parts)}
    if len(parts) == 1 and isinstance(parts[0], Opaque) and parts[0].vendor == KEY:
        out["content"] = try_parse(parts[0].raw)
    elif not _is_plain(parts):
        out["parts"] = [_part_out(part, blobs, unsaid) for part in parts]
    if content.author is not None:
        out["author"] = content.author
    metadata = {key: value for key, value in content.metadata.items() if key != KEY}
    if metadata:
        out["metadata"] = metadata
    return out


def _is_plain(parts: Sequence[Part]) -> bool:
    if not parts:
        return True
    only = parts[0]
    return len(parts) == 1 and isinstance(only, Text) and bool(only.text) and not only.extra


def _part_out(part: Part, blobs: Blobs, unsaid: ExportLosses) -> dict[str, Json]:
    """Return the JSON of a part, with its bytes inside."""
    if isinstance(part, ToolResult):
        out = part_to_json(replace(part, content=()))
        return {**out, "content": [_part_out(inner, blobs, unsaid) for inner in part.content]}
    if not isinstance(part, Media):
        return part_to_json(part)
    data = bytes_of(part, blobs)
    if data is None:
        if part.blob:
            unsaid.note("the bytes of an attachment are gone: only its name is written")
        return part_to_json(part)
    return {**part_to_json(replace(part, data=None, blob=None)), "data": to_base64(data)}


def part_in(value: Json) -> Part | None:
    """Return the part that `_part_out` wrote; None if the value is something else."""
    data = as_object(value)
    if data is None:
        return None
    try:
        part = part_from_json({**data, "content": []} if data.get("t") == "result" else data)
    except (InvalidInput, KeyError, TypeError):
        return None
    if isinstance(part, ToolResult):
        inner = [part_in(item) for item in as_array(data.get("content")) or []]
        if not all(isinstance(item, Text | Media | Opaque) for item in inner):
            return None
        part = replace(part, content=tuple(cast("list[Text | Media | Opaque]", inner)))
    if isinstance(part, Media) and "data" in data:
        part = replace(part, data=from_base64(data["data"]) if isinstance(data["data"], str) else None)
    return part if _is_sound(part) else None


def _is_sound(part: Part) -> bool:
    """Return True if every field has its expected type: the file may come from any program."""
    match part:
        case Text():
            needed, optional = [part.text], []
        case Media():
            needed, optional = [part.media_type], [part.blob, part.url, part.name]
        case ToolCall():
            needed, optional = [part.id, part.name], []
        case ToolResult():
            needed, optional = [part.call_id], [part.name]
        case Reasoning():
            needed, optional = [part.text], [part.signature]
        case Opaque():
            needed, optional = [part.vendor, part.kind, part.raw], []
    strings: list[object] = [*needed, *(value for value in optional if value is not None)]
    return all(isinstance(value, str) for value in strings) and isinstance(
        cast("object", part.extra), Mapping
    )
