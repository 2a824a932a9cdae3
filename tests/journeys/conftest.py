"""The real command line in a process of its own, as a user meets it."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import backscroll
from tests import programs
from tests.house import tree

SAMPLES = tree.PACKAGE / "samples"


@dataclass(frozen=True)
class Done:
    """What a run of the command line left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on standard output."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """The documents of a long listing, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> dict[str, str]:
        """The error on standard error, as JSON."""
        return json.loads(self.err.splitlines()[-1])["error"]


class Cli:
    """Runs `backscroll` with a store of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = folder / "store.db"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(tree.ROOT),
            "BACKSCROLL_STORE": str(self.store),
            # Coverage of subprocesses, where it is measured.
            **{k: v for k, v in os.environ.items() if k.startswith(("COVERAGE_", "COV_"))},
        }

    def command(self, *arguments: str | Path) -> list[str]:
        """The words to start a process with."""
        return [sys.executable, "-m", "backscroll", *map(str, arguments)]

    def __call__(self, *arguments: str | Path, text: str | bytes = "", **environment: str) -> Done:
        """Run one command line to its end."""
        done = programs.run(
            self.command(*arguments),
            input=text.encode() if isinstance(text, str) else text,
            capture_output=True,
            env=self.environment | environment,
            cwd=self.folder,
            check=False,
            timeout=120,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def ok(self, *arguments: str | Path, text: str = "", **environment: str) -> Done:
        """Run one that must succeed."""
        done = self(*arguments, text=text, **environment)
        assert done.code == 0, done.err
        assert "Traceback" not in done.err
        return done

    def conversation(self, *words: str) -> str:
        """A thread in which user and assistant say these words in turn; gives its id.

        Made by the library, which is quicker than a process for every message.
        """
        with backscroll.open(self.environment["BACKSCROLL_STORE"]) as store:
            thread = store.create("Talk")
            for number, said in enumerate(words):
                thread.append("assistant" if number % 2 else "user", said)
        return thread.id


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line on a store that does not exist yet."""
    return Cli(tmp_path)


@pytest.fixture
def stocked(cli: Cli) -> Cli:
    """The command line on a store with both samples in it."""
    cli.ok("import", SAMPLES / "coding-agent.jsonl", SAMPLES / "roleplay-zh.jsonl")
    return cli
