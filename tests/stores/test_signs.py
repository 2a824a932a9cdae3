"""Sign bits in memory: changes of other threads and programs are seen, with bounded memory."""

from __future__ import annotations

import random
import struct
import threading
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.record.ports import SearchFilter
from backscroll.stores.nearness import cosines, sign_bits
from backscroll.stores.sqlite.reading import derived
from backscroll.stores.sqlite.store import SqliteStore
from backscroll.vocab.ids import Ref
from tests.contracts.talk import say

SIZE = 64


def vectors(count: int, seed: int) -> list[bytes]:
    draw = random.Random(seed)
    return [struct.pack(f"<{SIZE}e", *(draw.gauss(0, 0.2) for _ in range(SIZE))) for _ in range(count)]


def near(store: Any, query: bytes, limit: int = 5, **wanted: Any) -> list[tuple[Ref, float]]:
    return store.read(lambda r: r.nearest(query, "e", SearchFilter(**wanted), limit))


def exact(query: bytes, rows: dict[Ref, bytes], limit: int) -> list[Ref]:
    scores = dict(zip(rows, cosines(query, list(rows.values())), strict=True))
    return sorted(rows, key=lambda ref: -scores[ref])[:limit]


@pytest.fixture
def talk(tmp_path: Path) -> Any:
    """A store with twelve hundred messages in two threads, and their vectors."""
    with backscroll.open(tmp_path / "store.db") as engine:
        threads = [engine.create("one"), engine.create("two")]
        messages = [m for t in threads for m in say(t, *(f"u number {n}" for n in range(600)))]
        rows = dict(zip([m.revision for m in messages], vectors(1200, 1), strict=True))
        engine.store.write(lambda tx: tx.set_vectors("e", rows.items()))
        yield engine, threads, rows


def test_sign_filter_keeps_the_nearest_vectors(talk: Any) -> None:
    """Of 1,200 vectors 400 are compared in full; the very nearest are nearly always among them."""
    engine, _, rows = talk
    draw = random.Random(3)
    hits = 0
    for vector in draw.sample(list(rows.values()), 20):
        values = struct.unpack(f"<{SIZE}e", vector)
        query = struct.pack(f"<{SIZE}e", *(v + draw.gauss(0, 0.1) for v in values))
        got = [ref for ref, _ in near(engine.store, query, 5)]
        hits += len(set(got) & set(exact(query, rows, 5)))
        assert got[0] == exact(query, rows, 1)[0]
    assert hits >= 92


def test_vectors_of_another_program_are_seen(talk: Any, tmp_path: Path) -> None:
    """What a second connection adds, replaces and erases shows in the next answer of the first."""
    engine, (one, two), rows = talk
    query = vectors(1, 9)[0]
    mine = near(engine.store, query, 1), near(engine.store, query, 1, threads=(two.id,))
    assert mine[0][0][1] < 1
    (new,) = say(two, "u brand new")
    other = SqliteStore(tmp_path / "store.db")
    try:
        other.write(lambda tx: tx.set_vectors("e", [(new.revision, query)]))
        assert near(engine.store, query, 1) == [(new.revision, 1.0)]
        assert near(engine.store, query, 1, threads=(two.id,)) == [(new.revision, 1.0)]
        assert near(engine.store, query, 1, threads=(one.id,))[0][1] < 1
        other.write(lambda tx: tx.set_vectors("e", [(new.revision, vectors(1, 10)[0])]))
        assert near(engine.store, query, 1) == mine[0]
        other.write(lambda tx: tx.unmake([ref for ref in rows if ref.thread == two.id], []))
        assert {ref.thread for ref, _ in near(engine.store, query, 1200)} == {one.id, two.id}
        assert [ref for ref, _ in near(engine.store, query, 1200, threads=(two.id,))] == [new.revision]
    finally:
        other.close()


def test_erased_number_is_not_reused(talk: Any) -> None:
    """After the newest vector is gone, the next one is not mistaken for it."""
    engine, (one, _), _ = talk
    first, second = say(one, "u first", "u second")
    query = vectors(1, 11)[0]
    for message in (first, second):
        engine.store.write(lambda tx, m=message: tx.set_vectors("e", [(m.revision, query)]))
        assert near(engine.store, query, 1) == [(message.revision, 1.0)]
        engine.store.write(lambda tx, m=message: tx.unmake([m.revision], []))
    assert near(engine.store, query, 1)[0][1] < 1


def test_concurrent_reads_and_adds(talk: Any) -> None:
    """While one thread adds vectors, others always get an answer that was right at some moment."""
    engine, (one, _), _ = talk
    messages = say(one, *(f"u late {n}" for n in range(60)))
    query = vectors(1, 12)[0]
    errors: list[BaseException] = []
    over = threading.Event()

    def look() -> None:
        last = 0
        try:
            while not over.is_set():
                got = near(engine.store, query, 100)
                exactly = sum(score == 1.0 for _, score in got)
                assert exactly >= last
                assert len({ref for ref, _ in got}) == len(got)
                last = exactly
        except BaseException as error:  # noqa: BLE001 - raised below, in the thread of the test
            errors.append(error)

    readers = [threading.Thread(target=look) for _ in range(3)]
    for reader in readers:
        reader.start()
    for message in messages:
        engine.store.write(lambda tx, m=message: tx.set_vectors("e", [(m.revision, query)]))
    over.set()
    for reader in readers:
        reader.join(60)
    assert errors == []
    assert sum(score == 1.0 for _, score in near(engine.store, query, 100)) == 60


def test_search_continues_past_deleted_neighbours(talk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """If nearly all of the nearest were deleted, the answer is still full."""
    engine, (one, two), rows = talk
    monkeypatch.setattr(derived, "_RESCORED", 8)
    query = vectors(1, 13)[0]
    one.delete(*(ref for ref in rows if ref.thread == one.id))
    got = [ref for ref, _ in near(engine.store, query, 2)]
    assert len(got) == 2
    assert {ref.thread for ref in got} == {two.id}


def test_many_threads_are_searched_at_once(talk: Any) -> None:
    """Named one by one or not at all, the same threads give the same answer."""
    engine, threads, _ = talk
    query = vectors(1, 14)[0]
    empty = [engine.create(f"empty {n}").id for n in range(12)]
    named = tuple([t.id for t in threads] + empty)
    assert near(engine.store, query, 7, threads=named) == near(engine.store, query, 7)
    assert near(engine.store, query, 7, threads=named[:2]) == near(engine.store, query, 7)


def test_sign_bits_fill_whole_words() -> None:
    """One bit per number, in order, then zeros."""
    vector = struct.pack("<9e", 1, -1, 0.5, -0.5, 0, 3, -3, 2, -2)
    assert sign_bits(vector) == bytes([0b10101101, 0, 0, 0, 0, 0, 0, 0])
