"""Keys while an agent works: Ctrl-C stops it, input typed ahead is kept for the next message.

Owns the signal handlers and the state of the terminal during a run: no echo, so that typing does not disturb the drawing. Ctrl-C
stops the answer; a second one leaves the chat; a third does not wait any longer. Refuses: drawing, and deciding for the user:
keys pressed before a question appeared are never its answer.
"""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

from backscroll.surfaces.chat.input.typeahead import TypeaheadGuard
from backscroll.surfaces.chat.suspension import suspend

_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O.|.)?", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
CTRL_O, CTRL_Z = b"\x0f", b"\x1a"


class Interrupts:
    """How often the user wanted to stop, and what they typed meanwhile."""

    def __init__(self, on_unfold: Callable[[], None] = lambda: None) -> None:
        self.count = 0
        self._check_type = b""
        self._heard_at = 0.0
        self._on_unfold = on_unfold
        self._listener: _KeyListener | None = None
        self.ahead = TypeaheadGuard(self.keep, lambda: self._heard_at)

    def take_typed_text(self) -> str:
        """Return the input typed ahead, without control keys and surrounding line ends, and clear it."""
        text = self._check_type.decode("utf-8", "ignore").replace("\r", "\n")
        self._check_type = b""
        return _CONTROL.sub("", _ESCAPES.sub("", text)).strip("\n")

    def keep(self, text: str) -> None:
        """Put aside what was typed before a question appeared."""
        self._check_type += text.encode("utf-8", "surrogateescape")

    @contextmanager
    def watching(self, stop: Callable[[], None], on_stop: Callable[[], None]) -> Generator[None]:
        """While the block runs, make Ctrl-C stop the run instead of raising."""
        self.count = 0

        def handle_interrupt(_signal: int, _frame: FrameType | None) -> None:
            self.count += 1
            if self.count > 2:
                raise KeyboardInterrupt  # the user does not wait for it, whatever it is
            on_stop()
            self.ahead.stop()
            # Not from here: callbacks may take locks that the interrupted code holds.
            threading.Thread(target=stop, name="chat-stop", daemon=True).start()

        if threading.current_thread() is not threading.main_thread():
            yield  # signals belong to the main thread; programs that embed us stop runs themselves
            return
        before = signal.signal(signal.SIGINT, handle_interrupt)
        self.ahead.stopped = False
        try:
            with self._listening():
                yield
        finally:
            signal.signal(signal.SIGINT, before)
            self.ahead.stopped = False

    @contextmanager
    def _listening(self) -> Generator[None]:
        if not _has_terminal():
            yield
            return
        self._listener = _KeyListener(sys.stdin.fileno(), self._handle_keys)
        self._listener.begin()
        try:
            yield
        finally:
            self._listener.end()
            self._listener = None

    @contextmanager
    def pause_listening(self) -> Generator[None]:
        """Release the keyboard for a question; nothing typed before reaches it."""
        listener = self._listener
        if listener is None:
            yield
            return
        listener.end()
        try:
            yield
        finally:
            listener.begin()

    def _handle_keys(self, data: bytes) -> None:
        self._heard_at = time.monotonic()
        if CTRL_O in data:
            self._on_unfold()
        if CTRL_Z in data:
            suspend()
        self._check_type += data.replace(CTRL_O, b"").replace(CTRL_Z, b"")


@contextmanager
def quiet_terminal() -> Generator[None]:
    """Turn off echo and line editing of the terminal for as long as the chat runs.

    Keys that are pressed while something is drawn, or just before a question takes the keyboard, do not appear on the screen.
    Signals stay enabled: Ctrl-C is one.
    """
    if not _has_terminal():
        yield
        return
    import termios

    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    quiet = termios.tcgetattr(handle)
    quiet[0] &= ~termios.ICRNL  # Enter stays Enter: as a line feed, the next question would not recognise it
    # Ctrl-Z is a key for us: the signal would stop the whole group, including a child that is just being started, for which
    # we would wait forever.
    quiet[6][termios.VSUSP] = bytes([os.fpathconf(handle, "PC_VDISABLE")])
    quiet[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    termios.tcsetattr(handle, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(handle, termios.TCSANOW, before)


@contextmanager
def ending_orderly() -> Generator[None]:
    """Exit normally on a request to end (SIGTERM, a closed window): the terminal is restored first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def exit_on_signal(number: int, _frame: FrameType | None) -> None:
        sys.exit(128 + number)

    wanted = [s for s in (signal.SIGTERM, getattr(signal, "SIGHUP", None)) if s is not None]
    before = [(s, signal.signal(s, exit_on_signal)) for s in wanted]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


class _KeyListener:
    """Reads keys in a thread of its own."""

    def __init__(self, handle: int, heard: Callable[[bytes], None]) -> None:
        self._handle = handle
        self._handle_keys = heard
        self._thread: threading.Thread | None = None
        self._wake = (-1, -1)

    def begin(self) -> None:
        """Take the keyboard."""
        self._wake = os.pipe()
        self._thread = threading.Thread(target=self._read, name="chat-keys", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Release the keyboard, after reading everything that is buffered."""
        if self._thread is None:
            return
        os.write(self._wake[1], b".")
        self._thread.join()
        self._thread = None
        os.close(self._wake[0])
        os.close(self._wake[1])

    def _read(self) -> None:
        wake = self._wake[0]
        while True:
            ready, _, _ = select.select([self._handle, wake], [], [])
            if self._handle in ready:
                try:
                    data = os.read(self._handle, 4096)
                except OSError:
                    return  # the terminal is gone
                if not data:
                    return
                self._handle_keys(data)
                continue  # everything typed before the end belongs to us
            if wake in ready:
                return


def _has_terminal() -> bool:
    if sys.platform == "win32" or not sys.stdin.isatty():
        return False
    try:
        os.tcgetpgrp(sys.stdin.fileno())
    except OSError:
        return False
    return True
