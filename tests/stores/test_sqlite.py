"""The SQLite file: what is opened and what is refused, migrations, copies, and shared transactions."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import backscroll
from backscroll.errors import StoreBusy, StoreCorrupt, StoreTooNew
from backscroll.stores.sqlite import database_file
from backscroll.stores.sqlite.faults import translate_error
from backscroll.stores.sqlite.schema import APPLICATION_ID, MIGRATIONS, VERSION
from backscroll.stores.sqlite.store import SqliteStore
from tests import programs, proof
from tests.contracts.talk import say, texts

ROOT = Path(backscroll.__file__).parents[1]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with one conversation, closed."""
    place = tmp_path / "store.db"
    with backscroll.open(place) as engine:
        say(engine.create("kept"), "u one", "a 二")
    return place


@pytest.fixture
def engine(path: Path) -> Iterator[backscroll.Engine]:
    """The same store, open."""
    with backscroll.open(path) as opened:
        yield opened


def content(path: Path) -> list[list[str]]:
    """Every word of every thread."""
    with backscroll.open(path) as engine:
        return [texts(engine.thread(info.id)) for info in engine.threads()]


def files(folder: Path) -> dict[str, bytes]:
    """Everything in a folder, to the letter; SQLite's file of locks changes by being looked at."""
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file() and not p.name.endswith("-shm")}


# -- what is opened and what is not ------------------------------------------------------------------------------


def test_closed_store_is_one_file(path: Path) -> None:
    """Its header says that it is ours."""
    assert [p.name for p in path.parent.iterdir()] == ["store.db"]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_empty_file_becomes_a_store(tmp_path: Path) -> None:
    """As `mktemp` creates it."""
    place = tmp_path / "new.db"
    place.touch()
    with backscroll.open(place) as engine:
        engine.create("x")
        proof.assert_sound(engine)


@pytest.mark.parametrize(
    "name", ["a b.db", "a?mode=ro#x.db", "100%41.db", "文件.db", "-wal", "x'\";.db", "ü\u0308.db"]
)
def test_any_file_name_works(tmp_path: Path, name: str) -> None:
    """Odd characters in the path are no options, escapes or SQL; missing folders are created."""
    place = tmp_path / "new" / "folder" / name
    with backscroll.open(place) as engine:
        say(engine.create("x"), "u a")
    assert place.stat().st_size > 0
    assert content(place) == [["a"]]
    copy = tmp_path / f"copy {name}"
    with backscroll.open(place) as engine:
        engine.backup(copy)
    assert content(copy) == [["a"]]


@pytest.mark.skipif(sys.platform == "darwin", reason="names must be UTF-8 there")
def test_path_that_is_not_utf8_works(tmp_path: Path) -> None:
    """A path of bytes that cannot be decoded is opened all the same."""
    place = tmp_path / os.fsdecode(b"bad\xff.db")
    with backscroll.open(place) as engine:
        engine.create("x")
    assert place.stat().st_size > 0


def test_relative_and_home_paths_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same file is the same engine."""
    monkeypatch.chdir(tmp_path)
    with backscroll.open("store.db") as one, backscroll.open(tmp_path / "store.db") as two:
        assert one is two
    home = Path.home()
    with backscroll.open("~/store.db") as engine:
        engine.create("x")
    assert (home / "store.db").exists()


def test_impossible_paths_are_refused(tmp_path: Path) -> None:
    """A folder, a pipe, a path below a file and invalid names, with a hint."""
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    for place in ("", "pipe", "file/store.db", "x" * 300, "a\0b.db"):
        with pytest.raises(backscroll.StoreError) as refused:
            backscroll.open(f"{tmp_path}/{place}")
        assert refused.value.hint
    with pytest.raises(backscroll.InvalidInput):
        backscroll.open("mysql://host/database")


STRANGERS = {
    "text": b"Dear diary, today I opened a file.\n" * 100,
    "zeros": bytes(8192),
    "noise": bytes(range(256)) * 32,
    "almost": b"SQLite format 3\0" + bytes(2000),
    "short": b"SQLite",
    "one byte": b"x",
}


@pytest.mark.parametrize("name", STRANGERS)
def test_file_that_is_no_database_is_left_alone(tmp_path: Path, name: str) -> None:
    """Refused and untouched."""
    (tmp_path / "it").write_bytes(STRANGERS[name])
    with pytest.raises(StoreCorrupt) as refused:
        backscroll.open(tmp_path / "it")
    assert refused.value.hint
    assert files(tmp_path) == {"it": STRANGERS[name]}


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_database_of_another_program_is_left_alone(tmp_path: Path, mode: str) -> None:
    """Refused and untouched, in whatever mode it is."""
    place = tmp_path / "other.db"
    with closing(sqlite3.connect(place)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("CREATE TABLE events (key, body)")
        connection.execute("INSERT INTO events VALUES (1, 'precious')")
        connection.commit()
    before = files(tmp_path)
    with pytest.raises(StoreCorrupt, match="another program"):
        backscroll.open(place)
    assert files(tmp_path) == before


def test_write_ahead_log_of_another_program_is_left_alone(tmp_path: Path) -> None:
    """Inspecting the file does not replay what a crashed program left there."""
    script = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('PRAGMA journal_mode = wal');"
        "c.execute('CREATE TABLE t (x)'); c.execute(\"INSERT INTO t VALUES ('precious')\"); c.commit(); os._exit(9)"
    )
    place = tmp_path / "other.db"
    programs.run([sys.executable, "-c", script, str(place)], check=False)
    before = files(tmp_path)
    assert b"precious" in before["other.db-wal"]
    with pytest.raises(StoreCorrupt, match="another program"):
        backscroll.open(place)
    assert files(tmp_path) == before


def test_empty_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    """Its application id marks it, even before it has a table."""
    place = tmp_path / "other.db"
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("PRAGMA application_id = 77")
    before = files(tmp_path)
    with pytest.raises(StoreCorrupt, match="another program"):
        backscroll.open(place)
    assert files(tmp_path) == before


def test_newer_schema_is_refused_and_the_file_untouched(path: Path) -> None:
    """Not opened, not migrated, not changed by a byte."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    before = files(path.parent)
    with pytest.raises(StoreTooNew) as refused:
        backscroll.open(path)
    assert "update" in refused.value.hint.lower()
    assert files(path.parent) == before


