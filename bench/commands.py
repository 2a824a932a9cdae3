"""The time until a command answers: `--help`, `mcp` until its tools are listed, `chat` until its prompt stands.

Starts the real entry points as processes, on a store that exists and on a new one, with byte code compiled. The figure is the
processor time that the process itself has used at that moment (Linux tells it while the process runs), median of `--runs`.
"""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import statistics
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

import backscroll
from bench.table import Row

_HELP = 0.06
_READY = 0.4
_PATIENCE = 60.0
_PROMPT = "› ".encode()
_OPENING = (
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)


def commands(folder: Path, options: Namespace) -> list[Row]:
    """Processor time until each command answers."""
    existing = folder / "commands.db"
    with backscroll.open(existing, background=False) as store:
        thread = store.create("Existing")
        for number in range(20):
            thread.append("user", f"Question {number} about the harbour.")
            thread.append("assistant", f"Answer {number}.")
    rows = [_row("`backscroll --help`", _HELP, options.runs, lambda: _help(folder))]
    for what, bar, measure in (
        ("`backscroll mcp` until its tools are listed", _READY, _mcp),
        ("`backscroll chat` until its prompt stands", _READY, _chat),
    ):
        for state in ("existing", "new"):

            def once(measure: Callable[[Path, Path], float] = measure, state: str = state) -> float:
                home = folder / "home"
                shutil.rmtree(home, ignore_errors=True)
                home.mkdir()
                place = home / "store.db"
                if state == "existing":
                    shutil.copy(existing, place)
                return measure(home, place)

            rows.append(_row(f"{what}, {state} store", bar, options.runs, once))
    return rows


def _row(what: str, bar: float, runs: int, measure: Callable[[], float]) -> Row:
    measure()  # compiles, and fills the page cache
    found = statistics.median(measure() for _ in range(runs))
    return Row(
        f"{what}: processor time",
        f"{found * 1e3:.0f} ms",
        bar=f"under {bar * 1e3:.0f} ms",
        ok=found <= bar,
    )


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "backscroll", *words]


def _environment(home: Path) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("BACKSCROLL_")}
    return {**own, "HOME": str(home), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}


def _spent(process: int) -> float:
    """User and system time of a running process, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _help(folder: Path) -> float:
    with subprocess.Popen(_command("--help"), env=_environment(folder), stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"--help ended with exit code {process.returncode}")
    return used.ru_utime + used.ru_stime


def _mcp(home: Path, store: Path) -> float:
    with subprocess.Popen(
        _command("--store", str(store), "mcp"),
        env=_environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in _OPENING:
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            if "id" in message:
                answer = json.loads(process.stdout.readline())
                if answer.get("id") != message["id"] or "result" not in answer:
                    raise RuntimeError(f"not an answer to {message['method']}: {answer}")
        spent = _spent(process.pid)
        process.stdin.close()
        process.wait(_PATIENCE)
    return spent


def _chat(home: Path, store: Path) -> float:
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(home)
        os.execve(sys.executable, _command("--store", str(store), "chat"), _environment(home))  # noqa: S606  # our own command, in a terminal of its own
    try:
        _wait_for(terminal, (_PROMPT,))
        return _spent(process)
    finally:
        os.kill(process, 9)
        os.waitpid(process, 0)
        os.close(terminal)


def _wait_for(terminal: int, wanted: Sequence[bytes]) -> None:
    shown = b""
    while not any(mark in shown for mark in wanted):
        if not select.select([terminal], [], [], _PATIENCE)[0]:
            raise RuntimeError(f"the chat shows no prompt: {shown.decode(errors='replace')}")
        shown += os.read(terminal, 65_536)
        if b"\x1b[6n" in shown:  # prompt_toolkit asks where the cursor is
            os.write(terminal, b"\x1b[1;1R")
            shown = shown.replace(b"\x1b[6n", b"")
