"""Every column of every table, changed behind the program's back: `verify` notices, or there is a reason why it cannot.

What follows from the log is compared with the log. What does not (what a model answered, what a call cost, what was derived
under a key that covers everything that went in) can only be checked for fitting together.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll import Media, Text, ToolCall
from backscroll.record.derived import Artefact, Charge, Lesson, RecipeReply, SummaryNode, TurnMark
from backscroll.vocab.ids import Ref
from tests.stores.raw_rows import ask, is_postgres, tables_of, tell

AT = "2026-11-15T12:00:00+00:00"
_DERIVED = "derived: kept under a key over all that went in, and made again where it is missing"
_LEDGER = "a fact of its own: what a call took is in no log"
_WORK = "where background work stands: it starts over where this is wrong, and changes no word"
_NOTE = "a note for the next who looks, in no log"
#: Columns that cannot be checked, or only for what they lead to, and why.
REASONS: dict[str, str] = {
    "meta.key": "a note under a name that nobody looks for; what was forgotten without a note is found",
    "meta.value": "settings of the store itself, in no log",
    "made.*": _DERIVED,
    "made_from.made": _DERIVED,
    "made_from.key": _DERIVED,
    "replies.*": "what a model answered: paid for, in no log, and kept under a key over what it was asked",
    "replies_from.reply": "which of the answers above rests on an event",
    "replies_from.key": "which of the answers above rests on an event",
    "encoders.*": _DERIVED,
    "signs.*": _DERIVED,
    "vectors.*": _DERIVED,
    "nodes.*": _DERIVED,
    "turn_marks.*": _DERIVED,
    "turn_states.*": "what a program said about a turn that it has read",
    "turns.*": "what a program said about a turn that it has read",
    "tokens.*": "counted again where it is missing; the table of tokens may not be on this computer",
    "progress.*": _WORK,
    "receipts.*": "the account of a prompt that was sent, in no log",
    "charges.*": _LEDGER,
    "lessons.*": _LEDGER,
    "indexed.recipe": "by which rules the words were made; under another number they are read back from the index itself",
    "origins.key": "a hash over the name of a foreign file, which is in no log",
    "quarantine.*": "rows that a repair has already found wanting",
    "threads.born": "the order in which forks of one family are listed",
    "words.spelled": "the words once more, where the index cannot hold all of their places; empty for most",
    "schema.*": "checked when the store is opened",
}


def fill(engine: backscroll.Engine) -> None:
    """A little of everything that lies in a table."""
    thread = engine.create("Lighthouse", project="coast", tags=["x"], metadata={"a": [1]})
    first = thread.append("user", [Text("look at the harbour"), ToolCall("c", "look", {"n": 1})])
    picture = thread.append("user", Media("image/png", data=b"some bytes"))
    last = thread.append("assistant", "an answer about the harbour")
    thread.edit(last.id, "another answer about the harbour")
    thread.move(first.id, after=picture.id)
    fork = thread.fork(picture.id, title="fork")
    fork.append("user", "in the fork")
    secret = thread.append("user", "a secret")
    thread.forget(secret.id)
    thread.mark_processed(1, thread.turn(1).version)
    engine.set_tokens({first.revision: 7}, "some")
    name, half = thread.id, b"\x00\x3c" + b"\x00\x00" * 7
    mark = TurnMark(name, "rule", first.id, b"\x01", 1, 1, False, b"\x02", "v", b"key", (first.revision,))

    def work(tx: Any) -> None:
        tx.make([Artefact(b"key", "gist", name, b"{}", (first.revision,), AT)])
        tx.keep_reply(RecipeReply(b"key", "gist", name, "m", b"{}", (first.revision,), AT))
        tx.set_vectors("some", [(first.revision, half)])
        tx.set_node(SummaryNode(name, 1, Ref(name, 0), b"\x01", b"\x02", "v", b"key", 1, 3))
        tx.set_turn_marks([mark])
        tx.set_progress(name, "gist", 1)
        tx.charge(Charge("a" * 32, AT, 5, "model", "answer", input=7))
        tx.learn(Lesson(AT, name, "tool:look", 0.5))
        tx.keep_receipt(name, AT, b"{}", 3)
        tx.set_origin(b"origin", name)
        tx.copy_thread_aside(name, "a copy", AT)

    engine.store.write(work)


@pytest.fixture(
    params=["sqlite_url", pytest.param("prepared_url", marks=[pytest.mark.postgres, pytest.mark.load])]
)
def url(request: pytest.FixtureRequest) -> str:
    """A store with something in every table."""
    found: str = request.getfixturevalue(request.param)
    with closing(backscroll.open(found, background=False)) as engine:
        fill(engine)
        assert engine.verify().flaws == []
    return found


def reason(table: str, column: str) -> str | None:
    """Why a change need not be noticed."""
    return REASONS.get(f"{table}.{column}") or REASONS.get(f"{table}.*")


def other(value: Any) -> Iterator[Any]:
    """Values that are not this one, of its own type first."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value + 1
    elif isinstance(value, bytes):
        yield value[:-1] + bytes([(value[-1] if value else 0) ^ 1])
    elif isinstance(value, str):
        yield value + "x"
        yield "f" * 32
    elif isinstance(value, list):
        yield ["x"]
    elif value is None:
        yield from (1, b"x", "x", "f" * 32)


