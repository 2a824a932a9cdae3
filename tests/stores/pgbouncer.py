"""A real PgBouncer in front of the test server, pooling by the transaction; skipped, with the reason, where it is not installed."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

_CONFIG = """
[databases]
* = host={host} user=postgres

[pgbouncer]
listen_port = {port}
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
default_pool_size = {sessions}
max_client_conn = 100
server_idle_timeout = 5
logfile = {folder}/log
pidfile = {folder}/pid
"""
_PORT = 6432  # only part of a socket's name: nothing listens on the network


@contextlib.contextmanager
def transaction_pooler(url: str, sessions: int) -> Iterator[str]:
    """The address of a database by way of a pooler with so many sessions, each handed out for one transaction."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("PgBouncer is not installed (Debian, Ubuntu: apt install pgbouncer)")
    psycopg = pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    host = psycopg.conninfo.conninfo_to_dict(url).get("host", "")
    if not host.startswith("/"):
        pytest.skip("the server of these tests is not reached by a socket")
    with tempfile.TemporaryDirectory(prefix="bs-pgb-", dir="/tmp") as name:  # a socket's path must be short
        folder = Path(name)
        identity: dict[str, object] = {}
        if os.geteuid() == 0:  # which it refuses to run as
            owner = Path(host).stat()
            os.chown(folder, owner.st_uid, owner.st_gid)
            identity = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}
        config = folder / "pgbouncer.ini"
        config.write_text(_CONFIG.format(host=host, port=_PORT, folder=folder, sessions=sessions))
        config.chmod(0o644)
        process = subprocess.Popen(
            [program, "-q", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            **identity,  # pyright: ignore[reportArgumentType, reportCallIssue]
        )
        try:
            address = f"postgresql://postgres@/{urlsplit(url).path.lstrip('/')}?"
            address += urlencode({"host": str(folder), "port": _PORT})
            _wait_for(process, psycopg, address, folder)
            yield address
        finally:
            process.terminate()
            process.wait(30)


def _wait_for(process: subprocess.Popen[bytes], psycopg: object, address: str, folder: Path) -> None:
    until = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(address).close()  # type: ignore[attr-defined]
        except psycopg.Error:  # type: ignore[attr-defined]
            if process.poll() is not None or time.monotonic() > until:
                said = (folder / "log").read_text() if (folder / "log").exists() else ""
                pytest.fail(f"PgBouncer did not start: {said[-2000:]}")
            time.sleep(0.02)
        else:
            return
