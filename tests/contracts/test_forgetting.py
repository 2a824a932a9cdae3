"""Forgetting: the only erasure. The words are gone everywhere, the chain still verifies, and nothing else is lost."""

from __future__ import annotations

import hashlib

import pytest

import backscroll
from backscroll import Media, Text, ToolCall, ToolResult
from tests import proof
from tests.contracts.talk import kinds, last_event, say, texts

PICTURE = b"\x89PNG" + bytes(range(200))


def test_forgotten_message_leaves_a_tombstone(thread: backscroll.Thread) -> None:
    """The message leaves the history, its revisions are erased, and everything else is unchanged."""
    a, b, c = say(thread, "u a", "u b", "u c")
    thread.edit(b.id, "b2")
    thread.regenerate(b.id, "b3")
    done = thread.as_actor("user:ann").forget(b.id)
    assert (done.messages, done.revisions, done.blobs, done.threads) == (1, 3, 0, (thread.id,))
    assert texts(thread) == ["a", "c"]
    assert (len(thread), thread.info.turns) == (2, 2)
    assert texts(thread.messages(deleted=True)) == ["a", "c"]
    assert thread.revisions(b.id) == []
    event = last_event(thread)
    assert (event.kind, event.actor) == ("forgotten", "user:ann")
    assert [e.forgotten for e in thread.events() if e.message == b.id] == [True, True, True]
    assert all(e.body is None and e.salt is None for e in thread.events() if e.forgotten)
    assert [m.id for m in thread] == [a.id, c.id]
    assert thread.engine.verify().ok


def test_operations_on_a_forgotten_message_raise_forgotten(thread: backscroll.Thread) -> None:
    """A forgotten message cannot be read or worked on; others can be put beside it."""
    a, b = say(thread, "u a", "u b")
    thread.forget(a.id)
    for work in (
        lambda: thread.message(a.id),
        lambda: thread.edit(a.id, "x"),
        lambda: thread.regenerate(a.id, "x"),
        lambda: thread.choose(a.id, 0),
        lambda: thread.delete(a.id),
        lambda: thread.restore(a.id),
        lambda: thread.pin(a.id),
        lambda: thread.move(a.id, after=b.id),
        lambda: thread.at(2).message(a.id),
    ):
        with pytest.raises(backscroll.Forgotten):
            work()
    thread.insert("user", "after", after=a.id)
    thread.insert("user", "before", before=b.id)
    thread.insert("user", "first", before=a.id)
    assert texts(thread) == ["first", "after", "before", "b"]
    thread.move(b.id, after=a.id)
    assert texts(thread) == ["first", "b", "after", "before"]
    again = thread.forget(a.id)
    assert (again.revisions, texts(thread)[0]) == (0, "first")


def test_time_travel_does_not_show_forgotten_words(thread: backscroll.Thread) -> None:
    """Every earlier moment is shown and counted without them."""
    a, b, c = say(thread, "u a", "u b", "u c")
    thread.edit(b.id, "b2")
    thread.forget(b.id)
    for event, expected in ((2, ["a"]), (3, ["a"]), (4, ["a", "c"]), (5, ["a", "c"]), (6, ["a", "c"])):
        then = thread.at(event)
        assert texts(then) == expected
        assert len(then) == len(expected)
        assert texts(then.recent(1)) == expected[-1:]
        assert texts(then.messages(1, 2)) == expected[1:2]
        assert [t.user_input for t in then.turns()] == expected
        assert texts([then.message(-1)]) == expected[-1:]
    assert thread.at(5).place(c.id) == 1
    with pytest.raises(backscroll.Forgotten):
        thread.at(3).message(b.id)
    assert texts([thread.at(3).message(a.id)]) == ["a"]


