"""Long text is compressed in SQLite files, invisibly to every reader."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import backscroll
from backscroll.errors import StoreCorrupt
from backscroll.stores.sqlite.compression import pack_body, unpack_body
from tests import proof

LONG = "读取 src/main.py，第一行是注释。 The quick brown fox jumps over the lazy dog.\n" * 200


def rows(path: Path) -> list[tuple[int, int]]:
    """Bytes in the file and bytes before, of every body."""
    with closing(sqlite3.connect(path)) as connection:
        sql = "SELECT length(body), unpacked FROM events WHERE body IS NOT NULL ORDER BY key"
        return connection.execute(sql).fetchall()


@given(st.binary(max_size=2000) | st.binary(max_size=40).map(lambda b: b * 300), st.integers(0, 3000))
def test_packed_body_round_trips(body: bytes, above: int) -> None:
    """Any bytes, any threshold; nothing below the threshold is changed."""
    stored, size = pack_body(body, above)
    assert unpack_body(stored, size) == body
    assert stored is not None
    assert len(stored) <= len(body)
    if len(body) < above:
        assert (stored, size) == (body, 0)


def test_missing_body_stays_missing() -> None:
    """An event without a body has none afterwards."""
    assert pack_body(None, 0) == (None, 0)
    assert unpack_body(None, 0) is None


@pytest.mark.parametrize(
    "spoil", [lambda b: b[:-3], lambda b: b[:20] + b"\0\0\0" + b[23:], lambda b: b"nothing"]
)
def test_damaged_body_is_reported(spoil: object) -> None:
    """What does not unpack to what its row says is an error, never other text."""
    stored, size = pack_body(LONG.encode(), 100)
    assert stored is not None
    assert size
    with pytest.raises(StoreCorrupt):
        unpack_body(spoil(stored), size)  # type: ignore[operator]
    with pytest.raises(StoreCorrupt):
        unpack_body(stored, size - 1)


def test_only_long_text_is_compressed(tmp_path: Path) -> None:
    """Short text is stored as it is; so is text that does not shrink."""
    path = tmp_path / "store.db"
    noise = "".join(chr(0x4E00 + (n * n * 7919) % 20000) for n in range(3000))
    with backscroll.open(path) as engine:
        thread = engine.create("t")
        for text in ("short", LONG, noise):
            thread.append("user", text)
        assert [m.text for m in thread] == ["short", LONG, noise]
        _, short, long, _ = rows(path)
        assert short[1] == 0
        assert long[0] * 5 < long[1]
        assert all(size == 0 or stored < size * 0.91 for stored, size in rows(path))
        proof.assert_sound(engine)


def test_every_reader_sees_plain_text(tmp_path: Path) -> None:
    """Search, edits, undo, forks, export, import, backup and verification are unaware of compression."""
    with backscroll.open(tmp_path / "store.db", compress_above=0) as engine:
        thread = engine.create("t")
        said = thread.append("user", LONG)
        thread.edit(said.id, LONG + "zeppelin")
        assert [h.message for h in engine.search("zeppelin").hits] == [said.id]
        thread.undo()
        assert thread.message(said.id).text == LONG
        assert [r.content.text for r in thread.revisions(said.id) if r.content] == [LONG, LONG + "zeppelin"]
        assert thread.fork().message(said.id).text == LONG
        engine.export(None, "native", str(tmp_path / "all.jsonl"))
        engine.backup(tmp_path / "copy.db")
        assert sum(size > 0 for _, size in rows(tmp_path / "store.db")) == 2
        proof.assert_sound(engine)
    for place, above in (("copy.db", 1 << 40), ("other.db", 1 << 40)):
        with backscroll.open(tmp_path / place, compress_above=above) as engine:
            if place == "other.db":
                engine.import_path(tmp_path / "all.jsonl")
                assert not any(size for _, size in rows(tmp_path / place))
            again = engine.thread(thread.id)
            assert again.message(said.id).text == LONG
            again.append("user", LONG)
            proof.assert_sound(engine)


def test_changed_body_is_detected(tmp_path: Path) -> None:
    """Verification unpacks: a flipped bit and a wrong length are both found and named by their event."""
    path = tmp_path / "store.db"
    with backscroll.open(path) as engine:
        thread = engine.create("t")
        said = thread.append("user", LONG)
        other = thread.append("user", LONG + "!")
    with closing(sqlite3.connect(path)) as connection:
        seqs = (said.id.seq, other.id.seq)
        sql = "UPDATE events SET body = CAST(substr(body, 1, 60) || x'00ff' || substr(body, 63) AS BLOB) WHERE key & 255 = ?"
        connection.execute(sql, seqs[:1])
        connection.execute("UPDATE events SET unpacked = unpacked + 1 WHERE key & 255 = ?", seqs[1:])
        connection.commit()
    with backscroll.open(path) as engine:
        named = {flaw.event for flaw in engine.verify().flaws}
        assert {said.id, other.id} <= named
        with pytest.raises(StoreCorrupt):
            engine.thread(thread.id).message(said.id)
