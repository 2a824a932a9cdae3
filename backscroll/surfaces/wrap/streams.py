"""Streams of a wrapped client: passed on piece by piece, and recorded when they end.

Owns recording the streams of both SDKs, synchronous and asynchronous, and the managers of their `stream()` calls. A stream that is
abandoned or breaks keeps what arrived, marked as broken off.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import contextmanager
from typing import Any, cast

from backscroll.engine.calls.capture import CapturedRequest, StreamPieces
from backscroll.surfaces.wrap.recorder import Recorder, plain
from backscroll.vocab.prompt import Wire


class RecordedStream:
    """A recorded stream; used exactly as the one inside."""

    def __init__(self, stream: Any, recorder: Recorder, heard: CapturedRequest | None, wire: Wire) -> None:
        self._stream, self._recorder, self._heard = stream, recorder, heard
        self._pieces = StreamPieces(wire, "" if heard is None else heard.model)
        self._over = False
        self._walk: Any = None

    @property
    def __class__(self) -> type[Any]:  # type: ignore[override]
        """The stream's type, for programs that check it."""
        return cast("type[Any]", type(self._stream))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _take(self, event: Any) -> None:
        if not self._over and self._heard is not None:
            self._recorder.run_guarded(lambda: self._pieces.take(plain(event)))

    def end(self, why: str = "") -> None:
        """Record once, however it ended."""
        if self._over:
            return
        self._over = True
        if not self._pieces.came:
            self._recorder.record_failure(self._heard)
            return
        broken = "" if self._pieces.ended else (why or "left")
        told = self._recorder.run_guarded(self._pieces.response)
        if told is not None:
            self._recorder.record_answer(self._heard, told, broken)

    @contextmanager
    def _watch_reading(self) -> Generator[None]:
        """Watch the reading of a stream, by any kind of loop."""
        try:
            yield
        except GeneratorExit:
            self.end("left")
            raise
        except BaseException:
            self.end("failed")
            raise
        self.end()

    # -- synchronous ---------------------------------------------------------------------------------------------

    def _walking(self) -> Iterator[Any]:
        with self._watch_reading():
            for event in self._stream:
                self._take(event)
                yield event

    def __iter__(self) -> Iterator[Any]:
        if self._walk is None:
            self._walk = self._walking()
        return self._walk

    def __next__(self) -> Any:
        return next(iter(self))

    def __enter__(self) -> Any:
        self._stream.__enter__()
        return self

    def __exit__(self, *how: object) -> Any:
        self.end("left")
        return self._stream.__exit__(*how)

    def close(self) -> Any:
        """Close the connection."""
        self.end("left")
        return self._stream.close()

    # -- asynchronous --------------------------------------------------------------------------------------------

    async def _walking_async(self) -> AsyncIterator[Any]:
        with self._watch_reading():
            async for event in self._stream:
                self._take(event)
                yield event

    def __aiter__(self) -> AsyncIterator[Any]:
        if self._walk is None:
            self._walk = self._walking_async()
        return self._walk

    async def __anext__(self) -> Any:
        return await anext(aiter(self))

    async def __aenter__(self) -> Any:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *how: object) -> Any:
        self.end("left")
        return await self._stream.__aexit__(*how)


class StreamContext:
    """The return value of the `stream()` calls of both SDKs: a context in which events are read."""

    def __init__(self, manager: Any, recorder: Recorder, heard: CapturedRequest | None, wire: Wire) -> None:
        self._manager, self._recorder, self._heard = manager, recorder, heard
        self._wire: Wire = wire
        self._inner: RecordedStream | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._manager, name)

    def _listen_inside(self, stream: Any) -> Any:
        """Put a recorded stream in place of the stream inside."""
        raw = getattr(stream, "_raw_stream", None)
        if raw is not None:
            self._inner = RecordedStream(raw, self._recorder, self._heard, self._wire)
            stream._raw_stream = self._inner  # noqa: SLF001 - every event goes through this one place
        return stream

    @contextmanager
    def _entering(self) -> Generator[None]:
        try:
            yield
        except BaseException:
            self._recorder.record_failure(self._heard)
            raise

    def _leaving(self) -> None:
        if self._inner is not None:
            self._inner.end("left")

    def __enter__(self) -> Any:
        with self._entering():
            return self._listen_inside(self._manager.__enter__())

    def __exit__(self, *how: object) -> Any:
        self._leaving()
        return self._manager.__exit__(*how)

    async def __aenter__(self) -> Any:
        with self._entering():
            return self._listen_inside(await self._manager.__aenter__())

    async def __aexit__(self, *how: object) -> Any:
        self._leaving()
        return await self._manager.__aexit__(*how)
