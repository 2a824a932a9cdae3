"""Bound what a service may send: endless answers, endless lines, error bodies of a gigabyte.

Owns the limits and the counting. An answer that far exceeds the requested tokens is stopped and kept (`finish` is `endless`);
a stream that sends only keep-alives for the length of the timeout is given up, like silence; an endless line or body is cut
off.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from backscroll.llm.clients.client import CallDelta, ReasoningDelta, StreamEvent, TextDelta
from backscroll.llm.clients.faults import timed_out
from backscroll.llm.clients.server_sent import too_large

if TYPE_CHECKING:
    from backscroll.llm.provider import Provider

#: Assumed maximum of characters per token of an answer, on average, and the allowance beyond that.
_CHARACTERS, _SLACK = 24, 200_000
_FRAME = 16  # characters counted per call besides its name and arguments
#: Bytes of an unstreamed answer, and of an error body, which is cut to a few lines anyway.
LARGEST, REFUSAL = 64_000_000, 64_000
_REFUSED = 400  # a status from here on


class StreamBounds:
    """Watches one streamed answer."""

    def __init__(
        self, provider: Provider, max_tokens: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._provider = provider
        self._clock = clock
        self._get_remaining_pause = max_tokens * _CHARACTERS + _SLACK
        self._heard = clock()

    @property
    def full(self) -> bool:
        """True once more has arrived than an answer of that many tokens can have."""
        return self._get_remaining_pause < 0

    def count_events(self, events: Iterator[StreamEvent]) -> Iterator[StreamEvent]:
        """Yield the same events, counted."""
        for event in events:
            match event:
                case TextDelta() | ReasoningDelta():
                    size = len(event.text)
                case CallDelta():
                    size = len(event.name) + len(event.arguments) + _FRAME
                case _:
                    size = 0
            self._get_remaining_pause -= size
            if size:
                self._heard = self._clock()
            yield event

    def watch(self) -> None:
        """Check after every chunk of bytes; raises if only keep-alives came for too long."""
        if self._clock() - self._heard > self._provider.timeout:
            raise timed_out(self._provider.name, self._provider.timeout)


def bounded_body(response: Any) -> None:
    """Hook for the HTTP library: limit the size of unstreamed bodies. Event streams are checked as they are read."""
    library = import_module(type(response).__module__.partition(".")[0])  # httpx, or its successor
    if response.status_code >= _REFUSED:
        response.stream = _stream(library, response.stream, REFUSAL, quiet=True)
    elif "event-stream" not in response.headers.get("content-type", ""):
        response.stream = _stream(library, response.stream, LARGEST)


def _stream(library: Any, inner: Any, most: int, *, quiet: bool = False) -> Any:
    """Return a stream of bytes with a limit: ends with an error, or (quiet) silently."""

    class Bounded(library.SyncByteStream):
        """The bounded stream of a body."""

        def __iter__(self) -> Iterator[bytes]:
            left = most
            for piece in inner:
                if len(piece) > left:
                    if quiet:
                        yield piece[:left]
                        return
                    raise too_large("an answer", most)
                left -= len(piece)
                yield piece

        def close(self) -> None:
            inner.close()

    return Bounded()