def test_forgetting_reaches_every_fork(thread: backscroll.Thread) -> None:
    """A shared message and every revision that a fork made of it are erased in all of them."""
    a, _ = say(thread, "u a", "u b")
    child = thread.fork()
    child.edit(a.id, "child's a")
    grandchild = child.fork()
    grandchild.regenerate(a.id, "grandchild's a")
    early = thread.fork(a.id)
    other = thread.engine.create("unrelated")
    say(other, "u a")
    done = grandchild.forget(a.id)
    assert (done.messages, done.revisions) == (1, 3)
    assert set(done.threads) == {thread.id, child.id, grandchild.id, early.id}
    assert [texts(t) for t in (thread, child, grandchild, early, other)] == [["b"], ["b"], ["b"], [], ["a"]]
    assert [len(t) for t in (thread, child, grandchild, early)] == [1, 1, 1, 0]
    assert all(kinds(t)[-1] == "forgotten" for t in (thread, child, grandchild, early))
    assert thread.engine.verify().ok
    assert texts(thread.fork()) == ["b"]


def test_forgetting_in_a_fork_leaves_the_parent_alone(thread: backscroll.Thread) -> None:
    """Forgetting what only a fork said leaves the log of its parent alone."""
    say(thread, "u a")
    fork = thread.fork()
    (own,) = say(fork, "u own")
    before = thread.head
    done = fork.forget(own.id)
    assert done.threads == (fork.id,)
    assert thread.head == before
    assert texts(fork) == ["a"]


def test_forgetting_several_messages_is_one_event(thread: backscroll.Thread) -> None:
    """All or none are forgotten."""
    a, b, c = say(thread, "u a", "u b", "u c")
    with pytest.raises(backscroll.NotFound):
        thread.forget(a.id, backscroll.Ref(thread.id, 99))
    assert texts(thread) == ["a", "b", "c"]
    assert thread.forget(a.id, str(c.id)).messages == 2
    assert (texts(thread), kinds(thread)[-2:]) == (["b"], ["appended", "forgotten"])
    assert b.id == thread.message(0).id


def test_forgetting_a_thread_erases_its_whole_log(store: backscroll.Engine) -> None:
    """Messages, title, tags, metadata and code changes are erased; an empty log that verifies remains."""
    thread = store.create("Title", project="Project", kind="agent", tags=["Tag"], metadata={"Key": "Value"})
    say(thread, "u a", "a b")
    thread.rename("Second")
    thread.log_code_change("Change", "File")
    keep = store.create("keep")
    say(keep, "u kept")
    thread.forget_thread()
    info = store.thread(thread.id).info
    assert (info.title, info.project, info.tags, info.metadata, info.kind) == ("", "", (), {}, "chat")
    assert (info.forgotten, info.messages, info.turns) == (True, 0, 0)
    assert list(thread) == list(thread.code_changes()) == []
    assert all(e.body is None for e in thread.events())
    assert store.verify().ok
    assert [t.title for t in store.threads()] == ["", "keep"]
    assert texts(keep) == ["kept"]
    for work in (thread.undo, thread.redo):
        with pytest.raises(backscroll.NotFound):
            work()
    say(thread, "u new")
    thread.rename("new title")
    assert (texts(thread), thread.info.title) == (["new"], "new title")
    thread.undo()
    assert thread.info.title == ""


def test_forgetting_a_parent_erases_its_words_in_forks(thread: backscroll.Thread) -> None:
    """A fork keeps its own messages and loses the title inherited from its parent."""
    say(thread, "u parent")
    thread.tag("private")
    fork = thread.fork()
    named = thread.fork(title="Own name")
    say(fork, "u fork")
    thread.forget_thread()
    assert (texts(thread), texts(fork), texts(named)) == ([], ["fork"], [])
    assert (fork.info.title, fork.info.tags, fork.info.forgotten) == ("", (), False)
    assert named.info.title == "Own name"
    fork.rename("mine")
    assert fork.info.title == "mine"
    assert thread.engine.verify().ok


def test_forgetting_a_fork_keeps_the_words_of_its_parent(thread: backscroll.Thread) -> None:
    """Its edits of shared messages are erased."""
    a, _ = say(thread, "u a", "u b")
    fork = thread.fork()
    fork.edit(a.id, "fork's a")
    grandchild = fork.fork()
    say(fork, "u own")
    fork.forget_thread()
    assert (texts(thread), texts(fork), texts(grandchild)) == (["a", "b"], ["b"], ["b"])
    assert [len(t) for t in (thread, fork, grandchild)] == [2, 1, 1]
    assert thread.message(a.id).text == "a"
    proof.assert_sound(thread.engine)


