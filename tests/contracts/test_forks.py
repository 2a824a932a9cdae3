"""Forks: a shared past that costs nothing, and futures that do not touch each other."""

from __future__ import annotations

import pytest

import backscroll
from backscroll.vocab.ids import Ref
from tests.contracts.talk import kinds, last_event, say, texts


def test_fork_shares_only_the_past(thread: backscroll.Thread) -> None:
    """New messages in a fork or in its parent do not appear in the other."""
    _, b, _ = say(thread, "u a", "a b", "u c")
    fork = thread.fork(b.id, title="What if")
    assert texts(fork) == ["a", "b"]
    assert [m.id for m in fork] == [m.id for m in thread.messages(0, 2)]
    say(fork, "u d")
    say(thread, "a e")
    assert texts(fork) == ["a", "b", "d"]
    assert texts(thread) == ["a", "b", "c", "e"]
    assert fork.info.title == "What if"
    assert (fork.info.parent, fork.info.forked_at) == (thread.id, b.id)
    assert (len(fork), fork.info.turns, thread.info.turns) == (3, 2, 2)


def test_fork_without_a_message_shares_everything(thread: backscroll.Thread) -> None:
    """Forked at no message in particular, a fork begins with all there is, and with its parent's title."""
    say(thread, "u a", "a b")
    fork = thread.fork()
    assert texts(fork) == ["a", "b"]
    assert fork.info.title == "Night train"
    assert texts(thread.engine.create("empty").fork()) == []


def test_fork_copies_no_revisions(thread: backscroll.Thread) -> None:
    """A fork adds one event and no revision."""
    say(thread, *(f"u {n}" for n in range(50)))
    before = thread.engine.stats()
    fork = thread.fork()
    after = thread.engine.stats()
    assert after["events"] == before["events"] + 1
    assert after["revisions"] == before["revisions"]
    assert texts(fork) == [str(n) for n in range(50)]


def test_changes_in_a_fork_do_not_affect_its_parent(thread: backscroll.Thread) -> None:
    """Editing, deleting, moving, hiding and regenerating the shared past happens in the fork alone."""
    a, b, c = say(thread, "u a", "a b", "u c")
    fork = thread.fork(c.id)
    fork.edit(a.id, "A")
    fork.regenerate(b.id, "B")
    fork.delete(c.id)
    fork.move(a.id, after=b.id)
    fork.hide(b.id)
    fork.insert("system", "start")
    assert texts(fork) == ["start", "B", "A"]
    assert texts(thread) == ["a", "b", "c"]
    assert [m.hidden for m in thread] == [False] * 3
    assert [r.content.text for r in thread.revisions(a.id) if r.content] == ["a"]
    assert [r.content.text for r in fork.revisions(a.id) if r.content] == ["a", "A"]


def test_later_changes_in_the_parent_do_not_affect_the_fork(thread: backscroll.Thread) -> None:
    """The shared past stays as it was at the fork."""
    a, b, c = say(thread, "u a", "a b", "u c")
    fork = thread.fork(b.id)
    thread.edit(a.id, "changed")
    thread.delete(b.id)
    thread.insert("user", "new", after=a.id)
    thread.move(c.id, after=None)
    assert texts(fork) == ["a", "b"]
    assert texts(thread) == ["c", "changed", "new"]
    assert [r.content.text for r in fork.revisions(a.id) if r.content] == ["a"]


def test_fork_of_a_fork_keeps_the_history_of_its_grandparent(thread: backscroll.Thread) -> None:
    """Later changes of the parent hide nothing in it."""
    a, b = say(thread, "u a", "a b")
    child = thread.fork()
    say(child, "u c")
    grandchild = child.fork()
    say(grandchild, *(f"u {n}" for n in range(10)))
    child.edit(a.id, "A")
    child.delete(b.id)
    thread.edit(a.id, "root")
    assert texts(grandchild)[:3] == ["a", "b", "c"]
    assert texts(child) == ["A", "c"]
    assert texts(thread) == ["root", "b"]


