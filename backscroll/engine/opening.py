"""Open a store: one engine per store and process, however often it is opened."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from backscroll.config import Settings, default_store, load
from backscroll.engine.engine import Engine
from backscroll.engine.log.scrub import finish_forgetting
from backscroll.errors import InvalidInput
from backscroll.logs import logger_of
from backscroll.record.ports import Store

if TYPE_CHECKING:
    from backscroll.options import OpenOptions

_LOG = logger_of("engine")

_open: dict[tuple[int, str, str], Engine] = {}
_users: dict[tuple[int, str, str], int] = {}
_lock = threading.Lock()


def open(store: str | os.PathLike[str] | None = None, **settings: Unpack[OpenOptions]) -> Engine:
    """Open a store: a file, a `postgresql://` address, or (by default) the one in the user's data folder.

    Within one process, opening the same store again returns the same engine; it is closed when its last user closes it.
    """
    chosen = load({"store": None if store is None else os.fspath(store), **settings})
    where = chosen.store or str(default_store())
    remote = where.startswith(("postgresql://", "postgres://"))
    if not remote and "://" in where:
        raise InvalidInput(
            f"invalid store: {where}", hint="use a file path, or postgresql://user@host/database"
        )
    # Whatever links lead to a file, it is one store.
    place = where if remote else str(_real(where))
    key = (os.getpid(), place, chosen.tenant)
    with _lock:
        engine = _open.get(key)
        if engine is None:
            engine = made = _engine_at(place, chosen, remote=remote)
            engine.on_close(lambda: _let_go(key, made))
            if chosen.storage_dir:
                # start-up: only where dialogues are saved by themselves
                from backscroll.engine.exchange.autosave import Autosave

                autosave = Autosave(engine, Path(chosen.storage_dir).expanduser())
                engine.on_change(autosave)
                engine.rewriters.append(autosave.save_again)
            finish_forgetting(engine)
            _open[key] = engine
            _LOG.debug("opened a store (%s)", "postgresql" if remote else "sqlite")
        else:
            _check_same(engine.settings, chosen, cast("dict[str, Any]", settings))
        _users[key] = _users.get(key, 0) + 1
        return engine


def _check_same(now: Settings, wanted: Settings, given: dict[str, Any]) -> None:
    """Raise if an engine is opened again with other settings: it is shared, so they would not apply."""
    for name, value in given.items():
        if value is not None and getattr(now, name) != getattr(wanted, name):
            raise InvalidInput(
                f"the store is open in this process with {name} = {getattr(now, name)!r}",
                hint="close it first, or leave this setting out; `thread.as_actor` acts under another name",
            )


def _real(where: str) -> Path:
    path = Path(where).expanduser().absolute()
    try:
        return path.resolve()
    except (
        OSError,
        RuntimeError,
        ValueError,
    ):  # circular links, or not a path: the store reports the problem
        return path


def _engine_at(place: str, settings: Settings, *, remote: bool) -> Engine:
    store = _store_at(place, settings, remote=remote)
    try:
        return Engine(store, settings)
    except BaseException:
        store.close()  # it has no other owner to close it
        raise


def _let_go(key: tuple[int, str, str], engine: Engine) -> bool:
    """Count one user less; True for the last one. Ignores an engine that was closed before."""
    with _lock:
        if _open.get(key) is not engine:
            return True
        left = _users.get(key, 0) - 1
        _users[key] = max(left, 0)
        if left > 0:
            return False
        _open.pop(key, None)
        return True


def _after_fork() -> None:
    """Replace the lock in a forked child: another OS thread of the parent may have held it."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _store_at(place: str, settings: Settings, *, remote: bool) -> Store:
    if remote:
        from backscroll.stores.postgres.store import PostgresStore  # start-up: psycopg is an extra

        return PostgresStore(
            place,
            tenant=settings.tenant,
            patience=settings.patience,
            connections=settings.postgres_connections,
            idle_seconds=settings.postgres_idle_seconds,
            lock_seconds=settings.postgres_lock_seconds,
            statement_seconds=settings.postgres_statement_seconds,
            pooled=settings.postgres_pooler == "transaction",
        )

    # start-up: a PostgreSQL store does without sqlite3
    from backscroll.stores.sqlite.store import SqliteStore

    return SqliteStore(Path(place), patience=settings.patience, compress_above=settings.compress_above)
