"""Running a shell command with limits on time and output, leaving no process behind.

Owns starting it under a supervisor (`agent/commands/supervisor`), in a sandbox where one is wanted (`agent/commands/sandbox`),
reading its output as it arrives, the limits and stopping. Standard output and standard error are kept in the order in which they were
printed. Of endless output only head and tail are kept, and a hard limit ends the command. Processes that it leaves in the background
are ended with it, whatever session they are in. Refuses: asking (`agent/approval/approval`).
"""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from backscroll.agent.commands.environment import clean_environment
from backscroll.agent.commands.output import decode_output, readable
from backscroll.agent.commands.sandbox import ENTERING, sandboxed_environment
from backscroll.agent.stop_switch import Stop
from backscroll.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from backscroll.agent.commands.sandbox import Sandbox

__all__ = ["FLOOD", "LONGEST", "CommandResult", "clean_environment", "run", "shell", "signal_name"]

#: Bytes of output that are kept, half of them from the end, and the limit that ends a command.
LONGEST, FLOOD = 16_000_000, 256_000_000
_SHOWN = 200_000  # characters shown while it runs; everything that is kept is in the result
_TICK = 0.05
_LINGER = 0.25  # seconds in which output may still arrive after the command has ended
_PIECE = 65536
_STRAYS = 5.0  # seconds in which processes that lost their supervisor must be gone
_MARK = "BACKSCROLL_COMMAND"
_SUPERVISOR = str(Path(__file__).with_name("supervisor.py"))


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command."""

    code: int | None  # negative: the signal that ended it; None: unknown
    output: str  # readable: no escape sequences, no control characters
    timed_out: bool = False
    stopped: bool = False
    flooded: bool = False  # ended because its output was endless
    truncated: int = 0  # bytes from the middle that were not kept
    bytes: int = 0  # that it printed
    left: int = 0  # processes in the background that were ended with it
    seconds: float = 0.0  # that it ran
    limit: float = 0.0  # seconds that it was allowed to run
    note: str = ""  # about output that was not text

    @property
    def ok(self) -> bool:
        """True if it ended by itself, successfully."""
        return self.code == 0 and not (self.timed_out or self.stopped or self.flooded)

    @property
    def ending(self) -> str:
        """How it ended, in words."""
        if self.stopped:
            return "stopped by the person"
        if self.timed_out:
            return f"ended: it ran longer than {self.limit:g} seconds"
        if self.flooded:
            return f"ended after {self.bytes:,} bytes of output: it seemed to go on without end"
        if self.code is None:
            return "ended; its exit code is not known"
        if self.code < 0:
            return f"ended by signal {-self.code} ({signal_name(-self.code)})"
        return f"exit code {self.code}"

    @property
    def told(self) -> str:
        """The whole result for a model. A failure comes first: output may be long."""
        also = [f"[{self.note}]"] if self.note else []
        if self.left:
            plural = "processes" if self.left > 1 else "process"
            also.append(f"[{self.left} {plural} left in the background ended with it]")
        body = [text] if (text := self.output.rstrip("\n")) else []
        return "\n".join([*body, *also, self.ending] if self.ok else [self.ending, *body, *also])


def signal_name(number: int) -> str:
    """Return the name of a signal, and what it usually means."""
    words = {
        signal.SIGSEGV: "it crashed",
        signal.SIGABRT: "it gave up",
        signal.SIGKILL: "killed, perhaps for want of memory",
        signal.SIGPIPE: "nobody read its output",
    }
    try:
        known = signal.Signals(number)
    except ValueError:
        return "unknown"
    return f"{known.name}, {words[known]}" if known in words else known.name


def shell() -> list[str]:
    """Return the shell that reads command lines, without start-up files."""
    bash = shutil.which("bash")
    return [bash, "--noprofile", "--norc", "-c"] if bash else ["/bin/sh", "-c"]


def run(
    command: str,
    cwd: str | Path,
    *,
    seconds: float = 120.0,
    longest: int = LONGEST,
    stop: Stop | None = None,
    show: Callable[[str], None] | None = None,
    env: Mapping[str, str] | None = None,
    keep: Collection[str] = (),
    keys: Collection[str] = (),
    flood: int = FLOOD,
    sandbox: Sandbox | None = None,
) -> CommandResult:
    """Run a shell command line until it ends or reaches a limit; `keep` names variables it may have although they look secret, `keys`
    others that hold keys."""
    if "\x00" in command:
        raise InvalidInput("the command contains a NUL byte", hint="leave it out")
    line = command.encode("utf-8", "surrogateescape" if _whole(command) else "replace").decode(
        "utf-8", "surrogateescape"
    )
    folder = Path(cwd)
    if not folder.is_dir():
        raise NotFound(f"no such folder: {folder}", hint="commands run in a folder that exists")
    if sys.platform == "win32":
        raise InvalidInput("commands run on Linux and macOS only", hint="use WSL")
    watch = _CommandWatch(longest, flood, seconds, stop or Stop(), show)
    try:
        with _enter_sandbox(sandbox, clean_environment(env, keep=keep, keys=keys)) as (
            starter,
            plan,
            variables,
        ):
            return watch.run([*starter, *shell(), line], folder, variables, plan)
    except OSError as error:
        raise InvalidInput(f"the command cannot be started: {error}", hint="it may be too long") from error


@contextlib.contextmanager
def _enter_sandbox(
    sandbox: Sandbox | None, env: dict[str, str]
) -> Generator[tuple[list[str], tuple[int, ...], dict[str, str]]]:
    """Yield what goes before a command to run it in a sandbox, the plan's descriptor, and its variables."""
    if sandbox is None:
        yield [], (), env
        return
    with tempfile.TemporaryFile() as file:  # unnamed, so that no other process can read or change it
        file.write(json.dumps(sandbox.plan(os.environ)).encode())
        file.seek(0)
        starter = [sys.executable, "-I", "-S", ENTERING, str(file.fileno())]
        yield starter, (file.fileno(),), sandboxed_environment(env)


