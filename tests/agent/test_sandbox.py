"""The sandbox of commands: what it lets through, what it says, and that it is never silently none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from backscroll.agent.commands import sandbox as sandboxes
from backscroll.agent.commands import sandbox_entry as kernel
from backscroll.agent.commands.commands import run
from backscroll.agent.commands.sandbox import KernelSupport, Sandbox, check_sandbox, sandbox_for
from backscroll.agent.commands.sandbox_walk import around
from backscroll.config import Settings, load
from backscroll.errors import InvalidInput
from tests.agent.sandboxes import ABLE, SECRET, SYSTEMS, needs_landlock, only, yard

pytestmark = pytest.mark.disk
NONE = KernelSupport(0, namespaces=False, calls=False)


@pytest.mark.parametrize("able", SYSTEMS)
@pytest.mark.parametrize("network", ["allow", "deny"])
def test_everyday_commands_work_in_the_sandbox(
    able: KernelSupport, network: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files, folders, moves, pipes, programs, git, temporary folders."""
    only(monkeypatch, able)
    at = yard(tmp_path, network=network)
    (tmp_path / "scratch").mkdir()
    held = replace(at.sandbox, temporary=(tmp_path / "scratch",))
    line = """
set -e
mkdir -p a/b c; echo one > a/b/x; mv a/b/x c/y; mv c a/; cat a/c/y | tr a-z A-Z
ln -s a/c/y link; ln a/c/y hard; rm link hard; chmod +x own
cat <<END > here
text
END
mkfifo pipe; rm pipe; echo gone > /dev/null; head -c 3 /dev/urandom | wc -c
sh -c 'echo in a shell'
export TMPDIR=../scratch; f=$(mktemp); echo x > "$f"; rm "$f"
cat ../other/keep
git init -q . && git add own && git -c user.name=a -c user.email=a@b commit -qm first && git log --oneline | wc -l
rm -rf a
"""
    done = run(line, at.root, seconds=60, sandbox=held)
    assert done.code == 0, done.output
    assert done.output.split() == ["ONE", "3", "in", "a", "shell", "kept", "1"]
    assert at.others() == {"keep": "kept\n"}


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5, 6, 7])
def test_every_landlock_version_protects_the_folders(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older kernels know fewer rights; those they know are enforced, and the network can be denied on all."""
    if ABLE.interface < version:
        pytest.skip(f"this kernel has version {ABLE.interface} of the interface")
    only(monkeypatch, replace(ABLE, interface=version, namespaces=False))
    at = yard(tmp_path, network="deny")
    done = at.run("echo new > new && cat new ../other/keep; echo x > ../other/new; cat ../secret/store.db")
    assert done.output.startswith("new\nkept\n")
    assert SECRET not in done.output
    assert at.others() == {"keep": "kept\n"}


def test_each_landlock_version_includes_earlier_rights() -> None:
    """Rights are only added."""
    known = [kernel.rights(version) for version in range(1, 8)]
    assert all(a & b == a for a, b in pairwise(known))
    assert known[0] == (1 << 13) - 1
    assert known[6] == (1 << 16) - 1


@needs_landlock
def test_read_only_mode_writes_nothing(tmp_path: Path) -> None:
    """Not even the working folder."""
    at = yard(tmp_path, mode="read-only")
    done = at.run("cat own; echo x > own; touch new; rm -f own; echo gone > /dev/null && echo still")
    assert done.output.splitlines()[0] == "own"
    assert done.output.splitlines()[-1] == "still"
    assert sorted(p.name for p in at.root.iterdir()) == ["own"]
    assert (at.root / "own").read_text() == "own\n"


@needs_landlock
def test_nothing_runs_if_the_sandbox_cannot_be_entered(tmp_path: Path) -> None:
    """Fail closed: a plan that the kernel refuses ends the command before it began."""
    plan = {
        "interface": ABLE.interface,
        "namespaces": False,
        "network": "allow",
        "rules": [[str(tmp_path), kernel.READ_FILE]],
        "writable": [],
        "hidden": [],
    }
    (tmp_path / "plan").write_text(json.dumps({**plan, "interface": -1}))
    with (tmp_path / "plan").open() as file:
        starter = [
            sys.executable,
            "-I",
            "-S",
            sandboxes.ENTERING,
            str(file.fileno()),
            "touch",
            str(tmp_path / "evil"),
        ]
        done = subprocess.run(starter, pass_fds=(file.fileno(),), capture_output=True, text=True, check=False)
    assert done.returncode == 126
    assert done.stderr.startswith("the sandbox cannot be entered, so nothing was run")
    assert not (tmp_path / "evil").exists()


def test_unsupported_sandbox_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On other systems and old kernels asking for it is refused, with a way out."""
    assert sandbox_for(Settings(), tmp_path) is None
    only(monkeypatch, NONE)
    with pytest.raises(InvalidInput, match="no Landlock") as caught:
        sandbox_for(Settings(agent_sandbox="workspace"), tmp_path)
    assert "agent.sandbox to off" in caught.value.hint
    assert sandbox_for(Settings(), tmp_path) is None
    only(monkeypatch, KernelSupport(3, namespaces=False, calls=False))
    with pytest.raises(InvalidInput, match="cannot deny network access"):
        sandbox_for(Settings(agent_sandbox="workspace", agent_sandbox_network="deny"), tmp_path)


def test_doctor_reports_sandbox_support(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sandbox that is unsupported is a failure only if it is configured; its limits are listed."""
    wanted = Settings(agent_sandbox="workspace")
    only(monkeypatch, NONE)
    assert check_sandbox(Settings())[0] is None
    assert check_sandbox(wanted)[0] is False
    only(monkeypatch, KernelSupport(7, namespaces=True, calls=True))
    assert check_sandbox(wanted) == (True, "Landlock 7, a filter of system calls, namespaces", "")
    only(monkeypatch, KernelSupport(2, namespaces=False, calls=True))
    ok, detail, hint = check_sandbox(wanted)
    assert (ok, detail) == (True, "Landlock 2, a filter of system calls")
    assert "can be reached" in hint
    assert "cut short" in hint
    assert "can be ended" in hint


def test_sandbox_settings_are_validated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unknown values and folders that do not exist are refused by name."""
    with pytest.raises(InvalidInput, match=r"agent\.sandbox "):
        load({"agent_sandbox": "jail"})
    only(monkeypatch, KernelSupport(7, namespaces=False, calls=True))
    extra = tmp_path / "my cache"
    extra.mkdir()
    given = Settings(agent_sandbox="workspace", agent_sandbox_folders=f"'{extra}'")
    made = sandbox_for(given, tmp_path)
    assert made is not None
    assert made.folders == (extra,)
    for wrong in ("cache", str(tmp_path / "nowhere"), "'open"):
        with pytest.raises(InvalidInput, match="sandbox_folders"):
            sandbox_for(replace(given, agent_sandbox_folders=wrong), tmp_path)


def test_store_settings_and_keys_are_protected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With everything that lies beside the store under its name."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "talk.db").touch()
    (tmp_path / "talk.db-wal").touch()
    found = sandboxes.list_protected(Settings(store=str(tmp_path / "talk.db")))
    for name in ("talk.db", "talk.db-wal", ".ssh", ".aws", ".netrc"):
        assert tmp_path / name in found
    assert sandboxes.permissions_file().parent in found
    assert sandboxes.default_store().parent in found


def test_walk_covers_everything_but_protected_paths(tmp_path: Path) -> None:
    """With as few paths as possible; links are left out."""
    for name in ("a/b/keys", "a/c/d", "e/f"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "a" / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "a" / "b")
    top = str(tmp_path)
    assert around(top, []) == [top]
    assert around(top, [f"{top}/a/b/keys"]) == [f"{top}/a/c", f"{top}/a/file", f"{top}/e"]
    assert around(f"{top}/a/b/keys", [f"{top}/a/b"]) == []
    assert around(top, [top]) == []


def test_walk_refuses_a_folder_with_too_many_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with more names than anybody waits for is an error with a hint, not a long wait."""
    monkeypatch.setattr("backscroll.agent.commands.sandbox_walk.MOST", 5)
    for number in range(6):
        (tmp_path / str(number)).touch()
    with pytest.raises(InvalidInput, match="more than 5 names"):
        around(str(tmp_path), [str(tmp_path / "3")])


@pytest.mark.parametrize(
    ("output", "network", "refused"),
    [
        ("touch: cannot touch '/x': Permission denied", "allow", True),
        ("touch: 无法 touch '/x': 权限不够", "allow", True),
        ("npm ERR! code EACCES", "allow", True),
        ("curl: (6) Could not resolve host: example.com", "deny", True),
        ("curl: (6) Could not resolve host: example.com", "allow", False),
        ("1 failed, 3 passed", "deny", False),
    ],
)
def test_sandbox_refusals_are_recognised(output: str, network: str, refused: bool, tmp_path: Path) -> None:
    """By what programs say, in both languages."""
    assert Sandbox("workspace", network, tmp_path).is_refusal(output) is refused


def test_writable_places_are_not_nested(tmp_path: Path) -> None:
    """A folder inside of another needs no rule (and no mount) of its own."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    made = Sandbox("workspace", "allow", tmp_path / "a" / "b", temporary=(tmp_path / "a", tmp_path / "none"))
    assert made.writable() == [str((tmp_path / "a").resolve())]
    assert replace(made, mode="read-only").writable() == []


@needs_landlock
def test_sandbox_plan_is_deterministic(tmp_path: Path) -> None:
    """Nothing in it depends on chance."""
    at = yard(tmp_path)
    paths = [path for path, _ in at.sandbox.plan(os.environ)["rules"] if path.startswith(str(tmp_path))]
    again = [path for path, _ in at.sandbox.plan(os.environ)["rules"] if path.startswith(str(tmp_path))]
    assert paths == again
    assert str(at.secret) not in paths


def test_root_as_working_folder_excludes_devices_and_protected_paths(tmp_path: Path) -> None:
    """With `/` as the working folder, devices, /proc, /sys and protected paths are not writable."""
    able = replace(ABLE, namespaces=False)
    made = Sandbox("workspace", "allow", Path("/"), protected=(tmp_path,))
    written = [path for path, right in made.plan({}, able)["rules"] if right & kernel.MAKE_REG]
    assert written
    assert not [p for p in written if p == "/" or p.startswith(("/dev", "/proc", "/sys", str(tmp_path)))]


def test_symlink_among_hidden_services_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a command could hide files that later commands need."""
    (tmp_path / "tmux-1").mkdir()
    (tmp_path / "tmux-2").symlink_to("/usr")
    monkeypatch.setattr(
        sandboxes, "_words", lambda name: (f"{tmp_path}/tmux-*",) if name == "services" else ()
    )
    made = Sandbox("workspace", "allow", tmp_path / "work")
    assert made.plan({}, ABLE)["hidden"] == [str((tmp_path / "tmux-1").resolve())]
