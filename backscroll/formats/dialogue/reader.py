r"""Dialogue files (`dialogue_YYYYmmdd_HHMMSS.json`): the plain shape in which small programs save a conversation.

    {"start_time": "...", "messages": [{"role", "content", "timestamp"}], "code_changes": [{"description", "file", "timestamp"}]}

indented by two, without `\u` escapes (files with them are read too). Code changes are in a list of their own; the reader
places them among the messages by time. What the shape cannot express is kept in extra keys that a simple reader ignores, so
that nothing is lost between two Backscrolls: `parts` where a message is more than its text (`content` is then a readable form),
`author`, `hidden`, `pinned`, `alternatives` with `chosen`, and `thread` for what is known about the whole.

Owns: reading, including truncated files, and the usual file name. Writing: `dialogue/writer`.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple, cast

from backscroll.errors import FormatError, InvalidInput
from backscroll.formats.dialogue.writer import CHANGE, KEY, MESSAGE, message_out, part_in, write, written_mark
from backscroll.formats.language import language_of
from backscroll.formats.losses import ExportLosses
from backscroll.formats.shape import Format, Source
from backscroll.formats.sources.json_text import ArrayBreak, NotJson, dumps, elements, try_parse
from backscroll.formats.sources.media import no_blobs
from backscroll.formats.sources.rows import as_array, as_object, as_text, own, same, short_title, stem, under
from backscroll.vocab.foreign import Aside, ForeignCodeChange, ForeignMessage, ForeignThread, Item, Problem
from backscroll.vocab.message import Content, Role
from backscroll.vocab.part import Json, Opaque, Part, Text

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "用户": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "助手": "assistant",
    "tool": "tool",
    "function": "tool",
}
_TAKEN = frozenset(
    {
        "role",
        "content",
        "timestamp",
        "parts",
        "author",
        "hidden",
        "pinned",
        "alternatives",
        "chosen",
        "metadata",
    }
)
_MESSAGES = re.compile(r'"messages"\s*:\s*(?=\[)')
_START = re.compile(r'"start_time"\s*:\s*"([^"]*)"')


def file_name(start_iso: str) -> str:
    """Return the usual name for a dialogue that began at this time, by the clock of its own time zone."""
    try:
        return f"dialogue_{datetime.fromisoformat(start_iso):%Y%m%d_%H%M%S}.json"
    except ValueError:
        raise InvalidInput(
            f"not an ISO time: {start_iso!r}", hint="for example 2024-06-05T15:43:02+08:00"
        ) from None


def sniff(source: Source) -> float:
    """Return the confidence that this is a dialogue file."""
    if source.is_folder:
        return 0.0
    head = source.head()
    if not head.lstrip().startswith("{") or not _MESSAGES.search(head):
        return 0.0
    if _START.search(head):
        return 0.95
    return 0.3 if '"code_changes"' in head else 0.0


def read(source: Source) -> Iterable[ForeignThread]:
    """Return the one conversation of a dialogue file."""
    if source.is_folder:
        raise FormatError("a folder is not a dialogue file", hint="give one of the .json files in it")
    text = source.text()
    value, cut = _document(text)
    if value is None:
        raise FormatError(
            f"{source.name} is not a dialogue file",
            hint='it has to be an object with a list called "messages"',
        )
    messages, changes = as_array(value["messages"]) or [], as_array(value.get("code_changes")) or []
    known = as_object(value.get("thread")) or {}
    started = _time(value.get("start_time"))
    rest = {k: v for k, v in value.items() if k not in ("start_time", "messages", "code_changes", "thread")}
    words = [as_text((as_object(m) or {}).get("content")) for m in messages]
    kept: dict[str, Json] = {"start_time": value.get("start_time")}
    naive = any(_is_naive(change) for change in changes)
    if naive:
        kept["naive"] = True
    if "thread" in value:
        kept["thread"] = True
    if "code_changes" not in value:
        kept["bare"] = True
    if rest:
        kept["rest"] = rest
    first = next(
        (as_text(m.get("content")) for m in map(as_object, messages) if m and m.get("role") == "user"), ""
    )
    return [
        ForeignThread(
            format="dialogue",
            source_id=as_text(known.get("source_id")) or stem(source.name),
            items=_items(messages, _changes(changes, naive=naive, name=source.name), cut, source.name),
            title=as_text(known.get("title")) or short_title(first) or stem(source.name),
            project=as_text(known.get("project")),
            kind=as_text(known.get("kind")) or "chat",
            language=as_text(known.get("language")) or language_of("\n".join(words)[:100_000]),
            started=started[0] if started else None,
            metadata={**(as_object(known.get("metadata")) or {}), KEY: kept},
        )
    ]


def _document(text: str) -> tuple[dict[str, Json] | None, ArrayBreak | None]:
    """Return the document; if it is truncated, its complete elements and the position of the break."""
    value = try_parse(text)
    if not isinstance(value, NotJson):
        found = as_object(value)
        return (found if found and as_array(found.get("messages")) is not None else None), None
    opens = _MESSAGES.search(text)
    if not opens:
        return None, None
    whole, cut = elements(text, opens.end())
    start = _START.search(text, 0, opens.start())
    saved = {"start_time": start[1] if start else None, "messages": [element.value for element in whole]}
    if cut is None:  # the messages are whole: something after or before them is not
        cut = ArrayBreak(value.what, value.at, 1 + text.count("\n", 0, value.at), text[value.at :])
    return saved, cut


def _time(value: Json) -> tuple[str, bool] | None:
    """Return the time with a zone, and whether the file lacked the zone."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    if found is None:
        return None
    return (found.isoformat(), False) if found.tzinfo else (found.replace(tzinfo=UTC).isoformat(), True)


