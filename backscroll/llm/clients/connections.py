"""Track the connections of one client, so that a waiting call can be stopped from outside.

Owns the sockets that a client opened and the calls under way. Closing the response from another thread does not wake a thread
that waits for bytes; only shutting down the socket does. Error messages: `faults`.
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
        # Reentrant: a signal handler may abort while its own thread holds the lock.
        self._guard = threading.RLock()

    @contextmanager
    def call(self) -> Generator[OpenCall]:
        """Register a call, from the request to the end of the answer."""
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
        """Hook for the HTTP library: record the connections opened for a request."""
        request.extensions = {**request.extensions, "trace": self._track_socket}

    def _track_socket(self, name: str, info: Mapping[str, Any]) -> None:
        if not name.endswith(_MADE):
            return
        made: object = info["return_value"].get_extra_info("socket")
        if isinstance(made, socket.socket):
            with self._guard:
                self._sockets.add(made)
                # An abort during connecting applies to this connection too.
                late = bool(self._calls) and all(call.aborted for call in self._calls)
            if late:
                _shut(made)


def _shut(connection: socket.socket) -> None:
    try:
        # Shut down the plain socket even under TLS: the reader still needs the TLS state to notice the end.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
    except OSError:
        return  # gone already
