"""What is special to PostgreSQL: addresses, tenants, schemas, shards, long texts, forgetting.

Many writers and broken connections are in `test_postgres_writers`, what every store must do in `tests/contracts`, and that both
give the same answers in `test_both_answer_alike`.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import backscroll
from backscroll.engine.engine import Engine
from backscroll.engine.log.verification import verify_store
from backscroll.engine.search.words import search
from backscroll.errors import InvalidInput, StoreBusy, StoreCorrupt, StoreError, StoreTooNew
from backscroll.record.history import Entry
from backscroll.record.ports import Writer
from backscroll.record.thread_info import ThreadDescription
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Media, Text

psycopg = pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")

from backscroll.stores.postgres import faults  # noqa: E402 - only where the extra is there
from backscroll.stores.postgres.schema import DISTRIBUTED_BY, VERSION  # noqa: E402
from backscroll.stores.postgres.store import PostgresStore  # noqa: E402
from backscroll.stores.postgres.writing import upkeep  # noqa: E402 - only where the extra is there
from tests.stores.at_once import Opener, sound, together  # noqa: E402
from tests.stores.database_files import folder_of  # noqa: E402


class TestAddress:
    @pytest.mark.parametrize("secret", ["geheim", "ge:he/im", "ge@heim", "秘密"])
    def test_password_is_never_shown(self, secret: str) -> None:
        """Neither in the address of the store nor in an error."""
        url = f"postgresql://ann:{quote(secret, safe='')}@127.0.0.1:9/notes?connect_timeout=2&sslpassword={secret[:3]}"
        with pytest.raises(StoreError) as caught:
            PostgresStore(url)
        assert "cannot reach" in caught.value.message
        assert "ann@127.0.0.1:9/notes" in caught.value.message
        shown = f"{caught.value} {caught.value.facts} {caught.value.__cause__}"
        assert secret not in shown
        assert quote(secret, safe="") not in shown

    @pytest.mark.parametrize("url", ["postgresql://ann:ge%zzheim@h/x", "postgresql://[geheim/x"])
    def test_invalid_address_is_not_repeated(self, url: str) -> None:
        """What cannot be parsed may contain a password anywhere."""
        with pytest.raises(InvalidInput) as caught:
            PostgresStore(url)
        assert "heim" not in f"{caught.value}{caught.value.facts}"
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__

    def test_missing_database_is_named(self, database_url: str) -> None:
        """The error says how to create it."""
        with pytest.raises(StoreError, match="the database does not exist") as caught:
            PostgresStore(database_url.replace("/backscroll_test_", "/backscroll_none_"))
        assert "createdb" in caught.value.hint

    @pytest.mark.parametrize("tenant", ["", "a\nb", "x" * 300])
    def test_tenant_requires_a_name(self, database_url: str, tenant: str) -> None:
        """Without a valid one, nothing is sent to the server."""
        with pytest.raises(InvalidInput, match="tenant"):
            PostgresStore(database_url, tenant=tenant)

    def test_missing_driver_names_the_extra(self) -> None:
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


class TestFaults:
    @pytest.mark.parametrize(
        ("state", "kind", "hint"),
        [
            ("53100", StoreError, "make room"),
            ("53300", StoreBusy, "max_connections"),
            ("40P01", StoreBusy, "try again"),
            ("55P03", StoreBusy, "try again"),
            ("57014", StoreBusy, "statement_seconds"),
            ("25006", StoreError, "primary"),
            ("28P01", StoreError, "PGPASSWORD"),
            ("42501", StoreError, "grant"),
            ("XX001", StoreCorrupt, "backup"),
            ("XX002", StoreCorrupt, "REINDEX"),
            ("42P01", StoreCorrupt, "backup"),
        ],
    )
    def test_server_errors_say_what_to_do(self, state: str, kind: type[StoreError], hint: str) -> None:
        """Each becomes one of our errors, with the address and a hint."""
        fault = faults.translate_error(psycopg.errors.lookup(state)("said by the server"), "postgresql://h/x")
        assert type(fault) is kind
        assert hint in fault.hint
        assert fault.message.endswith("postgresql://h/x")
        assert fault.facts["cause"] == "said by the server"

    def test_unknown_server_error_keeps_its_text(self) -> None:
        """An unexpected error is reported in the server's own words."""
        fault = faults.translate_error(psycopg.errors.lookup("22012")("division by zero"), "postgresql://h/x")
        assert "division by zero" in fault.message

    def test_refused_login_is_not_retried(self) -> None:
        """A wrong password does not get better with time; a server that is starting does."""
        wrong = faults.unreachable(
            psycopg.OperationalError('password authentication failed for user "a"'), "x"
        )
        starting = faults.unreachable(psycopg.OperationalError("the database system is starting up"), "x")
        assert (faults.hopeless(wrong), faults.turned_away(wrong)) == (True, False)
        assert (faults.hopeless(starting), faults.turned_away(starting)) == (False, True)


