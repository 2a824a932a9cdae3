"""The sandbox of commands: writable folders, unreadable files, network access.

Owns the choice (`agent.sandbox`, `agent.sandbox_network`, `agent.sandbox_folders`), the plan that the kernel gets, what this system
can enforce, what is reported to the user and the model, and recognising that a command was blocked. A sandbox that cannot be
enforced is an error, never silently skipped. Refuses: entering it (`agent/commands/sandbox_entry`), deciding who may leave it
(`agent/approval/approval`).
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, cast

from backscroll.agent.commands import sandbox_entry as kernel
from backscroll.agent.commands.sandbox_exit import left_behind, runs_later
from backscroll.agent.commands.sandbox_walk import around
from backscroll.config import config_file, default_store, permissions_file
from backscroll.errors import InvalidInput
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from backscroll.config import Settings

OFF = "off"
ENTERING = str(Path(kernel.__file__))
_READ = kernel.EXECUTE | kernel.READ_FILE | kernel.READ_DIR
_WRITE = (
    kernel.WRITE_FILE
    | kernel.REMOVE_DIR
    | kernel.REMOVE_FILE
    | kernel.MAKE_DIR
    | kernel.MAKE_REG
    | kernel.MAKE_SOCK
    | kernel.MAKE_FIFO
    | kernel.MAKE_SYM
    | kernel.REFER
    | kernel.TRUNCATE
)
_DEVICE = kernel.READ_FILE | kernel.WRITE_FILE | kernel.TRUNCATE | kernel.IOCTL_DEV
_PATIENCE = 20  # seconds to find out whether the system grants us namespaces
_TOLD: Mapping[tuple[str, str], str] = {
    ("workspace", "allow"): "in the sandbox: writes only the working folder and temporary folders",
    (
        "workspace",
        "deny",
    ): "in the sandbox: writes only the working folder and temporary folders; no network",
    ("read-only", "allow"): "in the sandbox: writes nothing",
    ("read-only", "deny"): "in the sandbox: writes nothing; no network",
}


# -- what this system can enforce --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KernelSupport:
    """What the kernel of this computer can enforce."""

    interface: int  # version of Landlock's interface; 0: there is none
    namespaces: bool  # a mount and a network namespace of a command's own
    calls: bool  # a system call filter is known for this machine

    @property
    def network(self) -> bool:
        """True if the whole network can be denied, not only TCP."""
        return self.namespaces or self.calls

    @property
    def not_held(self) -> list[str]:
        """What a command in the sandbox can do anyway, in words."""
        out: list[str] = []
        if not self.namespaces:
            out.append("services that listen on files (D-Bus, containers) can be reached")
            out.append("rights and times of files elsewhere can be changed")
        if self.interface < 3 and not self.namespaces:
            out.append("files elsewhere can be cut short")
        if self.interface < 6:
            out.append("other programs of yours can be ended")
        return out


@cache
def holds() -> KernelSupport:
    """Return what can be enforced here; checked once."""
    interface = kernel.interface()
    if interface == 0:
        return KernelSupport(0, namespaces=False, calls=False)
    return KernelSupport(
        min(interface, kernel.NEWEST), _namespaces(), bool(kernel.program(os.uname().machine, None))
    )


def _namespaces() -> bool:
    """Return whether this system grants us namespaces; a separate process tries, since it cannot be reverted."""
    trial = [sys.executable, "-I", "-S", ENTERING, "0", kernel.TRY]
    try:
        done = subprocess.run(
            trial, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def check_sandbox(settings: Settings) -> tuple[bool | None, str, str]:
    """Check the sandbox for `doctor`: whether the requested one can be enforced (None: none requested), what there is, and what is not enforced."""
    able, wanted = holds(), settings.agent_sandbox != OFF
    if able.interface == 0:
        detail = "there is no Landlock: agent.sandbox cannot be used"
        return (
            False if wanted else None,
            detail,
            "Linux 5.13 and newer have it, where it is not switched off",
        )
    more = (", a filter of system calls" if able.calls else "") + (", namespaces" if able.namespaces else "")
    detail = f"Landlock {able.interface}{more}"
    if not wanted:
        return None, detail, "agent.sandbox is off: approved commands may do all that you may"
    return True, detail, f"not held: {', '.join(able.not_held)}" if able.not_held else ""


# -- one sandbox -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What commands in one folder may do."""

    mode: str  # workspace, read-only
    network: str  # allow, deny
    root: Path
    folders: tuple[Path, ...] = ()  # writable as well
    temporary: tuple[Path, ...] = ()
    protected: tuple[Path, ...] = ()  # unreadable

    @property
    def told(self) -> str:
        """What it enforces, in one line for the user."""
        return _TOLD[self.mode, self.network]

    @property
    def short(self) -> str:
        """The same for records."""
        return f"{self.mode}{', no network' if self.network == 'deny' else ''}"

    def writable(self) -> list[str]:
        """Return the writable folders, none inside another."""
        if self.mode == "read-only":
            return []
        found = {str(path.resolve()) for path in (self.root, *self.folders, *self.temporary) if path.is_dir()}
        return sorted(p for p in found if not any(p != o and Path(p).is_relative_to(o) for o in found))

    def plan(self, environ: Mapping[str, str], able: KernelSupport | None = None) -> dict[str, Json]:
        """Return what the kernel gets, rebuilt for every command: files come and go."""
        able = able or holds()
        closed = [str(path) for path in _real(self.protected)]
        rules: list[tuple[str, int]] = [("/", kernel.READ_DIR)]
        rules += [(path, _READ) for path in around("/", [*closed, "/dev"])]
        rules += [(path, _DEVICE) for path in _words("devices")]
        writable = self.writable()
        for top in writable:  # who works in `/` does not write devices anyway
            kept = closed if top.startswith("/dev/") else [*closed, "/dev", "/proc", "/sys"]
            rules += [(path, _READ | _WRITE) for path in around(top, kept)]
        inside = [Path(path) for path in (*writable, str(self.root))]
        hidden = [p for p in self._list_hidden(environ) if not any(i.is_relative_to(p) for i in inside)]
        return {
            "interface": able.interface,
            "namespaces": able.namespaces,
            "network": self.network,
            "rules": rules,
            "writable": writable,
            "hidden": [str(path) for path in hidden],
        }

    def traps(self) -> dict[str, str]:
        """Return what git would run for anyone who uses the folder's repository; taken before and after a command."""
        return runs_later(self.root, _words("git_runs"))

    def left_behind(self, before: Mapping[str, str]) -> list[str]:
        """Return the names of what a command left for git to run."""
        return left_behind(before, self.traps())

    def is_refusal(self, output: str) -> bool:
        """Return True if a failed command reports that something was denied to it."""
        words = _words("refused") + (_words("refused_network") if self.network == "deny" else ())
        told = output.casefold()
        return any(word in told for word in words)

    def _list_hidden(self, environ: Mapping[str, str]) -> list[Path]:
        """Return the places to cover: where services listen. (Merely protected files are denied instead, which gives a reason.)"""
        named = [environ.get(name, "").removeprefix("unix:path=") for name in _words("leading")]
        led = [p for p in (each.removeprefix("unix://").split(",")[0] for each in named) if p.startswith("/")]
        services = [place for text in _words("services") for place in _matching(text)]
        return _real((*services, *map(Path, led)))


