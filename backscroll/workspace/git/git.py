"""Run git isolated from surrounding settings and hooks.

Owns finding git, a clean environment, time limits, and error messages. Two modes:
`sealed` for our own repository (no user's settings), and `users` for the user's repository (their settings, for their
identity; no hooks or programs of theirs).
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from backscroll.errors import BackscrollError, MissingExtra

OLDEST = (2, 20)
SECONDS = 120.0
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotepath=false",
    "core.pager=cat",
    "core.safecrlf=false",
    "i18n.commitEncoding=UTF-8",
    "core.untrackedCache=false",
    "gc.auto=0",
    "log.showSignature=false",
    "maintenance.auto=false",
    "protocol.allow=never",
    "submodule.recurse=false",
)
_SEALED = (
    "core.autocrlf=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.fileMode=true",
)
_KEPT = ("PATH", "HOME", "TMPDIR", "SYSTEMROOT", "XDG_CONFIG_HOME", "USER", "LOGNAME")


class GitFailed(BackscrollError):
    """Git failed. `said` is what it printed."""

    def __init__(self, message: str, *, hint: str = "", said: str = "", code: int = 0) -> None:
        super().__init__(message, hint=hint, said=said, code=code)
        self.said = said
        self.code = code


@dataclass(frozen=True, slots=True)
class GitResult:
    """The result of a run of git."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """The output, without the line end."""
        return os.fsdecode(self.out).rstrip("\n")


@functools.cache
def _binary_on(path: str) -> str | None:
    found = shutil.which("git", path=path or None)
    return str(Path(found).absolute()) if found else None


@functools.cache
def _version_of(binary: str) -> tuple[int, int] | None:
    try:
        ran = subprocess.run(
            [binary, "version"], capture_output=True, timeout=20, check=False, env=_environment(sealed=True)
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(rb"(\d+)\.(\d+)", ran.stdout)
    return (int(found[1]), int(found[2])) if ran.returncode == 0 and found else None


def git_version() -> tuple[int, int] | None:
    """Return the first two numbers of the installed git version; None if git does not run."""
    binary = _binary_on(os.environ.get("PATH", ""))
    return _version_of(binary) if binary else None


def git_found() -> bool:
    """Return True if there is a git that is new enough."""
    version = git_version()
    return version is not None and version >= OLDEST


def git_binary() -> str:
    """Return the absolute path of git. Raise `MissingExtra` if there is none, or only one that is too old."""
    binary = _binary_on(os.environ.get("PATH", ""))
    version = _version_of(binary) if binary else None
    if binary is None or version is None:
        raise MissingExtra(
            "git is not installed here",
            hint="install git; without it files are still watched by their hashes, but nothing can be committed",
        )
    if version < OLDEST:
        raise MissingExtra(
            f"git {version[0]}.{version[1]} is too old",
            hint=f"install git {OLDEST[0]}.{OLDEST[1]} or newer",
        )
    return binary


def _environment(*, sealed: bool, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a minimal environment for git, without variables about another repository from a hook, shell or tool."""
    clean = {name: os.environ[name] for name in _KEPT if name in os.environ}
    clean.setdefault("PATH", os.defpath)
    clean |= {
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": ":",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
    }
    if sealed:
        clean |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_ATTR_NOSYSTEM": "1"}
    else:
        identity = {
            name: value
            for name, value in os.environ.items()
            if name.startswith(("GIT_AUTHOR_", "GIT_COMMITTER_"))
            or name in {"EMAIL", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM"}
        }
        clean |= identity
    return clean | dict(more or {})


def run_git(
    arguments: Sequence[str | bytes],
    *,
    cwd: Path,
    git_dir: Path | None = None,
    sealed: bool = True,
    hooks: bool = False,
    settings: Sequence[str] = (),
    stdin: bytes | None = None,
    environment: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
    check: bool = True,
) -> GitResult:
    """Run git. Raise `GitFailed` if it fails and `check` is on, or takes longer than `seconds`."""
    settings = [*_SETTINGS, *(_SEALED if sealed else ()), *settings]
    if hooks:
        settings.remove("core.hooksPath=/dev/null")
    command: list[str | bytes] = [git_binary(), "--no-pager"]
    for setting in settings:
        command += ["-c", setting]
    if git_dir is not None:
        command.append(f"--git-dir={git_dir}")
    try:
        ran = subprocess.run(
            [*command, *arguments],
            cwd=cwd,
            env=_environment(sealed=sealed, more=environment),
            input=stdin if stdin is not None else b"",
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise GitFailed(
            f"git {_name_command(arguments)} took longer than {seconds:.0f} seconds",
            hint="check whether the disk is busy",
        ) from error
    except OSError as error:
        raise GitFailed(f"cannot start git: {error.strerror}", hint="check the path") from error
    said = os.fsdecode(ran.stderr).strip()
    if check and ran.returncode:
        raise GitFailed(
            f"git {_name_command(arguments)} failed: {said or ran.returncode}", said=said, code=ran.returncode
        )
    return GitResult(ran.returncode, ran.stdout, said)


def _name_command(arguments: Sequence[str | bytes]) -> str:
    return os.fsdecode(arguments[0]) if arguments else ""


def read_git(
    arguments: Sequence[str | bytes], *, git_dir: Path, most: int, seconds: float = SECONDS
) -> tuple[bytes, bool]:
    """Return the output of a command in our own repository, up to a number of bytes; and whether there was more."""
    command: list[str | bytes] = [git_binary(), "--no-pager"]
    for setting in (*_SETTINGS, *_SEALED):
        command += ["-c", setting]
    with subprocess.Popen(
        [*command, f"--git-dir={git_dir}", *arguments],
        cwd=git_dir,
        env=_environment(sealed=True),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        late = threading.Timer(seconds, process.kill)
        late.start()
        try:
            assert process.stdout is not None
            out = process.stdout.read(most + 1)
            more = len(out) > most
            if more:
                process.kill()
        finally:
            late.cancel()
    if process.returncode and not more:
        raise GitFailed(
            f"git {_name_command(arguments)} failed: {process.returncode}", code=process.returncode
        )
    return out[:most], more
