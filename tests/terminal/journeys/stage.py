"""One journey's stage: a folder, a store, a scripted model in another process, terminals, and the command line.

Owns what all journeys share: starting the real program, reading what the model was asked (from the log that its process writes),
and the checks that hold at every end: no prompt that a real service would refuse, a record without faults, and no process left.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import backscroll
from backscroll.engine.core.history import Message
from tests import programs
from tests.house import tree
from tests.terminal.scripted import Scripted, scripted
from tests.terminal.terminal import Terminal

READY = "F2 "  # the task bar stands below the input, and only there
BUSY = "Ctrl-C to stop"
PATIENCE = 120.0


class Stage:
    """Everything one journey needs."""

    def __init__(self, folder: Path) -> None:
        self.outside = folder
        self.folder = folder / "project"
        self.folder.mkdir()
        self.home = folder / "home"
        self.home.mkdir()
        self.store = folder / "store.db"
        self.config = folder / "config.toml"
        self.server: Scripted | None = None
        self.faults = 0  # requests that were meant to be refused as flawed
        self._stack = ExitStack()
        self._terminals: list[Terminal] = []

    # -- the model -------------------------------------------------------------------------------------------

    def plays(
        self, *lines: Mapping[str, Any], settings: str = "", kind: str = "openai", **server: Any
    ) -> None:
        """A model in a process of its own that says these lines, one after the other."""
        place = self.outside / f"model{len(list(self.outside.glob('model*')))}"
        place.mkdir()
        self.server = self._stack.enter_context(scripted(place, lines, **{"once": True, **server}))
        self.config.write_text(
            f'{settings}\n[providers.scripted]\nkind = "{kind}"\nbase_url = "{self.server.url}"\n'
            'model = "gpt-4o-mini"\nsummaries = false\n',
            encoding="utf-8",
        )

    def asked(self) -> list[Any]:
        """The requests that the model got, in order, with what it answered and reported."""
        assert self.server is not None
        return [line for line in self.server.seen() if line["event"] == "asked"]

    def ended(self) -> list[Any]:
        """How the answers ended, in order."""
        assert self.server is not None
        return [line for line in self.server.seen() if line["event"] == "ended"]

    def words(self, number: int = -1) -> str:
        """All words of one request, tools aside."""
        return json.dumps(self.asked()[number]["body"]["messages"], ensure_ascii=False)

    def usage(self) -> dict[str, int]:
        """What the service reported in all: tokens by kind."""
        told = [line["usage"] for line in self.asked() if "usage" in line]
        return {kind: sum(each[kind] for each in told) for kind in ("input", "cached", "output")}

    # -- the program -----------------------------------------------------------------------------------------

    def chat(self, *arguments: str, columns: int = 80, lines: int = 40, **environment: str) -> Terminal:
        """`backscroll chat …` in a terminal of its own."""
        terminal = Terminal(
            (sys.executable, "-m", "backscroll", "chat", *arguments),
            cwd=self.folder,
            env=self._environment(**environment),
            columns=columns,
            lines=lines,
        )
        self._terminals.append(terminal)
        return self._stack.enter_context(terminal)

    def ready(self, *arguments: str, columns: int = 80, lines: int = 40, **environment: str) -> Terminal:
        """The chat, once it waits for words."""
        terminal = self.chat(*arguments, columns=columns, lines=lines, **environment)
        terminal.wait_for(READY, patience=PATIENCE)
        return terminal

    def cli(self, *arguments: str, code: int = 0) -> str:
        """Another command in the same folder; gives what it printed."""
        done = programs.run(
            [sys.executable, "-m", "backscroll", *arguments],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **self._environment()},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == code, done.stderr + done.stdout
        assert "Traceback" not in done.stderr
        return done.stdout

    def json(self, *arguments: str) -> Any:
        """The document that a command prints for programs."""
        return json.loads(self.cli(*arguments, "--json"))

    def lines(self, *arguments: str) -> list[Any]:
        """The documents that a listing prints, one a line."""
        return [json.loads(line) for line in self.cli(*arguments, "--jsonl").splitlines()]

    def _environment(self, **more: str) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PYTHONPATH": str(tree.ROOT),
            "BACKSCROLL_STORE": str(self.store),
            "BACKSCROLL_CONFIG": str(self.config),
            "BACKSCROLL_ENCODER": "none",
            "BACKSCROLL_UNDERSTANDING": "asked",
            "XTERM_VERSION": "XTerm(390)",  # the screen model cuts lines off where it is made narrower, as xterm does
            **{k: v for k, v in os.environ.items() if k.startswith(("COVERAGE_", "COV_"))},
            **more,
        }

    # -- the record ------------------------------------------------------------------------------------------

    def record(self, thread: str = "") -> list[Message]:
        """The live messages of a conversation; of the newest one where none is named."""
        with backscroll.open(str(self.store), background=False) as store:
            found = store.thread(thread or next(iter(store.threads())).id)
            return list(found)

    # -- the end ---------------------------------------------------------------------------------------------

    def close(self) -> None:
        """End everything."""
        self._stack.close()

    def check(self) -> None:
        """What holds after every journey."""
        if self.server is not None:
            flaws = [line["flaw"] for line in self.asked() if line["flaw"]]
            assert len(flaws) == self.faults, flaws
        for terminal in self._terminals:
            wait_until(lambda at=terminal: not _alive(at.process.pid))
        if self.store.exists():
            with backscroll.open(str(self.store), background=False) as store:
                assert list(store.verify().flaws) == []


def _alive(session: int) -> bool:
    """True while a process of this session runs."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, owner = stat.read_text(errors="replace").rpartition(") ")[2].split()[:4]
            if int(owner) == session and state not in "ZX":
                return True
    return False


def wait_until(there: Callable[[], bool], patience: float = PATIENCE) -> None:
    """Wait for something that no screen shows."""
    end = time.monotonic() + patience
    while not there():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """A call as scenarios write it."""
    return {"name": name, "arguments": arguments}


def command(line: str) -> dict[str, Any]:
    """A call of `run_command`."""
    return call("run_command", command=line)
