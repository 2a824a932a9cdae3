"""SillyTavern chats (`.jsonl`): one line of header, then one line per message.

Owns: recognising a chat, its header (old group chats have none), its metadata, and continuing after an unreadable line. A
line that our parts alone cannot restore keeps its raw form in the metadata of its message, so that an export gives the same
JSON values for every line. Single lines: `sillytavern/message`; writing: `sillytavern/writer`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from backscroll.errors import FormatError
from backscroll.formats.language import language_of
from backscroll.formats.shape import Format, Source
from backscroll.formats.sillytavern.message import KEY, mapping, messages_of, unspoken
from backscroll.formats.sillytavern.time import when
from backscroll.formats.sillytavern.writer import (
    BROKEN_ASIDE,
    LINE_ASIDE,
    SillyTavernWriter,
    canonical,
    fingerprint,
    write,
)
from backscroll.formats.sources.json_text import NotJson, try_parse
from backscroll.formats.sources.media import no_blobs
from backscroll.vocab.foreign import Aside, ForeignMessage, ForeignThread, Item, Problem
from backscroll.vocab.message import Content
from backscroll.vocab.part import Json, ToolResult

_SAMPLE = 300  # messages read to detect names and language
_ID_LIKE = re.compile(r"[\d@hms .:_-]+")
_NAMED = re.compile(r'"(chat_metadata|is_user|mes|user_name|character_name|swipe_id)"\s*:')


def sniff(source: Source) -> float:
    """Return the confidence that this is a SillyTavern chat."""
    if source.is_folder:
        return 0.0
    for text in source.head().split("\n")[:5]:
        value = try_parse(text)
        if isinstance(value, NotJson):
            if text.lstrip().startswith("{") and len(text) > 1000:  # a line longer than the sample
                names = set(_NAMED.findall(text))
                return 0.9 if "chat_metadata" in names or {"mes", "is_user"} <= names else 0.0
            continue
        if _is_header(value):
            return 0.98 if "chat_metadata" in mapping(value) else 0.9
        if _is_message(value):
            return 0.95
        if isinstance(value, dict):
            return 0.0
    return 0.0


def _is_header(value: Json) -> bool:
    line = mapping(value)
    return "mes" not in line and (
        isinstance(line.get("chat_metadata"), dict) or ("user_name" in line and "character_name" in line)
    )


def _is_message(value: Json) -> bool:
    line = mapping(value)
    return isinstance(line.get("mes"), str) and ("is_user" in line or "name" in line)


@dataclass(slots=True)
class _ChatOpening:
    """Facts about a chat from its beginning."""

    header: dict[str, Json] | None = None
    begins_broken: bool = False
    found: bool = False
    group: bool = False
    started: str | None = None
    naive: bool = False
    speakers: list[str] = field(default_factory=list[str])
    words: list[str] = field(default_factory=list[str])


def read(source: Source) -> Iterable[ForeignThread]:
    """Return the one conversation of a chat file."""
    if source.is_folder:
        raise FormatError("a folder is not a SillyTavern chat", hint="name one of the .jsonl files in it")
    seen = _glimpse(source)
    if not seen.found:
        raise FormatError(
            f"{source.name} holds no line of a SillyTavern chat",
            hint="a chat is a .jsonl file with one message per line",
        )
    stem = source.name.removesuffix(".jsonl")
    character = _character(seen, source)
    chat_metadata = mapping((seen.header or {}).get("chat_metadata"))
    parent = chat_metadata.get("main_chat")
    kept: dict[str, Json] = {} if seen.header is None and seen.begins_broken else {"header": seen.header}
    if seen.group:
        kept["group"] = True
    if seen.naive:
        kept["naive"] = True
    return [
        ForeignThread(
            format="sillytavern",
            source_id=stem,
            items=_items(source, has_header=seen.header is not None),
            title=(character or stem) if _ID_LIKE.fullmatch(stem) else stem,
            project=character,
            kind="roleplay",
            language=language_of("\n".join(seen.words)),
            started=seen.started,
            metadata={KEY: kept},
            forked_from=parent.removesuffix(".jsonl") if isinstance(parent, str) and parent else None,
        )
    ]


def _glimpse(source: Source) -> _ChatOpening:
    seen = _ChatOpening()
    sampled, first = 0, True
    for _, text in source.lines():
        if not text.strip():
            continue
        value = try_parse(text)
        if isinstance(value, NotJson):
            seen.begins_broken = seen.begins_broken or first
        elif first and _is_header(value):
            seen.header, seen.found = mapping(value), True
            _start(seen, mapping(value).get("create_date"))
        elif _is_message(value):
            seen.found = True
            _look_at(seen, mapping(value))
            sampled += 1
        first = False
        if sampled >= _SAMPLE:
            break
    return seen


def _start(seen: _ChatOpening, value: Json) -> None:
    moment = when(value)
    if moment and seen.started is None:
        seen.started, seen.naive = moment


def _look_at(seen: _ChatOpening, line: Mapping[str, Json]) -> None:
    _start(seen, line.get("send_date"))
    seen.group = seen.group or isinstance(line.get("original_avatar"), str)
    seen.words.append(cast("str", line["mes"])[:2000])
    extra, name = mapping(line.get("extra")), line.get("name")
    spoken = not line.get("is_user") and not unspoken(extra) and "tool_invocations" not in extra
    if spoken and isinstance(name, str) and name and name not in seen.speakers:
        seen.speakers.append(name)


def _character(seen: _ChatOpening, source: Source) -> str:
    """Return the character: the header's name, the folder's, or a speaker's."""
    named = (seen.header or {}).get("character_name")
    if isinstance(named, str) and named and named != "unused":
        return named
    folders = re.split(r"[/\\]", source.path)[:-1]
    seen.group = seen.group or folders[-1:] == ["group chats"]
    if folders[-2:-1] == ["chats"] and not seen.group:
        return folders[-1]
    if seen.group or len(seen.speakers) == 1:
        return ", ".join(seen.speakers[:6])
    return seen.speakers[0] if seen.speakers else ""