def test_changed_column_is_detected(url: str, tmp_path: Path) -> None:
    """One column of one row at a time; then the row is restored."""
    missed: list[str] = []
    for table, columns in tables_of(url).items():
        for column in columns:
            if column == "tenant" or reason(table, column) is not None:
                continue
            noticed = _noticed_on_server if is_postgres(url) else _noticed_in_file
            if not noticed(url, table, column, tmp_path):
                missed.append(f"{table}.{column}")
    assert missed == []
    with closing(backscroll.open(url, background=False)) as engine:
        assert engine.verify().flaws == []


def _verifies(url: str) -> bool:
    with closing(backscroll.open(url, background=False)) as engine:
        return engine.verify().ok


def _noticed_in_file(url: str, table: str, column: str, folder: Path) -> bool:
    """True where every other value in a copy of the file is found, or refused by the database itself."""
    value = ask(url, f"SELECT {column} FROM {table} ORDER BY {column} IS NULL LIMIT 1")[0][0]
    for number, new in enumerate(other(value)):
        copy = folder / f"{table}-{column}-{number}.db"
        copy.write_bytes(Path(url).read_bytes())
        only = f"SELECT 1 FROM {table} WHERE {column} IS ? LIMIT 1"
        assert ask(str(copy), only, value)
        try:
            tell(str(copy), f"UPDATE {table} SET {column} = ? WHERE {column} IS ?", new, value)
            found = not _verifies(str(copy))
        except (sqlite3.DatabaseError, backscroll.StoreError):
            found = True
        if not found:
            return False
    return True


def _noticed_on_server(url: str, table: str, column: str, _folder: Path) -> bool:
    """The same on a server, where the row is found again by its place."""
    import psycopg

    name = f"backscroll_{table}"
    at, value = ask(url, f"SELECT ctid::text, {column} FROM {name} ORDER BY {column} IS NULL LIMIT 1")[0]
    for new in other(value):
        put = f"UPDATE {name} SET {column} = %s WHERE ctid = %s::tid RETURNING ctid::text"
        try:
            now = ask(url, put, new, at)[0][0]
        except psycopg.Error:
            continue
        try:
            found = not _verifies(url)
        except backscroll.StoreError:
            found = True
        at = ask(url, put, value, now)[0][0]
        if not found:
            return False
    return True


def test_every_exception_names_an_existing_column() -> None:
    """No reason outlives what it was about."""
    assert all(text for text in REASONS.values())


def test_project_column_is_verified(tmp_path: Path) -> None:
    """The label under which a thread is listed."""
    url = str(tmp_path / "a.db")
    with closing(backscroll.open(url, background=False)) as engine:
        engine.create("t", project="coast")
        assert engine.verify().ok
        tell(url, "UPDATE threads SET project = ?", "another")
        (flaw,) = engine.verify().flaws
        assert "project" in flaw.what
