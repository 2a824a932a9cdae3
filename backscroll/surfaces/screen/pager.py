"""The user's pager ($PAGER, else less): long output can be read from the top. Short output is printed directly by it."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Generator
from typing import TextIO, cast


@contextlib.contextmanager
def pager() -> Generator[TextIO | None]:
    """Open a stream to the pager; None if there is no pager."""
    command = shlex.split(os.environ.get("PAGER", "less"))
    if not command or shutil.which(command[0]) is None:
        yield None
        return
    # Quit if it fits on one screen, keep colours, leave the text on the screen: as git does.
    environment = {"LESS": "FRX", "LESSCHARSET": "utf-8", **os.environ}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, env=environment, text=True, encoding="utf-8"
    ) as process:
        stream = cast("TextIO", process.stdin)
        try:
            yield stream
        finally:
            with contextlib.suppress(BrokenPipeError):
                stream.close()
            _outlive(process)


def _outlive(process: subprocess.Popen[str]) -> None:
    """Wait for the pager; it handles Ctrl-C itself while it runs."""
    while True:
        try:
            process.wait()
            return
        except KeyboardInterrupt:
            continue