def _items(source: Source, *, has_header: bool) -> Iterator[Item]:
    awaited = has_header
    for number, text in source.lines():
        if not text.strip():
            continue
        value = try_parse(text)
        if isinstance(value, NotJson):
            yield Problem(f"not JSON: {value.what} at character {value.at + 1}", number, source.name)
            yield Aside(BROKEN_ASIDE, text, line=number)
        elif awaited and _is_header(value):
            awaited = False
        elif isinstance(value, dict) and "mes" in mapping(value):
            yield from _read_line(mapping(value), number)
        else:
            yield Problem("neither header nor message: kept as it is", number, source.name)
            yield Aside(LINE_ASIDE, text, line=number)


def _read_line(line: dict[str, Json], number: int) -> list[ForeignMessage]:
    """Return the messages of a line; if our parts alone cannot restore it, the raw line is kept too."""
    messages = messages_of(line, number)
    results = [part for m in messages[1:] for part in m.content.parts if isinstance(part, ToolResult)]
    lines = SillyTavernWriter("", no_blobs, []).lines(messages[0], results)
    if canonical(lines) == canonical([line]):
        return messages
    return [_with_raw(messages[0], line, fingerprint(lines)), *messages[1:]]


def _with_raw(message: ForeignMessage, line: dict[str, Json], written: str) -> ForeignMessage:
    kept = mapping(message.content.metadata[KEY]) | {"raw": line, "written": written}
    content = Content(message.content.parts, message.content.author, {KEY: kept})
    alternatives = list(message.alternatives)
    if alternatives:
        alternatives[message.chosen] = content
    return replace(message, content=content, alternatives=tuple(alternatives))


FORMAT = Format("sillytavern", "SillyTavern chat", ".jsonl", sniff, read, write)
