"""Parts in the form of every wire: arguments as JSON, attachments by bytes or name, the rest as text.

Owns: what the three wires share in rendering a part. Not here: the message formats of a wire.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from backscroll.formats.readable import label_of, readable_part
from backscroll.formats.shape import Blobs
from backscroll.formats.sources.json_text import dumps, words_parsed
from backscroll.formats.sources.media import bytes_of, from_data_url
from backscroll.formats.sources.media_type import media_type
from backscroll.formats.sources.rows import as_object
from backscroll.vocab.part import Json, Media, Opaque, Part, Text, ToolCall, ToolResult

#: Image types that every wire accepts.
PICTURES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
_READABLE: Final = ("text/", "application/json", "application/xml", "application/x-yaml", "application/toml")
_WEB: Final = re.compile(r"https?://", re.IGNORECASE)


class MediaSource(NamedTuple):
    """An attachment with its real type and its bytes, or a web address, or neither."""

    media_type: str
    data: bytes | None
    url: str | None


def resolve_media(part: Media, blobs: Blobs) -> MediaSource:
    """Return the available data of an attachment."""
    data, kind = bytes_of(part, blobs), part.media_type
    inside = from_data_url(part.url) if data is None and part.url else None
    if inside is not None:
        kind, data = inside
    if data is not None and (kind.endswith("/*") or "/" not in kind):
        kind = media_type("", part.name or "", data)
    url = part.url if data is None and part.url and _WEB.match(part.url) else None
    return MediaSource(kind, data, url)


def media_words(part: Media, seen: MediaSource) -> str:
    """Return an attachment as text: a text file with its content, anything else by its name."""
    label = f"[{label_of(part)}]"
    if seen.data is not None and seen.media_type.startswith(_READABLE):
        try:
            return f"{label}\n{seen.data.decode('utf-8')}"
        except UnicodeDecodeError:
            return label
    return label


def opaque_words(part: Opaque) -> str:
    """Return a vendor part as text: content that could not be converted is shown unchanged, a mere trace by its name."""
    return part.raw if part.kind in ("message", "output", "result", "content") else readable_part(part)


def arguments_object(call: ToolCall) -> dict[str, Json]:
    """Return the arguments of a call as a JSON object."""
    given = call.arguments
    value = as_object(words_parsed(given)) if isinstance(given, str) else as_object(given)
    if value is not None:
        return value
    return {} if given in (None, "") else {"arguments": given}


def arguments_text(call: ToolCall) -> str:
    """Return the arguments of a call as the text of a JSON object; unchanged if they are one."""
    if isinstance(call.arguments, str) and as_object(words_parsed(call.arguments)) is not None:
        return call.arguments
    return dumps(arguments_object(call))


def result_text(result: ToolResult, blobs: Blobs) -> str:
    """Return a result as text."""
    words: list[str] = []
    for part in result.content:
        if isinstance(part, Text):
            words.append(part.text)
        elif isinstance(part, Media):
            words.append(media_words(part, resolve_media(part, blobs)))
        else:
            words.append(part.raw)
    return "\n".join(words)


def split(parts: Sequence[Part]) -> tuple[list[ToolResult], list[Part]]:
    """Split parts into results, and everything else."""
    results = [part for part in parts if isinstance(part, ToolResult)]
    return results, [part for part in parts if not isinstance(part, ToolResult)]