def sandbox_for(settings: Settings, root: Path) -> Sandbox | None:
    """Return the sandbox that the settings ask for; None if they ask for none. Raises an error if it cannot be enforced."""
    if settings.agent_sandbox == OFF:
        return None
    able = holds()
    if able.interface == 0:
        raise InvalidInput(
            "this system cannot sandbox commands: it has no Landlock",
            hint="set agent.sandbox to off, or use Linux 5.13 or newer with Landlock enabled",
        )
    if settings.agent_sandbox_network == "deny" and not able.network:
        raise InvalidInput(
            "cannot deny network access to commands on this system",
            hint="set agent.sandbox_network to allow",
        )
    return Sandbox(
        settings.agent_sandbox,
        settings.agent_sandbox_network,
        root,
        tuple(_parse_folders(settings.agent_sandbox_folders)),
        tuple(_temporary()),
        tuple(list_protected(settings)),
    )


def list_protected(settings: Settings) -> list[Path]:
    """Return what sandboxed commands cannot read: the user's keys, our own settings, store and snapshots."""
    out = [Path(text).expanduser() for text in _words("protected")]
    out += [default_store().parent, permissions_file().parent, config_file()]
    out += [Path(settings.storage_dir).expanduser()] if settings.storage_dir else []
    store = settings.store
    named = Path(store).expanduser() if store and "://" not in store else default_store()
    out.append(named)
    if named.parent.is_dir():  # files beside it with the same prefix belong to it: journals, copies
        out += [path for path in named.parent.iterdir() if path.name.startswith(named.name)]
    return out


def sandboxed_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a command, without those that lead out of the sandbox."""
    leading = _words("leading")
    return {name: value for name, value in env.items() if name not in leading}


def _parse_folders(text: str) -> list[Path]:
    """Return the folders of a setting, separated by spaces, with quotes around names that contain some."""
    try:
        out = [Path(each).expanduser() for each in shlex.split(text)]
    except ValueError as error:
        raise InvalidInput(
            f"setting agent.sandbox_folders: {error}", hint="put quotes around names with spaces"
        ) from error
    for path in out:
        if not path.is_absolute() or not path.is_dir():
            raise InvalidInput(
                f"setting agent.sandbox_folders: {path} is not a folder",
                hint="name folders that exist, with their whole paths",
            )
    return out


def _matching(text: str) -> list[Path]:
    """Return the places that a pattern names. Links that a wildcard matches are skipped: one could lead to what commands need."""
    path = Path(text).expanduser()
    if "*" not in path.name:
        return [path]
    return sorted(each for each in path.parent.glob(path.name) if not each.is_symlink())


def _temporary() -> list[Path]:
    return [Path(path) for path in dict.fromkeys((*_words("temporary"), tempfile.gettempdir()))]


def _real(paths: Iterable[Path]) -> list[Path]:
    """Return the resolved paths, without those that do not exist."""
    out: dict[Path, None] = {}
    for path in paths:
        try:
            if path.exists():
                out[path.resolve()] = None
        except (OSError, RuntimeError):  # a loop of links leads nowhere
            continue
    return list(out)


@cache
def _words(name: str) -> tuple[str, ...]:
    text = (files("backscroll.agent") / "sandbox.toml").read_text(encoding="utf-8")
    return tuple(cast("list[str]", tomllib.loads(text)[name]))