@pytest.mark.parametrize("version", [0, -1])
def test_damaged_schema_number_is_refused(path: Path, version: int) -> None:
    """The store is damaged; its tables are not created again."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    before = files(path.parent)
    with pytest.raises(StoreCorrupt):
        backscroll.open(path)
    assert files(path.parent) == before


# -- migrations --------------------------------------------------------------------------------------------------

NEXT = "CREATE TABLE later (x INTEGER);\nALTER TABLE threads ADD COLUMN later INTEGER;\n"


def later(monkeypatch: pytest.MonkeyPatch, script: str = NEXT) -> None:
    """Pretend to be a newer program, with one more migration."""
    monkeypatch.setattr(database_file, "MIGRATIONS", (*MIGRATIONS, script))
    monkeypatch.setattr(database_file, "VERSION", VERSION + 1)


def test_migration_keeps_a_copy_of_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made before the first byte is changed."""
    later(monkeypatch)
    assert content(path) == [["one", "二"]]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION + 1,)
        assert connection.execute("SELECT count(*) FROM later").fetchone() == (0,)
    (copy,) = [p for p in path.parent.iterdir() if p.name.endswith(".backup")]
    assert copy.name.startswith(f"store.db.schema{VERSION}-")
    monkeypatch.undo()
    assert content(copy) == [["one", "二"]]
    with backscroll.open(copy) as engine:
        proof.assert_sound(engine)
    with pytest.raises(StoreTooNew):
        backscroll.open(path)


