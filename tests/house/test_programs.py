"""A forked program is a process of its own: its files, environment, terminal, signals and exit code are those it was given."""

from __future__ import annotations

import json
import os
import pty
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests import programs
from tests.house import tree

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs are forked on Linux only")

LANGUAGE = {"LANG": "C.UTF-8"}
SELF = "import json, os, sys; print(json.dumps([os.getpid(), os.getppid(), os.getcwd(), sys.argv, dict(os.environ)]))"


@pytest.fixture
def environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **LANGUAGE}


@pytest.fixture(autouse=True)
def _without_coverage(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("COVERAGE_", "COV_")):
            monkeypatch.delenv(name)
    monkeypatch.setattr(programs, "_FROM_SCRATCH", 0)


def forked(code: str, *arguments: str, environment: dict[str, str], **options: Any) -> programs.Forked:
    process = programs.start([sys.executable, "-c", code, *arguments], env=environment, **options)
    assert isinstance(process, programs.Forked)
    return process


def test_program_gets_arguments_folder_and_environment(tmp_path: Path, environment: dict[str, str]) -> None:
    """The fork server is its parent."""
    environment["GIVEN"] = "ünï"
    with forked(SELF, "a b", environment=environment, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        pid, parent, folder, argv, seen = json.loads(process.stdout.read())  # pyright: ignore[reportOptionalMemberAccess]
    assert (pid, folder, argv) == (process.pid, str(tmp_path), ["-c", "a b"])
    assert seen == environment
    assert parent in {link.pid for link in programs._links.values()}
    assert process.returncode == 0


def test_module_runs_as_main(tmp_path: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "backscroll", "--version"]
    scratch = subprocess.run(
        command, env=environment | {"PYTHONPATH": str(tree.ROOT)}, capture_output=True, check=True
    )
    done = programs.run(command, env=environment, cwd=tmp_path, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, scratch.stdout, scratch.stderr)


@pytest.mark.parametrize(
    ("code", "ended", "said"),
    [
        ("", 0, ""),
        ("import sys; sys.exit(7)", 7, ""),
        ("import sys; sys.exit('no store')", 1, "no store\n"),
        ("import os; os._exit(9)", 9, ""),
        ("import os; os.kill(os.getpid(), 15)", -signal.SIGTERM, ""),
        ("import atexit, os; atexit.register(os.write, 2, b'last')", 0, "last"),
        (
            """import threading, time, sys
threading.Thread(target=lambda: (time.sleep(0.1), print('late', file=sys.stderr))).start()""",
            0,
            "late\n",
        ),
    ],
)
def test_exit_codes_and_messages_are_passed_on(
    code: str, ended: int, said: str, environment: dict[str, str]
) -> None:
    done = programs.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr, done.stdout) == (ended, said, "")


@pytest.mark.parametrize("code", ["1 / 0", "raise KeyboardInterrupt", "import nowhere"])
def test_error_ends_a_program_as_from_scratch(code: str, environment: dict[str, str]) -> None:
    """With the same message and the same exit code."""
    command = [sys.executable, "-c", code]
    done = programs.run(command, env=environment, capture_output=True, text=True)
    scratch = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (scratch.returncode, scratch.stderr)


