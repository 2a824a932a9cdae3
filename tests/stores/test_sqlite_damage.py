"""A damaged SQLite file: clear errors, exact findings, no endless loops, nothing silent."""

from __future__ import annotations

import faulthandler
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll import Content, Media, Text, ToolCall
from backscroll.engine.log.verification import StoreFlaw
from tests.contracts.talk import say

SECONDS = 60  # for one look at one damaged file; it takes a few hundredths


def fill(engine: backscroll.Engine) -> None:
    """A little of everything."""
    thread = engine.create("Lighthouse", project="coast", tags=["灯塔"], metadata={"a": [1]})
    for n in range(30):
        parts = (Text(f"message {n} 你好世界 " + "lorem ipsum " * (n % 5)), ToolCall("c", "look", {"n": n}))
        thread.append("user" if n % 2 else "assistant", Content(parts, author="Ann"))
    thread.append("user", Media("image/png", data=bytes(range(256)) * 8))
    messages = list(thread)
    thread.edit(messages[3].id, "edited")
    thread.delete(messages[4].id)
    thread.move(messages[5].id, after=messages[20].id)
    thread.insert("user", "inserted", after=messages[7].id)
    thread.regenerate(messages[8].id, "regenerated")
    thread.undo()
    thread.log_code_change("change", "file.py")
    fork = thread.fork(messages[15].id, title="Fork")
    fork.edit(messages[2].id, "fork's own")
    say(fork, "u in the fork")
    thread.forget(messages[9].id)
    thread.mark_processed(1, thread.turn(1).version)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a sound store."""
    place = tmp_path_factory.mktemp("sound") / "store.db"
    with backscroll.open(place) as engine:
        fill(engine)
    return place.read_bytes()


@pytest.fixture
def path(tmp_path: Path, sound: bytes) -> Path:
    """A sound store, closed."""
    place = tmp_path / "store.db"
    place.write_bytes(sound)
    return place


def everything(engine: backscroll.Engine) -> list[Any]:
    """All that can be read from a store."""
    out: list[Any] = []
    for info in engine.threads():
        thread = engine.thread(info.id)
        messages = list(thread)
        out.append((info, messages, list(thread.events()), list(thread.turns()), list(thread.code_changes())))
        out.append([thread.revisions(m.id) for m in messages])
        out.append([list(thread.at(event)) for event in (5, 20, 35)])
        out.append([engine.blob(p.blob or "") for m in messages for p in m.parts if isinstance(p, Media)])
    hits = [engine.search(word, limit=500).hits for word in ("message", "你好", "lorem")]
    return [*out, [(h.message, h.thread, h.at, h.snippet) for found in hits for h in found], engine.stats()]


@pytest.fixture
def no_endless_loop() -> Iterator[None]:
    """A hang ends the test process with a traceback instead of going on for ever."""
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def look_at(place: Path, good: list[Any]) -> str:
    """Open, read, verify and write; only clear errors may come of it. Says how it went."""
    try:
        engine = backscroll.open(place)
    except backscroll.BackscrollError:
        return "not opened"
    with closing(engine):
        same = ok = False
        with suppress(backscroll.BackscrollError):
            same = everything(engine) == good
        with suppress(backscroll.BackscrollError):
            ok = engine.verify().ok
        with suppress(backscroll.BackscrollError):
            for info in list(engine.threads(limit=2)):
                engine.thread(info.id).append("user", "one more")
            engine.create("new").append("user", "words")
    assert same or not ok, "something was lost, and verification did not see it"
    return "noticed" if not ok else "harmless"


@pytest.mark.usefixtures("no_endless_loop")
@pytest.mark.parametrize("seed", range(6))
def test_flipped_bytes_are_detected_or_harmless(tmp_path: Path, sound: bytes, seed: int) -> None:
    """A clear error, a finding, or unused bytes; never a raw error."""
    place = tmp_path / "damaged.db"
    place.write_bytes(sound)
    with backscroll.open(place) as engine:
        good = everything(engine)
    chance = random.Random(seed)
    outcomes: list[str] = []
    for _ in range(40):
        damaged = bytearray(sound)
        for _ in range(chance.choice([1, 1, 2, 8, 100])):
            damaged[chance.randrange(len(damaged))] ^= chance.randrange(1, 256)
        for suffix in ("", "-wal", "-shm"):
            place.with_name(place.name + suffix).unlink(missing_ok=True)
        place.write_bytes(damaged)
        outcomes.append(look_at(place, good))
    assert "noticed" in outcomes


@pytest.mark.usefixtures("no_endless_loop")
def test_truncated_file_is_detected(tmp_path: Path, sound: bytes) -> None:
    """Whatever is missing, and without a raw error."""
    (tmp_path / "whole.db").write_bytes(sound)
    with backscroll.open(tmp_path / "whole.db") as engine:
        good = everything(engine)
    for number, size in enumerate(
        [1, 15, 16, 99, 100, 1000, 4095, 4096, 5000, *range(8192, len(sound), 8192)]
    ):
        place = tmp_path / f"cut{number}.db"
        place.write_bytes(sound[:size])
        assert look_at(place, good) in ("not opened", "noticed")
    zeros = tmp_path / "zeros.db"
    zeros.write_bytes(sound[: len(sound) // 2] + bytes(len(sound) // 2))
    assert look_at(zeros, good) in ("not opened", "noticed")


@pytest.mark.usefixtures("no_endless_loop")
def test_damaged_write_ahead_log_loses_only_its_own_end(tmp_path: Path, sound: bytes) -> None:
    """What was in the file before stays readable."""
    place = tmp_path / "store.db"
    chance = random.Random(1)
    for _ in range(15):
        place.write_bytes(sound)
        with backscroll.open(place) as engine:
            before = {info.id: len(list(engine.thread(info.id))) for info in engine.threads()}
            for info in engine.threads():
                say(engine.thread(info.id), *(f"u later {n}" for n in range(5)))
            log = bytearray(place.with_name("store.db-wal").read_bytes())
            main = place.read_bytes()
        for _ in range(20):
            log[chance.randrange(len(log))] ^= 0xFF
        place.write_bytes(main)
        place.with_name("store.db-wal").write_bytes(log)
        with backscroll.open(place) as engine:
            for name, count in before.items():
                assert count <= len(list(engine.thread(name))) <= count + 5
            assert engine.verify().ok


# -- somebody changes one thing ----------------------------------------------------------------------------------


def tampered(place: Path, sql: str, *values: object) -> None:
    """Change the file behind the program's back."""
    with closing(sqlite3.connect(place)) as connection:
        cursor = connection.execute(sql, values)
        assert cursor.rowcount == 1
        connection.commit()


