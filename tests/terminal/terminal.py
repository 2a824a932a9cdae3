"""A real terminal for tests: a program on a pty, a screen model that shows what a person would see, and a keyboard.

Waiting is always for something on the screen, never for a time. Everything that was printed is kept too, because what scrolled
away matters as well. Nothing is left behind: the program's whole group ends with the terminal.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

import pyte

from tests import programs

PATIENCE = 120.0  # seconds until something that should happen counts as missing, on a machine that is busy
ENTER = "\r"
ESCAPE = "\x1b"
CTRL_C = "\x03"
CTRL_D = "\x04"
CTRL_O = "\x0f"
CTRL_V = "\x16"
DOWN = "\x1b[B"
UP = "\x1b[A"
F2 = "\x1bOQ"
F3 = "\x1bOR"
F4 = "\x1bOS"
PASTE = ("\x1b[200~", "\x1b[201~")


class Screen(pyte.HistoryScreen):
    """A screen that answers what programs ask it, and counts its bell."""

    def __init__(self, columns: int, lines: int) -> None:
        self.answers: list[str] = []
        self.bells = 0
        super().__init__(columns, lines, history=10_000, ratio=0.5)

    def write_process_input(self, data: str) -> None:
        """An answer: where the cursor is, which terminal this is."""
        self.answers.append(data)

    def bell(self, *args: object) -> None:
        """Ring."""
        self.bells += 1

    def row(self, line: Mapping[int, pyte.screens.Char]) -> str:
        """A line as text; the second cell of a wide character is empty."""
        return "".join(line[x].data for x in range(self.columns)).rstrip()

    def rows(self) -> list[str]:
        """The visible lines."""
        return [self.row(self.buffer[y]) for y in range(self.lines)]

    def everything(self) -> list[str]:
        """The visible lines and what scrolled away above them."""
        return [*(self.row(line) for line in self.history.top), *self.rows()]


class Terminal:
    """A program in a terminal; use it in a `with`."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        columns: int = 80,
        lines: int = 30,
    ) -> None:
        self.model = Screen(columns, lines)
        self._stream = pyte.ByteStream(self.model)
        self.raw = b""
        self._master, slave = pty.openpty()
        os.set_blocking(self._master, False)
        self._size(slave, columns, lines)
        kept = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "TERM": "xterm-256color"}
        kept |= {"LANG": "C.UTF-8"}
        self.process = programs.start(
            command,
            terminal=True,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=cwd,
            env=kept | dict(env or {}),
            start_new_session=True,
        )
        os.close(slave)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        os.close(self._master)

    # -- keyboard --------------------------------------------------------------------------------------------

    def type(self, text: str) -> None:
        """Press keys."""
        self._write(text.encode())

    def enter(self, text: str) -> None:
        """Type a line and send it."""
        self.type(text)
        self.wait_for(text[-20:])
        self.type(ENTER)

    def paste(self, text: str) -> None:
        """Paste, as a terminal with bracketed paste does it."""
        self.type(f"{PASTE[0]}{text}{PASTE[1]}")

    def resize(self, columns: int, lines: int) -> None:
        """Make the window another size."""
        self.model.resize(lines, columns)
        self._size(self._master, columns, lines)

    # -- screen ----------------------------------------------------------------------------------------------

    def screen(self) -> str:
        """What is visible now."""
        self._pump(0.0)
        return "\n".join(self.model.rows())

    def everything(self) -> str:
        """What is visible and what scrolled away."""
        self._pump(0.0)
        return "\n".join(self.model.everything())

    @property
    def bells(self) -> int:
        """How often it rang."""
        return self.model.bells

    def wait_for(self, *texts: str, gone: str = "", patience: float = PATIENCE) -> str:
        """Wait until all of these stand on the screen (and `gone` does not); gives the screen."""
        end = time.monotonic() + patience
        while True:
            shown = "\n".join(self.model.rows())
            if all(text in shown for text in texts) and (not gone or gone not in shown):
                return shown
            if time.monotonic() > end:
                raise AssertionError(f"never saw {texts!r} (gone: {gone!r}) in:\n{shown}")
            if not self._pump(0.2) and self.process.poll() is not None and not self._pump(0.2):
                shown = "\n".join(self.model.rows())
                if all(text in shown for text in texts):
                    return shown
                raise AssertionError(f"the program ended without {texts!r}:\n{shown}")

    def wait_for_end(self, patience: float = PATIENCE) -> int:
        """Wait until the program ends; gives its exit code."""
        end = time.monotonic() + patience
        while self.process.poll() is None:
            self._pump(0.1)
            if time.monotonic() > end:
                raise AssertionError("the program does not end:\n" + "\n".join(self.model.rows()))
        self._pump(0.1)
        return self.process.returncode

    def kill(self, how: int = signal.SIGKILL) -> None:
        """End the program and everything it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, how)
        self.process.wait(PATIENCE)

    # -- inside ----------------------------------------------------------------------------------------------

    def _pump(self, seconds: float) -> bool:
        """Take in what the program wrote; True where there was something. One that never stops is heard for a second."""
        found = False
        end = time.monotonic() + seconds + 1.0
        while time.monotonic() < end and select.select([self._master], [], [], 0.0 if found else seconds)[0]:
            try:
                data = os.read(self._master, 65_536)
            except OSError:  # the program has closed its side
                return found
            if not data:
                return found
            found = True
            self.raw += data
            self._stream.feed(data)
            for answer in self.model.answers:
                self._write(answer.encode())
            self.model.answers.clear()
        return found

    def _write(self, data: bytes) -> None:
        """Write everything, and read meanwhile: a program that waits until its output is read reads no input."""
        end = time.monotonic() + PATIENCE
        while data:
            if not select.select([], [self._master], [], 0.1)[1]:
                if time.monotonic() > end:
                    raise AssertionError(f"the program has not read {len(data)} bytes of its input")
                self._pump(0.0)
                continue
            with contextlib.suppress(BlockingIOError):
                data = data[os.write(self._master, data) :]

    @staticmethod
    def _size(handle: int, columns: int, lines: int) -> None:
        fcntl.ioctl(handle, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
