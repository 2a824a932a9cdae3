"""Commands are bounded, and nothing of them is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from backscroll.agent.commands import commands
from backscroll.agent.commands.commands import clean_environment, run
from backscroll.agent.stop_switch import Stop
from backscroll.errors import InvalidInput, NotFound

linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see what is left")


def alive(name: Path) -> bool:
    """True where the process that wrote its number into a file still runs."""
    try:
        pid = int(name.read_text())
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return False
    return state not in ("Z", "X")


def test_stdout_and_stderr_keep_their_order_with_the_exit_code(tmp_path: Path) -> None:
    done = run("echo one; echo two >&2; echo three; exit 3", tmp_path)
    assert done.output == "one\ntwo\nthree\n"
    assert done.code == 3
    assert not done.ok
    assert done.told == "exit code 3\none\ntwo\nthree"


def test_exit_code_zero_follows_the_output(tmp_path: Path) -> None:
    assert run("echo 你好", tmp_path).told == "你好\nexit code 0"
    assert run("true", tmp_path).told == "exit code 0"


def test_command_runs_in_the_given_folder(tmp_path: Path) -> None:
    assert run("pwd -P", tmp_path).output.strip() == str(tmp_path.resolve())
    with pytest.raises(NotFound):
        run("true", tmp_path / "nowhere")


def test_command_has_no_input(tmp_path: Path) -> None:
    assert run('cat; read x; echo "<$x>"', tmp_path, seconds=10).output == "<>\n"


def test_signals_are_explained(tmp_path: Path) -> None:
    done = run("kill -SEGV $$", tmp_path)
    assert done.code == -signal.SIGSEGV
    assert "signal 11 (SIGSEGV, it crashed)" in done.told


def test_output_is_shown_as_it_arrives(tmp_path: Path) -> None:
    seen: list[str] = []
    gate = tmp_path / "gate"

    def show(text: str) -> None:
        seen.append(text)
        gate.touch()  # only what is seen while it runs opens the gate

    done = run(
        "printf '\\033[1mfirst\\n'; while [ ! -e gate ]; do sleep 0.02; done; echo second",
        tmp_path,
        seconds=20,
        show=show,
    )
    assert done.ok
    assert "".join(seen) == "first\nsecond\n"


def test_command_times_out(tmp_path: Path) -> None:
    done = run("echo begun; sleep 60", tmp_path, seconds=0.3)
    assert done.timed_out
    assert not done.ok
    assert done.output == "begun\n"
    assert "longer than 0.3 seconds" in done.told


def test_command_that_ignores_signals_is_killed(tmp_path: Path) -> None:
    done = run("trap '' TERM INT HUP; while true; do sleep 0.05; done", tmp_path, seconds=0.3)
    assert done.timed_out
    assert done.code == -signal.SIGKILL


def test_person_can_stop_a_command(tmp_path: Path) -> None:
    stop = Stop()
    threading.Timer(0.3, stop.throw).start()
    done = run("echo begun; sleep 60", tmp_path, stop=stop)
    assert done.stopped
    assert done.output == "begun\n"


def test_endless_output_ends_the_command_and_keeps_head_and_tail(tmp_path: Path) -> None:
    done = run("echo first; yes", tmp_path, seconds=60, longest=10_000, flood=3_000_000)
    assert done.flooded
    assert done.output.startswith("first\ny\n")
    assert len(done.output) < 11_000
    assert done.truncated > 2_000_000
    assert "bytes left out" in done.output


def test_long_output_is_kept_up_to_the_limit(tmp_path: Path) -> None:
    done = run("seq 1 20000", tmp_path, longest=10_000)
    assert done.ok
    assert done.output.startswith("1\n2\n")
    assert done.output.endswith("20000\n")
    kept = [line for line in done.output.split("\n") if line.isdigit()]
    assert all(1 <= int(line) <= 20000 for line in kept)  # no line is cut in two


def test_binary_and_invalid_output_is_made_readable(tmp_path: Path) -> None:
    assert "binary output, 4,096 bytes" in run("head -c 4096 /dev/zero", tmp_path).told
    assert run("printf 'one\\0two\\0'", tmp_path).output == "one\ntwo\n"
    broken = run("printf 'caf\\351 and more text\\n'", tmp_path)
    assert broken.output == "caf\ufffd and more text\n"
    assert "no UTF-8" in broken.told
    assert "binary output" in run("head -c 4096 /dev/urandom", tmp_path).told


@linux
@pytest.mark.parametrize(
    "escape",
    [
        "sleep 300 & echo $! > pid",
        "setsid sh -c 'echo $$ > pid; exec sleep 300' & sleep 0.3",
        "(setsid sh -c 'echo $$ > pid; exec sleep 300' >/dev/null 2>&1 &); sleep 0.3",
        "nohup sh -c 'echo $$ > pid; exec sleep 300' >/dev/null 2>&1 & sleep 0.3",
        "env -i setsid sh -c 'trap \"\" TERM HUP; echo $$ > pid; while :; do sleep 1; done' & sleep 0.3",
    ],
    ids=["background", "session", "double fork", "nohup", "deaf"],
)
def test_background_processes_end_with_the_command(tmp_path: Path, escape: str) -> None:
    done = run(f"{escape}; echo over", tmp_path, seconds=30)
    assert done.code == 0
    assert done.output.endswith("over\n")
    assert done.left >= 1
    assert "left in the background" in done.told
    assert (tmp_path / "pid").exists()
    assert not alive(tmp_path / "pid")


@linux
@pytest.mark.parametrize("how", ["time", "stop"])
def test_timeout_kills_the_whole_process_tree(tmp_path: Path, how: str) -> None:
    """A tree of processes, some in sessions of their own, all ended when the command is."""
    script = (
        'for i in 1 2 3; do setsid sh -c "echo \\$\\$ > pid$i; (sleep 300 & echo \\$! > inner$i; wait)" & done;'
        "while [ ! -s inner1 ] || [ ! -s inner2 ] || [ ! -s inner3 ]; do sleep 0.02; done; touch ready; sleep 300"
    )
    stop = Stop()
    if how == "stop":

        def when_ready() -> None:
            while not (tmp_path / "ready").exists():
                time.sleep(0.02)
            stop.throw()

        threading.Thread(target=when_ready, daemon=True).start()
    done = run(script, tmp_path, seconds=3 if how == "time" else 60, stop=stop)
    assert done.timed_out if how == "time" else done.stopped
    pids = [*tmp_path.glob("pid*"), *tmp_path.glob("inner*")]
    assert len(pids) == 6
    assert [p.name for p in pids if alive(p)] == []


@linux
def test_fork_bomb_is_killed(tmp_path: Path) -> None:
    """Processes that start others without end, bounded here by a count so that nothing else suffers."""
    bomb = "f() { [ $1 -gt 0 ] && { sh -c 'sleep 300' & f $(($1-1)) & f $(($1-1)) & wait; }; }; echo $$ > pid; f 5"
    done = run(bomb, tmp_path, seconds=1)
    assert done.timed_out
    assert not alive(tmp_path / "pid")


@linux
def test_command_that_kills_its_supervisor_is_killed(tmp_path: Path) -> None:
    done = run(
        "setsid sh -c 'echo $$ > pid; exec sleep 300' & while [ ! -s pid ]; do sleep 0.02; done; kill -9 $PPID; sleep 300",
        tmp_path,
        seconds=30,
    )
    assert done.code is None
    assert not done.ok
    assert not alive(tmp_path / "pid")


@linux
@pytest.mark.crash
def test_command_dies_with_its_program(tmp_path: Path) -> None:
    """Killed in the middle of a command, the program leaves nothing running."""
    program = f"from backscroll.agent.commands.commands import run; run('echo $$ > pid; sleep 300', {str(tmp_path)!r})"
    victim = subprocess.Popen([sys.executable, "-c", program])
    end = time.monotonic() + 120
    while not alive(tmp_path / "pid") and time.monotonic() < end:
        time.sleep(0.02)
    assert alive(tmp_path / "pid")
    victim.kill()
    victim.wait()
    while alive(tmp_path / "pid") and time.monotonic() < end:
        time.sleep(0.02)
    assert not alive(tmp_path / "pid")


@linux
def test_no_zombie_process_is_left(tmp_path: Path) -> None:
    run("sleep 100 & true", tmp_path)
    run("true", tmp_path)
    mine = [
        p.parent.name
        for p in Path("/proc").glob("[0-9]*/stat")
        if (fields := _stat(p)) is not None and fields[1] == str(os.getpid()) and fields[0] == "Z"
    ]
    assert mine == []


def _stat(path: Path) -> list[str] | None:
    try:
        return path.read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None


def test_no_file_descriptor_is_left_open(tmp_path: Path) -> None:
    folder = Path("/dev/fd") if not Path("/proc/self/fd").exists() else Path("/proc/self/fd")
    run("true", tmp_path)
    before = len(list(folder.iterdir()))
    run("true", tmp_path)
    run("sleep 9", tmp_path, seconds=0.1)
    assert len(list(folder.iterdir())) == before


def test_secrets_in_the_environment_do_not_reach_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "OPENAI_API_KEY",
        "GH_TOKEN",
        "MY_SECRET_THING",
        "AWS_SECRET_ACCESS_KEY",
        "DB_PASSWORD",
        "AWS_ACCESS_KEY_ID",
        "DEEPSEEK_KEY",
        "GITHUB_PAT",
    ):
        monkeypatch.setenv(name, "hunter2")
    monkeypatch.setenv("BACKSCROLL_STORE", "postgresql://ada:hunter2@db.example/log")
    monkeypatch.setenv("HOMEPAGE", "https://example.org:8080/a@b")
    monkeypatch.setenv("KEYBOARD_LAYOUT", "de")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    done = run("env", tmp_path)
    assert "hunter2" not in done.output
    assert "KEYBOARD_LAYOUT=de" in done.output
    assert "HOMEPAGE=" in done.output
    assert "TOKENIZERS_PARALLELISM=false" in done.output
    allowed = run("env", tmp_path, keep=["GH_TOKEN"])
    assert "GH_TOKEN=hunter2" in allowed.output
    assert "OPENAI_API_KEY" not in allowed.output


def test_environment_says_there_is_no_terminal() -> None:
    env = clean_environment({"PATH": "/bin", "PAGER": "less", "BASH_ENV": "/tmp/evil"})
    assert (env["PAGER"], env["GIT_PAGER"], env["TERM"], env["NO_COLOR"]) == ("cat", "cat", "dumb", "1")
    assert "BASH_ENV" not in env


@pytest.mark.parametrize(
    "name", ["$(touch evil)", "a; touch evil", "`touch evil`", "-rf", "a\nb", "'", "中文 名"]
)
def test_folder_name_is_not_interpreted_by_the_shell(tmp_path: Path, name: str) -> None:
    """The folder a command runs in is handed to the system, not written into a line."""
    folder = tmp_path / name
    folder.mkdir()
    assert run("echo ok", folder).output == "ok\n"
    assert not list(tmp_path.rglob("evil"))


def test_invalid_command_lines_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="NUL byte"):
        run("echo \x00", tmp_path)
    with pytest.raises(InvalidInput, match="cannot be started"):
        run("true " + "x" * 3_000_000, tmp_path)
    assert run("echo \ud800x", tmp_path).code == 0
    assert run("echo '", tmp_path).code not in (0, None)


def test_command_runs_without_bash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands.shutil, "which", lambda _name: None)
    assert run("echo plain", tmp_path).output == "plain\n"
