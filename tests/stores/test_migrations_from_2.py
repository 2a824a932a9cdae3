"""Stores of schema 2, written by the program before there was a graph: nothing is lost, and living memory works in them.

`version_2/*.sql` are such stores as SQL, made by that program; `version_2/*.jsonl` is what it exported of them.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.crops.crops import crops
from backscroll.stores.sqlite import schema as sqlite_schema
from backscroll.vocab.assertion import TurnState
from tests.properties.living import marked, reference
from tests.stores.test_migrations import exported

SCHEMA = 2
BEFORE = Path(__file__).parent / f"version_{SCHEMA}"


def train(engine: backscroll.Engine) -> backscroll.Thread:
    return engine.thread(next(i.id for i in engine.threads() if i.title == "Night train to 成都"))


def test_migrated_store_exports_the_same_lines(old: tuple[backscroll.Engine, str], tmp_path: Path) -> None:
    """As the earlier version exported, and it verifies."""
    engine, kind = old
    assert engine.verify().flaws == []
    engine.export(None, "native", str(tmp_path / "now.jsonl"))
    now = (tmp_path / "now.jsonl").read_text(encoding="utf-8").splitlines()
    then = (BEFORE / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    lessons = [line for line in now if '"lesson"' in line]  # the earlier version did not export them
    assert len(lessons) == 1
    assert exported([line for line in now if line not in lessons]) == exported(then)


def test_derived_data_is_kept(old: tuple[backscroll.Engine, str]) -> None:
    """Paid replies, the ledger, lessons, prompt receipts, the summary tree, crops and compactions."""
    engine, _ = old
    thread = train(engine)
    found = engine.store.read(lambda r: r.reply(b"reply-key"))
    assert found is not None
    assert found.body == b'{"text":"kept","finish":"stop"}'
    assert engine.store.read(lambda r: r.sum_spending())[0].input == 7
    assert [lesson.feature for lesson in engine.store.read(lambda r: r.lessons())] == ["tool:read"]
    assert engine.store.read(lambda r: len(r.receipts(thread.id, 5))) == 1
    assert engine.store.read(lambda r: len(r.nodes(thread.id, 0))) > 10
    assert [mark.summary for mark in crops(thread)] == ["the first questions about trains"]
    assert thread.prompt(1200, reserve=0, dry_run=True).receipt.total <= 1200


def test_living_memory_works_in_an_old_store(old: tuple[backscroll.Engine, str]) -> None:
    """Old turns are analysed; window, graph, overrides, tasks and forget work as in a new one."""
    engine, _ = old
    thread = train(engine)
    assert engine.store.read(lambda r: r.turn_marks(thread.id, "4.1.ignore.retract")) == []
    thread.append("user", "Ellie lives in Dunmere.")
    assert thread.graph.flush() > 0
    assert thread.window.states()[-1].state is TurnState.PROCESSED
    assert marked(thread) == reference(thread)
    assert [f.object for f in thread.graph.node("Ellie").relations] == ["dunmere"]
    thread.graph.set("Ellie", "mood", "glad")
    assert thread.graph.node("Ellie").attribute("mood") == "glad"
    thread.tasks.start("Book a berth")
    thread.append("user", "Book berth 7.")
    assert thread.tasks.complete().state.value == "completed"
    thread.forget(next(m.id for m in thread if m.text.startswith("Ellie lives")))
    assert "Dunmere" not in str([n.name for n in thread.graph.nodes()])


def test_copy_of_the_old_file_is_kept(old_file: str) -> None:
    """SQLite makes it before migrating."""
    with backscroll.open(old_file, background=False) as engine:
        assert engine.verify().ok
    (copy,) = Path(old_file).parent.glob("old.db.schema2-*.backup")
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    assert "made" in tables
    assert "turn_marks" not in tables


def test_second_sqlite_migration_is_unchanged() -> None:
    """Migration 2 still creates the tables in the old store's SQL."""

    def squeezed(text: str) -> str:
        return " ".join(text.split())

    released = squeezed((BEFORE / "sqlite.sql").read_text(encoding="utf-8"))
    assert squeezed(sqlite_schema.MIGRATIONS[1]) in released


@pytest.mark.postgres
def test_second_postgresql_migration_is_unchanged() -> None:
    """The same for PostgreSQL."""
    pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    from backscroll.stores.postgres.schema import HALF, MIGRATIONS

    released = " ".join((BEFORE / "postgres.sql").read_text(encoding="utf-8").split())
    assert " ".join(MIGRATIONS[1].replace(HALF, "bytea").split()) in released