class TestOpening:
    def test_other_encodings_are_refused(self, postgres_server_url: str) -> None:
        """A database that cannot hold every text is not used."""
        name = f"backscroll_test_latin_{secrets.token_hex(5)}"
        with psycopg.connect(postgres_server_url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
            try:
                with pytest.raises(StoreError, match="encoding LATIN1"):
                    PostgresStore(postgres_server_url.replace("/postgres?", f"/{name}?"))
            finally:
                connection.execute(f"DROP DATABASE {name}")

    def test_concurrent_opens_of_an_empty_database(self, opened: Opener, admin: Any) -> None:
        """One of them creates the tables, the others wait for it."""
        together(*[lambda: opened().create("x")] * 6)
        assert admin.execute("SELECT array_agg(version) FROM backscroll_schema").fetchone()[0] == [
            *range(1, VERSION + 1)
        ]
        assert len(list(opened().threads())) == 6

    def test_newer_schema_is_left_alone(self, engine: Engine, opened: Opener, admin: Any) -> None:
        """Its tables are neither read nor changed."""
        admin.execute("INSERT INTO backscroll_schema (version) VALUES (%s)", (VERSION + 1,))
        before = admin.execute("SELECT xmin::text, version FROM backscroll_schema ORDER BY 2").fetchall()
        with pytest.raises(StoreTooNew, match=f"schema {VERSION + 1}"):
            opened()
        assert (
            admin.execute("SELECT xmin::text, version FROM backscroll_schema ORDER BY 2").fetchall() == before
        )

    def test_every_schema_is_a_separate_store(self, opened: Opener, database_url: str, admin: Any) -> None:
        """With a search path in the address everything is created in that schema."""
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

    def test_missing_schema_is_named(self, opened: Opener, database_url: str) -> None:
        """An unknown search path gives a hint, not a stack of SQL."""
        joint = "&" if "?" in database_url else "?"
        with pytest.raises(StoreError, match="the schema does not exist"):
            opened(f"{database_url}{joint}options=-csearch_path%3Dnowhere")

    def test_commits_are_durable_whatever_the_default(
        self, opened: Opener, database_url: str, admin: Any
    ) -> None:
        """A database set to acknowledge early is overridden; a stronger setting is kept."""
        name = admin.info.dbname
        for value, wanted in (("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")):
            admin.execute(f"ALTER DATABASE {name} SET synchronous_commit = {value}")
            engine = opened()
            assert engine.store.facts()["synchronous_commit"] == wanted
            engine.store.close()  # or the next one would get its connection

    def test_facts_for_doctor(self, engine: Engine, admin: Any) -> None:
        """Server, encoding, size, schema version."""
        facts = engine.store.facts()
        assert facts["engine"].startswith("PostgreSQL 1")
        assert facts["encoding"] == "UTF8"
        assert facts["schema_version"] == str(VERSION)
        assert int(facts["bytes"]) > 0


class TestTenants:
    def test_tenants_are_isolated(self, opened: Opener) -> None:
        """Two tenants in the same tables, even with the same ids, are two stores."""
        one, two = opened(tenant="one"), opened(tenant="two")
        for engine, words in ((one, "red fox"), (two, "blue fox")):
            made = engine.store.write(
                lambda tx, e=engine: e.begin(tx, ThreadDescription("same"), name="ab" * 16).state.id
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
        one.thread("abab").forget_thread()
        assert [m.text for m in two.thread("abab")] == ["blue fox"]
        assert two.store.read(lambda r: len(list(r.blobs()))) == 1
        sound(two)


class TestTables:
    def test_every_table_can_be_distributed(self, engine: Engine, admin: Any) -> None:
        """Its distribution column is not null and in every unique key: sharding requires that."""
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

    def test_there_are_no_sequences(self, engine: Engine, admin: Any) -> None:
        """Numbers come from the log, never from a counter that all shards would have to share."""
        assert admin.execute("SELECT count(*) FROM pg_class WHERE relkind = 'S'").fetchone()[0] == 0

    def test_row_without_its_counterpart_is_found(self, engine: Engine, admin: Any) -> None:
        """`integrity` names what reading would never request."""
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

    @pytest.mark.parametrize(
        ("change", "named"),
        [
            ("UPDATE backscroll_threads SET about = '\\xff'", "the row of thread"),
            ("UPDATE backscroll_threads SET updated_at = 'soon'", "the row of thread"),
            ("UPDATE backscroll_threads SET fork_message = 'none'", "the row of thread"),
            ("UPDATE backscroll_events SET kind = 'guessed' WHERE seq = 2", ".2"),
            ("UPDATE backscroll_events SET head = '{' WHERE seq = 2", ".2"),
        ],
    )
    def test_damaged_row_is_named(self, engine: Engine, admin: Any, change: str, named: str) -> None:
        """The error says where, and `verify` reports it too."""
        thread = engine.create("x")
        thread.append("user", "words")
        admin.execute(change)
        with pytest.raises(StoreCorrupt) as caught:
            list(thread.events())
        assert named in caught.value.message
        assert engine.store.read(lambda r: verify_store(r, None)).flaws

    def test_invalid_index_is_found(self, engine: Engine, admin: Any) -> None:
        """With what to do."""
        admin.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'backscroll_words_found'::regclass"
        )
        assert engine.store.read(lambda r: r.integrity()) == [
            "the index backscroll_words_found is not valid: REINDEX it"
        ]

    def test_long_positions_can_be_indexed(self, engine: Engine) -> None:
        """Thousands of insertions at one place make them long."""
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

    def test_backup_refers_to_server_tools(self, engine: Engine, tmp_path: Path) -> None:
        """The error names the tool to use."""
        with pytest.raises(StoreError) as caught:
            engine.store.backup(str(tmp_path / "copy"))
        assert "pg_dump" in caught.value.hint
        assert not list(tmp_path.glob("copy*"))


class TestLongTexts:
    @pytest.mark.parametrize("repeat", ["filler", "的"])
    def test_phrases_are_found_beyond_the_limit_of_a_tsvector(self, engine: Engine, repeat: str) -> None:
        """At the end of a long log; the same words in another order are not."""
        thread = engine.create("x")
        text = "zebra crossing " + f"{repeat} " * 17_000 + "crossing the zebra 包管理"
        message = thread.append("tool", text)
        assert found(engine, '"the zebra"')
        assert found(engine, '"zebra crossing"')
        assert found(engine, "包管理 -giraffe")
        assert not found(engine, '"the crossing"')
        assert not found(engine, "zebra -包管理")
        assert not found(engine, "zebra giraffe")
        words = engine.store.read(lambda r: r.read_index_tokens(message.id)) or ""
        assert words.endswith("cross the zebra 包管 管理 理")
        sound(engine)

    def test_more_distinct_words_than_a_tsvector_holds_are_found(self, engine: Engine) -> None:
        """Every one, including the last."""
        thread = engine.create("x")
        thread.append("tool", " ".join(f"{n:07d}q" for n in range(110_000)))
        for query in ("0000001q", "0109999q", '"0109998q 0109999q"', "010999*"):
            assert found(engine, query), query
        assert not found(engine, '"0109999q 0109998q"')
        sound(engine)

    def test_rarer_word_ranks_higher(self, engine: Engine) -> None:
        """Of messages with one of two words each."""
        thread = engine.create("x")
        for _ in range(20):
            thread.append("user", "common words in here, as ever")
        rare = thread.append("user", "zebra words in here, as ever")
        for _ in range(20):
            thread.append("user", "common words in here, as ever")
        assert search(engine, "common OR zebra").hits[0].message == rare.id

    def test_both_search_strategies_agree(self, engine: Engine, admin: Any) -> None:
        """Walking from the newest and using the index give the same results."""
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
    def test_no_server_file_keeps_forgotten_text(self, engine: Engine, admin: Any, database_url: str) -> None:
        """Neither tables nor indexes nor statistics; only the write-ahead log may."""
        place = folder_of(database_url)
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
        left = thread.forget_thread().unreachable
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

    def test_forget_reports_tables_of_another_owner(
        self, engine: Engine, opened: Opener, database_url: str, admin: Any
    ) -> None:
        """Only the owner may rewrite tables: the report says what stays."""
        role = f"backscroll_test_role_{secrets.token_hex(5)}"
        admin.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'geheim'")
        try:
            admin.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}")
            joint = "&" if "?" in database_url else "?"
            guest = opened(f"{database_url}{joint}user={role}&password=geheim")
            assert "geheim" not in guest.store.location
            thread = guest.create("x")
            left = thread.forget(thread.append("user", "words").id).unreachable
            assert any("only the owner" in what for what in left)
            assert not any("only the owner" in what for what in engine.store.scrub())
            guest.store.close()
        finally:
            admin.execute(f"DROP OWNED BY {role}")
            admin.execute(f"DROP ROLE {role}")

    def test_large_table_is_swept(self, engine: Engine, admin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """If rewriting would block others for too long, the index is rebuilt and the report says what is left."""
        monkeypatch.setattr(upkeep, "_LARGE", 0)
        thread = engine.create("x")
        message = thread.append("user", "xylophonequartz")
        before = admin.execute("SELECT pg_relation_filenode('backscroll_words_found')").fetchone()
        left = thread.forget(message.id).unreachable
        assert any("unused space in backscroll_words" in what for what in left)
        assert admin.execute("SELECT pg_relation_filenode('backscroll_words_found')").fetchone() != before
        sound(engine)

    def test_forget_reports_an_open_snapshot(self, opened: Opener, admin: Any) -> None:
        """While another session sees an older moment, it can still read the text; the report says so."""
        engine = opened(patience=0.5)
        thread = engine.create("x")
        message = thread.append("user", "secret")
        with psycopg.connect(admin.info.dsn) as watcher:
            watcher.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            watcher.execute("SELECT 1 FROM pg_class").fetchone()
            left = thread.forget(message.id).unreachable
            assert any("session" in what for what in left)
        assert not any("session" in what for what in opened().store.scrub())
        assert (
            admin.execute("SELECT count(*) FROM backscroll_meta WHERE key LIKE 'scrub%'").fetchone()[0] == 0
        )

    def test_forget_waits_for_another_writer_and_reports_it(
        self, opened: Opener, admin: Any, database_url: str, new_database: Callable[[], str]
    ) -> None:
        """While any database has an older writer, the server copies dead rows: the file is not clean."""
        place = folder_of(database_url)
        secret = "xylophonequartz"
        with psycopg.connect(new_database()) as neighbour:
            neighbour.execute("CREATE TABLE a (b integer)")
            engine = opened(patience=0.5)
            thread = engine.create("x")
            message = thread.append("user", f"{secret} said it")
            left = thread.forget(message.id).unreachable
            assert any("session" in what for what in left)
        assert not any("session" in what or "pages" in what for what in opened().store.scrub())
        admin.execute("CHECKPOINT")
        assert files_with(place, secret) == []

    def test_forget_reports_dead_rows_that_were_copied(
        self, opened: Opener, admin: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Even if no session can be seen, the server's count of kept dead rows is used."""
        monkeypatch.setattr(upkeep, "_wait_for_older", lambda connection, deadline: 0)
        engine = opened(patience=0.5)
        thread = engine.create("x")
        message = thread.append("user", "xylophonequartz")
        with psycopg.connect(admin.info.dsn) as watcher:
            watcher.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            watcher.execute("SELECT 1 FROM pg_class").fetchone()
            left = thread.forget(message.id).unreachable
        assert any("old pages of backscroll_words" in what for what in left)
        assert admin.execute("SELECT count(*) FROM backscroll_meta WHERE key LIKE 'scrub%'").fetchone()[0]
        assert not any("pages" in what for what in opened().store.scrub())


def files_with(place: Path, secret: str) -> list[str]:
    """Files that hold these letters; the server may take away a file while we look."""
    found: list[str] = []
    for folder, _, names in os.walk(place):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                if secret.encode() in Path(folder, name).read_bytes():
                    found.append(name)
    return found