def _whole(text: str) -> bool:
    """Return True if surrogates stand for bytes of file names, and can be converted back."""
    return not any(0xD800 <= ord(c) <= 0xDFFF and not 0xDC80 <= ord(c) <= 0xDCFF for c in text)


class _OutputEnds:
    """Head and tail of a stream of bytes."""

    def __init__(self, longest: int) -> None:
        self.half = max(longest // 2, 1)
        self.head = bytearray()
        self.tail: deque[bytearray] = deque()
        self.in_tail = 0
        self.total = 0

    def add(self, piece: bytes) -> None:
        """Add a piece; what falls out of the middle is dropped."""
        self.total += len(piece)
        room = self.half - len(self.head)
        if room > 0:
            self.head += piece[:room]
            piece = piece[room:]
        if piece:
            # Small pieces are merged: millions of them would take many times the memory of their content.
            if self.tail and len(self.tail[-1]) < _PIECE:
                self.tail[-1] += piece
            else:
                self.tail.append(bytearray(piece))
            self.in_tail += len(piece)
            while self.tail and self.in_tail - len(self.tail[0]) >= self.half:
                self.in_tail -= len(self.tail.popleft())

    def render_output(self) -> tuple[str, str, int]:
        """Return the text, a note, and how many bytes of the middle are missing."""
        tail = b"".join(self.tail)[-self.half :]
        gone = self.total - len(self.head) - len(tail)
        if gone <= 0:
            text, note = decode_output(bytes(self.head) + tail)
            return text, note, 0
        # Cut at line ends, so that no partial character is at the seam.
        head = bytes(self.head)
        head = head[: head.rfind(b"\n") + 1] or head
        tail = tail[tail.find(b"\n") + 1 :] or tail
        gone = self.total - len(head) - len(tail)
        (first, note), (last, other) = decode_output(head), decode_output(tail)
        return f"{first}[… {gone:,} bytes left out …]\n{last}", note or other, gone


class _CommandWatch:
    """Watches one command."""

    def __init__(
        self, longest: int, flood: int, seconds: float, stop: Stop, show: Callable[[str], None] | None
    ) -> None:
        self.kept = _OutputEnds(longest)
        self.flood = flood
        self.seconds = seconds
        self.stop = stop
        self.show = show
        self.shown = 0
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.told = b""
        self.why = ""  # it is being ended: time, stop, flood
        self.mark = f"{os.getpid()}-{time.monotonic_ns()}"  # to find its processes without a supervisor

    def run(
        self, command: list[str], folder: Path, env: dict[str, str], given: tuple[int, ...] = ()
    ) -> CommandResult:
        """Start it, read until it is over, and return the result."""
        began = time.monotonic()
        out, printing = os.pipe()
        heard, telling = os.pipe()
        try:
            try:
                variables = {**env, _MARK: self.mark}
                supervisor = self._start_process(command, folder, variables, printing, (telling, *given))
            finally:
                os.close(printing)
                os.close(telling)
            try:
                self._read(supervisor, out, heard, began)
            finally:
                self._over(supervisor)
        finally:
            os.close(out)
            os.close(heard)
        return self._result(time.monotonic() - began)

    def _start_process(
        self, command: list[str], folder: Path, env: dict[str, str], printing: int, handed: tuple[int, ...]
    ) -> subprocess.Popen[bytes]:
        starter = [sys.executable, "-I", "-S", _SUPERVISOR, str(handed[0]), *command]
        return subprocess.Popen(
            starter,
            stdin=subprocess.PIPE,
            stdout=printing,
            stderr=printing,
            cwd=folder,
            env=env,
            pass_fds=handed,
            start_new_session=True,
        )

    def _read(self, supervisor: subprocess.Popen[bytes], out: int, heard: int, began: float) -> None:
        """Read output and the supervisor's messages until both are closed."""
        os.set_blocking(out, False)
        os.set_blocking(heard, False)
        ended = None
        with selectors.DefaultSelector() as ready:
            ready.register(out, selectors.EVENT_READ, "out")
            ready.register(heard, selectors.EVENT_READ, "heard")
            while ready.get_map():
                for key, _ in ready.select(_TICK):
                    if not self._piece(key.fd, key.data):
                        ready.unregister(key.fd)
                now = time.monotonic()
                if heard not in {key.fd for key in ready.get_map().values()}:
                    ended = ended or now
                    if now - ended > _LINGER:  # an escaped process still holds the output open
                        return
                self._limits(supervisor, now - began)

    def _piece(self, source: int, name: str) -> bool:
        """Read some of the available output; False at its end."""
        try:
            piece = os.read(source, _PIECE)
        except BlockingIOError:
            return True
        if name == "heard":
            self.told += piece
        elif piece:
            self.kept.add(piece)
            self._show(piece)
        return bool(piece)

    def _show(self, piece: bytes) -> None:
        if self.show is None or self.shown > _SHOWN:
            return
        text = self.decoder.decode(piece)
        self.shown += len(text)
        if text:
            self.show(readable(text) if self.shown <= _SHOWN else "\n[…]\n")

    def _limits(self, supervisor: subprocess.Popen[bytes], passed: float) -> None:
        if self.why:
            return
        if self.stop.thrown:
            self.why = "stop"
        elif passed > self.seconds:
            self.why = "time"
        elif self.kept.total > self.flood:
            self.why = "flood"
        if self.why and supervisor.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                supervisor.stdin.close()

    def _over(self, supervisor: subprocess.Popen[bytes]) -> None:
        """Make sure that the supervisor and all processes below it are gone, whatever happened."""
        if supervisor.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                supervisor.stdin.close()
        try:
            supervisor.wait(15)
        except subprocess.TimeoutExpired:
            supervisor.kill()
            supervisor.wait()
        words = self._words()
        if "left" not in words:  # the command killed its supervisor
            _end_strays(words.get("began"), f"{_MARK}={self.mark}".encode())

    def _words(self) -> dict[str, int]:
        rows = (line.split() for line in self.told.decode("ascii", "replace").splitlines())
        return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].lstrip("-").isdigit()}

    def _result(self, seconds: float) -> CommandResult:
        text, note, gone = self.kept.render_output()
        words = self._words()
        return CommandResult(
            words.get("ended"),
            text,
            timed_out=self.why == "time",
            stopped=self.why == "stop",
            flooded=self.why == "flood",
            truncated=gone,
            bytes=self.kept.total,
            left=words.get("left", 0) if not self.why else 0,
            seconds=seconds,
            limit=self.seconds,
            note=note,
        )


def _end_strays(group: int | None, mark: bytes) -> None:
    """End the process group of a command without a supervisor, and everything else that carries its mark; wait until it is gone."""
    if group is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    end = time.monotonic() + _STRAYS
    while (left := _find_marked(mark)) and time.monotonic() < end:
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def _find_marked(mark: bytes) -> list[int]:
    """Return the living processes that carry a mark."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:  # gone, or another process's
            continue
    return found
