"""Turns: numbered along the live history, named for life, versioned by what they say; and their steps."""

from __future__ import annotations

import uuid

import pytest

import backscroll
from tests.contracts.talk import say, texts


def test_turns_are_numbered_without_gaps(thread: backscroll.Thread) -> None:
    """A user message opens a turn; messages before the first one are turn 0."""
    say(thread, "a Welcome", "s Rules", "u one", "a 1", "t r", "u two", "u three", "a 3")
    turns = list(thread.turns())
    assert [t.sequence for t in turns] == [0, 1, 2, 3]
    assert [texts(t.messages) for t in turns] == [
        ["Welcome", "Rules"],
        ["one", "1", "r"],
        ["two"],
        ["three", "3"],
    ]
    assert [t.user_input for t in turns] == ["", "one", "two", "three"]
    assert [t.response for t in turns] == ["Welcome", "1", "", "3"]
    assert thread.info.turns == 3
    assert [t.timestamp for t in turns] == [t.messages[0].at for t in turns]


def test_thread_that_starts_with_the_user_has_no_turn_0(thread: backscroll.Thread) -> None:
    """Turn 0 exists only if there are messages before the first user message."""
    assert list(thread.turns()) == []
    say(thread, "u one")
    assert [t.sequence for t in thread.turns()] == [1]
    with pytest.raises(backscroll.NotFound):
        thread.turn(0)
    thread.insert("assistant", "Hi")
    assert thread.turn(0).user_input == ""


def test_turns_are_read_by_number_and_range(thread: backscroll.Thread) -> None:
    """Any turn and any range of turns, without reading those before, and the last ones."""
    for n in range(1, 41):
        say(thread, f"u q{n}", f"a a{n}", "t x", f"a b{n}")
    thread.delete(thread.turn(10).messages[0].id)
    numbers = [n for n in range(1, 41) if n != 10]
    assert [t.user_input for t in thread.turns()] == [f"q{n}" for n in numbers]
    assert [len(t.messages) for t in thread.turns(8, 10)] == [4, 7, 4]
    assert [t.sequence for t in thread.turns(38)] == [38, 39]
    assert [t.sequence for t in thread.turns(7, 7)] == [7]
    assert list(thread.turns(40)) == []
    assert [t.sequence for t in thread.recent_turns(3)] == [37, 38, 39]
    assert [t.sequence for t in thread.recent_turns(100)] == list(range(1, 40))
    assert thread.recent_turns(0) == []
    for wrong in (0, 40, -1, 10**12):
        with pytest.raises(backscroll.NotFound):
            thread.turn(wrong)


def test_turn_id_never_changes(thread: backscroll.Thread) -> None:
    """The id is a UUID that edits, regenerations, moves, deletions and renumbering leave alone."""
    say(thread, "a hello")
    one, one_a, two, two_a = say(thread, "u one", "a 1", "u two", "a 2")
    ids = [t.id for t in thread.turns()]
    assert len({uuid.UUID(i) for i in ids}) == 3
    assert all(uuid.UUID(i).version == 8 for i in ids)
    thread.edit(two.id, "zwei")
    thread.regenerate(two_a.id, "II")
    thread.delete(one_a.id)
    assert [t.id for t in thread.turns()] == ids
    thread.delete(one.id)
    assert [(t.id, t.sequence) for t in thread.turns()] == [(ids[0], 0), (ids[2], 1)]
    thread.restore(one.id)
    thread.move(two.id, after=None)
    assert [t.id for t in thread.turns()] == [ids[2], ids[1]]
    fork = thread.fork()
    assert [t.id for t in fork.turns()] == [ids[2], ids[1]]
    assert thread.turn(ids[1]).messages[0].id == one.id


