"""Connect to a server with our settings, and migrate its tables to the current version.

A database that is not ours, too new, or cannot hold every text is left untouched and rejected with a reason.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

import psycopg
from psycopg.adapt import AdaptersMap, Buffer, Loader
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Format
from psycopg.types.numeric import Int8Dumper

from backscroll.errors import InvalidInput, StoreError, StoreTooNew
from backscroll.logs import logger_of
from backscroll.stores.postgres.faults import hopeless, is_full, translate_error, turned_away, unreachable
from backscroll.stores.postgres.schema import HALF, MIGRATIONS, VERSION

_LOG = logger_of("stores")

OLDEST_SERVER = 130000
_MIGRATING = 0x42534352  # "BSCR": the advisory lock that only one migrating process holds
_SECRETS = {"password", "sslpassword", "passfile", "sslkey"}
_LONGEST_TENANT = 200


@dataclass(frozen=True, slots=True)
class ServerTimeouts:
    """Time limits of the server for the statements of one store, in milliseconds; 0: no limit."""

    lock: int
    statement: int


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection whose session can be identified on the server, even after we have lost it (`fence`)."""

    fence = 0
    limits: ServerTimeouts | None = (
        None  # settings of the session; None: behind a pooler, nothing outlives a transaction
    )
    halfvec = 0  # the registered type of vectors


class _HexLoader(Loader):
    """Thread ids are 32 hex digits on our side and a uuid (16 bytes) on the server's."""

    def load(self, data: Buffer) -> str:
        return bytes(data).decode().replace("-", "")


class _HexBinaryLoader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> str:
        return bytes(data).hex()


def _adapters() -> AdaptersMap:
    adapters = AdaptersMap(psycopg.adapters)
    adapters.register_loader("uuid", _HexLoader)
    adapters.register_loader("uuid", _HexBinaryLoader)
    # By default the type sent depends on the size of the number, and each combination of types is prepared separately.
    adapters.register_dumper(int, Int8Dumper)
    return adapters


@dataclass(frozen=True, slots=True)
class Address:
    """The location of a store, and the tenant."""

    url: str
    tenant: str
    location: str  # the url without its secrets
    patience: float
    limits: ServerTimeouts
    pooled: bool  # a pooler assigns sessions per transaction

    @property
    def database(self) -> tuple[tuple[str, str], ...]:
        """The key that distinguishes databases and logins of this process."""
        parts = {name: str(value) for name, value in conninfo_to_dict(self.url).items()}
        return tuple(sorted({**parts, "pooled": str(self.pooled)}.items()))

    def connect(self) -> Connection:
        """Return a connection with our settings: manual transactions, UTF-8, durable commits, timeouts."""
        given = conninfo_to_dict(self.url)
        settings: dict[str, Any] = {"fallback_application_name": "backscroll"}
        if "connect_timeout" not in given and "PGCONNECT_TIMEOUT" not in os.environ:
            settings["connect_timeout"] = 10
        connection = Connection.connect(
            self.url,
            autocommit=True,
            context=_ADAPTERS,
            client_encoding="utf8",
            # A statement prepared in one session is unknown to the next.
            prepare_threshold=None if self.pooled else 5,
            **settings,
        )
        connection.fence = secrets.randbits(62)
        if self.pooled:
            return connection
        try:
            connection.execute(
                _FOR_A_SESSION, (str(self.limits.lock), str(self.limits.statement), connection.fence)
            )
        except psycopg.Error:
            connection.close()
            raise
        connection.limits = self.limits
        return connection


_ADAPTERS = _adapters()

#: A commit must be on disk when it returns, whatever the role's default is; a stronger setting is kept. Compiling
#: plans to machine code costs more than any query of ours.
_SETTINGS = """
SELECT set_config('lock_timeout', %s, {local}), set_config('statement_timeout', %s, {local}),
    set_config('jit', 'off', {local}),
    set_config('synchronous_commit', CASE current_setting('synchronous_commit')
        WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, {local})
"""
_FOR_A_SESSION = f"{_SETTINGS.format(local='false')}, pg_advisory_lock(%s)".encode()
_FOR_A_TRANSACTION = _SETTINGS.format(local="true")
_OTHER_LIMITS = "SELECT set_config('lock_timeout', %s, true), set_config('statement_timeout', %s, true)"


def settings_for(connection: Connection, limits: ServerTimeouts) -> list[tuple[str, tuple[Any, ...]]]:
    """Return the statements that apply our settings to a transaction; none if they already hold."""
    if connection.limits == limits:
        return []
    how = _OTHER_LIMITS if connection.limits is not None else _FOR_A_TRANSACTION
    return [(how, (str(limits.lock), str(limits.statement)))]


def address(
    url: str, tenant: str, patience: float, *, lock: float = 0.0, statement: float = 0.0, pooled: bool = False
) -> Address:
    """Parse an address, or raise without quoting it, because it may contain a password."""
    if not tenant or not tenant.isprintable() or len(tenant) > _LONGEST_TENANT:
        raise InvalidInput(
            f"not a name for a tenant: {tenant!r}",
            hint="use one short line of printable text, such as default",
        )
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise InvalidInput(
            "not an address of a PostgreSQL server",
            hint="use postgresql://user@host/database, and %-escapes for special characters in a password",
        ) from None
    limits = ServerTimeouts(max(1, _milliseconds(lock or patience)), _milliseconds(statement))
    return Address(url, tenant, _render_address(parts), patience, limits, pooled)