def flaws(place: Path) -> list[StoreFlaw]:
    """What verification finds."""
    with backscroll.open(place) as engine:
        return engine.verify().flaws


def names_of(place: Path) -> dict[str, str]:
    """The id of each thread by its title."""
    with backscroll.open(place) as engine:
        return {info.title: info.id for info in engine.threads()}


def flipped(column: str) -> str:
    """SQL that changes the last byte of a column."""
    last = f"substr({column}, length({column}))"
    return f"CAST(substr({column}, 1, length({column}) - 1) AS BLOB) || CAST(CASE {last} WHEN x'01' THEN x'02' ELSE x'01' END AS BLOB)"


EVENT_COLUMNS: dict[str, str] = {
    "body": f"CAST({flipped('body')} AS BLOB)",
    "a letter of the body": "CAST(replace(CAST(body AS TEXT), 'message 6', 'message 7') AS BLOB)",
    "salt": f"CAST({flipped('salt')} AS BLOB)",
    "seal": f"CAST({flipped('seal')} AS BLOB)",
    "hash": f"CAST({flipped('hash')} AS BLOB)",
    "head": "CAST(replace(CAST(head AS TEXT), 'assistant', 'user') AS BLOB)",
    "head that is no JSON": "x'7b'",
    "actor": "'somebody else'",
    "at": "'2001-01-01T00:00:00+00:00'",
    "kind": "'inserted'",
    "kind that is none": "'imagined'",
    "target": "key - 1",
}


