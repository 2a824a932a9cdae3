"""The PostgreSQL server of the tests is gone after them, however they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import postgres_server

pytestmark = pytest.mark.postgres


@pytest.fixture
def owner() -> Iterator[subprocess.Popen[bytes]]:
    """Stands for the pytest process that the user started."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


@pytest.fixture
def folder(owner: subprocess.Popen[bytes], postgres_server_url: str) -> Iterator[Path]:
    """A server of its own (`postgres_server_url` has made sure that this machine can run one)."""
    place = postgres_server.plan_folder()
    yield place
    postgres_server.stop_server(place)


def running(folder: Path) -> bool:
    try:
        os.kill(int((folder / "data" / "postmaster.pid").read_text().split()[0]), 0)
    except (FileNotFoundError, ProcessLookupError):
        return False
    return True


@pytest.mark.skipif("BACKSCROLL_TEST_POSTGRES" in os.environ, reason="the server is not ours")
class TestLife:
    def test_server_stops_on_request(self, folder: Path, owner: subprocess.Popen[bytes]) -> None:
        url = postgres_server.ensure_server(folder, owner.pid)
        assert postgres_server.ensure_server(folder, owner.pid) == url
        assert running(folder)
        postgres_server.stop_server(folder)
        assert not folder.exists()

    @pytest.mark.crash
    def test_server_stops_when_its_owner_is_killed(
        self, folder: Path, owner: subprocess.Popen[bytes]
    ) -> None:
        postgres_server.ensure_server(folder, owner.pid)
        server = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        owner.send_signal(signal.SIGKILL)
        deadline = time.monotonic() + 120
        while folder.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not folder.exists()
        with pytest.raises(ProcessLookupError):
            os.kill(server, 0)

    def test_server_folder_is_private(self, folder: Path, owner: subprocess.Popen[bytes]) -> None:
        postgres_server.ensure_server(folder, owner.pid)
        assert folder.stat().st_mode & 0o077 == 0


def test_stopping_a_server_that_never_started_does_nothing(tmp_path: Path) -> None:
    """Nothing is waited for, and nothing is made."""
    postgres_server.stop_server(tmp_path / "nothing")
    assert list(tmp_path.iterdir()) == []