def test_signals_reach_the_program(environment: dict[str, str]) -> None:
    waiting = "import sys, time; print('here', flush=True); time.sleep(600)"
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        with forked(
            waiting, environment=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "here\n"
            assert process.poll() is None
            process.send_signal(number)
            assert process.wait(60) == -number


def test_slow_program_is_killed_at_its_timeout(environment: dict[str, str]) -> None:
    code = [sys.executable, "-c", "import time; time.sleep(600)"]
    with pytest.raises(subprocess.TimeoutExpired):
        programs.run(code, env=environment, timeout=0.2)


def test_program_gets_the_given_standard_files(environment: dict[str, str]) -> None:
    """In their encoding; no other file stays open."""
    code = (
        "import os, sys\n"
        "print(sys.stdin.read(), sys.stdin.encoding, sys.stdout.line_buffering, sorted(os.listdir('/proc/self/fd'))[:4])\n"
        "sys.stderr.write('err')"
    )
    done = programs.run(
        [sys.executable, "-c", code], env=environment, input="grüße", capture_output=True, encoding="utf-8"
    )
    assert (done.stdout, done.stderr) == (
        "grüße utf-8 False ['0', '1', '2', '3']\n",
        "err",
    )  # 3 is the listing


def test_program_inherits_the_umask(tmp_path: Path, environment: dict[str, str]) -> None:
    before = os.umask(0o027)
    try:
        programs.run(
            [sys.executable, "-c", "open('made', 'w').close()"], env=environment, cwd=tmp_path, check=True
        )
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o640


def test_terminal_signals_reach_the_program(environment: dict[str, str]) -> None:
    """Ctrl-C typed there reaches it as a signal."""
    ours, theirs = pty.openpty()
    code = "import os, sys, time; print(os.getsid(0) == os.getpid() == os.tcgetpgrp(0), sys.stdout.isatty(), flush=True); time.sleep(600)"
    files = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    process = programs.start(
        [sys.executable, "-c", code], env=environment, terminal=True, start_new_session=True, **files
    )
    os.close(theirs)
    try:
        assert isinstance(process, programs.Forked)
        assert os.read(ours, 100) == b"True True\r\n"
        os.write(ours, b"\x03")
        assert process.wait(60) == -signal.SIGINT
    finally:
        os.close(ours)


def test_each_program_has_its_own_random_seed(environment: dict[str, str]) -> None:
    command = [sys.executable, "-c", "import random, uuid; print(random.random(), uuid.uuid4())"]
    said = {programs.run(command, env=environment, capture_output=True).stdout for _ in range(3)}
    assert len(said) == 3


def test_server_has_one_thread_and_reads_no_settings(environment: dict[str, str]) -> None:
    """No import reads a variable that tests set, so a program sees its own value."""
    forked("", environment=environment).wait()
    for link in programs._links.values():
        assert len(list(Path(f"/proc/{link.pid}/task").iterdir())) == 1
        read = set(link.greeting["imported_with"])
        assert not read & {"HOME", "TERM", "COLUMNS", "NO_COLOR", "LANG", "PATH", "TZ", "XDG_DATA_HOME"}
        assert not [name for name in read if name.startswith("BACKSCROLL_")]


@pytest.mark.parametrize(
    "more",
    [{"PYTHONPATH": "/elsewhere"}, {"COVERAGE_PROCESS_START": "x"}, {"WCWIDTH_PYTHON": "1"}],
    ids=lambda more: next(iter(more)),
)
def test_programs_that_cannot_be_forked_start_from_scratch(
    more: dict[str, str], environment: dict[str, str]
) -> None:
    """Other packages, coverage, another value of a variable that an import reads."""
    process = programs.start([sys.executable, "-c", ""], env=environment | more)
    assert type(process) is subprocess.Popen
    assert process.wait() == 0


def test_killed_server_fails_one_program_and_is_replaced(environment: dict[str, str]) -> None:
    """The program it forked is reported as ended, once; the next one gets a new server."""
    process = forked("import time; time.sleep(600)", environment=environment)
    os.kill(process._link.pid, signal.SIGKILL)
    process._link._process.wait(60)
    with pytest.raises(programs.ForkServerEnded):
        process.wait(60)
    assert process.returncode == -signal.SIGKILL
    process.kill()
    assert forked("", environment=environment).wait(60) == 0


KILLED = """
import os, sys
from tests import programs
programs._FROM_SCRATCH = 0
process = programs.start([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(process.pid, *(link.pid for link in programs._links.values()), flush=True)
os.kill(os.getpid(), 9)
"""


def test_killed_test_process_leaves_nothing_behind(environment: dict[str, str]) -> None:
    """The server notices and ends with the programs it forked."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED], cwd=tree.ROOT, env=environment, stdout=subprocess.PIPE, check=False
    )
    assert done.returncode == -signal.SIGKILL
    left = [int(pid) for pid in done.stdout.split()]
    assert len(left) == 2
    end = time.monotonic() + 60
    while any(_runs(pid) for pid in left):
        assert time.monotonic() < end, f"still there: {left}"
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False
