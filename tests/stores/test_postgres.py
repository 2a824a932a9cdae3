"""What is special to PostgreSQL: many writers, broken connections, addresses, tenants, schemas, shards.

What every store must do is in `tests/contracts`; that both give the same answers in `test_both_answer_alike`.
"""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import backscroll
from backscroll.config import Settings
from backscroll.engine.engine import Engine
from backscroll.engine.pen import Pen
from backscroll.engine.searching import search
from backscroll.engine.verifying import verify_store
from backscroll.errors import InvalidInput, StoreBusy, StoreError, StoreTooNew
from backscroll.record.about import About
from backscroll.record.history import Entry
from backscroll.record.ports import Reader, Wanted, Writer
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content
from backscroll.vocab.part import Media, Text

psycopg = pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")

from backscroll.stores.postgres import fence, upkeep  # noqa: E402 - only where the extra is there
from backscroll.stores.postgres.schema import DISTRIBUTED_BY, VERSION  # noqa: E402
from backscroll.stores.postgres.store import PostgresStore  # noqa: E402
from tests.stores.cutting_proxy import CuttingProxy  # noqa: E402

Opener = Callable[..., Engine]


@pytest.fixture
def opened(database_url: str) -> Iterator[Opener]:
    """Opens engines that share nothing in this process, as if each were a program of its own."""
    stores: list[PostgresStore] = []

    def one(url: str = database_url, **options: Any) -> Engine:
        stores.append(PostgresStore(url, **options))
        return Engine(stores[-1], Settings())

    yield one
    for store in stores:
        store.close()


@pytest.fixture
def engine(opened: Opener) -> Engine:
    return opened()