def test_chain_of_twenty_forks_reads_correctly(thread: backscroll.Thread) -> None:
    """Twenty forks one upon the other, each at an earlier message than the newest, read right from every end."""
    line, expected = thread, ["0"]
    say(line, "u 0")
    for depth in range(1, 21):
        say(line, f"u {depth}", "a dropped")
        line = line.fork(line.message(-2).id)
        expected.append(str(depth))
        assert texts(line) == expected
    assert texts(line.messages(newest_first=True)) == expected[::-1]
    assert texts(line.recent(3)) == expected[-3:]
    assert texts(line.messages(7, 9)) == expected[7:9]
    assert [t.user_input for t in line.turns(20)] == ["19", "20"]
    assert line.place(line.message(11).id) == 11


def test_message_moved_in_a_fork_appears_once(thread: backscroll.Thread) -> None:
    """A fork that moved shared messages about shows each of them once, and so do its own forks."""
    a, b, c, d = say(thread, "u a", "u b", "u c", "u d")
    fork = thread.fork(c.id)
    fork.move(a.id, after=c.id)
    assert texts(fork) == ["b", "c", "a"]
    early = fork.fork(b.id)
    assert texts(early) == ["b"]
    late = fork.fork(a.id)
    assert texts(late) == ["b", "c", "a"]
    for missing in (a.id, c.id, d.id):
        with pytest.raises(backscroll.NotFound):
            early.message(missing)
    assert [len(t) for t in (fork, early, late)] == [3, 1, 3]


def test_log_of_a_fork_continues_the_log_of_its_parent(thread: backscroll.Thread) -> None:
    """Sequence numbers have no gap, and the hash chain links across."""
    say(thread, "u a")
    fork = thread.fork()
    say(fork, "u b")
    say(thread, "u not in the fork")
    assert kinds(fork) == ["created", "appended", "forked", "appended"]
    assert [e.seq for e in fork.events()] == [1, 2, 3, 4]
    assert [e.thread for e in fork.events()] == [thread.id, thread.id, fork.id, fork.id]
    assert [e.seq for e in fork.events(newest_first=True)] == [4, 3, 2, 1]
    assert [e.kind for e in fork.events(2, 3)] == ["appended", "forked"]
    assert last_event(fork).id == Ref(fork.id, 4)


def test_fork_at_a_missing_message_is_refused(thread: backscroll.Thread) -> None:
    """Deleted, foreign and unknown messages cannot be forked at."""
    a, b = say(thread, "u a", "u b")
    (foreign,) = say(thread.engine.create("other"), "u x")
    thread.delete(b.id)
    for place in (b.id, foreign.id, Ref(thread.id, 99), Ref("f" * 32, 1)):
        with pytest.raises(backscroll.NotFound):
            thread.fork(place)
    assert len(list(thread.engine.threads())) == 2
    assert texts(thread.fork(str(a.id))) == ["a"]


def test_undo_in_a_fork_does_not_reach_its_parent(thread: backscroll.Thread) -> None:
    """Operations before the fork are not undone in it."""
    (a,) = say(thread, "u a")
    thread.edit(a.id, "b")
    fork = thread.fork()
    with pytest.raises(backscroll.NotFound):
        fork.undo()
    fork.edit(a.id, "c")
    fork.undo()
    assert texts(fork) == ["b"]
    thread.undo()
    assert texts(thread) == ["a"]
    assert texts(fork) == ["b"]


def test_time_travel_to_before_the_fork(thread: backscroll.Thread) -> None:
    """An earlier moment of a fork may lie before the fork: then it is the shared part of the parent's moment."""
    a, b = say(thread, "u a", "a b")
    thread.edit(a.id, "A")
    say(thread, "u c")
    fork = thread.fork(b.id)
    fork.delete(b.id)
    assert [texts(fork.at(event)) for event in range(8)] == [
        [],
        [],
        ["a"],
        ["a", "b"],
        ["A", "b"],
        ["A", "b"],
        ["A", "b"],
        ["A"],
    ]
