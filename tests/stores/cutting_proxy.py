"""A wire between a store and its server that can be cut at the worst moment: while COMMIT is on its way.

`before`   COMMIT never reaches the server
`after`    COMMIT is done, the answer never reaches us
`late`     we lose the connection, and COMMIT reaches the server only a while later
`ghost`    we lose the connection, COMMIT never gets there, and the server notices nothing
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import Any, Self
from urllib.parse import quote

from psycopg.conninfo import conninfo_to_dict

LATE = 0.6
DONE = 0.3  # the server commits at once but may keep its answer back until it is asked for


class CuttingProxy:
    """Listens on a port of its own and passes everything on to the server of `url`."""

    def __init__(self, url: str) -> None:
        self.target = conninfo_to_dict(url)
        self.mode = ""  # what to do with the next COMMIT; once
        self.cuts = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = [self._listener]
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    @property
    def url(self) -> str:
        """The address to give to a store."""
        user, name = quote(str(self.target.get("user", "postgres"))), quote(str(self.target["dbname"]))
        password = f":{quote(str(self.target['password']))}" if "password" in self.target else ""
        port = self._listener.getsockname()[1]
        return f"postgresql://{user}{password}@127.0.0.1:{port}/{name}?sslmode=disable&gssencmode=disable"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._open:
            _shut(each)
        for thread in self._threads:
            thread.join(10)

    def _start(self, work: Any, *values: Any) -> None:
        thread = threading.Thread(target=work, args=values)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = self._reach()
            self._open += [client, server]
            cut, answered = threading.Event(), threading.Event()
            self._start(self._up, client, server, cut, answered)
            self._start(self._down, client, server, cut, answered)

    def _reach(self) -> socket.socket:
        host, port = str(self.target.get("host") or "127.0.0.1"), str(self.target.get("port") or "5432")
        if host.startswith("/"):
            server = socket.socket(socket.AF_UNIX)
            server.connect(f"{host}/.s.PGSQL.{port}")
            return server
        return socket.create_connection((host, int(port)))

    def _up(
        self, client: socket.socket, server: socket.socket, cut: threading.Event, answered: threading.Event
    ) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                if self.mode and b"COMMIT\0" in data:
                    mode, self.mode = self.mode, ""
                    self.cuts += 1
                    cut.set()
                    if mode == "after":
                        server.sendall(data)
                        answered.wait(DONE)
                    _shut(client)
                    if mode == "ghost":
                        return
                    if mode == "late":
                        time.sleep(LATE)
                        server.sendall(data)
                        answered.wait(DONE)
                    break
                server.sendall(data)
        _shut(server)
        _shut(client)

    def _down(
        self, client: socket.socket, server: socket.socket, cut: threading.Event, answered: threading.Event
    ) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                if cut.is_set():
                    answered.set()
                    return
                client.sendall(data)
        _shut(client)


def _shut(each: socket.socket) -> None:
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
