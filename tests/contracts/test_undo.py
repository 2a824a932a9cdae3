"""Undo and redo belong to an actor, take back exactly what was done, and never overwrite somebody else's work."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import backscroll
from tests.contracts.talk import kinds, last_event, say, texts

Work = Callable[[backscroll.Thread, list[backscroll.Message]], object]

OPERATIONS: dict[str, Work] = {
    "edit": lambda t, m: t.edit(m[0].id, "changed"),
    "regenerate": lambda t, m: t.regenerate(m[1].id, "again"),
    "regenerate aside": lambda t, m: t.regenerate(m[1].id, "again", live=False),
    "choose": lambda t, m: t.choose(m[3].id, 0),
    "delete": lambda t, m: t.delete(m[0].id),
    "delete several": lambda t, m: t.delete(*(message.id for message in m)),
    "restore": lambda t, m: t.restore(m[4].id),
    "hide": lambda t, m: t.hide(m[0].id, m[2].id),
    "unhide": lambda t, m: t.unhide(m[5].id),
    "pin": lambda t, m: t.pin(m[0].id),
    "unpin": lambda t, m: t.unpin(m[5].id),
    "move": lambda t, m: t.move(m[0].id, after=m[2].id),
    "insert": lambda t, m: t.insert("user", "between", after=m[1].id),
    "rename": lambda t, m: t.rename("Day train"),
    "tag": lambda t, m: t.tag("new"),
    "tag several": lambda t, m: t.tag("new", "newer"),
    "untag": lambda t, m: t.untag("old"),
    "untag several": lambda t, m: t.untag("old", "older"),
    "describe": lambda t, m: t.describe(project="north", language="zh", metadata={"a": [1]}),
}


def prepared(thread: backscroll.Thread) -> list[backscroll.Message]:
    """A conversation in which every operation changes something."""
    other = thread.as_actor("program")
    messages = say(other, "u a", "a b", "u c", "a d", "u e", "u f")
    other.regenerate(messages[3].id, "d2")
    other.delete(messages[4].id)
    other.hide(messages[5].id)
    other.pin(messages[5].id)
    other.tag("old", "older")
    return messages


def state(thread: backscroll.Thread) -> list[object]:
    """Everything that an operation may change, but for how many alternatives there are: those stay for good."""
    info = thread.info
    shown = [
        (m.id, m.revision, m.text, m.alternative, m.hidden, m.pinned, m.deleted)
        for m in thread.messages(deleted=True)
        if m.text != "between" or not m.deleted
    ]
    return [shown, info.title, info.tags, info.project, info.language, info.metadata, len(thread), info.turns]


@pytest.mark.parametrize("name", OPERATIONS)
def test_undo_reverts_and_redo_reapplies_every_operation(thread: backscroll.Thread, name: str) -> None:
    """After an undo everything is as before the operation, after a redo as after it, as often as one likes."""
    messages = prepared(thread)
    before = state(thread)
    OPERATIONS[name](thread, messages)
    after = state(thread)
    for _ in range(3):
        assert thread.undo().kind == "undone"
        assert state(thread) == before
        assert thread.redo().kind == "redone"
        assert state(thread) == after
    thread.undo()
    assert state(thread) == before
    with pytest.raises(backscroll.NotFound):
        thread.undo()


def test_undo_and_redo_walk_through_many_operations(thread: backscroll.Thread) -> None:
    """Many operations are undone one by one in reverse, and redone one by one."""
    messages = prepared(thread)
    states = [state(thread)]
    for work in OPERATIONS.values():
        work(thread, messages)
        states.append(state(thread))
        if thread.message(messages[0].id).deleted:
            thread.undo()
            states.pop()
    for expected in states[-2::-1]:
        thread.undo()
        assert state(thread) == expected
    for expected in states[1:]:
        thread.redo()
        assert state(thread) == expected


def test_undo_skips_new_messages(thread: backscroll.Thread) -> None:
    """Appending a message is not undone."""
    (a,) = say(thread, "u a")
    thread.edit(a.id, "b")
    say(thread, "a answer")
    thread.log_code_change("did", "f.py")
    thread.undo()
    assert texts(thread) == ["a", "answer"]
    with pytest.raises(backscroll.NotFound) as refused:
        thread.undo()
    assert refused.value.hint


def test_undo_is_per_actor(thread: backscroll.Thread) -> None:
    """Each actor undoes their own last operation, regardless of other actors."""
    a, b = say(thread, "u a", "a b")
    ann, bob = thread.as_actor("user:ann"), thread.as_actor("user:bob")
    ann.edit(a.id, "A")
    bob.edit(b.id, "B")
    ann.undo()
    assert texts(thread) == ["a", "B"]
    assert last_event(thread).actor == "user:ann"
    bob.undo()
    assert texts(thread) == ["a", "b"]
    with pytest.raises(backscroll.NotFound):
        thread.as_actor("user:eve").undo()
    with pytest.raises(backscroll.NotFound):
        thread.as_actor("user:eve").redo()


def test_undo_conflicts_with_later_changes_of_another_actor(thread: backscroll.Thread) -> None:
    """Where another actor changed the same thing since, undo is a conflict and changes nothing."""
    (a,) = say(thread, "u a")
    ann, bob = thread.as_actor("user:ann"), thread.as_actor("user:bob")
    ann.edit(a.id, "ann's")
    bob.edit(a.id, "bob's")
    before = kinds(thread)
    with pytest.raises(backscroll.Conflict) as refused:
        ann.undo()
    assert refused.value.hint
    assert (texts(thread), kinds(thread)) == (["bob's"], before)
    bob.undo()
    ann.undo()
    assert texts(thread) == ["a"]
    ann.rename("by ann")
    bob.rename("by bob")
    with pytest.raises(backscroll.Conflict):
        ann.undo()
    assert thread.info.title == "by bob"


def test_undo_reverts_only_the_changed_fields(thread: backscroll.Thread) -> None:
    """Undoing an edit keeps a pin that another actor set on the same message."""
    a, b = say(thread, "u a", "u b")
    ann, bob = thread.as_actor("user:ann"), thread.as_actor("user:bob")
    ann.edit(a.id, "A")
    bob.pin(a.id)
    bob.move(a.id, after=b.id)
    ann.undo()
    message = thread.message(a.id)
    assert (message.text, message.pinned, texts(thread)) == ("a", True, ["b", "a"])


def test_undo_of_several_messages_is_all_or_nothing(thread: backscroll.Thread) -> None:
    """A stroke is undone whole or not at all."""
    a, b = say(thread, "u a", "u b")
    ann, bob = thread.as_actor("user:ann"), thread.as_actor("user:bob")
    ann.delete(a.id, b.id)
    bob.restore(b.id)
    with pytest.raises(backscroll.Conflict):
        ann.undo()
    assert texts(thread) == ["b"]


def test_new_operation_clears_redo(thread: backscroll.Thread) -> None:
    """After doing something else there is nothing to do again; speaking does not count."""
    (a,) = say(thread, "u a")
    thread.edit(a.id, "b")
    thread.undo()
    say(thread, "a still redoable")
    thread.redo()
    thread.undo()
    thread.pin(a.id)
    with pytest.raises(backscroll.NotFound):
        thread.redo()
    assert thread.message(a.id).text == "a"


def test_undo_restores_all_messages_deleted_at_once(thread: backscroll.Thread) -> None:
    """A stroke of any size is undone as one."""
    messages = say(thread, *(f"u {n}" for n in range(260)))
    thread.delete(messages[0].id)
    thread.delete(*(m.id for m in messages[1:]))
    assert len(thread) == 0
    thread.undo()
    assert len(thread) == 259
    thread.undo()
    assert len(thread) == 260
    thread.redo()
    thread.redo()
    assert len(thread) == 0
    thread.undo()
    assert len(thread) == 259


def test_many_undos_and_redos_in_a_row(thread: backscroll.Thread) -> None:
    """Hundreds of undos and redos do not lose their place."""
    (a,) = say(thread, "u 0")
    for number in range(1, 70):
        thread.edit(a.id, str(number))
    for _ in range(60):
        thread.undo()
    assert texts(thread) == ["9"]
    for _ in range(30):
        thread.redo()
    assert texts(thread) == ["39"]
    for _ in range(39):
        thread.undo()
    assert texts(thread) == ["0"]


def test_undo_skips_forgotten_messages(thread: backscroll.Thread) -> None:
    """Operations on a forgotten message cannot be undone or redone; earlier ones can."""
    a, b = say(thread, "u a", "u b")
    thread.edit(a.id, "A")
    thread.edit(b.id, "B")
    thread.forget(b.id)
    thread.undo()
    assert texts(thread) == ["a"]
    thread.redo()
    assert texts(thread) == ["A"]
    thread.delete(a.id)
    thread.undo()
    thread.forget(a.id)
    for work in (thread.undo, thread.redo):
        with pytest.raises(backscroll.NotFound):
            work()


def test_undo_of_an_insert_removes_the_message(thread: backscroll.Thread) -> None:
    """Redo restores it at its position under the same id."""
    a, _ = say(thread, "u a", "u b")
    inserted = thread.insert("assistant", "between", after=a.id)
    thread.undo()
    assert texts(thread) == ["a", "b"]
    assert thread.message(inserted.id).deleted
    thread.redo()
    assert [m.id for m in thread][1] == inserted.id


def test_restored_message_never_shares_a_position(thread: backscroll.Thread) -> None:
    """If another message took its position, both are placed next to each other and read."""
    first, last = say(thread, "u first", "u last")
    ann, bob = thread.as_actor("user:ann"), thread.as_actor("user:bob")
    one = thread.insert("assistant", "one", after=first.id)
    ann.move(one.id, after=last.id)
    bob.insert("assistant", "two", after=first.id)
    ann.undo()
    found = list(thread)
    assert sorted(m.text for m in found[1:3]) == ["one", "two"]
    assert len({m.position for m in found}) == len(found) == 4
    by_ones = [thread.message(n).text for n in range(4)]
    assert by_ones == texts(found)
