"""Where tests keep their files: in memory where that is possible, for a disk makes them wait more than they compute.

A store waits for the disk at every write, and a PostgreSQL database is three hundred files. No test cuts the power, and
what a killed process leaves behind is the same in memory. Tests that kill processes keep a disk all the same (marker
`disk`): its waiting is where they are to be hit. So do those of the sandbox, which treats `/dev` in its own way.

`BACKSCROLL_TEST_FOLDER` names another place for all.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

MEMORY = Path("/dev/shm")
#: Bytes that must be free: each test process has a server (300 MB), and a few tests write files of 100 MB.
ROOM = 4 << 30


def use_folder() -> None:
    """Make Python, pytest and every program that a test starts put temporary files there."""
    chosen = os.environ.get("BACKSCROLL_TEST_FOLDER") or _memory_folder()
    if chosen:
        os.environ["TMPDIR"] = chosen
        tempfile.tempdir = None


@contextlib.contextmanager
def folder_on_disk() -> Iterator[Path]:
    """A new folder where temporary files would be if this module did not exist."""
    before = os.environ.pop("TMPDIR", None) if _memory_folder() == os.environ.get("TMPDIR") else None
    tempfile.tempdir = None
    try:
        with tempfile.TemporaryDirectory(prefix="backscroll-", ignore_cleanup_errors=True) as place:
            yield Path(place)
    finally:
        if before is not None:
            os.environ["TMPDIR"] = before
        tempfile.tempdir = None


def _memory_folder() -> str | None:
    """A folder of this user in a file system that is memory, has room and lets programs run."""
    folder = MEMORY / f"bs-{os.getuid()}"  # short: the path of a socket may have 100 letters
    try:
        if str(MEMORY) not in _memory_disks(Path("/proc/mounts").read_text()) or _free_memory() < 2 * ROOM:
            return None
        state = os.statvfs(MEMORY)
        if state.f_bavail * state.f_frsize < ROOM:
            return None
        folder.mkdir(mode=0o711, exist_ok=True)  # PostgreSQL is another user where we are root
        if folder.stat().st_uid != os.getuid() or folder.is_symlink():
            return None
    except OSError:
        return None
    return str(folder)


def _memory_disks(mounts: str) -> set[str]:
    """The places where a tmpfs is mounted on which programs may be executed."""
    lines = [line.split() for line in mounts.splitlines()]
    return {
        place
        for _, place, kind, options, *_ in lines
        if kind == "tmpfs" and "noexec" not in options.split(",")
    }


def _free_memory() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return 0
