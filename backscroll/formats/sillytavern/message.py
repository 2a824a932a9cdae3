"""Convert one line of a SillyTavern chat to messages.

Owns: the meaning of each field of a line. `mes` is the displayed text and wins over the swipe it came from; `is_system`
means "not sent to the model", not a role; the sender is `is_user`, or `extra.type` for narrators and notes. A line with
tool invocations becomes a reply with calls and a message with their results. Other fields stay in `metadata["sillytavern"]`,
so that `sillytavern/writer` can rebuild the line:

    fields       send_date, gen_started, gen_finished and the rest of `extra`, for this swipe
    naive        send_date had no time zone
    line         the other keys of the line (on the live swipe only)
    swiped       the line has swipes, with `swipe_info` ("info") or without ("bare")
    stale        the text of the live swipe, where it lagged behind `mes`
    info         swipe_info of the live swipe, if it differs from the line
    invocations  the line was one of tool calls
    raw          the whole line, if the above cannot restore it; `written` tells whether it is still current
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, cast

from backscroll.formats.sillytavern.time import when
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.media import from_base64
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.message import Content, Role
from backscroll.vocab.part import Json, Media, Part, Reasoning, Text, ToolCall, ToolResult

KEY = "sillytavern"
#: Fields that belong to a swipe: SillyTavern exchanges them when the user swipes.
SWIPED = ("send_date", "gen_started", "gen_finished", "extra")
#: `extra.type` of lines from neither the user nor the character.
UNSPOKEN = frozenset(
    {
        "narrator",
        "comment",
        "help",
        "welcome",
        "welcome_prompt",
        "group_generate",
        "empty",
        "generic",
        "slash_commands",
        "formatting",
        "hotkeys",
        "macros",
        "assistant_note",
    }
)
#: Where `extra` keeps attachments, in the order in which they are read and written.
ATTACHED = ("media", "image", "image_swipes", "video", "audio", "file", "files")

_SAID_ELSEWHERE = frozenset({*SWIPED, "mes", "swipes", "swipe_info", "swipe_id"})
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?((?:;[^;,]*)*?);base64,")
_SUFFIX_TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "mp4": "video/mp4",
    "webm": "video/webm",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "ogg": "audio/ogg",
    "txt": "text/plain",
    "md": "text/markdown",
    "pdf": "application/pdf",
    "json": "application/json",
}


def mapping(value: Json) -> dict[str, Json]:
    """Return the object, or an empty one if it is not an object."""
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def unspoken(extra: Mapping[str, Json]) -> bool:
    """Return True if `extra` marks a line from neither the user nor the character."""
    kind = extra.get("type")
    return isinstance(kind, str) and kind in UNSPOKEN


def messages_of(line: Mapping[str, Json], number: int | None) -> list[ForeignMessage]:
    """Return the messages of one line: one, or two if it holds tool invocations."""
    if _invocations(line):
        return _tool_messages(line, number)
    alternatives, times, chosen = _alternatives(line)
    mine = _live(line)
    if alternatives:
        alternatives[chosen] = mine
    moment = when(line.get("send_date"))
    message = ForeignMessage(
        role=_role(line),
        content=mine,
        at=moment.iso if moment else None,
        alternatives=tuple(alternatives),
        alternative_times=tuple(times),
        chosen=chosen,
        hidden=line.get("is_system") is True,
        line=number,
    )
    return [message]


def _role(line: Mapping[str, Json]) -> Role:
    if unspoken(mapping(line.get("extra"))):
        return "system"
    return "user" if line.get("is_user") is True else "assistant"


class Swipes(NamedTuple):
    """The swipes of a line, if valid: texts, and the index of the chosen one."""

    texts: list[str]
    chosen: int
    infos: list[Json] | None  # None where the line has no `swipe_info`


def _swipes(line: Mapping[str, Json]) -> Swipes | None:
    swipes, chosen, info = line.get("swipes"), line.get("swipe_id"), line.get("swipe_info")
    if not isinstance(swipes, list) or not isinstance(chosen, int) or isinstance(chosen, bool):
        return None
    texts = cast("list[Json]", swipes)
    if not 0 <= chosen < len(texts) or not all(isinstance(text, str) for text in texts):
        return None
    return Swipes(
        cast("list[str]", texts), chosen, cast("list[Json]", info) if isinstance(info, list) else None
    )


def _live(line: Mapping[str, Json]) -> Content:
    """Return the live content: `mes`, with the fields of the line itself."""
    extra = dict(mapping(line.get("extra")))
    parts = _take_parts(extra, line.get("mes"))
    kept = _fields(line, extra)
    kept["line"] = {k: v for k, v in line.items() if k not in _SAID_ELSEWHERE}
    swipes = _swipes(line)
    if swipes:
        kept["swiped"] = "bare" if swipes.infos is None else "info"
        if swipes.texts[swipes.chosen] != line.get("mes"):
            kept["stale"] = swipes.texts[swipes.chosen]
        if swipes.infos is not None and swipes.chosen < len(swipes.infos):
            info = swipes.infos[swipes.chosen]
            if info != {k: line[k] for k in SWIPED if k in line}:
                kept["info"] = info
    return Content(parts, _author(line), {KEY: kept})


def _author(line: Mapping[str, Json]) -> str | None:
    name = line.get("name")
    return name if isinstance(name, str) and name else None


def _fields(holder: Mapping[str, Json], extra: dict[str, Json]) -> dict[str, Json]:
    """Return the fields of a swipe, with `extra` reduced to what our parts do not contain."""
    fields = {k: holder[k] for k in SWIPED if k in holder}
    if isinstance(fields.get("extra"), dict):
        fields["extra"] = extra
    kept: dict[str, Json] = {"fields": fields}
    moment = when(holder.get("send_date"))
    if moment and moment.naive:
        kept["naive"] = True
    return kept


def _alternatives(line: Mapping[str, Json]) -> tuple[list[Content], list[str | None], int]:
    """Return all swipes in order, their times, and which one is live; empty where the line has none or one."""
    swipes = _swipes(line)
    if swipes is None or len(swipes.texts) < 2:
        return [], [], 0
    infos = swipes.infos or []
    contents: list[Content] = []
    times: list[str | None] = []
    for index, text in enumerate(swipes.texts):
        own = mapping(infos[index]) if index < len(infos) else {}
        extra = dict(mapping(own.get("extra")))
        parts = _take_parts(extra, text)
        kept = _fields(own, extra)
        rest = {k: v for k, v in own.items() if k not in SWIPED}
        if rest:
            kept["rest"] = rest
        contents.append(Content(parts, _author(line), {KEY: kept}))
        moment = when(line.get("send_date") if index == swipes.chosen else own.get("send_date"))
        times.append(moment.iso if moment else None)
    return contents, times, swipes.chosen


def _take_parts(extra: dict[str, Json], text: Json) -> tuple[Part, ...]:
    """Return the parts of one swipe; removes their fields from `extra`."""
    parts: list[Part] = []
    reasoning, signature = extra.get("reasoning"), extra.get("reasoning_signature")
    if isinstance(reasoning, str) and (reasoning or isinstance(signature, str)):
        del extra["reasoning"]
        if isinstance(signature, str):
            del extra["reasoning_signature"]
        parts.append(Reasoning(reasoning, signature if isinstance(signature, str) else None))
    if isinstance(text, str) and text:
        parts.append(Text(text))
    parts.extend(_attachments(extra))
    return tuple(parts)


def _attachments(extra: dict[str, Json]) -> list[Media]:
    """Return images, sounds and files; removes them from `extra` and records the origin in each part."""
    out: list[Media] = []
    for key in ATTACHED:
        value = extra.get(key)
        if key in ("media", "files", "image_swipes"):
            items = cast("list[Json]", value) if isinstance(value, list) else []
            found = [_media(key, item) for item in items]
            if found and all(found):
                out.extend(cast("list[Media]", found))
                del extra[key]
        else:
            one = _media(key, value)
            if one:
                out.append(one)
                del extra[key]
    return out


def _media(key: str, item: Json) -> Media | None:
    """Return one attachment, or None where the value is not an address."""
    rest = {k: v for k, v in mapping(item).items() if k != "url"}
    url = item if isinstance(item, str) else mapping(item).get("url")
    if not isinstance(url, str) or not url:
        return None
    note: dict[str, Json] = {"key": key}
    if isinstance(item, dict):
        note["item"] = rest
    name = rest.get("name") or rest.get("title")
    label = name if isinstance(name, str) else None
    header = _DATA_URL.match(url)
    data = from_base64(url[header.end() :]) if header else None
    if header and data is not None:
        if header[2]:
            note["parameters"] = header[2]
        return Media(header[1] or "", name=label, data=data, extra={KEY: note})
    return Media(_type_of(key, url, rest.get("type")), url=url, name=label, extra={KEY: note})


def _type_of(key: str, url: str, said: Json) -> str:
    suffix = url.rpartition(".")[2].lower()
    if suffix in _SUFFIX_TYPES:
        return _SUFFIX_TYPES[suffix]
    if isinstance(said, str) and said in ("image", "video", "audio"):
        return f"{said}/*"
    return {"image": "image/*", "image_swipes": "image/*", "video": "video/*", "audio": "audio/*"}.get(
        key, "application/octet-stream"
    )


def _invocations(line: Mapping[str, Json]) -> list[dict[str, Json]]:
    found = mapping(line.get("extra")).get("tool_invocations")
    items = cast("list[Json]", found) if isinstance(found, list) else []
    whole = [mapping(item) for item in items]
    return whole if all(isinstance(item.get("name"), str) for item in whole) else []


def _tool_messages(line: Mapping[str, Json], number: int | None) -> list[ForeignMessage]:
    """Return a reply that calls tools, and the message with their results. `mes` only renders the same as HTML; it is kept in
    the metadata."""
    extra = dict(mapping(line.get("extra")))
    del extra["tool_invocations"]
    calls: list[Part] = list(_take_parts(extra, None))
    results: list[Part] = []
    for index, item in enumerate(_invocations(line)):
        ident = item.get("id")
        call_id = ident if isinstance(ident, str) and ident else f"call-{number or 0}-{index}"
        rest = {k: v for k, v in item.items() if k not in ("id", "name", "parameters", "result")}
        note: dict[str, Json] = {"item": rest}
        if call_id != ident:
            note["id"] = ident
        if "parameters" not in item:
            note["bare"] = True
        calls.append(ToolCall(call_id, item["name"], item.get("parameters"), {KEY: note}))
        if "result" in item:
            results.append(_result(call_id, item))
    kept = _fields(line, extra)
    kept["line"] = {k: v for k, v in line.items() if k not in SWIPED}
    kept["invocations"] = True
    moment = when(line.get("send_date"))
    at = moment.iso if moment else None
    # SillyTavern does send these lines to the model although they are marked `is_system`, so they are not hidden.
    out = [ForeignMessage("assistant", Content(tuple(calls), None, {KEY: kept}), at, line=number)]
    if results:
        out.append(
            ForeignMessage(
                "tool", Content(tuple(results), None, {KEY: {"part_of": "line before"}}), at, line=number
            )
        )
    return out


def _result(call_id: str, item: Mapping[str, Json]) -> ToolResult:
    value = item["result"]
    text = value if isinstance(value, str) else dumps(value)
    note: dict[str, Json] = {} if isinstance(value, str) else {KEY: {"json": True}}
    return ToolResult(call_id, (Text(text),), bool(item.get("error")), item["name"], note)