@pytest.fixture
def admin(database_url: str) -> Iterator[Any]:
    """Somebody else's connection to the same database."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def together(*work: Callable[[], object]) -> None:
    """Run several things at once, and raise what one of them raised."""
    errors: list[BaseException] = []
    gate = threading.Barrier(len(work))

    def run(one: Callable[[], object]) -> None:
        gate.wait()
        try:
            one()
        except BaseException as error:  # noqa: BLE001 - it is raised below, in the thread of the test
            errors.append(error)

    threads = [threading.Thread(target=run, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    if errors:
        raise errors[0]


def sound(engine: Engine) -> None:
    """Log, history and index of everything agree."""
    assert engine.store.read(lambda r: verify_store(r, None)).flaws == []


class TestAddress:
    @pytest.mark.parametrize("secret", ["geheim", "ge:he/im", "ge@heim", "秘密"])
    def test_a_password_is_shown_nowhere(self, secret: str) -> None:
        """Neither where the store says where it is nor in an error is the password to be found."""
        url = f"postgresql://ann:{quote(secret, safe='')}@127.0.0.1:9/notes?connect_timeout=2&sslpassword={secret[:3]}"
        with pytest.raises(StoreError) as caught:
            PostgresStore(url)
        assert "cannot reach" in caught.value.message
        assert "ann@127.0.0.1:9/notes" in caught.value.message
        shown = f"{caught.value} {caught.value.facts} {caught.value.__cause__}"
        assert secret not in shown
        assert quote(secret, safe="") not in shown

    @pytest.mark.parametrize("url", ["postgresql://ann:ge%zzheim@h/x", "postgresql://[geheim/x"])
    def test_an_address_that_is_none_is_not_repeated(self, url: str) -> None:
        """What cannot be parsed may hold a password anywhere."""
        with pytest.raises(InvalidInput) as caught:
            PostgresStore(url)
        assert "heim" not in f"{caught.value}{caught.value.facts}"
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__

    def test_a_missing_database_is_named(self, database_url: str) -> None:
        """The error says that the database is not there, and how to make it."""
        with pytest.raises(StoreError, match="no such database") as caught:
            PostgresStore(database_url.replace("/backscroll_test_", "/backscroll_none_"))
        assert "createdb" in caught.value.hint

    @pytest.mark.parametrize("tenant", ["", "a\nb", "x" * 300])
    def test_a_tenant_has_a_name(self, database_url: str, tenant: str) -> None:
        """A tenant without a proper name is refused before anything is asked of the server."""
        with pytest.raises(InvalidInput, match="tenant"):
            PostgresStore(database_url, tenant=tenant)

    def test_the_driver_is_asked_for(self) -> None:
        """Without psycopg the error names the extra to install."""
        program = (
            "import sys; sys.modules['psycopg'] = None\n"
            "import backscroll\n"
            "try: backscroll.open('postgresql://h/x')\n"
            "except backscroll.BackscrollError as error: print(type(error).__name__, error)"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert "MissingExtra" in done.stdout
        assert "pip install 'backscroll[postgres]'" in done.stdout


class TestOpening:
    def test_another_encoding_is_refused(self, postgres_server_url: str) -> None:
        """A database that cannot hold every text is not used."""
        name = f"backscroll_test_latin_{random.randrange(10**9)}"
        with psycopg.connect(postgres_server_url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
            try:
                with pytest.raises(StoreError, match="encoding LATIN1"):
                    PostgresStore(postgres_server_url.replace("/postgres?", f"/{name}?"))
            finally:
                connection.execute(f"DROP DATABASE {name}")

    def test_many_open_an_empty_database_at_once(self, opened: Opener, admin: Any) -> None:
        """One of them makes the tables, the others wait for it."""
        together(*[lambda: opened().create("x")] * 6)
        assert admin.execute("SELECT array_agg(version) FROM backscroll_schema").fetchone()[0] == [
            *range(1, VERSION + 1)
        ]
        assert len(list(opened().threads())) == 6

    def test_what_is_too_new_is_left_alone(self, engine: Engine, opened: Opener, admin: Any) -> None:
        """Tables of a later program are neither read nor changed."""
        admin.execute("INSERT INTO backscroll_schema (version) VALUES (%s)", (VERSION + 1,))
        before = admin.execute("SELECT xmin::text, version FROM backscroll_schema ORDER BY 2").fetchall()
        with pytest.raises(StoreTooNew, match=f"schema {VERSION + 1}"):
            opened()
        assert (
            admin.execute("SELECT xmin::text, version FROM backscroll_schema ORDER BY 2").fetchall() == before
        )

    def test_every_schema_is_a_store_of_its_own(self, opened: Opener, database_url: str, admin: Any) -> None:
        """With a search path in the address everything lands in that schema."""
        joint = "&" if "?" in database_url else "?"
        stores: list[Engine] = []
        for name in ("one", "Two's"):
            quoted = psycopg.sql.Identifier(name).as_string(admin)
            admin.execute(f"CREATE SCHEMA {quoted}")
            path = quote(quoted.replace(" ", "\\ "))
            stores.append(opened(f"{database_url}{joint}options=-csearch_path%3D{path}"))
            stores[-1].create(name).append("user", f"words of {name}")
        assert [[t.title for t in store.threads()] for store in stores] == [["one"], ["Two's"]]
        assert [store.store.facts()["schema_name"] for store in stores] == ["one", "Two's"]
        assert not admin.execute("SELECT to_regclass('public.backscroll_schema')").fetchone()[0]
        assert [len(search(store, "words").hits) for store in stores] == [1, 1]
        for store in stores:
            sound(store)

    def test_a_missing_schema_is_named(self, opened: Opener, database_url: str) -> None:
        """A search path that leads nowhere gives a hint, not a stack of SQL."""
        joint = "&" if "?" in database_url else "?"
        with pytest.raises(StoreError, match="no such schema"):
            opened(f"{database_url}{joint}options=-csearch_path%3Dnowhere")

    def test_commits_are_durable_whatever_the_default_is(
        self, opened: Opener, database_url: str, admin: Any
    ) -> None:
        """A database that is set to acknowledge early is not followed in that; a stronger setting is."""
        name = admin.info.dbname
        for value, wanted in (("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")):
            admin.execute(f"ALTER DATABASE {name} SET synchronous_commit = {value}")
            assert opened().store.facts()["synchronous_commit"] == wanted

    def test_facts(self, engine: Engine, admin: Any) -> None:
        """What `doctor` shows: server, encoding, size, version of the tables."""
        facts = engine.store.facts()
        assert facts["engine"].startswith("PostgreSQL 1")
        assert facts["encoding"] == "UTF8"
        assert facts["schema_version"] == str(VERSION)
        assert int(facts["bytes"]) > 0


class TestTenants:
    def test_they_see_nothing_of_each_other(self, opened: Opener) -> None:
        """Two tenants in the same tables, even with the same ids, are two stores."""
        one, two = opened(tenant="one"), opened(tenant="two")
        for engine, words in ((one, "red fox"), (two, "blue fox")):
            made = engine.store.write(
                lambda tx, e=engine: e.begin(tx, About("same"), name="ab" * 16).state.id
            )
            thread = engine.thread(made)
            thread.append("user", [Text(words), Media("image/png", data=b"same bytes")])
        for engine, words in ((one, "red fox"), (two, "blue fox")):
            assert [m.text for m in engine.thread("abab")] == [words]
            assert [
                hit.snippet.replace("\x02", "").replace("\x03", "") for hit in search(engine, "fox").hits
            ] == [words]
            assert engine.store.read(lambda r: r.stats())["events"] == 2
            sound(engine)
        one.thread("abab").forget()
        assert [m.text for m in two.thread("abab")] == ["blue fox"]
        assert two.store.read(lambda r: len(list(r.blobs()))) == 1
        sound(two)


class TestManyWriters:
    @pytest.mark.load
    def test_one_thread(self, opened: Opener) -> None:
        """Appends of several programs to one thread get consecutive numbers, and none is lost."""
        name = opened().create("x").id
        engines = [opened() for _ in range(4)]

        def work(number: int) -> None:
            for count in range(25):
                engines[number].thread(name).append("user", f"{number}:{count}")

        together(*[lambda n=n: work(n) for n in range(4)])
        texts = [m.text for m in engines[0].thread(name)]
        assert sorted(texts) == sorted(f"{n}:{c}" for n in range(4) for c in range(25))
        for number in range(4):
            own = [text for text in texts if text.startswith(f"{number}:")]
            assert own == [f"{number}:{c}" for c in range(25)]
        sound(engines[0])

    @pytest.mark.load
    def test_one_family(self, opened: Opener) -> None:
        """Forks that delete, restore, edit and forget the same messages at once never leave the index wrong."""
        root = opened().create("x")
        shared = [root.append("user", f"shared words {n}").id for n in range(4)]
        names = [root.id, *(root.fork().id for _ in range(3))]

        def work(number: int) -> None:
            thread, dice = opened().thread(names[number]), random.Random(number)
            for count in range(12):
                message = dice.choice(shared[:3])
                how = dice.choice(["delete", "restore", "edit"])
                with contextlib.suppress(backscroll.Conflict):  # it is deleted: somebody was quicker
                    getattr(thread, how)(message, *([f"new {number}.{count}"] if how == "edit" else []))
                if count == 6 and number == 2:
                    thread.forget(shared[3])
                if count == 8:
                    thread.fork()

        together(*[lambda n=n: work(n) for n in range(4)])
        engine = opened()
        sound(engine)
        assert len(list(engine.threads())) == 8

    def test_who_edits_waits_for_the_family_only(self, opened: Opener) -> None:
        """While a transaction holds one family, others write to theirs."""
        first, second = opened(), opened()
        busy, free = first.create("busy"), first.create("free")

        def work(tx: Writer) -> None:
            Pen(tx, busy.id, first.means, "user")
            tx.family(busy.id)
            second.thread(free.id).append("user", "not waiting")

        first.store.write(work)
        assert [m.text for m in free] == ["not waiting"]

    def test_patience_ends(self, opened: Opener) -> None:
        """A thread that somebody holds for too long is an error that says so, and nothing was written."""
        first, second = opened(), opened(patience=0.3)
        thread = first.create("x")

        def work(tx: Writer) -> None:
            tx.lock_thread(thread.id)
            with pytest.raises(StoreBusy, match="too long"):
                second.thread(thread.id).append("user", "late")

        first.store.write(work)
        assert len(thread) == 0

    def test_a_reader_sees_one_moment(self, opened: Opener) -> None:
        """What is written while somebody reads shows only to the next reader."""
        first, second = opened(), opened()
        thread = first.create("x")
        thread.append("user", "one")

        def work(reader: Reader) -> list[int]:
            before = len(reader.events(thread.id))
            second.thread(thread.id).append("user", "two")
            return [before, len(reader.events(thread.id))]

        assert first.store.read(work) == [2, 2]
        assert len(thread) == 2

    def test_a_write_inside_a_write_is_a_mistake(self, engine: Engine) -> None:
        """It would wait for itself; better to say so."""
        with pytest.raises(RuntimeError, match="inside a write"):
            engine.store.write(lambda tx: engine.store.write(lambda tx: None))
        engine.create("still works")

    def test_an_origin_is_claimed_once(self, opened: Opener) -> None:
        """Of several imports of one file, all at once, one makes the thread and the others find it."""

        def work() -> None:
            engine = opened()

            def look(tx: Writer) -> None:
                if tx.origin(b"file") is None:
                    time.sleep(0.05)
                    tx.set_origin(b"file", engine.begin(tx, About("imported")).state.id)

            engine.store.write(look)

        together(*[work] * 4)
        engine = opened()
        (only,) = engine.threads()
        assert engine.store.read(lambda r: (r.origin(b"file"), r.origin(b"other"))) == (only.id, None)

    def test_a_look_without_a_claim_leaves_no_origin(self, engine: Engine) -> None:
        """Who looks inside a transaction and sets nothing has changed nothing."""
        assert engine.store.write(lambda tx: tx.origin(b"file")) is None
        assert engine.store.read(lambda r: r.origin(b"file")) is None

    def test_bytes_that_somebody_begins_to_use_are_not_forgotten(self, opened: Opener) -> None:
        """A forget that keeps shared bytes waits for whoever is attaching them just now."""
        first, second = opened(), opened()
        image = Content((Media("image/png", data=b"the same picture"),))
        doomed, other = first.create("a"), first.create("b")
        message = doomed.append("user", image)
        inside, done = threading.Event(), threading.Event()

        def attach(tx: Writer) -> None:
            from backscroll.engine import operations

            pen = Pen(tx, other.id, first.means, "user")
            operations.append(pen, "user", image)
            pen.save()
            inside.set()
            assert not done.wait(0.3), "the forget did not wait"

        def forget() -> None:
            inside.wait(10)
            second.thread(doomed.id).forget(message.id, keep_shared=True)
            done.set()

        together(lambda: first.store.write(attach), forget)
        (kept,) = first.store.read(lambda r: [r.blob(d) for d in r.blobs()])
        assert kept == b"the same picture"
        sound(first)


class TestBrokenConnections:
    def test_a_connection_that_died_while_idle_is_no_error(self, engine: Engine, admin: Any) -> None:
        """After a restart of the server the store goes on as if nothing had happened."""
        thread = engine.create("x")
        kill_others(admin)
        thread.append("user", "after")
        kill_others(admin)
        assert [m.text for m in thread] == ["after"]

    def test_broken_before_the_commit(self, engine: Engine, admin: Any) -> None:
        """The work is done again, and leaves its traces once."""
        thread = engine.create("x")
        tries: list[int] = []

        def work(tx: Writer) -> None:
            from backscroll.engine import operations

            pen = Pen(tx, thread.id, engine.means, "user")
            tries.append(pen.state.head)
            operations.append(pen, "user", Content((Text("once"),)))
            if len(tries) == 1:
                kill_others(admin)
            pen.save()
            tx.thread("0" * 32)

        engine.store.write(work)
        assert tries == [1, 1]
        assert [m.text for m in thread] == ["once"]
        sound(engine)

    @pytest.mark.parametrize("mode", ["before", "after", "late", "ghost"])
    def test_cut_off_during_the_commit(
        self, opened: Opener, database_url: str, mode: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whether or not COMMIT got through, and however late, each write is there exactly once."""
        monkeypatch.setattr(fence, "_GRACE", 2.0 if mode == "late" else 0.1)
        with CuttingProxy(database_url) as proxy:
            store = PostgresStore(proxy.url)
            with closing(store):
                engine = Engine(store, Settings())
                proxy.mode = mode
                thread = engine.create("x")
                proxy.mode = mode
                message = thread.append("user", "one")
                thread.append("user", "two")
                proxy.mode = mode
                store.write(lambda tx: tx.set_meta("key", "value"))
                assert store.read(lambda r: r.meta("key")) == "value"
            assert proxy.cuts == 3
        engine = opened()
        assert [m.text for m in engine.thread(thread.id)] == ["one", "two"]
        assert engine.thread(thread.id).message(message.id).text == "one"
        assert len(list(engine.threads())) == 1
        sound(engine)

    def test_deadlocks_resolve_themselves(self, opened: Opener) -> None:
        """Two transactions that take the same two threads in opposite order both succeed."""
        engines = [opened(), opened()]
        names = [engines[0].create("a").id, engines[0].create("b").id]
        gate = threading.Barrier(2)

        def work(engine: Engine, order: list[str]) -> None:
            first_time = [True]

            def run(tx: Writer) -> None:
                from backscroll.engine import operations

                for name in order:
                    pen = Pen(tx, name, engine.means, "user")
                    operations.append(pen, "user", Content((Text("x"),)))
                    pen.save()
                    if first_time.pop() if first_time else False:
                        gate.wait(10)

            engine.store.write(run)

        together(lambda: work(engines[0], names), lambda: work(engines[1], names[::-1]))
        assert [len(engines[0].thread(name)) for name in names] == [2, 2]
        sound(engines[0])

    def test_an_error_that_was_swallowed_is_no_success(self, engine: Engine) -> None:
        """Where the work hides a failed statement, the server would answer COMMIT with ROLLBACK: that is an error."""

        def work(tx: Writer) -> str:
            tx.set_meta("key", "value")
            try:
                tx.search("'unclosed", Wanted(), 1)
            except psycopg.Error:
                return "all is well"
            return "not reached"

        with pytest.raises(StoreError):
            engine.store.write(work)
        assert engine.store.read(lambda r: r.meta("key")) is None

    def test_a_forked_child_leaves_the_connections_of_its_parent_alone(self, engine: Engine) -> None:
        """Both go on writing to the same thread."""
        thread = engine.create("x")
        thread.append("user", "before")
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # forking with threads around; there are none of ours
            child = os.fork()
        if child == 0:
            code = 1
            try:
                thread.append("user", "child")
                engine.store.close()
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        thread.append("user", "parent")
        assert [m.text for m in thread] == ["before", "child", "parent"]

    def test_closed_is_closed(self, engine: Engine) -> None:
        """After closing, every call says so."""
        engine.store.close()
        for call in (
            engine.store.facts,
            engine.store.scrub,
            lambda: engine.create("x"),
            lambda: list(engine.threads()),
        ):
            with pytest.raises(StoreError, match="closed"):
                call()


