"""The source checks run next to the tests: both are reported, and the exit code is right."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.house import tree

BESIDE = tree.ROOT / "tools" / "beside.py"
PASSES = "print('the tests said this')"


def until(path: Path) -> str:
    """For the shell: wait for a file."""
    return f"while [ ! -e '{path}' ]; do sleep 0.05; done"


def endless(ready: Path) -> str:
    """Tests that make a file and then never end by themselves."""
    return (
        "import time\ntry:\n"
        f"    open({str(ready)!r}, 'w').close()\n"
        "    while True: time.sleep(1)\n"
        "except KeyboardInterrupt: print('cleaned up')"
    )


def beside(checks: str, tests: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BESIDE), checks, sys.executable, "-c", tests]
    return subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=False, timeout=300
    )


def test_output_of_the_checks_comes_last_when_both_pass() -> None:
    done = beside("echo 'the checks said this'", PASSES)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "the tests said this",
        "the checks said this",
        "tests: passed; checks: passed",
    ]


def test_failing_tests_keep_their_exit_code_and_the_checks_report() -> None:
    done = beside("echo clean", "raise SystemExit(5)")
    assert done.returncode == 5
    assert done.stdout.splitlines() == ["clean", "tests: exit code 5; checks: passed"]


def test_failing_checks_stop_the_tests_at_once(tmp_path: Path) -> None:
    """Tests that would never end are interrupted, and may clean up."""
    ready = tmp_path / "ready"
    done = beside(f"{until(ready)}; echo 'a fault'; exit 3", endless(ready))
    assert done.returncode == 3
    assert done.stdout.splitlines() == ["cleaned up", "a fault", "tests: passed; checks: exit code 3"]


def test_checks_that_fail_after_the_tests_count(tmp_path: Path) -> None:
    over = tmp_path / "over"
    done = beside(f"{until(over)}; echo 'a late fault'; exit 4", f"open({str(over)!r}, 'w').write('x')")
    assert done.returncode == 4
    assert "a late fault" in done.stdout


def test_checks_that_never_end_are_killed_and_fail(tmp_path: Path) -> None:
    """Even if they ignore SIGTERM."""
    pid = tmp_path / "pid"
    checks = f"trap '' TERM; echo $$ > '{pid}'; echo 'the checks said this'; while true; do sleep 1; done"
    tests = f"import time\nwhile not open({str(pid)!r}, 'a+').tell(): time.sleep(0.05)\n{PASSES}"
    done = beside(checks, tests, BACKSCROLL_CHECK_SECONDS="0.2")
    assert done.returncode == -signal.SIGKILL & 0xFF
    assert done.stdout.splitlines() == [
        "the tests said this",
        "the checks have not ended 0 seconds after the tests",
        "the checks said this",
        f"tests: passed; checks: ended by signal {signal.SIGKILL.value}",
    ]
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_ctrl_c_stops_tests_and_checks(tmp_path: Path) -> None:
    """The interrupt reaches both; the checks end with every process they started."""
    ready, pid = tmp_path / "ready", tmp_path / "pid"
    checks = f"echo $$ > '{pid}'; sleep 1000"
    tests = f"import time\nwhile not open({str(pid)!r}, 'a+').tell(): time.sleep(0.05)\n{endless(ready)}"
    command = [sys.executable, str(BESIDE), checks, sys.executable, "-c", tests]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        while not ready.exists():
            assert process.poll() is None
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=300)
    assert process.returncode == 130
    assert said == "cleaned up\n"
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
