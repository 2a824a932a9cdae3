"""Threads of users and threads by the caller's own key, on every store."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import backscroll
from backscroll import Engine, Thread
from backscroll.errors import InvalidInput, NotFound


def test_threads_are_listed_by_user_project_and_metadata(store: Engine) -> None:
    ann = store.create("a", user="ann", project="p", metadata={"channel": "web", "n": 1})
    bob = store.create("b", user="bob", project="p", metadata={"channel": "web"})
    nobody = store.create("c", project="p")
    assert [i.id for i in store.threads(user="ann")] == [ann.id]
    assert {i.id for i in store.threads(project="p", user="")} == {nobody.id}
    assert {i.id for i in store.threads(metadata={"channel": "web"})} == {ann.id, bob.id}
    assert [i.id for i in store.threads(metadata={"channel": "web", "n": 1})] == [ann.id]
    assert list(store.threads(metadata={"channel": None})) == []
    assert len(list(store.threads(metadata={"channel": "web"}, limit=1))) == 1
    assert store.users() == ["ann", "bob"]
    assert (ann.info.user, nobody.info.user) == ("ann", "")
    assert store.thread(ann.id, user="ann").id == ann.id
    with pytest.raises(NotFound, match="of user 'bob'"):
        store.thread(ann.id, user="bob")


def test_user_of_a_thread_can_be_changed_and_undone(store: Engine) -> None:
    thread = store.create("a", user="ann")
    thread.describe(user="bob")
    assert [i.id for i in store.threads(user="bob")] == [thread.id]
    thread.undo()
    assert (thread.info.user, list(store.threads(user="bob"))) == ("ann", [])
    thread.describe(user="")
    assert (thread.info.user, store.users()) == ("", [])
    assert store.verify().flaws == []


def test_search_and_recall_by_user(store: Engine) -> None:
    for name in ("ann", "bob"):
        store.create(user=name).append("user", f"The lighthouse keeper of {name} is called Odo.")
    assert [hit.snippet for hit in store.search("lighthouse", user="ann").hits if "bob" in hit.snippet] == []
    assert len(store.search("lighthouse", user="ann").hits) == 1
    assert len(store.search("lighthouse").hits) == 2
    other = store.create(user="ann")
    other.append("user", "Hello.")
    for scope in ("user", "all"):
        found = other.recall("Who is the lighthouse keeper?", 400, scope=scope)
        assert "ann" in found.text
        assert "bob" not in found.text
    nobody = store.create()
    nobody.append("user", "Hello.")
    assert "Odo" not in nobody.recall("Who is the lighthouse keeper?", 400, scope="all").text


def test_thread_for_finds_or_creates_a_thread_by_key(store: Engine) -> None:
    first = store.thread_for("telegram:4711", "Chat", user="ann", project="p", tags=["x"])
    again = store.thread_for("telegram:4711", "Another title")
    assert (again.id, again.info.title, again.info.key) == (first.id, "Chat", "telegram:4711")
    assert store.thread_for("telegram:4712").id != first.id
    with pytest.raises(NotFound, match="another user"):
        store.thread_for("telegram:4711", user="bob")
    for wrong in ("", " ", " a", "a ", "\ud800"):
        with pytest.raises(InvalidInput):
            store.thread_for(wrong)
    long = "钥匙" * 2000
    assert store.thread_for(long).id == store.thread_for(long).id != store.thread_for(long[:-1]).id


def test_forks_and_forgotten_threads_have_no_key(store: Engine) -> None:
    first = store.thread_for("k", user="ann")
    first.append("user", "Hello.")
    fork = first.fork()
    assert (fork.info.key, fork.info.user) == ("", "ann")
    assert store.thread_for("k").id == first.id
    store.forget_thread(first.id, actor="user")
    new = store.thread_for("k")
    assert new.id != first.id
    assert store.verify().flaws == []


def test_concurrent_thread_for_calls_create_one_thread(store: Engine) -> None:
    start = threading.Barrier(8)
    found: list[str] = []

    def ask() -> None:
        start.wait()
        found.append(store.thread_for("the one", "Together").id)

    workers = [threading.Thread(target=ask) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert len(list(store.threads())) == 1


def test_native_file_keeps_keys_and_users(
    store: Engine, tmp_path: Path, reopen: Callable[[], Engine]
) -> None:
    first = store.thread_for("k", user="ann")
    first.append("user", "I am vegetarian.")
    store.user("ann").correct("lives_in", "Porto")
    store.user("ann").export(tmp_path / "ann.jsonl")
    with backscroll.open(tmp_path / "copy.db", background=False) as copy:
        copy.import_path(tmp_path / "ann.jsonl")
        assert copy.thread_for("k").id == first.id
        assert {(f.predicate, f.value) for f in copy.user("ann").facts()} == {
            ("diet", "vegetarian"),
            ("lives_in", "Porto"),
        }
        copy.user("ann").correct("lives_in", "Faro")  # the profile thread is found, not made twice
        assert sum(info.kind == "profile" for info in copy.threads()) == 1
        assert copy.verify().flaws == []
    again = reopen()
    assert again.thread_for("k").id == first.id


def told(thread: Thread) -> str:
    return str(thread.prompt(8000).messages)


def test_user_profile(store: Engine) -> None:
    one = store.create(user="ann")
    said = one.append("user", "I am allergic to nuts. I live in Lisbon.")
    other = store.create(user="ann")
    other.append("user", "Suggest a dinner.")
    assert "nuts" in told(other)
    one.edit(said.id, "I live in Faro.")
    assert "nuts" not in told(other)
    assert "Faro" in told(other)
    gone = store.user("ann").forget()
    assert gone.messages == 2
    assert store.users() == []
    assert store.verify().flaws == []
    with pytest.raises(NotFound):
        store.user("ann").forget()
