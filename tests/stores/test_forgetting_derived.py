"""Forgetting reaches derived data: no table, event or file of either store keeps any of the text."""

from __future__ import annotations

import contextlib
import os
import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.record.derived import Artefact, Lesson, RecipeReply, SummaryNode
from backscroll.vocab.event import Kind
from tests import proof
from tests.contracts.talk import say
from tests.stores.database_files import folder_of

AT = "2026-11-15T12:00:00+00:00"
SECRET = "xylophonequartz"
KEY = random.Random(5).randbytes(20)
_DRAW = random.Random(6)
VECTOR = struct.pack("<32e", *(_DRAW.gauss(0, 1) for _ in range(32)))
LONG = "\n".join(f"{SECRET} line {random.Random(7 + n).random()}" for n in range(400))


@pytest.fixture(
    params=[
        pytest.param("sqlite_url", id="sqlite"),
        pytest.param("database_url", id="postgres", marks=pytest.mark.postgres),
    ]
)
def place(request: pytest.FixtureRequest) -> tuple[str, Path]:
    """The address of an empty store, and the folder in which its files lie."""
    url = request.getfixturevalue(request.param)
    if request.param == "sqlite_url":
        return url, Path(url).parent
    return url, folder_of(url)


@pytest.fixture
def engine(place: tuple[str, Path]) -> Iterator[backscroll.Engine]:
    """The store, sound at the end of the test."""
    with backscroll.open(place[0]) as engine:
        yield engine
        proof.assert_sound(engine)


def settled(url: str) -> None:
    """Whatever a server holds in memory goes to its files."""
    if url.startswith("postgres"):
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")


def traces(place: tuple[str, Path], *wanted: bytes) -> list[str]:
    """Files that hold any of these bytes; a server may take away a file while we look."""
    settled(place[0])
    found: list[str] = []
    for folder, _, names in os.walk(place[1]):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                data = Path(folder, name).read_bytes()
                found += [f"{name}: {what!r}" for what in wanted if what in data]
    return found


def derive(engine: backscroll.Engine, thread: backscroll.Thread, *messages: backscroll.Message) -> None:
    """Something of every kind, with the secret in it wherever words can be."""
    sources = tuple(m.revision for m in messages)
    body = f'{{"gist":"{SECRET}"}}'.encode()

    def work(tx: Any) -> None:
        tx.make(
            [
                Artefact(KEY, "gist", thread.id, body, sources, AT),
                Artefact(b"sum", "summary", thread.id, body, (), AT),
            ]
        )
        tx.keep_reply(RecipeReply(KEY, "gist", thread.id, "model", body, sources, AT))
        tx.keep_reply(RecipeReply(b"sum", "summary", thread.id, "model", body, (), AT))
        tx.set_vectors("e", [(ref, VECTOR) for ref in sources])
        tx.set_node(SummaryNode(thread.id, 1, messages[0].id, b"\x01", b"\x02", SECRET, KEY, 1, 2))
        tx.keep_receipt(thread.id, AT, body, 3)
        tx.learn(Lesson(AT, thread.id, "tool:read", 1.0))

    engine.store.write(work)


def condense(thread: backscroll.Thread, kind: Kind, head: dict[str, Any], text: str) -> backscroll.Event:
    return thread.stroke(lambda pen: pen.write(kind, head=head, body={"summary": text}))


def packed_bytes(place: tuple[str, Path]) -> list[bytes]:
    """A piece out of the middle of each compressed body in a SQLite file."""
    if place[0].startswith("postgres"):
        return []
    import sqlite3

    with contextlib.closing(sqlite3.connect(place[0])) as connection:
        rows = connection.execute("SELECT body FROM events WHERE unpacked > 0").fetchall()
    return [row[0][100:140] for row in rows]


def test_no_file_keeps_data_derived_from_a_message(
    engine: backscroll.Engine, place: tuple[str, Path]
) -> None:
    """Artefacts, replies, vectors, keys and compressed text of a forgotten message are in no file."""
    thread = engine.create("plain")
    short, long, other = say(thread, f"u {SECRET} said", f"a {LONG}", "u nothing of note")
    derive(engine, thread, short, long)
    condense(thread, Kind.CROPPED, {"sources": [str(short.id)]}, f"they spoke of {SECRET}")
    hidden = [SECRET.encode(), KEY, VECTOR[:20], *packed_bytes(place)]
    if not place[0].startswith("postgres"):
        assert len(hidden) == 4
    assert {what.split(": ")[1] for what in traces(place, *hidden)} == set(map(repr, hidden))
    thread.forget(short.id, long.id)
    assert traces(place, *hidden) == []
    assert [m.id for m in thread] == [other.id]


def test_no_file_keeps_data_derived_from_a_thread(engine: backscroll.Engine, place: tuple[str, Path]) -> None:
    """The same for a whole thread, whatever sources its crops and compactions name."""
    thread = engine.create(SECRET)
    messages = say(thread, f"u {SECRET} said", f"a {LONG}")
    derive(engine, thread, *messages)
    condense(thread, Kind.COMPACTED, {"sources": []}, f"they spoke of {SECRET}")
    condense(thread, Kind.CROPPED, {}, f"again {SECRET}")
    hidden = [SECRET.encode(), KEY, VECTOR[:20], *packed_bytes(place)]
    thread.forget_thread()
    assert traces(place, *hidden) == []
    left = engine.stats()
    assert (left["artefacts"], left["replies"], left["vectors"]) == (0, 0, 0)


def test_crops_and_compactions_based_on_it_are_erased(engine: backscroll.Engine) -> None:
    """In every thread of the family: those that name the message or name no sources; no others."""
    thread = engine.create("t")
    a, b = say(thread, "u one thing", "u another thing")
    fork = thread.fork()
    stranger = engine.create("s")
    say(stranger, "u elsewhere")
    named = condense(thread, Kind.CROPPED, {"sources": [str(b.id), str(a.id)]}, "both")
    vague = condense(fork, Kind.COMPACTED, {"level": 2}, "all of it")
    other = condense(fork, Kind.CROPPED, {"sources": [str(b.id)]}, "the other one")
    far = condense(stranger, Kind.COMPACTED, {}, "elsewhere")
    empty = thread.stroke(lambda pen: pen.write(Kind.UNCROPPED, head={"of": [named.seq]}))
    done = thread.forget(a.id)
    gone: dict[Any, bool] = {}
    for e in (named, vague, other, far, empty):
        now = engine.store.read(lambda r, e=e: r.event(e.id))
        gone[e.id] = now is not None and now.forgotten
    assert gone == {named.id: True, vague.id: True, other.id: False, far.id: False, empty.id: False}
    assert done.beside == 2


def test_summary_that_repeats_the_text_is_erased(engine: backscroll.Engine) -> None:
    """Even if it names other sources."""
    thread = engine.create("t")
    a, b = say(thread, "u the vault opens with seven turns", "u fine")
    quoting = condense(
        thread, Kind.CROPPED, {"sources": [str(b.id)]}, "the vault opens with seven turns, they said"
    )
    thread.forget(a.id)
    event = engine.store.read(lambda r: r.event(quoting.id))
    assert event is not None
    assert event.forgotten
