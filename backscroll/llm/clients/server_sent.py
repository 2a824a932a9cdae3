"""Server-sent events: the lines of a stream as events.

Owns splitting bytes at the three line ends that there are, and at no others: words may hold characters that other splitters take
for the end of a line (U+2028, U+0085), and a line end may be cut in two. Comments and keep-alives fall away. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import cast

from backscroll.errors import CutShort
from backscroll.vocab.part import Json

#: What the services of OpenAI's kind send last.
DONE = "[DONE]"
#: Bytes of a line, or of an event of several lines.
LONGEST = 32_000_000


def too_large(what: str, most: int | None = None) -> CutShort:
    """Return the error for something without end; the next try would bring the same."""
    hint = "check base_url of the provider"
    size = LONGEST if most is None else most
    return CutShort(f"the service sent {what} of more than {size:,} bytes", hint=hint, flooded=True)


def lines_of(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines without their ends; the last one too, where the stream stops without an end."""
    rest = bytearray()
    for piece in pieces:
        ended = rest.endswith(b"\r")
        rest += piece
        if len(rest) > LONGEST:
            raise too_large("a line")
        if not ended and b"\n" not in piece and b"\r" not in piece:
            continue  # a long line is not looked through again for every piece of it
        found = bytes(rest).splitlines(keepends=True)  # of bytes: only \n, \r and \r\n
        rest.clear()
        # What has no end yet, or one that may go on (\r of \r\n), waits for more.
        if found and not found[-1].endswith(b"\n"):
            rest += found.pop()
        for line in found:
            yield line.rstrip(b"\r\n")
    for line in bytes(rest).splitlines():
        yield line


def events_of(pieces: Iterable[bytes]) -> Iterator[dict[str, Json] | None]:
    """Yield the JSON object of every event; None for the word that ends a stream. What is not an object falls away."""
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
    if data:  # the blank line after the last event is missing at some services
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
