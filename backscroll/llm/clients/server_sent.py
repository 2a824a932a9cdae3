"""Parse server-sent events from the lines of a stream.

Splits bytes only at the three line ends of the specification: text may hold characters that other splitters treat as line
ends (U+2028, U+0085), and a line end may be cut in two. Comments and keep-alives are dropped. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import cast

from backscroll.errors import CutShort
from backscroll.vocab.part import Json

#: The end marker of OpenAI-style streams.
DONE = "[DONE]"
#: Bytes of a line, or of an event of several lines.
LONGEST = 32_000_000


def too_large(what: str, most: int | None = None) -> CutShort:
    """Return the error for endless data; a retry would give the same."""
    hint = "check base_url of the provider"
    size = LONGEST if most is None else most
    return CutShort(f"the service sent {what} of more than {size:,} bytes", hint=hint, flooded=True)


def lines_of(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield whole lines without their ends; also the last one if the stream stops without a line end."""
    rest = bytearray()
    for piece in pieces:
        ended = rest.endswith(b"\r")
        rest += piece
        if len(rest) > LONGEST:
            raise too_large("a line")
        if not ended and b"\n" not in piece and b"\r" not in piece:
            continue  # avoids rescanning a long line for every chunk
        found = bytes(rest).splitlines(keepends=True)  # of bytes: only \n, \r and \r\n
        rest.clear()
        # An unfinished line, or one whose end may continue (\r of \r\n), waits for more.
        if found and not found[-1].endswith(b"\n"):
            rest += found.pop()
        for line in found:
            yield line.rstrip(b"\r\n")
    for line in bytes(rest).splitlines():
        yield line


def events_of(pieces: Iterable[bytes]) -> Iterator[dict[str, Json] | None]:
    """Yield the JSON object of every event; None for the end marker. Anything but an object is dropped."""
    data: list[bytes] = []
    size = 0
    for line in lines_of(pieces):
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
            size += len(line)
            if size > LONGEST:
                raise too_large("an event")
        elif not line and data:
            yield from _event(data)
            data, size = [], 0
    if data:  # some services omit the blank line after the last event
        yield from _event(data)


def _event(data: list[bytes]) -> Iterator[dict[str, Json] | None]:
    text = b"\n".join(data).decode("utf-8", "replace").strip()
    if text == DONE:
        yield None
        return
    if not text:
        return
    try:
        event: Json = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CutShort("the answer broke off in the middle of an event", hint="try again") from error
    if isinstance(event, dict):
        yield cast("dict[str, Json]", event)
