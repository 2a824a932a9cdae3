"""Run the source checks in parallel with the tests.

    python tools/beside.py 'CHECKS' TESTS...

CHECKS is a command line for the shell, TESTS a command with its arguments. The tests own the screen; the output of the checks
is shown after them, and the last line is the verdict on both. If the checks fail, the tests are stopped at once. Checks that
run long after the tests have finished are stopped and count as failed. Exit code: that of the checks if they failed, else
that of the tests.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence

LOOK_SECONDS = 0.2
#: Seconds that the checks may continue after the tests. They take two minutes: more than this is a hang.
CHECK_SECONDS = float(os.environ.get("BACKSCROLL_CHECK_SECONDS", "1800"))
#: Seconds that the checks have to end after a request.
END_SECONDS = 10.0


def run(checks: str, tests: Sequence[str]) -> int:
    """Run both; return the common exit code."""
    with tempfile.TemporaryFile() as said:
        # A session of its own: Ctrl-C is for the tests, and the checks can be ended with everything they started.
        checking = subprocess.Popen(
            ["/bin/sh", "-c", checks],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
        try:
            tested = _test(tests, checking)
            if tested is None:
                return 130
            # If tests fail, the checks still finish, so that both lists of errors are shown.
            checked = _finish(checking)
        finally:
            _end(checking)
        said.seek(0)
        sys.stdout.buffer.write(said.read())
        sys.stdout.flush()
    print(f"tests: {_verdict(tested)}; checks: {_verdict(checked)}", flush=True)
    return checked or tested


def _verdict(code: int) -> str:
    if code < 0:
        return f"ended by signal {-code}"
    return f"exit code {code}" if code else "passed"


def _test(tests: Sequence[str], checking: subprocess.Popen[bytes]) -> int | None:
    """Run the tests to their end, or to the moment when the checks fail; None where a person stopped them."""
    asked = by_person = False
    with subprocess.Popen(tests) as testing:
        while True:
            try:
                ended = testing.wait(LOOK_SECONDS)
                return None if by_person else ended
            except subprocess.TimeoutExpired:
                if checking.poll() and not asked:
                    asked = True
                    testing.send_signal(signal.SIGINT)
            except KeyboardInterrupt:
                # The tests have it from the terminal too, and clean up before they end.
                asked = by_person = True


def _finish(checking: subprocess.Popen[bytes]) -> int:
    try:
        return checking.wait(CHECK_SECONDS)
    except subprocess.TimeoutExpired:
        print(f"the checks have not ended {CHECK_SECONDS:.0f} seconds after the tests", flush=True)
        _end(checking)
        return checking.returncode or 1


def _end(checking: subprocess.Popen[bytes]) -> None:
    """Terminate the checks and all their children, then kill them."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        if checking.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(checking.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            checking.wait(END_SECONDS)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
