"""Derived rows where the stores differ: indexes used, waiting for writers, findings of the check."""

from __future__ import annotations

import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.engine.engine import Engine
from backscroll.record.derived import Artefact
from backscroll.record.history import DELETED, FORGOTTEN, PINNED
from backscroll.record.ports import Bounds
from backscroll.stores.sqlite.schema import MIGRATIONS
from backscroll.vocab.event import PLENTY
from tests.contracts.talk import say
from tests.stores.at_once import Opener, sound

AT = "2026-11-15T12:00:00+00:00"
HALF = b"\0\x3c\0\0"


@pytest.fixture
def filed(tmp_path: Path) -> Iterator[backscroll.Engine]:
    with backscroll.open(tmp_path / "store.db") as engine:
        yield engine


def test_indexes_agree_with_the_log() -> None:
    """Frequent events and marked messages are defined in SQL too; neither may change alone."""
    script = " ".join(MIGRATIONS[1].split())
    kinds = ", ".join(f"'{kind.value}'" for kind in sorted(PLENTY))
    assert f"WHERE kind NOT IN ({kinds})" in script
    assert f"WHERE (role = 'system' OR flags & {PINNED}) AND NOT flags & {DELETED | FORGOTTEN}" in script


def test_sqlite_reads_only_the_relevant_rows(filed: backscroll.Engine) -> None:
    """Their number does not grow with the messages around them."""
    thread = filed.create("t")
    say(thread, "s rules")
    steps: list[int] = []
    for _ in range(2):
        say(thread, *(f"u number {n}" for n in range(150)))
        counted = 0

        def count() -> int:
            nonlocal counted
            counted += 1
            return 0

        def work(reader: Any) -> None:
            connection: sqlite3.Connection = reader._c
            connection.set_progress_handler(count, 10)
            try:
                assert len(reader.others(thread.id)) == 1
                assert len(reader.list_marked_entries(thread.id, Bounds(1 << 30))) == 1
            finally:
                connection.set_progress_handler(None, 10)

        filed.store.read(work)
        steps.append(counted)
    assert max(steps) < 20, "a step for every message would be more than that"


@pytest.mark.parametrize("table", ["made_from", "replies_from", "signs", "tokens"])
def test_sqlite_finds_leftovers_of_forgotten_text(
    filed: backscroll.Engine, tmp_path: Path, table: str
) -> None:
    """The check names everything derived from erased text, and rows that refer to nothing."""
    thread = filed.create("t")
    a, _ = say(thread, "u one", "u two")
    thread.forget(a.id)
    assert filed.verify().ok
    values = {
        "made_from": "({key}, 1)",
        "replies_from": "({key}, 1)",
        "signs": "(1, 1, {key}, 0, 0, x'')",
        "tokens": "({key}, 'o200k', 3)",
    }
    key = 1 << 32 | a.id.seq
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        connection.execute(f"INSERT INTO {table} VALUES {values[table].format(key=key)}")
        connection.commit()
    found = " ".join(flaw.what for flaw in filed.verify().flaws)
    assert f"something made of forgotten words is left: event {a.id}" in found
    if table != "tokens":
        with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
            connection.execute(f"DELETE FROM {table}")
            connection.execute(f"INSERT INTO {table} VALUES {values[table].format(key=1 << 32 | 99)}")
            connection.commit()
        found = " ".join(flaw.what for flaw in filed.verify().flaws)
        assert "made of an event that is missing: 1.99" in found


def plan(admin: Any, sql: str) -> str:
    """How the server would answer, were reading everything not so cheap in a small table."""
    admin.execute("ANALYZE")
    admin.execute("SET enable_seqscan = off")
    return "\n".join(row[0] for row in admin.execute(f"EXPLAIN {sql}"))


