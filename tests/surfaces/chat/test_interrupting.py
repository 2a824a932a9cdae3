"""Ctrl-C, typing ahead, and the terminal's state: in this process, on a pty of its own."""

from __future__ import annotations

import os
import pty
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from backscroll.surfaces.chat.input.interrupts import Interrupts, ending_orderly, quiet_terminal

LOCAL = 3  # where tcgetattr keeps the local modes


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Standard input is a terminal; what is written to this end is typed."""
    master, slave = pty.openpty()
    with os.fdopen(slave, "r", closefd=True) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        monkeypatch.setattr(os, "tcgetpgrp", lambda _handle: 1)
        yield master
    os.close(master)


def until(there: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not there():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_first_ctrl_c_stops_without_raising() -> None:
    """The callback runs in another thread: the interrupted code may hold the lock it needs."""
    told: list[str] = []
    interrupts = Interrupts()
    with interrupts.watching(
        lambda: told.append(threading.current_thread().name), lambda: told.append("seen")
    ):
        signal.raise_signal(signal.SIGINT)
        until(lambda: len(told) == 2)
    assert told == ["seen", "chat-stop"]
    assert interrupts.count == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_third_ctrl_c_raises_at_once() -> None:
    interrupts = Interrupts()

    def run() -> None:
        with interrupts.watching(lambda: None, lambda: None):
            for _ in range(3):
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_every_run_counts_its_own_interrupts() -> None:
    interrupts = Interrupts()
    for _ in range(2):
        with interrupts.watching(lambda: None, lambda: None):
            signal.raise_signal(signal.SIGINT)
        assert interrupts.count == 1


def test_typed_ahead_text_is_kept(keyboard: int) -> None:
    """Letters and lines stay, other keys do not; it is handed over once."""
    interrupts = Interrupts()
    with interrupts.watching(lambda: None, lambda: None), quiet_terminal():
        os.write(keyboard, "你好\x1b[A a\x01b\r".encode())
        until(lambda: b"b" in interrupts._check_type)
    assert interrupts.take_typed_text() == "你好 ab"
    assert interrupts.take_typed_text() == ""


def test_ctrl_o_unfolds_while_the_agent_works(keyboard: int) -> None:
    pressed: list[int] = []
    interrupts = Interrupts(lambda: pressed.append(1))
    with quiet_terminal(), interrupts.watching(lambda: None, lambda: None):
        os.write(keyboard, b"a\x0fb")
        until(lambda: bool(pressed))
    assert interrupts.take_typed_text() == "ab"


def test_keys_during_a_question_go_to_the_question(keyboard: int) -> None:
    """Keys typed earlier are set aside."""
    interrupts = Interrupts()
    with quiet_terminal(), interrupts.watching(lambda: None, lambda: None):
        os.write(keyboard, b"before")
        until(lambda: interrupts._check_type == b"before")
        with interrupts.pause_listening():
            os.write(keyboard, b"y")
            assert os.read(sys.stdin.fileno(), 10) == b"y"
    assert interrupts.take_typed_text() == "before"


def test_echo_is_off_and_restored(keyboard: int) -> None:
    """Also if the chat ends with an error."""
    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)

    def fail() -> None:
        with quiet_terminal():
            assert not termios.tcgetattr(handle)[LOCAL] & termios.ECHO
            assert termios.tcgetattr(handle)[LOCAL] & termios.ISIG
            raise ValueError

    with pytest.raises(ValueError):
        fail()
    assert termios.tcgetattr(handle) == before


def test_sigterm_exits_cleanly() -> None:
    def run() -> None:
        with ending_orderly():
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(SystemExit) as end:
        run()
    assert end.value.code == 143
