"""Measure concurrency: writers of one SQLite file, OS threads and tenants on one PostgreSQL, cold processes.

What counts is the slowest call beside the median: no caller may starve. The server is the one of the tests
(BACKSCROLL_TEST_POSTGRES, else one that is started for this run); without any, those rows are left out.
"""

from __future__ import annotations

import os
import secrets
import statistics
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import backscroll
from bench.children import APPENDING, TEXT, at_once
from bench.table import Row

_BAR = 20  # the slowest call, in medians
_COLD = """
import sys, time
print("ready", flush=True)
sys.stdin.readline()
start = time.perf_counter()
import backscroll
with backscroll.open(sys.argv[1]) as store:
    thread = store.thread(sys.argv[2])
    thread.append("user", "what about the apples?")
    thread.prompt(8000)
    print("[", time.perf_counter() - start, "]")
"""


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _row(what: str, times: list[float], took: float | None = None) -> Row:
    times = sorted(times)
    middle, last = statistics.median(times), times[-1]
    p99 = times[min(len(times) - 1, int(len(times) * 0.99))]
    rate = "" if took is None else f", {len(times) / took:,.0f}/s"
    measured = f"{_ms(middle)} / {_ms(p99)} / {_ms(last)}{rate}"
    return Row(
        f"{what}: p50 / p99 / slowest", measured, "", last / middle, f"under {_BAR}x", last < _BAR * middle
    )


def writers(folder: Path, options: Namespace) -> list[Row]:
    """Eight processes that write to one SQLite file without a pause."""
    path, seconds = folder / "writers.db", 2.0 * options.runs
    backscroll.open(path).close()
    times = at_once(APPENDING, 8, str(path), str(seconds), TEXT)
    return [_row("8 processes append to one SQLite file", times, seconds)]


@contextmanager
def _server() -> Iterator[str]:
    from tests import postgres_server

    named = os.environ.get("BACKSCROLL_TEST_POSTGRES")
    if named:
        yield named
        return
    folder = postgres_server.plan_folder()
    try:
        yield postgres_server.ensure_server(folder, os.getpid())
    finally:
        postgres_server.stop_server(folder)


def _database(server: str) -> str:
    import psycopg
    from psycopg import sql

    name = f"backscroll_bench_{secrets.token_hex(4)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} ENCODING 'UTF8' TEMPLATE template0").format(sql.Identifier(name))
        )
    return urlunsplit(urlsplit(server)._replace(path=f"/{name}"))


def _from_threads(works: Sequence[Callable[[], object]], laps: int) -> list[float]:
    """How long each call took, from as many OS threads as there are works."""
    times: list[float] = []
    gate = threading.Barrier(len(works))

    def run(work: Callable[[], object]) -> None:
        gate.wait()
        for _ in range(laps):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(times) == len(works) * laps  # a thread that failed would have measured less
    return times


def postgres(folder: Path, options: Namespace) -> list[Row]:
    """Forty OS threads on one engine, 200 tenants in one process, 16 processes that start cold."""
    del folder
    try:
        import psycopg  # noqa: F401 - only whether it is there
    except ImportError:
        return [Row("PostgreSQL: the extra `postgres` is not installed", "")]
    out: list[Row] = []
    with _server() as server:
        url = _database(server)
        with backscroll.open(url, background=False) as store:
            handles = [store.create(f"bench {n}") for n in range(40)]
            works = [lambda each=each: each.append("user", "some words of a message") for each in handles]
            start = time.perf_counter()
            times = _from_threads(works, 10 * options.runs)
            out.append(
                _row("40 OS threads append, PostgreSQL, one engine", times, time.perf_counter() - start)
            )
            works = [lambda each=each: each.recent(10) for each in handles]
            start = time.perf_counter()
            times = _from_threads(works, 10 * options.runs)
            out.append(_row("40 OS threads read, PostgreSQL, one engine", times, time.perf_counter() - start))
        stores = [backscroll.open(url, tenant=f"tenant {n}", background=False) for n in range(200)]
        try:
            handles = [each.create("bench") for each in stores]
            works = [lambda each=each: each.append("user", "some words of a message") for each in handles]
            start = time.perf_counter()
            times = _from_threads(works, options.runs)
            out.append(
                _row("200 tenants append, PostgreSQL, one process", times, time.perf_counter() - start)
            )
        finally:
            for each in stores:
                each.close()
        with backscroll.open(url, background=False) as store:
            thread = store.create("shared")
            for number in range(200):
                role = "assistant" if number % 2 else "user"
                thread.append(role, f"message {number} about apples, pears and the server in Berlin")
        times = at_once(_COLD, 16, url, thread.id)
        out.append(_row("16 processes start cold: first prompt, PostgreSQL", times))
    return out
