"""The connections of one client, so that a call can be ended from outside while it waits.

Owns the sockets that a client opened and the calls that are going on. A thread that waits for bytes is not woken by closing the
response from another thread, only by shutting down the socket beneath it. Not here: what to say about it (`faults`).
"""

from __future__ import annotations

import socket
import threading
import weakref
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2

#: Seconds to wait for a connection, at most; an answer may take longer than that.
CONNECTING = 15.0
_MADE = ("connect_tcp.complete", "connect_unix_socket.complete", "start_tls.complete")


class OpenCall:
    """One call under way."""

    def __init__(self) -> None:
        self.aborted = False


class Connections:
    """The open calls of a client. Safe for several threads and for signal handlers."""

    def __init__(self) -> None:
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._calls: list[OpenCall] = []
        # Entered again by a signal handler that aborts while its own thread is inside.
        self._guard = threading.RLock()

    @contextmanager
    def call(self) -> Generator[OpenCall]:
        """Hold a call, from the request to the last word of the answer."""
        call = OpenCall()
        with self._guard:
            self._calls.append(call)
        try:
            yield call
        finally:
            with self._guard:
                self._calls.remove(call)

    def abort(self) -> bool:
        """Stop every call under way; False if there is none."""
        with self._guard:
            calls, sockets = list(self._calls), list(self._sockets)
            for call in calls:
                call.aborted = True
        if calls:
            for each in sockets:
                _shut(each)
        return bool(calls)

    def hook(self, request: httpx2.Request) -> None:
        """For the HTTP library: hear of the connections that are made for a request."""
        request.extensions = {**request.extensions, "trace": self._track_socket}

    def _track_socket(self, name: str, info: Mapping[str, Any]) -> None:
        if not name.endswith(_MADE):
            return
        made: object = info["return_value"].get_extra_info("socket")
        if isinstance(made, socket.socket):
            with self._guard:
                self._sockets.add(made)
                # The caller that aborted while the connection was being made means this one too.
                late = bool(self._calls) and all(call.aborted for call in self._calls)
            if late:
                _shut(made)


def _shut(connection: socket.socket) -> None:
    try:
        # Of the plain socket also beneath TLS: the reader there still needs what TLS holds, to notice the end.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
    except OSError:
        return  # gone already