def test_migration_includes_the_write_ahead_log(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that a crashed program left there is in the copy and in the migrated store."""
    script = (
        "import os, sys, backscroll; e = backscroll.open(sys.argv[1]); t = next(iter(e.threads()));"
        "e.thread(t.id).append('user', 'last words'); os._exit(9)"
    )
    programs.run([sys.executable, "-c", script, str(path)], cwd=ROOT, check=False)
    later(monkeypatch)
    assert content(path) == [["one", "二", "last words"]]
    (copy,) = [p for p in path.parent.iterdir() if p.name.endswith(".backup")]
    monkeypatch.undo()
    assert content(copy) == [["one", "二", "last words"]]


def test_failed_migration_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is as it was and still opens."""
    later(monkeypatch, "CREATE TABLE later (x);\nINSERT INTO nowhere VALUES (1);\n")
    with pytest.raises(backscroll.StoreError):
        backscroll.open(path)
    monkeypatch.undo()
    assert content(path) == [["one", "二"]]


def test_concurrent_opens_migrate_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One migrates and keeps the copy; all continue."""
    later(monkeypatch)
    start = threading.Barrier(6)
    failed: list[BaseException] = []

    def work() -> None:
        try:
            start.wait()
            SqliteStore(path).close()
        except BaseException as error:
            failed.append(error)
            raise

    workers = [threading.Thread(target=work) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failed == []
    copies = [p for p in path.parent.iterdir() if p.name.endswith(".backup")]
    assert len(copies) == 1
    with closing(sqlite3.connect(copies[0])) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)


@pytest.mark.parametrize("attempt", range(2))
def test_concurrent_opens_create_a_store_once(tmp_path: Path, attempt: int) -> None:
    """No program sees half of it."""
    script = "import sys, backscroll; e = backscroll.open(sys.argv[1]); e.create('x').append('user', 'y'); e.close()"
    place = tmp_path / "store.db"
    command = [sys.executable, "-c", script, str(place)]
    running = [programs.start(command, cwd=ROOT, stderr=subprocess.PIPE) for _ in range(8)]
    said = [process.communicate()[1] for process in running]
    assert [(process.returncode, text) for process, text in zip(running, said, strict=True)] == [(0, b"")] * 8
    assert content(place) == [["y"]] * 8


# -- sharing and copies ------------------------------------------------------------------------------------------


def test_store_locked_for_too_long_is_busy(path: Path) -> None:
    """A clear error, and nothing was written."""
    engine = backscroll.open(path, patience=0.05)
    with closing(engine), closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy) as refused:
            engine.create("x")
        assert refused.value.hint
        other.execute("ROLLBACK")
        assert [info.title for info in engine.threads()] == ["kept"]
        engine.create("y")


def test_write_inside_a_write_is_refused(engine: backscroll.Engine) -> None:
    """It would wait for itself; reading is fine."""
    thread = next(iter(engine.threads())).id

    def work(tx: object) -> int:
        with pytest.raises(RuntimeError):
            engine.create("x")
        return len(engine.thread(thread))

    assert engine.store.write(work) == 2


def test_ctrl_c_in_the_leading_thread_keeps_the_work_of_others(engine: backscroll.Engine) -> None:
    """When the thread that writes for all is interrupted, the rest is still written."""
    thread = engine.thread(next(iter(engine.threads())).id)
    entered, go = threading.Event(), threading.Event()

    def interrupted() -> None:
        def work(tx: object) -> None:
            entered.set()
            go.wait(10)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            engine.store.write(work)

    leader = threading.Thread(target=interrupted)
    leader.start()
    entered.wait(10)
    others = [threading.Thread(target=thread.append, args=("user", str(n))) for n in range(4)]
    for other in others:
        other.start()
    go.set()
    for worker in (leader, *others):
        worker.join()
    assert sorted(texts(thread.messages(2))) == ["0", "1", "2", "3"]
    proof.assert_sound(engine)


def test_backup_is_consistent_and_blocks_no_writer(engine: backscroll.Engine, tmp_path: Path) -> None:
    """A copy that is made while others write is one moment of the store."""
    thread = engine.thread(next(iter(engine.threads())).id)
    done = threading.Event()

    def write() -> None:
        while not done.is_set():
            thread.append("user", "more")

    writer = threading.Thread(target=write)
    writer.start()
    for number in range(5):
        engine.backup(tmp_path / f"copy{number}.db")
    done.set()
    writer.join()
    sizes: list[int] = []
    for number in range(5):
        with backscroll.open(tmp_path / f"copy{number}.db") as copy:
            proof.assert_sound(copy)
            sizes.append(len(copy.thread(thread.id)))
    assert sizes == sorted(sizes)
    assert sizes[0] >= 2


def test_failed_backup_is_reported(engine: backscroll.Engine, tmp_path: Path) -> None:
    """A clear error for an unwritable target, and the store continues."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(backscroll.StoreError):
        engine.backup(tmp_path / "store.db" / "x.db")
    for target in (tmp_path / "folder", tmp_path / "nowhere" / "x.db"):
        with pytest.raises(backscroll.StoreError, match=str(target)) as refused:
            engine.store.backup(str(target))
        assert refused.value.hint
    assert len(list(engine.threads())) == 1


def test_sqlite_errors_are_translated() -> None:
    """Each becomes one of ours, with the file and a hint."""
    unknown = translate_error(sqlite3.OperationalError("what?"), "a.db")
    assert "a.db" in unknown.message
    assert unknown.hint
    error = sqlite3.DatabaseError("odd")
    for code in (5, 6, 7, 8, 10, 11, 13, 14, 15, 18, 19, 26, 1, 522, 266, 267):
        error.sqlite_errorcode = code
        said = translate_error(error, "a.db")
        assert isinstance(said, backscroll.StoreError)
        assert "a.db" in said.message
        assert said.hint


def test_numbers_and_names_beyond_the_columns_are_handled(engine: backscroll.Engine) -> None:
    """A huge limit equals none; what is not in the store is not found."""
    thread = engine.thread(next(iter(engine.threads())).id)
    assert len(engine.search("one", limit=10**30).hits) == 1
    assert len(thread.recent(10**30)) == 2
    for ref in (backscroll.Ref("0" * 32, 1), backscroll.Ref(thread.id, 9999999999)):
        with pytest.raises(backscroll.NotFound):
            engine.set_tokens({ref: 3}, "cl100k_base")
        assert engine.tokens([ref], "cl100k_base") == {}


def test_commits_are_synchronous(engine: backscroll.Engine) -> None:
    """SQLite waits for the disk at every commit; a power cut cannot be tested here."""
    engine.create("x")
    facts = engine.store.facts()
    assert (facts["journal_mode"], facts["synchronous"]) == ("wal", "2")