def kill_others(admin: Any) -> None:
    """End every other connection to the database, and wait until they are gone."""
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    admin.execute(f"SELECT pg_terminate_backend(pid) {others}")
    while admin.execute(f"SELECT count(*) {others}").fetchone()[0]:
        time.sleep(0.005)


class TestTables:
    def test_every_table_can_be_distributed(self, engine: Engine, admin: Any) -> None:
        """Each table has its distribution column, not null, and every unique key holds it: sharding needs that."""
        tables = admin.execute(
            "SELECT relname::text, oid FROM pg_class WHERE relkind = 'r' AND relname LIKE 'backscroll%'"
        ).fetchall()
        assert {name for name, _ in tables} == {*DISTRIBUTED_BY, "backscroll_schema"}
        for name, oid in tables:
            if name == "backscroll_schema":
                continue
            keys = admin.execute(
                "SELECT array_agg(a.attname::text) FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid "
                "AND a.attnum = ANY(i.indkey) WHERE i.indrelid = %s AND i.indisunique GROUP BY i.indexrelid",
                (oid,),
            ).fetchall()
            assert keys
            for (columns,) in keys:
                assert DISTRIBUTED_BY[name] in columns
                assert "tenant" in columns

    def test_there_is_no_sequence(self, engine: Engine, admin: Any) -> None:
        """Numbers come from the log, never from a counter that all shards would have to share."""
        assert admin.execute("SELECT count(*) FROM pg_class WHERE relkind = 'S'").fetchone()[0] == 0

    def test_a_row_without_its_counterpart_is_found(self, engine: Engine, admin: Any) -> None:
        """`integrity` names what reading would never ask for."""
        thread = engine.create("x")
        message = thread.append("user", "words")
        assert engine.store.read(lambda r: r.integrity()) == []
        admin.execute("DELETE FROM backscroll_events WHERE seq = 2")
        found = engine.store.read(lambda r: r.integrity())
        assert any(
            "words in the index without an event" in what and str(message.id.seq) in what for what in found
        )
        admin.execute("DELETE FROM backscroll_directory")
        assert any("directory" in what for what in engine.store.read(lambda r: r.integrity()))

    def test_an_invalid_index_is_found(self, engine: Engine, admin: Any) -> None:
        """An index that the server does not trust is named, with what to do."""
        admin.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'backscroll_words_found'::regclass"
        )
        assert engine.store.read(lambda r: r.integrity()) == [
            "the index backscroll_words_found is not valid: REINDEX it"
        ]

    def test_positions_may_be_long(self, engine: Engine) -> None:
        """Thousands of messages put at one place make long positions; the index takes them."""
        thread = engine.create("x").id
        places = [b"\0" * 5 + b"\1" + b"\xff" * 20_000 + bytes([n]) for n in range(3)]

        def work(tx: Writer) -> None:
            for number, place in enumerate(places):
                revision = Ref(thread, 1)
                tx.open_entry(
                    thread, Entry(Ref(thread, 10 + number), place, "user", revision, since=number + 2), None
                )

        engine.store.write(work)
        assert [s.entry.position for s in engine.store.read(lambda r: list(r.spans(thread)))] == places

    def test_backup_says_how(self, engine: Engine, tmp_path: Path) -> None:
        """Copying is the server's business; the error says what to use."""
        with pytest.raises(StoreError) as caught:
            engine.store.backup(str(tmp_path / "copy"))
        assert "pg_dump" in caught.value.hint
        assert not list(tmp_path.glob("copy*"))


