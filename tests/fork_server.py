"""A Python that has imported the command line already and forks for each program that a test starts.

`tests/programs.py` starts it with `python -m tests.fork_server SOCKET` and asks over that socket. A request is the command
after `python` (`-m MODULE …` or `-c CODE …`), the folder, the environment, the umask and the four files that come along:
standard input, output, error, and a pipe on which the answer goes back: `started PID`, then `ended STATUS`. So each program is a process of its own, with its own files, terminal, signals and exit code; only the imports are shared.

The server has one thread, opens no store and reads no setting. It remembers which environment variables the imports read
(`imported_with` in its greeting), so that a program that needs another value is started from scratch. It ends, with all
that it forked, when the other end of the socket closes: a test process that is killed leaves nothing behind.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import gc
import importlib
import inspect
import io
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import backscroll
from backscroll.llm.encoders.encoder import encoder_of
from backscroll.llm.encoders.model_files import known_models
from backscroll.vocab.values.pattern import late

HEADER = 8  # bytes that say how long a request is
FILES = 4  # standard input, output, error, and the pipe for the answer
#: Modules that stay out: frameworks that no command loads, and what writes to the terminal when it is imported.
LEFT_OUT = (
    "backscroll.langchain",
    "backscroll.openai_agents",
    "backscroll.pydantic_ai",
    "backscroll.surfaces.adapters",
)
#: Rooms that get time, files and settings as arguments, so that what they keep is the same in every process.
PURE = tuple(
    f"backscroll.{room}."
    for room in ("vocab", "record", "reconcile", "formats", "derive", "graph", "recall", "assemble", "tasks")
)
_LATE = late("")
#: What commands load inside functions.
BESIDES = (
    *("asyncio", "httpx", "multiprocessing", "openai.resources.chat.completions"),
    *("sqlite3", "Stemmer", "tests.proof", "tiktoken", "tokenizers", "uuid"),
)


class _Recorded(dict[bytes, bytes]):
    """The environment, noting which variables are looked at."""

    def __init__(self, values: dict[bytes, bytes]) -> None:
        super().__init__(values)
        self.read: set[bytes] = set()

    def __getitem__(self, name: bytes) -> bytes:
        self.read.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        if isinstance(name, bytes):
            self.read.add(name)
        return super().__contains__(name)


def preload() -> dict[str, str | None]:
    """Import the package; return the environment variables that this has read, with their values."""
    # Looks for the packages that a user installed at home, which no virtual environment uses.
    importlib.import_module("zoneinfo")
    environment: Any = os.environ
    environment._data = recorded = _Recorded(environment._data)
    # One thread for BLAS: it would start the others right at its import.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for name in (*BESIDES, *_modules()):
        importlib.import_module(name)
    warm_up()
    del os.environ["OPENBLAS_NUM_THREADS"]
    environment._data = dict(recorded)
    names = sorted(os.fsdecode(name) for name in recorded.read)
    return {name: os.environ.get(name) for name in names if not name.startswith("OPENBLAS_")}


def _modules() -> Iterator[str]:
    for found in pkgutil.walk_packages(backscroll.__path__, "backscroll."):
        if not found.name.startswith(LEFT_OUT) and not found.name.endswith("__main__"):
            yield found.name


def warm_up() -> None:
    """Fill the tables and compile the patterns of the pure rooms, which depend on nothing outside the package."""
    for name, module in list(sys.modules.items()):
        if name.startswith(PURE):
            for value in list(vars(module).values()):
                if isinstance(value, type(_LATE)):
                    for method in ("findall", "finditer", "fullmatch", "match", "search", "split", "sub"):
                        getattr(value, method)
                elif _is_table(value, name):
                    value()
    encoder_of("wordllama")


def _is_table(value: object, module: str) -> bool:
    """True for a function of this module that takes nothing and keeps its result."""
    return (
        isinstance(value, type(known_models))
        and value.__module__ == module
        and not inspect.signature(value).parameters
    )


def count_threads() -> int:
    """The threads of this process as the system counts them; where it does not say, 1."""
    with contextlib.suppress(OSError):
        return len(list(Path("/proc/self/task").iterdir()))
    return 1


# -- serving -----------------------------------------------------------------------------------------------------


class Server:
    """Forks, and says how what it forked has ended."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._pipes: dict[int, int] = {}  # process -> where to say how it ended
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _note)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests, and for what they start

    def serve(self) -> tuple[dict[str, Any], list[int]] | None:
        """Serve until the channel closes, then return None; in a process forked on the way, return its request."""
        while True:
            ready, _, _ = select.select([self._channel, self._woken], [], [])
            if self._woken in ready:
                os.read(self._woken, 4096)
                self._reap()
            if self._channel in ready:
                asked = self._receive()
                if asked is None:
                    self._end()
                    return None
                if self._fork(asked[1]):
                    return asked

    def _receive(self) -> tuple[dict[str, Any], list[int]] | None:
        header, files, _, _ = socket.recv_fds(self._channel, HEADER, FILES)
        if len(header) < HEADER:
            return None
        wanted = int.from_bytes(header)
        body = b""
        while len(body) < wanted:
            more = self._channel.recv(wanted - len(body))
            if not more:
                return None
            body += more
        return json.loads(body), files

    def _fork(self, files: list[int]) -> bool:
        """True in the new process."""
        *handed, answer = files
        child = os.fork()
        if child == 0:
            return True
        for file in handed:
            os.close(file)
        self._pipes[child] = answer
        return False

    def _reap(self) -> None:
        while self._pipes:
            child, status = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                return
            self._report(child, status)

    def _report(self, child: int, status: int) -> None:
        answer = self._pipes.pop(child)
        with contextlib.suppress(BrokenPipeError):
            os.write(answer, b"ended %d\n" % status)
        os.close(answer)

    def _end(self) -> None:
        for child in self._pipes:
            for kill in (os.killpg, os.kill):  # a leader of its own group takes the group along
                with contextlib.suppress(ProcessLookupError):
                    kill(child, signal.SIGKILL)
        for child in list(self._pipes):
            self._report(*os.waitpid(child, 0))


