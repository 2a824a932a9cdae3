"""Many writers and broken connections on PostgreSQL: nothing lost, nothing done twice, the index right."""

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
    def test_concurrent_appends_to_one_thread(self, opened: Opener) -> None:
        """They get consecutive numbers, and none is lost."""
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
    def test_concurrent_changes_in_one_family_keep_the_index_right(self, opened: Opener) -> None:
        """Forks delete, restore, edit and forget the same messages at once."""
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

    def test_edit_waits_for_its_family_only(self, opened: Opener) -> None:
        """While a transaction holds one family, others write to theirs."""
        first, second = opened(), opened()
        busy, free = first.create("busy"), first.create("free")

        def work(tx: Writer) -> None:
            Pen(tx, busy.id, first.means, "user")
            tx.family(busy.id)
            second.thread(free.id).append("user", "not waiting")

        first.store.write(work)
        assert [m.text for m in free] == ["not waiting"]

    def test_wait_for_a_locked_thread_is_limited(self, opened: Opener) -> None:
        """The error says so, and nothing was written."""
        first, second = opened(), opened(patience=0.3)
        thread = first.create("x")

        def work(tx: Writer) -> None:
            tx.lock_thread(thread.id)
            with pytest.raises(StoreBusy, match="too long"):
                second.thread(thread.id).append("user", "late")

        first.store.write(work)
        assert len(thread) == 0

    def test_reader_sees_one_moment(self, opened: Opener) -> None:
        """Later writes are visible to the next reader only."""
        first, second = opened(), opened()
        thread = first.create("x")
        thread.append("user", "one")

        def work(reader: Reader) -> list[int]:
            before = len(reader.events(thread.id))
            second.thread(thread.id).append("user", "two")
            return [before, len(reader.events(thread.id))]

        assert first.store.read(work) == [2, 2]
        assert len(thread) == 2

    def test_write_inside_a_write_is_refused(self, engine: Engine) -> None:
        """It would wait for itself."""
        with pytest.raises(RuntimeError, match="inside a write"):
            engine.store.write(lambda tx: engine.store.write(lambda tx: None))
        engine.create("still works")

    def test_origin_is_claimed_once(self, opened: Opener) -> None:
        """Of several concurrent imports of one file, one creates the thread and the others find it."""

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

    def test_lookup_without_a_claim_leaves_no_origin(self, engine: Engine) -> None:
        """Who looks inside a transaction and sets nothing has changed nothing."""
        assert engine.store.write(lambda tx: tx.origin(b"file")) is None
        assert engine.store.read(lambda r: r.origin(b"file")) is None

    def test_blobs_being_attached_are_not_forgotten(self, opened: Opener) -> None:
        """A forget that keeps shared bytes waits for a concurrent attachment."""
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
    def test_connection_that_died_while_idle_is_replaced(self, engine: Engine, admin: Any) -> None:
        """After a restart of the server the store continues."""
        thread = engine.create("x")
        kill_others(admin)
        thread.append("user", "after")
        kill_others(admin)
        assert [m.text for m in thread] == ["after"]

    def test_connection_broken_before_the_commit_is_retried(self, engine: Engine, admin: Any) -> None:
        """The work is done again, and recorded once."""
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
    def test_connection_broken_during_the_commit_writes_once(
        self, opened: Opener, database_url: str, mode: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whether or not COMMIT got through, and however late."""
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

    def test_deadlocks_are_resolved(self, opened: Opener) -> None:
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

    def test_driver_without_pipelines_works(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        """An older client library takes more round trips and gives the same."""
        monkeypatch.setattr(psycopg.Pipeline, "is_supported", classmethod(lambda cls: False))
        thread = engine.create("x")
        message = thread.append("user", [Text("one"), Media("image/png", data=b"bytes")])
        thread.edit(message.id, "two")
        thread.fork().delete(message.id)
        thread.undo()
        assert [m.text for m in thread] == ["one"]
        sound(engine)

    def test_swallowed_error_is_no_success(self, engine: Engine) -> None:
        """The server would answer COMMIT with ROLLBACK after a hidden failure: that is an error."""

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

    def test_forked_child_leaves_the_parents_connections_alone(self, engine: Engine) -> None:
        """Both continue to write to the same thread."""
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

    def test_closed_store_refuses_every_call(self, engine: Engine) -> None:
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