class TestLongTexts:
    @pytest.mark.parametrize("repeat", ["filler", "的"])
    def test_phrases_are_found_beyond_what_a_tsvector_holds(self, engine: Engine, repeat: str) -> None:
        """A phrase at the end of a long log is found, its words in another order are not, and the words read back."""
        thread = engine.create("x")
        text = "zebra crossing " + f"{repeat} " * 17_000 + "crossing the zebra 包管理"
        message = thread.append("tool", text)
        assert found(engine, '"the zebra"')
        assert found(engine, '"zebra crossing"')
        assert found(engine, "包管理 -giraffe")
        assert not found(engine, '"the crossing"')
        assert not found(engine, "zebra -包管理")
        assert not found(engine, "zebra giraffe")
        words = engine.store.read(lambda r: r.indexed(message.id)) or ""
        assert words.endswith("cross the zebra 包管 管理 理")
        sound(engine)

    def test_more_different_words_than_a_tsvector_holds(self, engine: Engine) -> None:
        """Every one of them is found, the last as well."""
        thread = engine.create("x")
        thread.append("tool", " ".join(f"{n:07d}q" for n in range(110_000)))
        for query in ("0000001q", "0109999q", '"0109998q 0109999q"', "010999*"):
            assert found(engine, query), query
        assert not found(engine, '"0109999q 0109998q"')
        sound(engine)

    def test_the_rare_word_counts_more(self, engine: Engine) -> None:
        """Of messages with one of two words each, the one with the rarer word comes first."""
        thread = engine.create("x")
        for _ in range(20):
            thread.append("user", "common words in here, as ever")
        rare = thread.append("user", "zebra words in here, as ever")
        for _ in range(20):
            thread.append("user", "common words in here, as ever")
        assert search(engine, "common OR zebra").hits[0].message == rare.id

    def test_common_and_rare_words_are_found_alike(self, engine: Engine, admin: Any) -> None:
        """Walking from the newest and going by the index, two ways of searching, give the same."""
        thread = engine.create("x")
        for number in range(450):
            thread.append("user", f"common number{number} {'seldom' if number % 100 == 7 else ''}")
        admin.execute("ANALYZE backscroll_words")
        for query, count in (
            ("common", 450),
            ("seldom", 5),
            ("number7", 1),
            ("common seldom", 5),
            ("common -seldom", 445),
        ):
            assert len(search(engine, query, limit=1000).hits) == count