def test_turn_version_changes_only_with_its_content(thread: backscroll.Thread) -> None:
    """Words, additions and deletions change the version; flags, other turns and undoing leave or restore it."""
    one, answer, two = say(thread, "u one", "a 1", "u two")
    start = [t.version for t in thread.turns()]

    def versions() -> list[str]:
        return [t.version for t in thread.turns()]

    thread.hide(answer.id)
    thread.pin(one.id)
    thread.rename("x")
    thread.regenerate(answer.id, "aside", live=False)
    assert versions() == start
    thread.edit(two.id, "zwei")
    assert versions()[0] == start[0]
    assert versions()[1] != start[1]
    thread.undo()
    assert versions() == start
    say(thread, "a 2")
    assert versions()[0] == start[0]
    assert versions()[1] != start[1]
    changed = versions()[1]
    thread.regenerate(answer.id, "I")
    assert versions()[0] != start[0]
    thread.choose(answer.id, 0)
    assert versions() == [start[0], changed]
    thread.delete(answer.id)
    assert versions()[0] != start[0]
    thread.restore(answer.id)
    assert versions() == [start[0], changed]


def test_edit_without_a_change_adds_no_revision(thread: backscroll.Thread) -> None:
    """So that the turn keeps its version."""
    one = thread.append("user", "one", author="Ann")
    before, version = thread.head, thread.turn(1).version
    assert thread.edit(one.id, "one") == thread.message(one.id)
    assert (thread.head, thread.turn(1).version) == (before, version)
    thread.edit(one.id, "one ")
    assert thread.head == before + 1
    with pytest.raises(backscroll.Conflict):
        thread.edit(one.id, "one ", seen=one.revision)


def test_step_is_a_reply_with_its_tool_results(thread: backscroll.Thread) -> None:
    """Each assistant message begins a step, with what came before the first one in it; results stay with their call."""
    say(thread, "u do it", "s note", "a call 1", "t r1", "t r2", "a call 2", "t r3", "a done")
    assert [texts(s.messages) for s in thread.turn(1).steps] == [
        ["do it", "note", "call 1", "r1", "r2"],
        ["call 2", "r3"],
        ["done"],
    ]
    say(thread, "u alone")
    assert [texts(s.messages) for s in thread.turn(2).steps] == [["alone"]]


def test_processed_mark_holds_for_one_version(thread: backscroll.Thread) -> None:
    """A changed turn is not processed; undoing the change makes it processed again."""
    say(thread, "a hello")
    one, _ = say(thread, "u one", "a 1")
    assert not thread.turn(1).processed
    assert thread.turn(1).processed_at is None
    thread.mark_processed(1, thread.turn(1).version, at="2026-01-01T00:00:00+00:00")
    thread.mark_processed(0, thread.turn(0).version)
    turn = thread.turn(1)
    assert (turn.processed, turn.processed_at) == (True, "2026-01-01T00:00:00+00:00")
    assert thread.turn(0).processed
    thread.edit(one.id, "uno")
    turn = thread.turn(1)
    assert (turn.processed, turn.processed_at) == (False, "2026-01-01T00:00:00+00:00")
    thread.undo()
    assert thread.turn(1).processed
    assert not thread.fork().turn(1).processed
    assert [t.processed for t in thread.engine.thread(thread.id).turns()] == [True, True]


def test_token_counts_are_kept_per_tokenizer(thread: backscroll.Thread) -> None:
    """Per revision and tokenizer; they can be replaced, and a forget erases them."""
    engine = thread.engine
    a, b = say(thread, "u a", "a b")
    engine.set_tokens({a.revision: 3, b.revision: 0}, "cl100k_base")
    engine.set_tokens({a.revision: 4}, "词表")
    engine.set_tokens({b.revision: 7}, "cl100k_base")
    wanted = [a.revision, b.revision]
    assert engine.tokens(wanted, "cl100k_base") == {a.revision: 3, b.revision: 7}
    assert engine.tokens(wanted, "词表") == {a.revision: 4}
    assert engine.tokens(wanted, "other") == engine.tokens(wanted, "\ud800\0") == {}
    thread.forget(a.id)
    assert engine.tokens(wanted, "cl100k_base") == {b.revision: 7}