def test_postgresql_reads_only_the_relevant_rows(engine: Engine, admin: Any) -> None:
    """Both queries are answered by the partial indexes."""
    thread = engine.create("t")
    say(thread, "s rules", *(f"u number {n}" for n in range(300)))
    thread.pin(next(iter(thread)).id)
    home = f"tenant = 'default' AND root = '{thread.id}' AND thread = '{thread.id}'"
    events = plan(
        admin, f"SELECT 1 FROM backscroll_events WHERE {home} AND kind NOT IN ('appended', 'aside')"
    )
    assert "backscroll_events_others" in events
    where = "(role = 'system' OR flags & 4 <> 0) AND flags & 9 = 0"
    entries = plan(
        admin, f"SELECT 1 FROM backscroll_entries WHERE {home} AND {where} AND since <= 9 ORDER BY position"
    )
    assert "backscroll_entries_marked" in entries


@pytest.mark.parametrize("table", ["made_from", "replies_from", "vectors", "tokens"])
def test_postgresql_finds_leftovers_of_forgotten_text(engine: Engine, admin: Any, table: str) -> None:
    """The same check on the server."""
    thread = engine.create("t")
    a, _ = say(thread, "u one", "u two")
    thread.forget(a.id)
    sound(engine)
    more = {
        "made_from": ("key", r"'\x00'"),
        "replies_from": ("key", r"'\x00'"),
        "vectors": ("said_us, encoder, role, half", "0, 'e', 'user', '[1,0]'"),
        "tokens": ("tokenizer, count", "'o200k', 3"),
    }
    columns, values = more[table]
    admin.execute(
        f"INSERT INTO backscroll_{table} (tenant, root, thread, seq, {columns}) "
        f"VALUES ('default', '{thread.id}', '{thread.id}', {a.id.seq}, {values})"
    )
    found = engine.store.read(lambda r: r.integrity())
    assert any(what.startswith("something made of forgotten words is left") for what in found)


def test_forget_waits_for_a_writer_of_derived_data(opened: Opener) -> None:
    """On PostgreSQL an artefact being stored while the text is erased is found and erased, too."""
    one, two = opened(), opened()
    thread = one.create("t")
    a, b = say(thread, "u a secret", "u no secret")
    storing, go_on = threading.Event(), threading.Event()

    def slowly(tx: Any) -> None:
        tx.make([Artefact(b"k", "gist", thread.id, b"a secret", (a.revision, b.revision), AT)])
        tx.set_vectors("e", [(a.revision, HALF)])
        tx.set_tokens([(a.revision, "o200k", 2)])
        tx.read_artefacts([b"k"])  # everything is on the server now, and not yet committed
        storing.set()
        go_on.wait(30)

    writer = threading.Thread(target=lambda: one.store.write(slowly))
    writer.start()
    storing.wait(30)
    eraser = threading.Thread(target=lambda: two.thread(thread.id).forget(a.id))
    eraser.start()
    eraser.join(0.3)
    assert eraser.is_alive()
    go_on.set()
    writer.join(60)
    eraser.join(60)
    assert one.store.read(lambda r: r.read_artefacts([b"k"])) == {}
    assert one.store.read(lambda r: r.vectors([a.revision], "e")) == {}
    sound(one)


def test_login_without_create_extension_works(opened: Opener, database_url: str, admin: Any) -> None:
    """If pgvector cannot be created, the store opens all the same, and says how vectors are compared."""
    import psycopg

    role = f"backscroll_test_{secrets.token_hex(5)}"
    admin.execute(f"CREATE ROLE {role} LOGIN")
    try:
        admin.execute(f"GRANT CREATE ON SCHEMA public TO {role}")
        joint = "&" if "?" in database_url else "?"
        try:
            guest = opened(f"{database_url}{joint}user={role}")
        except backscroll.StoreError as error:
            pytest.skip(f"this server lets no role without a password in: {error.message}")
        assert "no pgvector" in guest.store.facts()["vectors"]
        thread = guest.create("t")
        (a,) = say(thread, "u one")
        guest.store.write(lambda tx: tx.set_vectors("e", [(a.revision, HALF)]))
        assert guest.store.read(lambda r: r.vectors([a.revision], "e")) == {a.revision: HALF}
        guest.store.close()
        with psycopg.connect(database_url) as connection:
            row = connection.execute("SELECT count(*) FROM pg_extension WHERE extname = 'vector'").fetchone()
            assert row == (0,)
    finally:
        admin.execute(f"DROP OWNED BY {role}")
        admin.execute(f"DROP ROLE {role}")