def _milliseconds(seconds: float) -> int:
    """Convert seconds to the server's milliseconds, up to its limit."""
    return min(round(seconds * 1000), 2_000_000_000)


def _render_address(parts: dict[str, Any]) -> str:
    """Return the address for display: a URL without its secrets."""
    known = {name: str(value) for name, value in parts.items() if name not in _SECRETS}
    user = quote(known.pop("user", ""), safe="")
    host, port, database = known.pop("host", ""), known.pop("port", ""), known.pop("dbname", "")
    if host.startswith(("/", "@")) or "," in host:
        known = {"host": host, **({"port": port} if port else {}), **known}
        host = port = ""
    where = f"[{host}]" if ":" in host else host
    out = f"postgresql://{user}{'@' if user else ''}{where}{':' if port else ''}{port}/{quote(database, safe='')}"
    return out + (f"?{urlencode(known, safe='/:,=')}" if known else "")


def reach(
    place: Address, deadline: float, *, known: bool, give_way: Callable[[], bool] = lambda: False
) -> Connection:
    """Return a connection. Waits for a server that has answered before, is full or is starting; fails at once for one that
    has never answered. `give_way`: do not wait for a full server.
    """
    pause = 0.02
    while True:
        try:
            return place.connect()
        except psycopg.Error as error:
            fault = unreachable(error, place.location)
            worth_it = turned_away(fault) or (known and not hopeless(fault))
            if is_full(fault) and give_way():
                worth_it = False
            if not worth_it or time.monotonic() + pause > deadline:
                raise fault from error
        time.sleep(pause)
        pause = min(0.5, pause * 2)


def prepare(connection: Connection, place: Address) -> int:
    """Check the server and bring the tables to the current version; several processes may do so at once, and only those
    that find an older version wait for each other.

    Returns the type number of vectors on the server; 0 if they are plain bytes.
    """
    try:
        _check_server(connection, place)
        if _version(connection, place) < VERSION:
            _migrate(connection, place)
        row = connection.execute(
            "SELECT a.atttypid::bigint FROM pg_catalog.pg_attribute a WHERE a.attrelid = 'backscroll_vectors'::regclass "
            "AND a.attname = 'half' AND a.atttypid <> 'bytea'::regtype"
        ).fetchone()
        return 0 if row is None else row[0]
    except psycopg.Error as error:
        raise translate_error(error, place.location) from error


def _check_server(connection: Connection, place: Address) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(
            f"the database has the encoding {encoding}: {place.location}",
            hint="create one that holds every text: createdb --encoding=UTF8 --template=template0 NAME",
        )
    if connection.info.server_version < OLDEST_SERVER:
        raise StoreError(
            f"the server is too old (version {connection.info.server_version // 10000}): {place.location}",
            hint=f"PostgreSQL {OLDEST_SERVER // 10000} or newer is needed",
        )


def _version(connection: Connection, place: Address) -> int:
    """Return the version of the tables on the search path; 0 if there are none."""
    # Query the catalogue itself: a name looked up before waiting for a lock would come from a cache.
    row = connection.execute(
        "SELECT count(*) FROM pg_catalog.pg_class WHERE relname = 'backscroll_schema' AND relkind IN ('r', 'p') "
        "AND pg_catalog.pg_table_is_visible(oid)"
    ).fetchone()
    if row is None or not row[0]:
        return 0
    row = connection.execute("SELECT coalesce(max(version), 0) FROM backscroll_schema").fetchone()
    version: int = row[0] if row else 0
    if version > VERSION:
        raise StoreTooNew(
            f"the store has schema {version}, this program knows up to {VERSION}: {place.location}",
            hint="update Backscroll; the tables were left untouched",
        )
    return version


def _migrate(connection: Connection, place: Address) -> None:
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE")
        # Rewriting a large table may take long; waiting for others is still limited.
        connection.execute(_OTHER_LIMITS, (str(place.limits.lock), "0"))
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATING,))
        found = _version(connection, place)  # another process may have been faster
        if found == 0:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS backscroll_schema "
                "(version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
            )
        half = _type_of_vectors(connection)
        for number, script in enumerate(MIGRATIONS[found:], found + 1):
            # Without values, a script may hold many statements.
            connection.execute(script.replace(HALF, half).encode())
            connection.execute("INSERT INTO backscroll_schema (version) VALUES (%s)", (number,))
        _LOG.info("schema: from version %d to %d (postgresql)", found, VERSION)


def _type_of_vectors(connection: Connection) -> str:
    """Return `halfvec` if pgvector exists or can be created; `bytea` if not, or if it is too old for the type."""
    there = "SELECT pg_catalog.to_regtype('halfvec') IS NOT NULL"
    offered = "SELECT count(*) FROM pg_catalog.pg_available_extensions WHERE name = 'vector' AND installed_version IS NULL"
    if not _says(connection, there) and _says(connection, offered):
        try:
            with connection.transaction():
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        except psycopg.Error as error:
            if error.sqlstate is None or not error.sqlstate.startswith(_NOT_FOR_US):
                raise
    return "halfvec" if _says(connection, there) else "bytea"


#: No permission, files of the extension missing or of another version, created concurrently.
_NOT_FOR_US = ("42501", "58P01", "0A", "22023", "23505", "42710", "XX000")


def _says(connection: Connection, sql: str) -> bool:
    row = connection.execute(sql.encode()).fetchone()
    return bool(row and row[0])
