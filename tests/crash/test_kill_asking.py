"""Kill a program while a model answers it: what the service was asked is on the ledger, all of it, once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.budget.costs import UNANSWERED, calls, spending
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.testing.scenario import Fault, ScriptedCall
from tests import programs

ROOT = Path(backscroll.__file__).parents[1]
LONG = 300  # seconds; only a hanging program is waited for so long


def started(*words: str) -> subprocess.Popen[str]:
    """A program that runs the agent."""
    command = [sys.executable, "-m", "tests.crash.asking", *words]
    return programs.start(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def killed_when(program: subprocess.Popen[str], sign: Path) -> None:
    """SIGKILL as soon as the service says that it is in the middle of an answer."""
    until = time.monotonic() + LONG
    while not sign.exists():
        assert program.poll() is None, program.communicate()
        assert time.monotonic() < until, "the service was never asked"
        time.sleep(0.02)
    program.kill()
    program.communicate()


@pytest.mark.crash
def test_model_calls_open_at_sigkill_are_on_the_ledger(tmp_path: Path) -> None:
    """Killed before the first word and mid-stream: both calls are on the ledger with their maximum cost."""
    work, never = tmp_path / "work", str(tmp_path / "never")
    work.mkdir()
    store, signs = tmp_path / "store.db", [tmp_path / "first", tmp_path / "second"]
    lines = (
        Line(fault=Fault(429, "slow down", retry_after=0.01), times=1),
        Line(text="never said", wait_for_file=never, touch=str(signs[0]), times=1),
        Line(calls=(ScriptedCall("list_files", {}),), times=1),
        Line(text="a long answer " * 9, wait_for_file=never, wait_after=5, touch=str(signs[1]), times=1),
        Line(text="All done.", times=1),
    )
    with (
        ScriptedServer(Scenario(lines=lines)) as server,
        backscroll.open(store, background=False) as engine,
    ):
        thread = engine.create("work", metadata={"workspace": str(work)})
        told = (str(store), thread.id, str(work), server.url)
        killed_when(started(*told, "go"), signs[0])
        # The next look finds it, without anybody having cleaned up.
        (first,) = spending(engine, thread=thread)
        assert (first.calls, first.unanswered) == (len(server.asked), 1) == (2, 1)
        killed_when(started(*told), signs[1])
        (second,) = spending(engine, thread=thread)
        assert (second.calls, second.unanswered) == (len(server.asked), 2) == (4, 2)
        last = started(*told)
        out, errors = last.communicate(timeout=LONG)
        assert (out.strip(), errors) == ("answered", "")
        (total,) = spending(engine, thread=thread)
        assert (total.calls, total.unanswered, total.estimated) == (len(server.asked), 2, 2) == (5, 2, 2)
        lost = [c for c in calls(engine, thread=thread) if c.purpose == UNANSWERED]
        assert all(c.estimated and c.input > 0 and c.output == 0 and c.nano for c in lost)
        assert total.unanswered_tokens == sum(c.input for c in lost)
        assert total.unanswered_nano == sum(c.nano or 0 for c in lost)
        assert total.nano > total.unanswered_nano > 0
    shown = _cost(store, thread.id)
    assert shown["total"]["unanswered"] == 2
    assert shown["total"]["unanswered_usd"] == total.unanswered_nano / 1e9


def _cost(store: Path, thread: str) -> dict[str, dict[str, float]]:
    command = [sys.executable, "-m", "backscroll", "--store", str(store), "--json", "cost", thread]
    done = programs.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONG, check=True)
    return json.loads(done.stdout)
