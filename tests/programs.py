"""Start programs of ours in processes of their own: `run` and `start`, with the arguments of `subprocess.run` and `Popen`.

A command `[sys.executable, "-m", MODULE, …]` or `[sys.executable, "-c", CODE, …]` is forked by a server that has done the
imports (`tests/fork_server.py`): they cost more than most commands do. A test process has one server for each locale. What a
server cannot reproduce starts from scratch: options of `subprocess` that it does not know, a variable that an import has
read with another value, coverage, a system without `fork`. Tests of start-up, of what is imported and of the installed
command use `subprocess` itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from tests.house import tree

Settings: TypeAlias = tuple[tuple[str, str], ...]
"""The variables that the interpreter itself reads when it starts."""

_INTERPRETER = ("LANG", "LC_ALL", "LC_CTYPE")
_PYTHON = "PYTHON"
#: Variables of the interpreter that a forked program follows by itself.
_FOLLOWED = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
#: Servers of one test process, each with some 100 MB of its own.
_SERVERS = 3
_COVERAGE = ("COVERAGE_", "COV_")
#: Options of `subprocess` that a forked program honours; `run` and `Popen` do the others by themselves.
_HONOURED = {
    *("bufsize", "capture_output", "check", "cwd", "encoding", "env", "errors", "input", "start_new_session"),
    *("stderr", "stdin", "stdout", "text", "timeout"),
}
#: Seconds for what a server does at once: to start, to fork, to end. One that is slower than this hangs.
_PROMPT = 180.0
#: So many programs with the same settings start from scratch before a server is started for the rest.
_FROM_SCRATCH = 3
#: In the child: the pty becomes the terminal of its session, so that Ctrl-C is a signal; then the program.
_TAKE_TERMINAL = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"

_links: dict[Settings, Link] = {}
_asked: Counter[Settings] = Counter()
_linking = threading.Lock()


class ForkServerEnded(Exception):
    """The server has ended, or it cannot be started."""


class Link:
    """A server that runs, and the socket to it."""

    def __init__(self, settings: Settings) -> None:
        self._channel, theirs = socket.socketpair()
        self._asking = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fork_server", str(theirs.fileno())],
            cwd=tree.ROOT,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(tree.ROOT), **dict(settings)},
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        self._channel.settimeout(_PROMPT)
        try:
            with self._channel.makefile("rb") as greeting:
                said = greeting.readline()
        except TimeoutError:
            self._process.kill()
            said = b""
        if not said:
            raise ForkServerEnded(f"at its start, with exit code {self._process.wait(_PROMPT)}")
        self.greeting = json.loads(said)
        if self.greeting["threads"] != 1:
            self.close()
            raise ForkServerEnded(f"an import has started a thread: {self.greeting['threads']}")

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

    def suits(self, environment: dict[str, str]) -> bool:
        """True where the imports would have read the same in this environment."""
        read: dict[str, str | None] = self.greeting["imported_with"]
        return all(environment.get(name) == value for name, value in read.items())

    def fork(self, request: dict[str, Any], files: Sequence[int]) -> tuple[int, int]:
        """Start a program with these as standard files; return its process and the pipe that says how it ends."""
        ended, theirs = os.pipe()
        body = json.dumps(request).encode()
        try:
            with self._asking:
                socket.send_fds(self._channel, [len(body).to_bytes(8)], [*files, theirs])
                self._channel.sendall(body)
        except OSError as error:
            raise ForkServerEnded(str(error)) from error
        finally:
            os.close(theirs)
        if not select.select([ended], [], [], _PROMPT)[0]:
            os.close(ended)
            raise ForkServerEnded(f"it has not started a program within {_PROMPT:.0f} seconds")
        return _read_answer(ended, "started"), ended

    def has_ended(self) -> bool:
        """True where the server is gone: something has killed it."""
        return self._process.poll() is not None

    def close(self) -> None:
        """End the server and what it forked."""
        # Not only closed: a process that was forked by a test may still have a copy of the socket.
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        self._channel.close()
        try:
            self._process.wait(_PROMPT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(_PROMPT)
            raise ForkServerEnded(f"by force: it has not ended within {_PROMPT:.0f} seconds") from None


def _read_answer(pipe: int, expected: str) -> int:
    line = b""
    while not line.endswith(b"\n"):
        more = os.read(pipe, 1)
        if not more:
            raise ForkServerEnded(f"instead of saying what {expected}")
        line += more
    word, number = line.decode().split()
    if word != expected:
        raise ForkServerEnded(f"it said {word!r} {number} instead of {expected!r}")
    return int(number)


class Forked(subprocess.Popen[Any]):
    """A program that a server forked. To its caller it is a `Popen`; the server waits for it in our place."""

    def __init__(self, link: Link, command: Sequence[str], *, terminal: bool = False, **options: Any) -> None:
        self._link = link
        self._terminal = terminal
        self._ended = -1
        super().__init__(command, **options)

    def _execute_child(self, args: Sequence[str], *given: Any) -> None:
        # The parameters after `args` are the same in Python 3.11 to 3.14.
        cwd, env, pipes, umask_and_more = given[4], given[5], given[9:15], given[15:]
        their_input, _, _, their_output, _, their_error = pipes
        umask = os.umask(0o077)
        os.umask(umask)
        request = {
            "command": [str(word) for word in args[1:]],
            "folder": os.fspath(cwd or Path.cwd()),
            "environment": dict(os.environ if env is None else env),
            "umask": umask,
            "session": bool(umask_and_more[5]),
            "terminal": self._terminal,
        }
        files = [
            ours if theirs < 0 else theirs
            for ours, theirs in enumerate((their_input, their_output, their_error))
        ]
        try:
            self.pid, self._ended = self._link.fork(request, files)
            self._child_created = True
        finally:
            self._close_pipe_fds(*pipes)  # pyright: ignore[reportAttributeAccessIssue]

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if wait_flags & os.WNOHANG and not select.select([self._ended], [], [], 0)[0]:
            return 0, 0
        try:
            return self.pid, _read_answer(self._ended, "ended")
        except ForkServerEnded:
            # Nobody can wait for it any more: it ends with its server, and that is said once.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self.returncode = -signal.SIGKILL
            raise
        finally:
            os.close(self._ended)

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        if self.returncode is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.wait(0)
        return self.returncode


def run(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run a program to its end, as `subprocess.run` does."""
    link = _link_for(command, options)
    if link is None:
        return subprocess.run(command, **options)  # noqa: PLW1510  # `check` is the caller's
    given, timeout, check = (
        options.pop("input", None),
        options.pop("timeout", None),
        options.pop("check", False),
    )
    if given is not None:
        options["stdin"] = subprocess.PIPE
    if options.pop("capture_output", False):
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Forked(link, command, **options) as process:
        try:
            out, err = process.communicate(given, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(command, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


def start(command: Sequence[str], *, terminal: bool = False, **options: Any) -> subprocess.Popen[Any]:
    """Start a program, as `subprocess.Popen` does; with `terminal`, its standard input becomes its terminal."""
    link = _link_for(command, options)
    if link is not None:
        return Forked(link, command, terminal=terminal, **options)
    if terminal:
        command = [sys.executable, "-I", "-S", "-c", _TAKE_TERMINAL, *command]
    return subprocess.Popen(command, **options)


def end_servers() -> None:
    """End the servers of this process and what they forked."""
    while _links:
        _links.popitem()[1].close()


def _link_for(command: Sequence[str], options: dict[str, Any]) -> Link | None:
    """The server that can fork this program, if there is or should be one."""
    given = options.get("env")
    environment = dict(os.environ if given is None else given)
    if not _is_ours(command) or not _can_fork(environment) or not _HONOURED.issuperset(options):
        return None
    if not Path(options.get("cwd") or ".").is_dir():  # `subprocess` says what is wrong
        return None
    settings = _settings_of(environment)
    with _linking:
        if settings in _links and _links[settings].has_ended():
            _links.pop(settings).close()
        if settings not in _links:
            _asked[settings] += 1
            if _asked[settings] <= _FROM_SCRATCH or len(_links) == _SERVERS:
                return None
            _links[settings] = Link(settings)
        link = _links[settings]
    return link if link.suits(environment) else None


def _settings_of(environment: dict[str, str]) -> Settings:
    return tuple(
        sorted(
            (name, value)
            for name, value in environment.items()
            if value and (name in _INTERPRETER or name.startswith(_PYTHON)) and name not in _FOLLOWED
        )
    )


def _is_ours(command: Sequence[str]) -> bool:
    return len(command) > 2 and command[0] == sys.executable and command[1] in ("-m", "-c")


def _can_fork(environment: dict[str, str]) -> bool:
    measured = any(name.startswith(_COVERAGE) for name in (*environment, *os.environ))
    same_packages = environment.get("PYTHONPATH", "") in ("", str(tree.ROOT))
    return sys.platform == "linux" and same_packages and not measured
