"""Many writers on PostgreSQL, and connections that break: nothing is lost, nothing is done twice, the index stays right."""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
import warnings
from contextlib import closing
from typing import Any

import pytest

import backscroll
from backscroll.config import Settings
from backscroll.engine.core.pen import Pen
from backscroll.engine.engine import Engine
from backscroll.errors import StoreBusy, StoreError
from backscroll.record.ports import Reader, SearchFilter, Writer
from backscroll.record.thread_info import ThreadDescription
from backscroll.vocab.message import Content
from backscroll.vocab.part import Media, Text

psycopg = pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")

from backscroll.stores.postgres import fence  # noqa: E402 - only where the extra is there
from backscroll.stores.postgres.store import PostgresStore  # noqa: E402
from tests.stores.at_once import Opener, sound, together  # noqa: E402
from tests.stores.cutting_proxy import CuttingProxy  # noqa: E402


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
                    tx.set_origin(b"file", engine.begin(tx, ThreadDescription("imported")).state.id)

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
            from backscroll.engine.log import operations

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
            from backscroll.engine.log import operations

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
                from backscroll.engine.log import operations

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

    def test_a_driver_without_pipelines_will_do(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An older client library takes more round trips and gives the same."""
        monkeypatch.setattr(psycopg.Pipeline, "is_supported", classmethod(lambda cls: False))
        thread = engine.create("x")
        message = thread.append("user", [Text("one"), Media("image/png", data=b"bytes")])
        thread.edit(message.id, "two")
        thread.fork().delete(message.id)
        thread.undo()
        assert [m.text for m in thread] == ["one"]
        sound(engine)

    def test_an_error_that_was_swallowed_is_no_success(self, engine: Engine) -> None:
        """Where the work hides a failed statement, the server would answer COMMIT with ROLLBACK: that is an error."""

        def work(tx: Writer) -> str:
            tx.set_meta("key", "value")
            try:
                tx.search("'unclosed", SearchFilter(), 1)
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
