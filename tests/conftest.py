"""What every test may ask for: addresses of stores, and a home that is not the user's.

`sqlite_url`      the path of a file in the test's temporary folder, not yet created
`database_url`    an empty PostgreSQL database of its own
`new_database`    as many of those as a test wants: `new_database()` gives the next address
`prepared_url`    a database of its own that has the tables of a store already, and nothing in them
`postgres_url`    one PostgreSQL database that the tests of a process share, for what need not be empty

The server is the one named by BACKSCROLL_TEST_POSTGRES (`postgresql://user:password@host/postgres`, by somebody who may
create databases), else one that `postgres_server` starts for this process: what a store can take from a server's files
depends on everybody who writes there, so that processes of tests with one server would disturb each other. Where neither can be had, the tests that need it
are skipped, with the reason; with CI=true they fail. Locale: C.UTF-8 on our own server, as it is on yours.
"""

from __future__ import annotations

import contextlib
import gc
import os
import secrets
import signal
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import hypothesis
import pytest

from tests import memory_disk, postgres_server, programs, soak, time_limit

# The same examples at every run of the same commit: a test that fails one time in a thousand stops somebody who did nothing
# wrong. Fresh examples come with the other profiles, and with `make fuzz`.
hypothesis.settings.register_profile(
    "fixed", deadline=None, max_examples=50, derandomize=True, print_blob=True, database=None
)
hypothesis.settings.register_profile("fresh", deadline=None, max_examples=50, print_blob=True, database=None)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=2000, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

FOLDER = pytest.StashKey[Path]()
POSTGRES_FIXTURES = {"postgres_url", "database_url", "new_database", "prepared_url"}


def pytest_configure(config: pytest.Config) -> None:
    # Started in the background of a script (`make test &`), Python is told to ignore Ctrl-C, and so would be every process
    # that a test starts in order to interrupt it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    memory_disk.use_folder()
    config.stash[FOLDER] = postgres_server.plan_folder()
    time_limit.keep_stderr()
    if _directs_others(config):
        config.pluginmanager.register(time_limit.Silence())


def _directs_others(config: pytest.Config) -> bool:
    return bool(getattr(config.option, "tx", None)) and not hasattr(config, "workerinput")


def pytest_unconfigure(config: pytest.Config) -> None:
    time_limit.limit_end()
    if folder := config.stash.get(FOLDER, None):
        postgres_server.stop_server(folder)
    programs.end_servers()
    if not _directs_others(config):
        time_limit.warn_of(time_limit.kill_children())


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Give every test, with its fixtures, a time limit; none where a person may be in the debugger."""
    if item.config.getoption("usepdb"):
        return (yield)
    with time_limit.limit_test(item.nodeid):
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if POSTGRES_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.postgres)
        if item.get_closest_marker("crash"):
            item.add_marker(pytest.mark.disk)


def pytest_collection_finish() -> None:
    """Everything that collecting made stays until the end: no need to look through it for garbage in every test."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print where the time went, room by room, over all test processes."""
    seconds: dict[str, float] = defaultdict(float)
    cases: dict[str, set[str]] = defaultdict(set)
    for report in (r for found in terminalreporter.stats.values() for r in found):
        if isinstance(report, pytest.TestReport):
            room = report.nodeid.removeprefix("tests/").split("/")[0]
            seconds[room] += report.duration
            cases[room].add(report.nodeid)
    if len(seconds) > 1:
        terminalreporter.section("time per room (seconds, summed over test processes)")
        total = sum(seconds.values())
        for room, spent in sorted(seconds.items(), key=lambda item: -item[1]):
            share = spent / (total or 1.0)
            terminalreporter.line(f"{spent:8.1f}  {share:5.1%}  {len(cases[room]):5} cases  {room}")
        terminalreporter.line(f"{total:8.1f}")


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder of the test's own: pytest's, which lies in memory where it can; with the marker `disk`, one on a disk."""
    if request.node.get_closest_marker("disk") is None:
        yield tmp_path
    else:
        with memory_disk.folder_on_disk() as folder:
            yield folder


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's own store, settings or transcripts, or those of another test."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in list(os.environ):
        if name.startswith("BACKSCROLL_") and not name.startswith("BACKSCROLL_TEST_"):
            monkeypatch.delenv(name)
    # Scripted models are asked by tests; what a model does by itself has tests of its own.
    monkeypatch.setenv("BACKSCROLL_UNDERSTANDING", "asked")


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The address of a SQLite store: the path of a file, which does not exist yet."""
    return str(tmp_path / "store.db")


@pytest.fixture(scope="session")
def postgres_server_url(pytestconfig: pytest.Config) -> str:
    """The server's maintenance database, from which others are created."""
    try:
        return _reach_server(pytestconfig.stash[FOLDER])
    except (ImportError, postgres_server.ServerUnavailable) as error:
        reason = f"no PostgreSQL for this test: {error}"
    if soak.IN_CI:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def _reach_server(folder: Path) -> str:
    import psycopg

    url = os.environ.get("BACKSCROLL_TEST_POSTGRES") or postgres_server.ensure_server(folder, os.getpid())
    try:
        psycopg.connect(url, connect_timeout=60).close()
    except psycopg.Error as error:
        raise postgres_server.ServerUnavailable(str(error)) from error
    return url


@pytest.fixture(scope="session")
def postgres_url(postgres_server_url: str) -> Iterator[str]:
    """A database that all tests of this process share."""
    with _fresh_database(postgres_server_url) as url:
        yield url


@pytest.fixture
def new_database(postgres_server_url: str) -> Iterator[Callable[[], str]]:
    """A function that creates one more empty database and returns its address.

    A database, not a schema: what a store does to extensions, settings and search paths stays its own, and two of them
    are as separate as two servers. Making the tables of a store in it costs far more than the database itself: a test
    that does not look at how a store begins takes `prepared_url`.
    """
    with contextlib.ExitStack() as stack:
        yield lambda: stack.enter_context(_fresh_database(postgres_server_url))


@pytest.fixture
def database_url(new_database: Callable[[], str]) -> str:
    """The address of an empty PostgreSQL database that only this test uses."""
    return new_database()


@pytest.fixture(scope="session")
def postgres_template(postgres_server_url: str) -> Iterator[str]:
    """The name of a database in which a store has been opened and closed once: what `prepared_url` copies."""
    from backscroll.stores.postgres.store import PostgresStore

    with _fresh_database(postgres_server_url) as url:
        PostgresStore(url).close()
        yield urlsplit(url).path.removeprefix("/")


@pytest.fixture
def prepared_url(postgres_server_url: str, postgres_template: str) -> Iterator[str]:
    """The address of a PostgreSQL store without a conversation, which only this test uses: a copy, so a quick one."""
    with _fresh_database(postgres_server_url, postgres_template) as url:
        yield url


@contextlib.contextmanager
def _fresh_database(server_url: str, template: str = "template0") -> Iterator[str]:
    import psycopg
    from psycopg import sql

    name = f"backscroll_test_{secrets.token_hex(6)}"
    database = sql.Identifier(name)
    with psycopg.connect(server_url, autocommit=True) as connection:
        # A copy of files instead of a copy through the log: half the time (PostgreSQL 15 and later).
        strategy = sql.SQL("STRATEGY FILE_COPY" if connection.info.server_version >= 150000 else "")
        create = sql.SQL("CREATE DATABASE {} TEMPLATE {} ENCODING 'UTF8' {}")
        connection.execute(create.format(database, sql.Identifier(template), strategy))
    try:
        yield urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(server_url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(database))
