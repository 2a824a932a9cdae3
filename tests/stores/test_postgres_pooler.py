"""Behind PgBouncer with pool_mode = transaction: each transaction runs in whichever of few sessions is free."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from backscroll.config import Settings
from backscroll.engine.engine import Engine
from backscroll.errors import StoreBusy, StoreError
from backscroll.record.ports import Writer

psycopg = pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")

from backscroll.stores.postgres.store import PostgresStore  # noqa: E402
from backscroll.stores.postgres.writing import upkeep  # noqa: E402 - only where the extra is there
from tests.stores.at_once import sound, together  # noqa: E402
from tests.stores.database_files import folder_of  # noqa: E402
from tests.stores.pgbouncer import transaction_pooler  # noqa: E402
from tests.stores.test_postgres import files_with  # noqa: E402
from tests.stores.test_postgres_writers import kill_others  # noqa: E402


@pytest.fixture
def pooler(database_url: str) -> Iterator[str]:
    with transaction_pooler(database_url, sessions=2) as url:
        yield url


@pytest.fixture
def pooled(pooler: str) -> Iterator[Engine]:
    with closing(PostgresStore(pooler, pooled=True)) as store:
        yield Engine(store, Settings())


def test_many_writers_through_two_sessions(pooled: Engine) -> None:
    """Twelve callers, eight connections to the pooler, two server sessions: everything arrives once."""
    threads = [pooled.create(f"thread {n}") for n in range(12)]

    def work(number: int) -> None:
        for count in range(12):
            message = threads[number].append("user", f"word{number} said {count}")
            threads[number].edit(message.id, f"word{number} edited {count}")
        assert threads[number].prompt(8000).messages

    together(*[lambda n=n: work(n) for n in range(12)])
    for number, thread in enumerate(threads):
        assert [m.text for m in thread] == [f"word{number} edited {c}" for c in range(12)]
    assert len(pooled.search("word3 edited", limit=50).hits) == 12
    pooled.worker().stop()
    sound(pooled)


def test_nothing_stays_in_a_session(pooled: Engine, admin: Any) -> None:
    """Settings, locks and prepared statements end with their transaction."""
    thread = pooled.create("x")
    for count in range(12):
        thread.append("user", f"said {count}")

    def look(session: Any) -> Any:
        row = session.execute(
            "SELECT current_setting('lock_timeout'), current_setting('statement_timeout'), current_setting('jit'), "
            "(SELECT count(*) FROM pg_prepared_statements), "
            "(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted)"
        ).fetchone()
        return tuple(row)

    fresh = look(admin)
    with psycopg.connect(pooled.store._address.url, autocommit=True, prepare_threshold=None) as client:  # type: ignore[attr-defined]
        assert {look(client) for _ in range(8)} == {fresh}


def test_settings_apply_in_each_transaction(pooler: str) -> None:
    """Time limits and durable commits, whichever session it is."""
    with closing(PostgresStore(pooler, pooled=True, statement_seconds=0.2)) as store:
        for _ in range(4):
            with pytest.raises(StoreBusy) as caught:
                store.read(lambda r: r._s.ask("SELECT pg_sleep(20)"))  # type: ignore[attr-defined]
            assert "statement_seconds" in caught.value.hint
        row = store.read(lambda r: r._s.ask("SHOW jit") + r._s.ask("SHOW synchronous_commit"))  # type: ignore[attr-defined]
        assert [value for (value,) in row] == ["off", "on"]


def test_work_is_repeated_after_a_lost_session(pooled: Engine, admin: Any) -> None:
    """The server ends every session before the commit: the work is done again, once."""
    thread = pooled.create("x")
    tries: list[int] = []

    def work(tx: Writer) -> None:
        tries.append(1)
        tx.lock_thread(thread.id)
        if len(tries) == 1:
            kill_others(admin)
        tx.set_meta("key", f"try {len(tries)}")
        tx.thread(thread.id)

    pooled.store.write(work)
    assert pooled.store.read(lambda r: r.meta("key")) in ("try 1", "try 2")
    thread.append("user", "after")
    assert [m.text for m in thread] == ["after"]
    sound(pooled)


@pytest.mark.parametrize("reading", [False, True])
def test_driver_error_during_cleanup_is_a_lost_session(
    pooled: Engine, admin: Any, reading: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's message comes first, then the driver's own error without a state."""
    thread = pooled.create("x")
    leave = psycopg.Pipeline._exit
    failed: list[int] = []

    def stumble(self: Any, exc: BaseException | None) -> None:
        leave(self, exc)
        if not failed:
            failed.append(1)
            try:
                raise psycopg.errors.AdminShutdown("terminating connection due to administrator command")
            except psycopg.errors.AdminShutdown:
                raise psycopg.OperationalError("cannot exit pipeline mode while busy")  # noqa: B904 - as the driver does

    monkeypatch.setattr(psycopg.Pipeline, "_exit", stumble)
    if reading:
        assert pooled.store.read(lambda reader: reader.thread(thread.id)) is not None
    else:
        thread.append("user", "said once")
        assert [m.text for m in thread] == ["said once"]
    assert failed
    sound(pooled)


@pytest.mark.parametrize("large", [False, True])
def test_forgotten_text_leaves_the_files(
    pooled: Engine, admin: Any, database_url: str, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables are rewritten without session settings; what is too large is swept and reported."""
    if large:
        monkeypatch.setattr(upkeep, "_LARGE", 0)
    place = folder_of(database_url)
    secret = "xylophonequartz"
    thread = pooled.create("x")
    message = thread.append("user", f"{secret} said it " * 500)
    thread.append("user", "kept")
    admin.execute("VACUUM ANALYZE")
    admin.execute("CHECKPOINT")
    assert files_with(place, secret)
    left = thread.forget(message.id).unreachable
    admin.execute("CHECKPOINT")
    if large:
        assert any("unused space" in what for what in left)
    else:
        assert not any("pages" in what or "session" in what for what in left)
        assert files_with(place, secret) == []
    assert [m.text for m in thread] == ["kept"]
    assert admin.execute("SELECT current_setting('lock_timeout')").fetchone() == ("0",)
    sound(pooled)


def test_missing_pooler_setting_is_named(pooler: str, admin: Any) -> None:
    """Without it a store meets prepared statements of others: the hint names the setting."""
    with closing(PostgresStore(pooler)) as store:
        engine = Engine(store, Settings(background=False))
        threads = [engine.create("x") for _ in range(6)]

        def work(number: int) -> None:
            for count in range(40):
                threads[number].append("user", f"said {count}")

        with pytest.raises(StoreError) as caught:
            together(*[lambda n=n: work(n) for n in range(6)])
        assert "postgres.pooler" in caught.value.hint
