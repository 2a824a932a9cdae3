"""Hanging tests, processes and runs end with the stacks of all threads, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests import time_limit
from tests.house import tree

INI = "[pytest]\naddopts = -p no:langsmith_plugin -p no:cacheprovider --import-mode=importlib\n"
#: As tests/conftest.py does it, with short limits.
CONFTEST = """
import pytest
from tests import time_limit

def pytest_configure(config):
    time_limit.keep_stderr()
    if getattr(config.option, "tx", None) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(time_limit.Silence({silence}))

def pytest_unconfigure(config):
    time_limit.limit_end({end})
    if hasattr(config, "workerinput") or not getattr(config.option, "tx", None):
        time_limit.warn_of(time_limit.kill_children())

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    with time_limit.limit_test(item.nodeid, {test}, 1.0):
        return (yield)
"""


def run_tests(
    folder: Path,
    code: str,
    *options: str,
    test: float = 600.0,
    end: float = 600.0,
    silence: float = 600.0,
) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(CONFTEST.format(test=test, end=end, silence=silence))
    (folder / "pytest.ini").write_text(INI)
    (folder / "test_it.py").write_text(textwrap.dedent(code))
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV"))
    }
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(folder)],
        env=environment | {"PYTHONPATH": str(tree.ROOT)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.parametrize(
    ("waits", "options"),
    [("lock.acquire()", ()), ("os.read(os.pipe()[0], 1)", ()), ("os.waitpid(sleeper(), 0)", ("-n", "1"))],
    ids=["lock", "pipe", "process"],
)
def test_waiting_test_fails_at_its_time_limit(tmp_path: Path, waits: str, options: tuple[str, ...]) -> None:
    """And the tests after it run."""
    code = f"""
        import os, subprocess, sys, threading

        lock = threading.Lock()
        lock.acquire()

        def sleeper():
            return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid

        def test_hangs():
            {waits}

        def test_after():
            pass
        """
    done = run_tests(tmp_path, code, *options, test=1.0)
    assert done.returncode == 1, done.stdout
    assert "1 failed, 1 passed" in done.stdout
    assert "not ended after 1 seconds" in done.stdout
    assert "in test_hangs" in done.stderr
    assert ("left running by a test, killed" in done.stderr) == ("sleeper" in waits)


def test_uninterruptible_test_ends_its_process(tmp_path: Path) -> None:
    """It is reported as the failure; the others run in a new process."""
    code = """
        import signal, time

        def test_hangs():
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
            time.sleep(600)

        def test_after():
            pass
        """
    done = run_tests(tmp_path, code, "-n", "1", test=0.5)
    assert done.returncode == 1, done.stdout
    assert "crashed while running 'test_it.py::test_hangs'" in done.stdout
    assert "1 failed, 1 passed" in done.stdout
    assert "in test_hangs" in done.stderr


def test_process_that_outlives_its_tests_is_killed(tmp_path: Path) -> None:
    """Python would otherwise wait for a thread that a test left running."""
    code = """
        import threading

        def test_leaves_a_thread():
            threading.Thread(target=threading.Event().wait).start()
        """
    done = run_tests(tmp_path, code, end=1.0)
    assert "1 passed" in done.stdout
    assert done.returncode == 1
    assert "Timeout" in done.stderr
    assert "in _shutdown" in done.stderr


def test_silent_run_is_ended(tmp_path: Path) -> None:
    """Whatever the reason: here no limit applies to the test itself."""
    code = """
        import time

        def test_is_silent():
            time.sleep(600)
        """
    done = run_tests(tmp_path, code, "-n", "1", silence=5.0)
    assert done.returncode == 1, done.stdout
    assert "no test process has reported anything for 5 seconds" in done.stdout


def test_test_within_its_limit_is_left_alone() -> None:
    """The previous signal handler is restored."""
    before = signal.getsignal(signal.SIGALRM)
    with time_limit.limit_test("quick", 30.0):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
        assert signal.getsignal(signal.SIGALRM) is not before
    assert signal.getsignal(signal.SIGALRM) is before
