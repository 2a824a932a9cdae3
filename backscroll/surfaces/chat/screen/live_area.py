"""The live area at the bottom of the terminal: finished output is printed permanently, running output is redrawn below it.

Owns the live lines (an open block, a running tool, the status line), erasing and redrawing them, and the clock of the
spinner. Printed lines scroll away like any other output; nothing takes the whole screen. Without a terminal there are no
live lines at all. Refuses: deciding what to draw (`player`) and reading keys (`interrupts`).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

#: Synchronized output: a terminal that supports it shows everything between these two at once; others ignore them.
_TOGETHER, _SHOWN = "\x1b[?2026h", "\x1b[?2026l"
_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
_TICK = 0.1  # seconds between two frames of the spinner
_SOFT = 0.04  # seconds in which several pieces of an answer are drawn together
#: A frame that took long to draw (a very long block) is drawn less often: drawing takes at most this share of the time.
_SHARE = 4
#: Lines of the screen that live lines leave to earlier output.
_LEFT = 4


class LiveArea:
    """Prints above, live lines below."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self.console = console
        self.lock = threading.RLock()
        self._clock = clock
        self._lines: Callable[[], Sequence[Text]] | None = None
        self._drawn: list[int] = []  # widths of the live lines on the screen
        self._last = 0.0
        self._cost = 0.0
        self._paused = 0
        self._wraps = wraps_again(os.environ)

    @property
    def live(self) -> bool:
        """True if there is a terminal to draw on that can erase lines."""
        return self.console.is_terminal and not self.console.is_dumb_terminal

    @property
    def room(self) -> int:
        """The maximum number of live lines."""
        return max(2, self.console.size.height - _LEFT)

    @contextmanager
    def drawing(self, lines: Callable[[], Sequence[Text]]) -> Generator[None]:
        """Draw these lines, repeatedly, as long as the block runs."""
        if not self.live:
            yield
            return
        stop = threading.Event()
        clock = threading.Thread(target=self._tick, args=(stop,), name="chat-spinner", daemon=True)
        with self.lock:
            self._lines = lines
            self._write(_HIDE)
        clock.start()
        try:
            yield
        finally:
            stop.set()
            clock.join()
            with self.lock:
                self._write(self._erasing() + _SHOW)
                self._lines = None

    @contextmanager
    def pause_drawing(self) -> Generator[None]:
        """Remove the live lines, so that the user can be asked."""
        with self.lock:
            self._paused += 1
            if self._lines is not None:
                self._write(self._erasing() + _SHOW)
        try:
            yield
        finally:
            with self.lock:
                self._paused -= 1
                if self._lines is not None and not self._paused:
                    self._write(_HIDE)
                    self._draw()

    def print(self, *what: RenderableType) -> None:
        """Print permanently, above the live lines: each thing on lines of its own, all at once."""
        with self.lock:
            if not self._drawn:
                for each in what:
                    self.console.print(each)
                return
            with self.console.capture() as caught:
                for each in what:
                    self.console.print(each)
            self._write(_TOGETHER + self._erasing() + caught.get() + self._picture() + _SHOWN)

    def touch(self) -> None:
        """Request a redraw soon."""
        if not self.live:
            return
        with self.lock:
            if self._clock() - self._last >= max(_SOFT, self._cost * _SHARE):
                self._draw()

    def leave(self) -> None:
        """Remove the live lines because the program is suspended; safe in a signal handler."""
        if self._lines is not None and not self._paused:
            self._write_past(f"{self._erasing()}{_SHOW}")

    def come_back(self) -> None:
        """Resume after that: the screen now shows other output."""
        self._drawn = []
        if self._lines is not None and not self._paused:
            self._write_past(f"\r\n{_HIDE}")

    def _write_past(self, text: str) -> None:
        """Write past the buffer, in the middle of which the program may be interrupted."""
        os.write(self.console.file.fileno(), text.encode())

    def _tick(self, stop: threading.Event) -> None:
        while not stop.wait(max(_TICK, self._cost * _SHARE)):
            with self.lock:
                if not stop.is_set() and self._clock() - self._last >= _TICK / 2:
                    self._draw()

    def _draw(self) -> None:
        if self._paused or self._lines is None:
            return
        began = self._clock()
        self._write(_TOGETHER + self._erasing() + self._picture() + _SHOWN)
        self._last = self._clock()
        self._cost = self._last - began

    def _picture(self) -> str:
        """Return the live lines as they are written; each is cut so that no terminal wraps it."""
        if self._lines is None or self._paused:
            return ""
        width = max(8, self.console.size.width - 1)
        lines = [line.copy() for line in list(self._lines())[-self.room :]]
        for line in lines:
            line.truncate(width, overflow="ellipsis")
        with self.console.capture() as caught:
            for index, line in enumerate(lines):
                self.console.print(line, end="\n" if index < len(lines) - 1 else "", soft_wrap=True)
        self._drawn = [line.cell_len for line in lines]
        return caught.get()

    def _erasing(self) -> str:
        """Return what erases the live lines. Most terminals that became narrower have wrapped them meanwhile."""
        before, self._drawn = self._drawn, []
        if not before:
            return ""
        width = max(1, self.console.size.width)
        rows = sum(max(1, -(-cells // width)) for cells in before) if self._wraps else len(before)
        up = f"\x1b[{rows - 1}A" if rows > 1 else ""
        return f"\r{up}\x1b[J"

    def _write(self, text: str) -> None:
        self.console.file.write(text)
        self.console.file.flush()


def wraps_again(environment: Mapping[str, str]) -> bool:
    """Return True for a terminal that rewraps its lines when its width changes; a few old ones cut them off instead."""
    kind = environment.get("TERM", "")
    if "XTERM_VERSION" in environment or kind.startswith(("linux", "rxvt")):
        return False
    return not kind.startswith("screen") or "TMUX" in environment
