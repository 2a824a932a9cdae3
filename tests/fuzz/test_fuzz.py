"""Each fuzzer on a few fixed seeds, and the program that runs them with fresh ones."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import fuzz
from tests.fuzz import __main__ as program

ROOT = Path(__file__).resolve().parents[2]
SEEDS = (1, 2, 3)
LONG = 600  # seconds; only a hanging program is waited for so long
HERE = Path(__file__).parent
#: A fuzzer with a file of tests of its own has its fixed seeds there.
RUNS = [
    (name, seed)
    for name in fuzz.fuzzers()
    if not (HERE / f"test_{name}.py").exists()
    for seed in fuzz.fixed_seeds(name, SEEDS)
]


@pytest.mark.parametrize(("name", "seed"), RUNS, ids=[f"{name}-{seed}" for name, seed in RUNS])
def test_fuzzer_finds_no_failure(name: str, seed: int, tmp_path: Path) -> None:
    """Reproduce a failure with `make fuzz ONLY=name SEED=n`."""
    fuzz.run(name, seed, tmp_path)
    assert not list(tmp_path.glob("fuzz-*"))


def test_fuzzers_are_discovered() -> None:
    """A module with `fuzz(seed, folder)` is enough."""
    assert {"histories", "differential", "secrets"} <= set(fuzz.fuzzers())


class TestProgram:
    def test_failure_names_the_command_to_reproduce_it(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A failing fuzzer ends only its own run, and the exit code is not zero."""
        seen: list[tuple[str, int]] = []

        def bad(seed: int, folder: Path) -> None:
            seen.append(("bad", seed))
            (folder / "left").write_text("behind")
            raise ValueError("no good")

        known = {"bad": bad, "good": lambda seed, _: seen.append(("good", seed))}
        monkeypatch.setattr(fuzz, "fuzzers", lambda: known)
        assert program.main(["--seed", "7"]) == 1
        assert seen == [("bad", 7), ("good", 7)]
        told = capsys.readouterr().out
        assert "ValueError: no good" in told
        assert "good: 1 runs" in told
        assert told.splitlines()[-1] == "reproduce: make fuzz ONLY=bad SEED=7"
        assert program.main(["--only", "good", "--seed", "8"]) == 0

    def test_run_ends_at_its_time_limit(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Fresh seeds until the time is up, fuzzer by fuzzer."""
        seen: list[int] = []
        monkeypatch.setattr(fuzz, "fuzzers", lambda: {"good": lambda seed, _: seen.append(seed)})
        assert program.main(["--minutes", "0.05"]) == 0
        assert len(set(seen)) == len(seen) > 0
        assert f"good: {len(seen)} runs" in capsys.readouterr().out

    def test_run_ends_at_its_number_of_requests(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Fuzzers return how many requests they checked; a failed run counts none."""
        seen: list[int] = []

        def good(seed: int, _: Path) -> int:
            seen.append(seed)
            if len(seen) == 2:
                raise ValueError("no good")
            return 7

        monkeypatch.setattr(fuzz, "fuzzers", lambda: {"good": good})
        assert program.main(["--requests", "20"]) == 1
        assert len(seen) == 4
        assert "good: 4 runs in 0 s, 21 requests, 1 failed" in capsys.readouterr().out

    def test_unknown_fuzzer_is_an_error(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert program.main(["--only", "nothing"]) == 2
        assert "no fuzzer 'nothing'" in capsys.readouterr().err

    @pytest.mark.parametrize(("name", "code"), [("secrets", 0), ("nothing", 2)])
    def test_fuzz_with_several_processes(self, name: str, code: int) -> None:
        """Over before the first run begins: fresh seeds are not for the tests."""
        command = [
            sys.executable,
            "-m",
            "tests.fuzz",
            "--processes",
            "2",
            "--minutes",
            "1e-9",
            "--only",
            name,
        ]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONG, check=False)
        assert done.returncode == code

    def test_stopped_run_leaves_nothing_behind(self, tmp_path: Path) -> None:
        """Neither processes nor temporary folders."""
        command = [sys.executable, "-m", "tests.fuzz", "--processes", "2", "--only", "secrets"]
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE) as program:
            until = time.monotonic() + LONG
            while not list(tmp_path.glob("backscroll-fuzz-*/fuzz-secrets-*/run/store.db")):
                assert program.poll() is None
                assert time.monotonic() < until, "no run ever began"
                time.sleep(0.05)
            program.terminate()
            assert program.wait(LONG) == 130
            assert program.stdout is not None
            program.stdout.read()  # ends when the last of its children has ended
        assert list(tmp_path.iterdir()) == []
