"""Stores that the released version 1 wrote, opened by this version: nothing is lost, and everything new works in them.

`version_1/*.sql` are such stores as SQL, made by the released program; `version_1/*.jsonl` is what it exported of them.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.record.derived import Artefact, Charge, SummaryNode
from backscroll.record.ports import Bounds, SearchFilter
from backscroll.stores.sqlite import schema as sqlite_schema
from backscroll.vocab.ids import Ref
from tests import proof

SCHEMA = 1
WORKER = True  # opened as people open it
BEFORE = Path(__file__).parent / f"version_{SCHEMA}"
AT = "2026-11-15T12:00:00+00:00"


def exported(lines: list[str]) -> list[Any]:
    """The lines of a native file without the first, which says when it was written; in an order of their own."""
    return sorted(map(json.dumps, map(json.loads, lines[1:])))


def test_migrated_store_exports_the_same_lines(old: tuple[backscroll.Engine, str], tmp_path: Path) -> None:
    """As the released version exported, and it verifies."""
    engine, kind = old
    assert engine.verify().flaws == []
    engine.export(None, "native", str(tmp_path / "now.jsonl"))
    now = (tmp_path / "now.jsonl").read_text(encoding="utf-8").splitlines()
    then = (BEFORE / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    assert exported(now) == exported(then)


def test_existing_data_reads_as_before(old: tuple[backscroll.Engine, str]) -> None:
    """Text, alternatives, forks, search, token counts and analysed turns of an old store."""
    engine, _ = old
    titles = {info.title: info for info in engine.threads()}
    assert {"Night train to 成都", "By plane instead", "short"} <= set(titles)
    train = engine.thread(titles["Night train to 成都"].id)
    texts = [m.text for m in train]
    assert "软卧还有 7 张。" in texts
    assert "K114 leaves at 19:46 and arrives at 14:12." in texts
    (result,) = (m for m in train if m.role == "tool")
    (part,) = result.parts
    assert isinstance(part, backscroll.ToolResult)
    inner = part.content[0]
    assert isinstance(inner, backscroll.Text)
    assert len(inner.text) > 4096
    assert inner.text.startswith("coach 01 berth 1 price 301\n")
    assert [hit.thread for hit in engine.search("卧铺").hits] != []
    question = next(m for m in train if m.text.startswith("Which night train"))
    assert engine.tokens([question.revision], "o200k_base") == {question.revision: 11}
    assert train.turn(1).processed_at is not None
    fork = engine.thread(titles["By plane instead"].id)
    assert [m.text for m in fork][-1] == "How much is a flight?"


def test_new_features_work_in_an_old_store(old: tuple[backscroll.Engine, str]) -> None:
    """Rare events, marked messages, artefacts, vectors, the tree, claims and the ledger."""
    engine, _ = old
    info = next(i for i in engine.threads() if i.title == "Night train to 成都")
    thread = engine.thread(info.id)
    rare = engine.store.read(lambda r: r.others(info.id))
    every = [e for e in thread.events() if e.kind.value not in ("appended", "aside")]
    assert rare == every
    assert len(rare) > 8
    marked = engine.store.read(lambda r: r.list_marked_entries(info.id, Bounds(thread.head)))
    assert [e.role for e, _ in marked] == ["system", "user"]
    first = next(iter(thread))
    vector = b"\x00\x3c" + b"\x00\x00" * 7

    def work(tx: Any) -> Any:
        tx.make([Artefact(b"key", "gist", info.id, b"{}", (first.revision,), AT)])
        tx.set_vectors("some", [(first.revision, vector)])
        tx.set_node(SummaryNode(info.id, 1, Ref(info.id, 0), b"\x01", b"\x02", "v", b"key", 1, 3))
        tx.charge(Charge("a" * 32, AT, 5, "model", "answer", input=7))
        return tx.claim("gist", "worker", 1, 2)

    assert engine.store.write(work) is not None
    assert engine.store.read(lambda r: r.read_artefacts([b"key"]))[b"key"].sources == (first.revision,)
    near = engine.store.read(lambda r: r.nearest(vector, "some", SearchFilter(), 3))
    assert near == [(first.revision, 1.0)]
    assert engine.store.read(lambda r: r.sum_spending())[0].input == 7
    said = thread.append("user", "a long line\n" * 1000)
    assert thread.message(said.id).text == "a long line\n" * 1000
    thread.forget(first.id)
    assert engine.store.read(lambda r: (r.read_artefacts([b"key"]), r.nodes(info.id, 1))) == ({}, [])


def test_copy_of_the_old_file_is_kept(old_file: str) -> None:
    """SQLite makes it before migrating; opening again makes no further copy."""
    for _ in range(2):
        with backscroll.open(old_file) as engine:
            assert engine.verify().ok
    (copy,) = Path(old_file).parent.glob("old.db.schema1-*.backup")
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT count(*) FROM events").fetchone()[0] > 20
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    assert "made" not in tables


def test_released_sqlite_migration_is_unchanged() -> None:
    """Migration 1 still creates the tables of the released version, as in the old store's SQL."""

    def squeezed(text: str) -> str:
        return " ".join(text.split())

    released = squeezed((BEFORE / "sqlite.sql").read_text(encoding="utf-8"))
    assert squeezed(sqlite_schema.MIGRATIONS[0]) in released


@pytest.mark.postgres
def test_released_postgresql_migration_is_unchanged() -> None:
    """The same for PostgreSQL."""
    pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    from backscroll.stores.postgres.schema import MIGRATIONS

    released = " ".join((BEFORE / "postgres.sql").read_text(encoding="utf-8").split())
    assert " ".join(MIGRATIONS[0].split()) in released


@pytest.mark.postgres
def test_vectors_are_plain_bytes_without_pgvector(old_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Migrating works, similarity is computed here, and facts say so."""

    from backscroll.stores.postgres import connection

    monkeypatch.setattr(connection, "_type_of_vectors", lambda connection: "bytea")
    with backscroll.open(old_database) as engine:
        info = next(i for i in engine.threads() if i.title == "short")
        hello, other = engine.thread(info.id)
        east, north = b"\x00\x3c\x00\x00", b"\x00\x00\x00\x3c"
        engine.store.write(
            lambda tx: tx.set_vectors("two", [(hello.revision, east), (other.revision, north)])
        )
        near = engine.store.read(lambda r: r.nearest(b"\x00\x3c\x00\x38", "two", SearchFilter(), 5))
        assert [ref for ref, _ in near] == [hello.revision, other.revision]
        assert [round(score, 3) for _, score in near] == [0.894, 0.447]
        assert engine.store.read(lambda r: r.vectors([other.revision], "two")) == {other.revision: north}
        assert "no pgvector" in engine.store.facts()["vectors"]
        proof.assert_sound(engine)