def found(engine: Engine, query: str) -> bool:
    """True where a search has all that was asked for, not just some of it."""
    got = search(engine, query)
    return bool(got.hits) and not got.relaxed


class TestForgetting:
    def test_no_file_of_the_server_keeps_the_words(
        self, engine: Engine, admin: Any, database_url: str
    ) -> None:
        """After a forget neither tables nor indexes nor statistics hold the words; only the write-ahead log may."""
        place = Path(psycopg.conninfo.conninfo_to_dict(database_url).get("host", "")) / "data" / "base"
        try:
            readable = place.is_dir()
        except PermissionError:
            readable = False
        if not readable:
            pytest.skip("the files of this server cannot be read from here")
        secret = "xylophonequartz"
        thread = engine.create(f"title {secret}")
        kept = thread.append("user", "kept words")
        short = thread.append("user", f"{secret} said it")
        thread.append("user", [Text("see"), Media("text/plain", data=secret.encode() * 300)])
        long = thread.append("tool", f"{secret} and more " * 2000)
        thread.edit(short.id, f"{secret} said it again")
        admin.execute("VACUUM ANALYZE")
        admin.execute("CHECKPOINT")
        assert files_with(place, secret)
        left = thread.forget().unreachable
        assert any("write-ahead log" in what for what in left)
        assert not any("session" in what or "pages" in what for what in left)
        admin.execute("CHECKPOINT")
        assert files_with(place, secret) == []
        assert (
            admin.execute("SELECT count(*) FROM backscroll_meta WHERE key LIKE 'scrub%'").fetchone()[0] == 0
        )
        sound(engine)
        with pytest.raises(backscroll.NotFound):
            thread.fork(kept.id)
        with pytest.raises(backscroll.Forgotten):
            thread.message(long.id)

    def test_a_large_table_is_swept(
        self, engine: Engine, admin: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where rewriting would stop everybody for too long, the index is made anew and the report says what is left."""
        monkeypatch.setattr(upkeep, "_LARGE", 0)
        thread = engine.create("x")
        message = thread.append("user", "xylophonequartz")
        before = admin.execute("SELECT pg_relation_filenode('backscroll_words_found')").fetchone()
        left = thread.forget(message.id).unreachable
        assert any("unused space in backscroll_words" in what for what in left)
        assert admin.execute("SELECT pg_relation_filenode('backscroll_words_found')").fetchone() != before
        sound(engine)

    def test_an_open_snapshot_is_said(self, opened: Opener, admin: Any) -> None:
        """While somebody still looks at an older moment the words are there for them, and the report says so."""
        engine = opened(patience=0.5)
        thread = engine.create("x")
        message = thread.append("user", "secret")
        with psycopg.connect(admin.info.dsn) as watcher:
            watcher.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            watcher.execute("SELECT 1 FROM pg_class").fetchone()
            left = thread.forget(message.id).unreachable
            assert any("session" in what for what in left)
        assert not any("session" in what for what in engine.store.scrub())
        assert (
            admin.execute("SELECT count(*) FROM backscroll_meta WHERE key LIKE 'scrub%'").fetchone()[0] == 0
        )


def files_with(place: Path, secret: str) -> list[str]:
    """Files that hold these letters."""
    return [path.name for path in place.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