@pytest.mark.parametrize("what", EVENT_COLUMNS)
def test_changed_event_is_named(path: Path, what: str) -> None:
    """Verification names its thread and its number, and no other event."""
    thread = names_of(path)["Lighthouse"]
    column = what.rsplit(maxsplit=1)[-1] if what.startswith("a ") else what.split(maxsplit=1)[0]
    tampered(path, f"UPDATE events SET {column} = {EVENT_COLUMNS[what]} WHERE key = (1 << 32) + 8")
    found = flaws(path)
    named = [flaw.event for flaw in found if flaw.event is not None]
    assert named[0] == backscroll.Ref(thread, 8)
    # With another hash the next event no longer follows; with another meaning later ones may not fold.
    others = {backscroll.Ref(thread, 9)} if column in ("hash", "kind", "head", "target") else set()
    assert {*named} - {backscroll.Ref(thread, 8)} <= others
    assert {flaw.thread for flaw in found if flaw.event} == {thread}


def test_missing_event_is_named(path: Path) -> None:
    """It leaves a gap that is seen."""
    thread = names_of(path)["Lighthouse"]
    tampered(path, "DELETE FROM events WHERE key = (1 << 32) + 8")
    assert any(flaw.event == backscroll.Ref(thread, 8) for flaw in flaws(path))


def test_shortened_log_is_detected(path: Path) -> None:
    """Although all other events still fit together."""
    thread = names_of(path)["Fork"]
    tampered(path, "DELETE FROM events WHERE key = (SELECT max(key) FROM events)")
    assert any(flaw.thread == thread for flaw in flaws(path))


ENTRY_COLUMNS = {
    "position": "position || x'01'",
    "since": "since - 1",
    "until": "4000",
    "revision": "revision + 1",
    "role": "'system'",
    "alternative": "1",
    "alternatives": "7",
    "flags": "2",
    "flags deleted": "1",
}


@pytest.mark.parametrize("what", ENTRY_COLUMNS)
def test_changed_entry_is_named(path: Path, what: str) -> None:
    """A difference between history and log names the message."""
    thread = names_of(path)["Lighthouse"]
    column = what.split(maxsplit=1)[0]
    sql = f"UPDATE entries SET {column} = {ENTRY_COLUMNS[what]} WHERE thread = 1 AND message = (1 << 32) + 13"
    tampered(path, sql)
    found = flaws(path)
    assert backscroll.Ref(thread, 13) in {flaw.event for flaw in found}
    assert {flaw.event for flaw in found if flaw.event} == {backscroll.Ref(thread, 13)}


def test_missing_entry_is_named(path: Path) -> None:
    """A message removed from the history without an event."""
    thread = names_of(path)["Lighthouse"]
    tampered(path, "DELETE FROM entries WHERE thread = 1 AND message = (1 << 32) + 13")
    assert {f.event for f in flaws(path) if f.event} == {backscroll.Ref(thread, 13)}


THREAD_COLUMNS = {
    "head": "head + 1",
    "hash": "zeroblob(32)",
    "messages": "messages + 1",
    "turns": "turns - 1",
    "about": "CAST(replace(CAST(about AS TEXT), 'Fork', 'Spoon') AS BLOB)",
    "about that is no JSON": "x'ff'",
    "fork_seq": "fork_seq - 1",
    "fork_position": "zeroblob(6)",
    "parent": "id",
    "parent that is missing": "'00000000000000000000000000000000'",
    "created_at": "'2001-01-01T00:00:00+00:00'",
    "updated_at": "'yesterday'",
    "updated_us": "0",
    "id": "'00000000000000000000000000000001'",
}


@pytest.mark.usefixtures("no_endless_loop")
@pytest.mark.parametrize("what", THREAD_COLUMNS)
def test_changed_thread_row_is_detected(path: Path, what: str) -> None:
    """Verification names the thread."""
    thread = names_of(path)["Fork"]
    tampered(
        path, f"UPDATE threads SET {what.split(maxsplit=1)[0]} = {THREAD_COLUMNS[what]} WHERE id = ?", thread
    )
    found = flaws(path)
    assert found
    if what != "id":
        assert any(flaw.thread == thread or thread[:8] in flaw.what for flaw in found)