def _is_naive(change: Json) -> bool:
    moment = _time((as_object(change) or {}).get("timestamp"))
    return moment is not None and moment[1]


def _items(
    messages: list[Json], changes: list[_DialogueChange], cut: ArrayBreak | None, name: str
) -> Iterator[Item]:
    """Yield messages in order; each code change before the first message that is later than it."""
    waiting = deque(changes)
    for number, value in enumerate(messages, 1):
        message = as_object(value)
        if message is None:
            yield Problem("not a message: kept as it is", where=f"{name}, message {number}")
            yield Aside(MESSAGE, dumps(value))
            continue
        moment = _time(message.get("timestamp"))
        while (
            waiting
            and moment
            and waiting[0].at
            and datetime.fromisoformat(waiting[0].at) < datetime.fromisoformat(moment[0])
        ):
            yield from waiting.popleft().items
        yield from _message(message, f"{name}, message {number}")
    for change in waiting:
        yield from change.items
    if cut:
        yield Problem(f"the file breaks off here: {cut.what}", cut.line, name)
        if cut.rest.strip():
            yield Aside("dialogue-rest", cut.rest, line=cut.line)


class _DialogueChange(NamedTuple):
    """A code change, or the entry in its place, before it is placed in the conversation."""

    at: str | None
    items: list[Item]


def _changes(values: list[Json], *, naive: bool, name: str) -> list[_DialogueChange]:
    return [_change(value, naive=naive, name=name) for value in values]


def _change(value: Json, *, naive: bool, name: str) -> _DialogueChange:
    """Return a code change; if ours cannot express all of it, its raw form goes before it."""
    change = as_object(value)
    if change is None:
        return _DialogueChange(
            None, [Problem("not a code change: kept as it is", where=name), Aside(CHANGE, dumps(value))]
        )
    moment = _time(change.get("timestamp"))
    at = moment[0] if moment else None
    ours = ForeignCodeChange(as_text(change.get("description")), as_text(change.get("file")), at)
    usual = {
        "description": ours.description,
        "file": ours.file_path,
        "timestamp": at.removesuffix("+00:00") if at and naive else at,
    }
    return _DialogueChange(
        at, [ours] if at and same(change, usual) else [Aside(CHANGE, dumps(change), at), ours]
    )


def _message(message: dict[str, Json], where: str) -> Iterator[Item]:
    said = message.get("role")
    role = _ROLES.get(said.lower() if isinstance(said, str) else "")
    author = as_text(message.get("author")) or None
    if role is None:
        yield Problem(f"unknown role {said!r}: read as a user of that name", where=where)
        role, author = "user", author or (said if isinstance(said, str) else None)
    kept: dict[str, Json] = {k: v for k, v in message.items() if k not in _TAKEN}
    facts: dict[str, Json] = {"rest": kept} if kept else {}
    if said != role:
        facts["role"] = said
    moment = _time(message.get("timestamp"))
    if "timestamp" in message:
        facts["timestamp"] = message["timestamp"]
    if moment and moment[1]:
        facts["naive"] = True
    alternatives, times = _alternatives(message)
    chosen = message.get("chosen")
    live = chosen if isinstance(chosen, int) and 0 <= chosen < len(alternatives) else 0
    content = Content(_parts(message), author, {**_metadata(message), **under(KEY, facts)})
    if alternatives:
        alternatives[live] = content
    out = ForeignMessage(
        role,
        content,
        moment[0] if moment else None,
        alternatives=tuple(alternatives),
        alternative_times=tuple(times),
        chosen=live,
        hidden=message.get("hidden") is True,
        pinned=message.get("pinned") is True,
    )
    yield out if same(message_out(out, no_blobs, ExportLosses("", [])), message) else _with_raw(out, message)


def _with_raw(message: ForeignMessage, raw: dict[str, Json]) -> ForeignMessage:
    """Return the message with the object it was read from, if it would be written differently."""
    facts = {**own(message.content, KEY), "raw": raw, "written": written_mark(message)}
    content = replace(message.content, metadata={**message.content.metadata, KEY: facts})
    alternatives = list(message.alternatives)
    if alternatives:
        alternatives[message.chosen] = content
    return replace(message, content=content, alternatives=tuple(alternatives))


def _metadata(holder: Mapping[str, Json]) -> dict[str, Json]:
    return as_object(holder.get("metadata")) or {}


def _parts(holder: Mapping[str, Json]) -> tuple[Part, ...]:
    """Return the parts from `parts` if it is present and valid; otherwise the text."""
    listed = as_array(holder.get("parts"))
    found = [part_in(item) for item in listed] if listed is not None else [None]
    if all(part is not None for part in found):
        return tuple(cast("list[Part]", found))
    content = holder.get("content")
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return () if content is None else (Opaque("dialogue", "content", dumps(content)),)


def _alternatives(message: Mapping[str, Json]) -> tuple[list[Content], list[str | None]]:
    contents: list[Content] = []
    times: list[str | None] = []
    for item in as_array(message.get("alternatives")) or []:
        version = as_object(item) or {}
        moment = _time(version.get("timestamp"))
        contents.append(Content(_parts(version), as_text(version.get("author")) or None, _metadata(version)))
        times.append(moment[0] if moment else None)
    return (contents, times) if len(contents) > 1 else ([], [])


FORMAT = Format("dialogue", "dialogue file", ".json", sniff, read, write)
