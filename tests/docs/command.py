"""The `backscroll` command for the shells that run the examples: a script that hands its files and words to the tests' process.

There a program is started with them (`tests/programs.py`), so that the examples do not import the package a hundred times. The
script waits for that program and ends as it ended.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import shutil
import socket
import sys
import tempfile
import threading
from pathlib import Path

from tests import programs
from tests.house import tree

_START = "from backscroll.surfaces.cli.main import main; main()"
_HEADER = 8
#: Only what is in Python without a search for modules: a few milliseconds.
_CLIENT = """import _socket, marshal, os, sys
channel = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0)
channel.connect(sys.argv[1])
body = marshal.dumps([sys.argv[2:], os.getcwd(), dict(os.environ)])
files = b"".join(file.to_bytes(4, sys.byteorder) for file in (0, 1, 2))
channel.sendmsg([len(body).to_bytes(8, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
channel.sendall(body)
code = int.from_bytes(channel.recv(8), "big", signed=True)
if code < 0:
    os.kill(os.getpid(), -code)
os._exit(code)
"""


class Command:
    """A folder with the command in it, for a `PATH`; and who answers it."""

    def __init__(self) -> None:
        self._private = Path(
            tempfile.mkdtemp(prefix="backscroll-docs-")
        )  # for us alone, and with a short path
        self.folder = self._private / "bin"
        self.folder.mkdir()
        self._script = self._private / "client.py"
        self._script.write_text(_CLIENT, encoding="utf-8")
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self._private / "socket"))
        self._listening.listen()
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()
        words = (sys.executable, "-I", "-S", self._script, self._private / "socket")
        self._install(" ".join(f'"{word}"' for word in words))

    def _install(self, words: str) -> None:
        script = self.folder / "backscroll"
        script.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
        script.chmod(0o755)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                channel, _ = self._listening.accept()
                threading.Thread(target=_answer, args=(channel,), daemon=True).start()

    def close(self) -> None:
        """Take the command away."""
        # An accept that waits is not ended by a close.
        self._listening.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listening.close()
        shutil.rmtree(self._private)


def _answer(channel: socket.socket) -> None:
    """Run one command with the files of the script, and say how it ended."""
    with channel:
        header, files, _, _ = socket.recv_fds(channel, _HEADER, 3)
        body = b""
        while len(body) < int.from_bytes(header):
            body += channel.recv(65_536)
        arguments, folder, environment = marshal.loads(body)  # our own script wrote it
        try:
            done = programs.run(
                [sys.executable, "-c", _START, *arguments],
                cwd=folder,
                env=environment | {"PYTHONPATH": str(tree.ROOT)},
                stdin=files[0],
                stdout=files[1],
                stderr=files[2],
            )
        finally:
            for file in files:
                os.close(file)
        channel.sendall(done.returncode.to_bytes(_HEADER, signed=True))