def _note(number: int, frame: FrameType | None) -> None:
    """A child has ended: being called is enough, the byte in the pipe wakes the server."""


# -- in the new process ------------------------------------------------------------------------------------------


def become(asked: dict[str, Any], files: list[int]) -> NoReturn:
    """Turn into the program that was asked for, and run it to its end."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    *handed, answer = files
    for target, file in enumerate(handed):
        os.dup2(file, target)
    if asked["session"]:
        os.setsid()
    if asked["terminal"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.umask(asked["umask"])
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    time.tzset()
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    _open_streams(unbuffered=bool(os.environ.get("PYTHONUNBUFFERED")))
    os.write(answer, b"started %d\n" % os.getpid())
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    _exit(_run(asked["command"]))


def _open_streams(*, unbuffered: bool) -> None:
    """Standard input, output and error as Python opens them when it starts."""
    encoding = sys.stdout.encoding
    for name, file, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        before = getattr(sys, name)
        raw = io.FileIO(file, mode, closefd=False)
        raw.name = f"<{name}>"
        at_once = unbuffered and mode == "w"
        buffer: Any = raw if at_once else io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
        by_line = name == "stderr" or raw.isatty()
        stream = io.TextIOWrapper(
            buffer, encoding, before.errors, line_buffering=by_line, write_through=at_once
        )
        stream.mode = mode  # pyright: ignore[reportAttributeAccessIssue]
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _run(command: list[str]) -> int:
    """Run the program as `python` would; return its exit code. An end by Ctrl-C is -SIGINT."""
    try:
        _execute(*command)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException as error:  # noqa: BLE001  # the outermost boundary of a program
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _execute(kind: str, what: str, *arguments: str) -> None:
    if kind == "-m":
        sys.path[0] = str(Path.cwd())
        sys.argv = [what, *arguments]
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = ""
        sys.argv = [kind, *arguments]
        exec(compile(what, "<string>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})


def _exit(code: int) -> NoReturn:
    """End as Python ends, without taking the modules apart: that costs more than most commands."""
    threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue]  # waits for threads, as at the end of Python
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        code = 120  # as Python says it
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    if code == -signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(code & 0xFF)


def main() -> None:
    """Load everything, say with which environment, then serve."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    greeting = {"imported_with": preload(), "threads": count_threads()}
    gc.collect()
    gc.freeze()
    channel.sendall(json.dumps(greeting).encode() + b"\n")
    asked = Server(channel).serve()
    if asked is not None:
        channel.detach()
        become(*asked)


if __name__ == "__main__":
    main()
