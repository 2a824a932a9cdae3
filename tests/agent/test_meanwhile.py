"""Somebody else touches the thread while an agent is at work in it: going back is refused, anything else is harmless."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import backscroll
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.testing.scenario import ScriptedCall
from backscroll.vocab.part import ToolCall
from tests import programs

ROOT = Path(backscroll.__file__).parents[1]
LONG = 300  # seconds; only a hanging program is waited for so long


@dataclass
class AtWork:
    """A run in another process that waits in the middle of a command, until it is let go."""

    store: Path
    thread: str
    work: Path
    server: ScriptedServer
    program: subprocess.Popen[str]

    def cli(self, *words: str) -> subprocess.CompletedProcess[str]:
        """One command of a third process."""
        command = [sys.executable, "-m", "backscroll", "--store", str(self.store), *words]
        return programs.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONG, check=False)

    def ended(self) -> str:
        """Let the command go on; how the run ended."""
        (self.work / "go").touch()
        out, errors = self.program.communicate(timeout=LONG)
        assert errors == ""
        return out.strip()


def until(what: Callable[[], bool], program: subprocess.Popen[str]) -> None:
    """Wait for a state."""
    late = time.monotonic() + LONG
    while not what():
        assert program.poll() is None, program.communicate()
        assert time.monotonic() < late
        time.sleep(0.02)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[AtWork]:
    work, store = tmp_path / "work", tmp_path / "store.db"
    work.mkdir()
    waits = "touch began; while [ ! -e go ]; do sleep 0.05; done; echo waited"
    lines = (
        Line(text="Hello.", times=1),
        Line(text="I wait.", calls=(ScriptedCall("run_command", {"command": waits}),), times=1),
        Line(text="All done.", times=1),
    )
    with ScriptedServer(Scenario(lines=lines)) as server:
        with backscroll.open(store, background=False) as engine:
            name = engine.create("work", metadata={"workspace": str(work)}).id
        command = [sys.executable, "-m", "tests.crash.asking", str(store), name, str(work), server.url]
        programs.run([*command, "hello"], cwd=ROOT, check=True, capture_output=True, timeout=LONG)
        program = programs.start(
            [*command, "wait"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            until((work / "began").exists, program)
            yield AtWork(store, name, work, server, program)
        finally:
            (work / "go").touch()
            if program.poll() is None:
                program.kill()
            program.communicate()


@pytest.mark.skipif(os.name != "posix", reason="there are no such locks here")
def test_rewind_is_refused_during_a_run(run: AtWork) -> None:
    """On the command line, as text and as JSON; a dry run is allowed; after the run it works."""
    refused = run.cli("rewind", run.thread, "2", "--yes")
    assert refused.returncode != 0
    assert "another agent is running in this thread" in refused.stderr
    assert run.cli("rewind", run.thread, "2", "--dry-run").returncode == 0
    assert run.cli("--json", "rewind", run.thread, "2", "--yes").returncode == refused.returncode
    assert run.ended() == "answered"
    done = run.cli("rewind", run.thread, "2", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    with backscroll.open(run.store, background=False) as engine:
        assert [m.text for m in engine.thread(run.thread).messages() if m.role != "system"] == [
            "hello",
            "Hello.",
        ]


def test_history_can_be_edited_during_a_run(run: AtWork) -> None:
    """The very message whose call is at work is deleted, another one edited: the next prompt is valid, and the log is sound."""
    with backscroll.open(run.store, background=False) as engine:
        thread = engine.thread(run.thread)
        carrier = next(m for m in thread.messages() if any(isinstance(p, ToolCall) for p in m.parts))
        asked = next(m for m in thread.messages() if m.text == "wait")
        thread.delete(carrier.id)
        thread.edit(asked.id, "wait a little")
        assert run.ended() == "answered"
        assert run.server.flaws == []
        spoken = [m.text for m in thread.messages() if m.role == "assistant"]
        assert spoken[-1] == "All done."
        verified = run.cli("--json", "verify", run.thread)
        assert verified.returncode == 0, verified.stdout
        thread.restore(carrier.id)
        prompt = thread.prompt(20_000, wire="openai-chat")
        assert json.dumps(prompt.messages, ensure_ascii=False).count("waited") >= 1
