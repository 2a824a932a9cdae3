"""Raw responses of a wrapped client: `with_raw_response` and `with_streaming_response`.

Owns recording below the SDK: the bytes of a response are recorded as the program reads them, whichever way it does (parsed, line by line,
as events), and stored when it has read or abandoned them. Refuses: answers that the SDK reads for the program
(`surfaces/wrap/client`), events of streams as objects (`surfaces/wrap/streams`).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import contextmanager
from typing import Any, cast

from backscroll.engine.calls.capture import CapturedRequest, StreamPieces
from backscroll.llm.clients.server_sent import events_of
from backscroll.surfaces.wrap.recorder import Recorder
from backscroll.vocab.prompt import Wire

#: The SDKs' names for raw responses, and which of them return a context.
RAW = ("with_raw_response", "with_streaming_response")


class ResponseBody:
    """The bytes of one response, and the answer in them."""

    def __init__(self, recorder: Recorder, heard: CapturedRequest | None, wire: Wire) -> None:
        self._recorder, self._heard = recorder, heard
        self._wire: Wire = wire
        self._taken: list[bytes] = []
        self._over = False

    def listen(self, response: Any) -> Any:
        """Record what is read of a response; return it unchanged."""
        http = response.http_response
        if getattr(http, "is_stream_consumed", False):
            self._taken = [http.content]
            self.end()
            return response
        plain, later = http.iter_bytes, http.aiter_bytes

        def read(chunk_size: int | None = None) -> Iterator[bytes]:
            with self._reading():
                for piece in plain(chunk_size):
                    self._taken.append(piece)
                    yield piece

        async def read_later(chunk_size: int | None = None) -> AsyncIterator[bytes]:
            with self._reading():
                async for piece in later(chunk_size):
                    self._taken.append(piece)
                    yield piece

        # Every way of reading goes through this one.
        http.iter_bytes, http.aiter_bytes = read, read_later
        return response

    @contextmanager
    def _reading(self) -> Generator[None]:
        try:
            yield
        finally:
            self.end()

    def end(self) -> None:
        """Record once, however it ended."""
        if self._over:
            return
        self._over = True
        taken, self._taken = b"".join(self._taken), []
        if self._heard is not None:
            self._recorder.run_guarded(lambda: self._record(taken))

    def _record(self, taken: bytes) -> None:
        if not taken.strip():
            self._recorder.record_failure(self._heard)
        elif taken.lstrip().startswith(b"{"):
            try:
                told = json.loads(taken)
            except (ValueError, RecursionError):  # abandoned in the middle: incomplete JSON
                self._recorder.record_failure(self._heard)
                return
            self._recorder.record_answer(self._heard, told)
        else:
            self._record_events(taken)

    def _record_events(self, taken: bytes) -> None:
        pieces = StreamPieces(self._wire, "" if self._heard is None else self._heard.model)
        # An event that was cut in two cannot be read.
        whole = taken if taken.endswith(b"\n") else taken[: taken.rfind(b"\n\n") + 2]
        for event in events_of([whole]):
            if event is not None:
                pieces.take(event)
        if pieces.came:
            self._recorder.record_answer(self._heard, pieces.response(), "" if pieces.ended else "left")
        else:
            self._recorder.record_failure(self._heard)


class ResponseContext:
    """The return value of `with_streaming_response`: a context in which a response is read."""

    def __init__(self, manager: Any, recorder: Recorder, heard: CapturedRequest | None, wire: Wire) -> None:
        self._manager, self._recorder, self._heard = manager, recorder, heard
        self._body = ResponseBody(recorder, heard, wire)

    @property
    def __class__(self) -> type[Any]:  # type: ignore[override]
        """The manager's type, for programs that check it."""
        return cast("type[Any]", type(self._manager))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._manager, name)

    @contextmanager
    def _entering(self) -> Generator[None]:
        try:
            yield
        except BaseException:
            self._recorder.record_failure(self._heard)
            raise

    def __enter__(self) -> Any:
        with self._entering():
            return self._body.listen(self._manager.__enter__())

    def __exit__(self, *how: object) -> Any:
        self._body.end()
        return self._manager.__exit__(*how)

    async def __aenter__(self) -> Any:
        with self._entering():
            return self._body.listen(await self._manager.__aenter__())

    async def __aexit__(self, *how: object) -> Any:
        self._body.end()
        return await self._manager.__aexit__(*how)