def test_undo_cannot_restore_a_forgotten_revision_of_an_ancestor(thread: backscroll.Thread) -> None:
    """Where undo would show a revision that is forgotten, it is a conflict."""
    (a,) = say(thread, "u a")
    child = thread.fork()
    child.edit(a.id, "child's a")
    grandchild = child.fork()
    grandchild.edit(a.id, "grandchild's a")
    child.forget_thread()
    assert texts(grandchild) == ["grandchild's a"]
    with pytest.raises(backscroll.Conflict):
        grandchild.undo()
    grandchild.choose(a.id, a.revision)
    assert texts(grandchild) == ["a"]


def test_shared_blobs_are_forgotten_or_kept_on_request(store: backscroll.Engine) -> None:
    """Attached bytes go too; another message that shows the same bytes is named, or keeps them if wanted."""
    digest = hashlib.sha256(PICTURE).hexdigest()
    thread, other = store.create("a"), store.create("b")
    first = thread.append("user", Media("image/png", data=PICTURE))
    second = other.append("tool", ToolResult("c", (Media("image/png", data=PICTURE), Text("x"))))
    third = thread.append("user", Media("image/png", data=PICTURE))
    kept = thread.forget(first.id, keep_shared=True)
    assert (kept.blobs, kept.shared_with) == (0, ())
    assert store.blob(digest) == PICTURE
    gone = thread.forget(third.id)
    assert (gone.blobs, gone.shared_with) == (1, (second.id,))
    assert store.blob(digest) is None
    result = other.message(second.id).parts[0]
    assert isinstance(result, ToolResult)
    assert result.content[0] == Media("image/png", blob=digest)
    assert store.verify().ok


def test_unshared_blobs_are_erased_with_the_message(store: backscroll.Engine) -> None:
    """The last user's bytes are erased, whether or not shared ones should be kept."""
    thread = store.create()
    digest = hashlib.sha256(PICTURE).hexdigest()
    message = thread.append("user", [Media("image/png", data=PICTURE), Media("image/png", data=PICTURE)])
    assert thread.forget(message.id, keep_shared=True).blobs == 1
    assert store.blob(digest) is None
    thread.append("user", Media("image/png", data=PICTURE))
    assert store.blob(digest) == PICTURE


def test_erasure_names_what_it_cannot_reach(thread: backscroll.Thread) -> None:
    """Backups and copies are listed as unreachable."""
    (message,) = say(thread, "u a")
    assert thread.forget(message.id).unreachable


def test_forget_erases_token_counts_and_content_hash(thread: backscroll.Thread) -> None:
    """Token counts and the content hash go with the words."""
    engine = thread.engine
    message = thread.append("assistant", [Text("x"), ToolCall("c", "secret_tool", {})])
    engine.set_tokens({message.revision: 5}, "cl100k_base")
    thread.forget(message.id)
    assert engine.tokens([message.revision], "cl100k_base") == {}
    spoken = engine.store.read(lambda reader: reader.read_spoken([message.revision]))[message.revision]
    assert (spoken.body, spoken.digest) == (None, None)


def test_node_change_is_erased_with_the_last_message_naming_it(store: backscroll.Engine) -> None:
    """A name typed by the user, or still in another message, stays."""
    thread = store.create("town")
    first = thread.append("user", "Zorvelia lives in Bergen.")
    thread.append("assistant", "I see.")
    second = thread.append("user", "Zorvelia is a smith, and Quimbra is her sister.")
    thread.append("assistant", "Good.")
    thread.graph.flush()
    thread.graph.set("Zorvelia", "mood", "tired")
    thread.graph.add("Mirabelle", "person", mood="calm")
    thread.graph.set("Mirabelle", "mood", "glad")

    def bodies() -> bytes:
        return b"".join(e.body or b"" for e in thread.events()).lower()

    thread.forget(first.id)
    assert b"zorvelia" in bodies()
    thread.forget(second.id)
    assert b"zorvelia" not in bodies()
    assert b"mirabelle" in bodies()
    assert store.verify().ok
