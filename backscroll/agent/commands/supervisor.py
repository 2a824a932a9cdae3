"""The supervisor of one command: a small program that runs it and leaves no process behind.

Started by `agent/commands/commands` as a script, with the standard library alone. It makes the command the leader of a session of its own and,
on Linux, becomes the parent of every orphan below it, so that nothing escapes by a session of its own, a double fork or `nohup`.
It ends everything when the command ends, when it is told to (a byte, or the end of its standard input), and so also when the
program that started it dies. Refuses: reading output (it goes straight to the caller), time limits (`agent/commands/commands`).

Its arguments are the number of a descriptor and the command. On the descriptor it writes, line by line: `began PID`, `ended CODE`
(negative: a signal), `left N` (processes that were still running and were ended).
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
_GENTLE = 1.5  # seconds between asking a process to end and ending it
_PATIENCE = 10.0  # seconds after which a process that cannot be ended (it waits for a disk) is abandoned


def main() -> int:
    """Run the command given in the arguments of this program."""
    voice, command = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(voice, False)
    _adopt_orphans()
    wake, waker = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    # A signal to our group must not end us before the command: the end of our input says when to stop.
    for each in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, _awake)
    child = _spawn_command(command)
    _say(voice, f"began {child}")
    for stream in (1, 2):  # the output belongs to the command alone: its reader must see the end
        os.dup2(0, stream)
    code = _wait_for_end(child, wake)
    by_us = code is None
    if code is None:
        code = _ended_by_us(child)
    _say(voice, f"ended {code}")
    _say(voice, f"left {_end_all(child, gentle=not by_us)}")
    return 0


def _awake(number: int, frame: object) -> None:
    """Wake up on a signal; do nothing else."""


def _say(voice: int, line: str) -> None:
    with contextlib.suppress(OSError):  # no reader any more: everything must end anyway
        os.write(voice, f"{line}\n".encode())


def _adopt_orphans() -> None:
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def _spawn_command(command: list[str]) -> int:
    """Start the command in its own session; its standard input is empty."""
    empty = os.open(os.devnull, os.O_RDONLY)
    child = os.fork()
    if child:
        os.close(empty)
        return child
    try:
        os.setsid()
        os.dup2(empty, 0)
        for each in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(each, signal.SIG_DFL)
        os.execvpe(command[0], command, os.environ)  # noqa: S606 - the shell is the command
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    os._exit(127)


def _reap_children(child: int) -> int | None:
    """Reap all ended children; return the exit code of the command if it is among them."""
    code: int | None = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if pid == 0:
            return code
        if pid == child:
            code = os.waitstatus_to_exitcode(status)


def _wait_for_end(child: int, wake: int) -> int | None:
    """Wait until the command has ended (return its code) or must be ended (None)."""
    while True:
        code = _reap_children(child)
        if code is not None:
            return code
        ready, _, _ = select.select([0, wake], [], [])
        if wake in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(wake, 4096)
        if 0 in ready:
            with contextlib.suppress(OSError):
                os.read(0, 64)
            return _reap_children(child)


def _ended_by_us(child: int) -> int:
    """Ask the command and everything below it to end, then kill it; return its code."""
    code = None
    end = time.monotonic() + _GENTLE
    _signal_all(signal.SIGTERM, child)
    while code is None and time.monotonic() < end:
        time.sleep(0.02)
        code = _reap_children(child)
    end = time.monotonic() + _PATIENCE
    while code is None and time.monotonic() < end:
        _signal_all(signal.SIGKILL, child)
        time.sleep(0.02)
        code = _reap_children(child)
    return -signal.SIGKILL if code is None else code


def _end_all(child: int, *, gentle: bool) -> int:
    """End all remaining processes below us; return how many there were, if that can be determined."""
    if not os.access("/proc/self/stat", os.R_OK):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
    seen: set[int] = set()
    began = time.monotonic()
    while True:
        _reap_children(0)
        below = _below()
        if not below or time.monotonic() - began > _PATIENCE:
            return len(seen)
        first = not seen
        seen |= below
        late = not gentle or time.monotonic() - began > _GENTLE
        if late:
            for (
                pid
            ) in below:  # stopped first, so that none can start another while the others are being ended
                _kill(pid, signal.SIGSTOP)
            for pid in below | _below():
                _kill(pid, signal.SIGKILL)
        elif first:
            for pid in below:
                _kill(pid, signal.SIGTERM)
        time.sleep(0.005 if late else 0.02)


def _signal_all(number: int, child: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, number)
    for pid in _below():
        _kill(pid, number)


def _kill(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _below() -> set[int]:
    """Return every living process below us, whatever session or group it is in."""
    parents: dict[int, int] = {}
    try:
        names = os.listdir("/proc")  # noqa: PTH208 - nothing more than needed is loaded here
    except OSError:
        return set()  # no such file system here: the group was signalled, and that is all we can do
    for name in names:
        if name.isdigit() and (parent := _parent(name)):
            parents[int(name)] = parent
    me, out = os.getpid(), set[int]()
    for pid in parents:
        chain: list[int] = []
        at = pid
        while at in parents and at not in out and at != me and len(chain) < 10_000:
            chain.append(at)
            at = parents[at]
        if at == me or at in out:
            out.update(chain)
    return out


def _parent(name: str) -> int:
    """Return the parent of a process; 0 if it is gone or only waits to be reaped."""
    try:
        with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - nothing more than needed is loaded here
            state, parent = file.read().rsplit(b")", 1)[1].split()[:2]
    except (OSError, IndexError, ValueError):
        return 0
    return 0 if state in (b"Z", b"X") else int(parent)


if __name__ == "__main__":
    sys.exit(main())
