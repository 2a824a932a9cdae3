"""The SQLite file: what is opened and what is refused, migrations, copies, and how writers share a transaction."""

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


def test_a_store_is_one_file_once_it_is_closed(path: Path) -> None:
    """After closing, everything is in one file that says whose it is."""
    assert [p.name for p in path.parent.iterdir()] == ["store.db"]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    """A file of no bytes, as `mktemp` makes it, is as good as none."""
    place = tmp_path / "new.db"
    place.touch()
    with backscroll.open(place) as engine:
        engine.create("x")
        proof.assert_sound(engine)


@pytest.mark.parametrize(
    "name", ["a b.db", "a?mode=ro#x.db", "100%41.db", "文件.db", "-wal", "x'\";.db", "ü\u0308.db"]
)
def test_any_name_will_do(tmp_path: Path, name: str) -> None:
    """Odd characters in the path are no options, escapes or SQL; missing folders are made."""
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
def test_a_name_that_is_no_utf8(tmp_path: Path) -> None:
    """A path of bytes that no text can spell is opened all the same."""
    place = tmp_path / os.fsdecode(b"bad\xff.db")
    with backscroll.open(place) as engine:
        engine.create("x")
    assert place.stat().st_size > 0


def test_a_relative_path_and_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path may be relative or begin at home; the same file is the same engine."""
    monkeypatch.chdir(tmp_path)
    with backscroll.open("store.db") as one, backscroll.open(tmp_path / "store.db") as two:
        assert one is two
    home = Path.home()
    with backscroll.open("~/store.db") as engine:
        engine.create("x")
    assert (home / "store.db").exists()


def test_what_cannot_be_a_store(tmp_path: Path) -> None:
    """A folder, a pipe, a place below a file and impossible names are refused with a hint."""
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
def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path, name: str) -> None:
    """What is no SQLite file is refused and not touched."""
    (tmp_path / "it").write_bytes(STRANGERS[name])
    with pytest.raises(StoreCorrupt) as refused:
        backscroll.open(tmp_path / "it")
    assert refused.value.hint
    assert files(tmp_path) == {"it": STRANGERS[name]}


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_another_programs_database_is_left_alone(tmp_path: Path, mode: str) -> None:
    """Somebody else's SQLite file is refused and not touched, in whatever mode it is."""
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


def test_another_programs_write_ahead_log_is_left_alone(tmp_path: Path) -> None:
    """What a crashed stranger left in its write-ahead log is not brought in by our looking at it."""
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


def test_an_empty_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    """A file that another program has marked as its own is not ours, even before it holds a table."""
    place = tmp_path / "other.db"
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("PRAGMA application_id = 77")
    before = files(tmp_path)
    with pytest.raises(StoreCorrupt, match="another program"):
        backscroll.open(place)
    assert files(tmp_path) == before


def test_a_newer_schema_is_refused_and_the_file_untouched(path: Path) -> None:
    """A store of a newer program is not opened, not migrated, not changed by a byte."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    before = files(path.parent)
    with pytest.raises(StoreTooNew) as refused:
        backscroll.open(path)
    assert "update" in refused.value.hint.lower()
    assert files(path.parent) == before


@pytest.mark.parametrize("version", [0, -1])
def test_a_damaged_schema_number_is_refused(path: Path, version: int) -> None:
    """A store whose schema number makes no sense is damaged; its tables are not made again."""
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


def test_a_migration_keeps_a_copy_of_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first byte of an older store is changed, a whole copy of it lies beside it."""
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


def test_a_migration_includes_what_lies_in_the_write_ahead_log(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words that a crashed program left in the write-ahead log are in the copy and in the migrated store."""
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


def test_a_migration_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a migration breaks in the middle, the store is as it was and still opens."""
    later(monkeypatch, "CREATE TABLE later (x);\nINSERT INTO nowhere VALUES (1);\n")
    with pytest.raises(backscroll.StoreError):
        backscroll.open(path)
    monkeypatch.undo()
    assert content(path) == [["one", "二"]]


def test_several_programs_migrate_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many who open an older store at once, one migrates and keeps the copy; all of them go on."""
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
def test_many_programs_create_a_store_at_once(tmp_path: Path, attempt: int) -> None:
    """Of many who open a store that is not there yet, nobody sees half of it."""
    script = "import sys, backscroll; e = backscroll.open(sys.argv[1]); e.create('x').append('user', 'y'); e.close()"
    place = tmp_path / "store.db"
    command = [sys.executable, "-c", script, str(place)]
    running = [programs.start(command, cwd=ROOT, stderr=subprocess.PIPE) for _ in range(8)]
    said = [process.communicate()[1] for process in running]
    assert [(process.returncode, text) for process, text in zip(running, said, strict=True)] == [(0, b"")] * 8
    assert content(place) == [["y"]] * 8


# -- sharing and copies ------------------------------------------------------------------------------------------


def test_a_store_that_others_hold_for_too_long_is_busy(path: Path) -> None:
    """Whoever waits in vain gets a clear error, and nothing was written."""
    engine = backscroll.open(path, patience=0.05)
    with closing(engine), closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy) as refused:
            engine.create("x")
        assert refused.value.hint
        other.execute("ROLLBACK")
        assert [info.title for info in engine.threads()] == ["kept"]
        engine.create("y")


def test_a_write_inside_a_write_is_refused(engine: backscroll.Engine) -> None:
    """Waiting for oneself would be for ever, so it is an error at once; reading is fine."""
    thread = next(iter(engine.threads())).id

    def work(tx: object) -> int:
        with pytest.raises(RuntimeError):
            engine.create("x")
        return len(engine.thread(thread))

    assert engine.store.write(work) == 2


def test_ctrl_c_in_the_leading_thread_takes_nobody_elses_work(engine: backscroll.Engine) -> None:
    """When whoever writes for all is interrupted, the work of the others is done all the same."""
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


def test_a_backup_holds_up_nobody_and_is_whole(engine: backscroll.Engine, tmp_path: Path) -> None:
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


def test_a_backup_that_cannot_be_made_says_so(engine: backscroll.Engine, tmp_path: Path) -> None:
    """A target that cannot be written is a clear error, and the store goes on."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(backscroll.StoreError):
        engine.backup(tmp_path / "store.db" / "x.db")
    for target in (tmp_path / "folder", tmp_path / "nowhere" / "x.db"):
        with pytest.raises(backscroll.StoreError, match=str(target)) as refused:
            engine.store.backup(str(target))
        assert refused.value.hint
    assert len(list(engine.threads())) == 1


def test_what_sqlite_says_is_translated() -> None:
    """Every error of the database becomes one of ours, with the file and a hint."""
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


def test_numbers_and_names_that_no_column_can_hold(engine: backscroll.Engine) -> None:
    """A limit beyond all numbers is as good as none; what is not in the store is not found."""
    thread = engine.thread(next(iter(engine.threads())).id)
    assert len(engine.search("one", limit=10**30).hits) == 1
    assert len(thread.recent(10**30)) == 2
    for ref in (backscroll.Ref("0" * 32, 1), backscroll.Ref(thread.id, 9999999999)):
        with pytest.raises(backscroll.NotFound):
            engine.set_tokens({ref: 3}, "cl100k_base")
        assert engine.tokens([ref], "cl100k_base") == {}


def test_a_commit_is_on_the_disk_before_it_is_acknowledged(engine: backscroll.Engine) -> None:
    """SQLite is told to wait for the disk at every commit; a power cut cannot be tried out here."""
    engine.create("x")
    facts = engine.store.facts()
    assert (facts["journal_mode"], facts["synchronous"]) == ("wal", "2")
