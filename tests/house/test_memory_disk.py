"""Tests keep their files in memory if there is room, and on a disk on request."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests import memory_disk
from tests.house import tree

MOUNTS = """proc /proc proc rw 0 0
tmpfs /dev/shm tmpfs {options} 0 0
/dev/vda / ext4 rw,relatime 0 0
"""


@pytest.mark.parametrize(
    ("options", "found"), [("rw,relatime", {"/dev/shm"}), ("rw,nosuid,noexec,size=65536k", set[str]())]
)
def test_memory_disk_must_allow_execution(options: str, found: set[str]) -> None:
    assert memory_disk._memory_disks(MOUNTS.format(options=options)) == found


def test_no_memory_disk_without_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_disk, "_free_memory", lambda: memory_disk.ROOM)
    assert memory_disk._memory_folder() is None


def test_temporary_files_follow_the_variable(tmp_path: Path) -> None:
    """For this process and for its children."""
    code = (
        "import subprocess, sys, tempfile; from tests import memory_disk; memory_disk.use_folder();"
        "print(tempfile.gettempdir(), flush=True);"
        "subprocess.run([sys.executable, '-c', 'import tempfile; print(tempfile.gettempdir())'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tree.ROOT,
        env=os.environ | {"BACKSCROLL_TEST_FOLDER": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [str(tmp_path), str(tmp_path)]


@pytest.mark.disk
def test_test_can_request_a_disk(tmp_path: Path) -> None:
    """Its folder, and other temporary files during the test."""
    if os.environ.get("BACKSCROLL_TEST_FOLDER"):
        assert tmp_path.is_relative_to(os.environ["BACKSCROLL_TEST_FOLDER"])
    else:
        assert not tmp_path.is_relative_to(memory_disk.MEMORY)
    assert tmp_path.parent == Path(tempfile.gettempdir())