BESIDE = {
    "said": "'2001-01-01T00:00:00+00:00'",
    "said_us": "said_us + 1",
    "role": "'system'",
    "tools": "''",
    "undoable": "1",
    "digest": "zeroblob(32)",
    "doc": "NULL",
    "doc of another": "doc + 1",
}


@pytest.mark.parametrize("what", BESIDE)
def test_changed_lookup_column_is_named(path: Path, what: str) -> None:
    """Columns kept for look-up must follow from the event."""
    thread = names_of(path)["Lighthouse"]
    tampered(
        path, f"UPDATE events SET {what.split(maxsplit=1)[0]} = {BESIDE[what]} WHERE key = (1 << 32) + 8"
    )
    named = {str(flaw.event) for flaw in flaws(path)} | {
        w.strip(":") for f in flaws(path) for w in f.what.split()
    }
    assert f"{thread}.8" in named


def test_changed_index_words_are_detected(path: Path) -> None:
    """Words that the message does not contain, and words that are missing."""
    thread = names_of(path)["Lighthouse"]
    doc = "(SELECT doc FROM events WHERE key = (1 << 32) + 8)"
    tampered(path, f"INSERT INTO words (rowid, text) VALUES ({doc}, 'planted')")
    assert any(f"{thread}.8" in flaw.what.split() for flaw in flaws(path))
    with backscroll.open(path) as engine:
        engine.repair()
        assert engine.verify().ok
        assert engine.search("planted").hits == []


def test_damaged_index_is_detected(path: Path) -> None:
    """Its lists do not fit the words they were made from."""
    tampered(path, "UPDATE words_data SET block = block || x'00' WHERE id = (SELECT max(id) FROM words_data)")
    assert any("index" in flaw.what for flaw in flaws(path))


def test_changed_blob_is_named(path: Path) -> None:
    """With the message that shows it."""
    thread = names_of(path)["Lighthouse"]
    tampered(path, "UPDATE blobs SET data = zeroblob(10)")
    assert {flaw.event for flaw in flaws(path)} == {backscroll.Ref(thread, 32)}


# -- forks in circles --------------------------------------------------------------------------------------------

READING: dict[str, Callable[[backscroll.Thread], object]] = {
    "messages": list,
    "recent": lambda t: t.recent(3),
    "events": lambda t: list(t.events()),
    "turns": lambda t: list(t.turns()),
    "revisions": lambda t: t.revisions(t.message(0).id),
    "insert": lambda t: t.insert("user", "x"),
    "fork": lambda t: t.fork(),
    "forget": lambda t: t.forget_thread(),
}


@pytest.mark.usefixtures("no_endless_loop")
@pytest.mark.parametrize("work", READING)
@pytest.mark.parametrize("circle", ["itself", "each other", "nobody"])
def test_circular_forks_are_an_error(path: Path, circle: str, work: str) -> None:
    """A fork of itself, of its own fork or of a missing thread cannot be read; no endless loop."""
    names = names_of(path)
    fork, root = names["Fork"], names["Lighthouse"]
    parent = {"itself": fork, "each other": root, "nobody": "0" * 32}[circle]
    tampered(path, "UPDATE threads SET parent = ? WHERE id = ?", parent, fork)
    if circle == "each other":
        tampered(path, "UPDATE threads SET parent = ?, fork_seq = 50 WHERE id = ?", fork, root)
    with backscroll.open(path) as engine:
        with pytest.raises(backscroll.StoreError) as refused:
            READING[work](engine.thread(fork))
        assert refused.value.hint
        assert any(flaw.thread == fork for flaw in engine.verify().flaws)


def test_thread_cannot_be_forked_into_a_circle(tmp_path: Path) -> None:
    """Parents are always older than their forks."""
    with backscroll.open(tmp_path / "store.db") as engine:
        threads = [engine.create("root")]
        say(threads[0], "u a")
        chance = random.Random(3)
        for _ in range(20):
            threads.append(chance.choice(threads).fork())
        order = {t.id: n for n, t in enumerate(threads)}
        assert all(order[t.info.parent or ""] < order[t.id] for t in threads[1:])
