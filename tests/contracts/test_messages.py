"""Every operation on a message: what it does to the history, and the event that it leaves in the log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import backscroll
from backscroll.vocab.ids import Ref
from tests.contracts.talk import kinds, last_event, say, texts


def test_append_adds_to_the_end(thread: backscroll.Thread) -> None:
    """In order, and equal to what append returned."""
    said = say(thread, "s Be brief", "u 你好", "a Hello", "t 42")
    assert list(thread) == said
    assert [m.role for m in said] == ["system", "user", "assistant", "tool"]
    assert len(thread) == thread.info.messages == 4


def test_every_operation_records_actor_and_time(store: backscroll.Engine) -> None:
    """Each operation is one event with its actor and the machine's time."""
    before = datetime.now(UTC)
    thread = store.create("x", actor="user:ann").as_actor("user:ann")
    first, second = say(thread, "u one", "a two")
    bob = thread.as_actor("user:bob")
    bob.edit(first.id, "uno")
    bob.regenerate(second.id, "zwei")
    bob.choose(second.id, 0)
    bob.hide(first.id)
    bob.unhide(first.id)
    bob.pin(first.id)
    bob.unpin(first.id)
    bob.delete(first.id)
    bob.restore(first.id)
    bob.move(first.id, after=second.id)
    bob.insert("user", "zero")
    bob.rename("y")
    bob.tag("a")
    bob.untag("a")
    bob.describe(project="p")
    bob.log_code_change("did", "f.py")
    bob.undo()
    bob.redo()
    bob.forget(second.id)
    assert (
        kinds(thread)
        == (
            "created appended appended edited regenerated chosen hidden unhidden pinned unpinned deleted restored moved "
            "inserted renamed tagged untagged described code_changed undone redone forgotten"
        ).split()
    )
    events = list(thread.events())
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    assert [e.actor for e in events] == ["user:ann"] * 3 + ["user:bob"] * (len(events) - 3)
    times = [datetime.fromisoformat(e.at) for e in events]
    assert times == sorted(times)
    assert all(before - timedelta(seconds=1) <= t <= datetime.now(UTC) + timedelta(seconds=1) for t in times)


def test_edit_adds_a_revision_and_keeps_the_old_one(thread: backscroll.Thread) -> None:
    """The id stays, and every earlier revision is readable."""
    (message,) = say(thread, "u first")
    edited = thread.edit(message.id, "second")
    assert (edited.id, edited.text, edited.at) == (message.id, "second", message.at)
    assert edited.revision != message.revision
    again = thread.as_actor("user:bob").edit(str(message.id), "third")
    found = thread.revisions(message.id)
    assert [r.content.text for r in found if r.content] == ["first", "second", "third"]
    assert [r.id for r in found] == [message.revision, edited.revision, again.revision]
    assert found[-1].actor == "user:bob"
    assert last_event(thread).head["base"] == str(edited.revision)


def test_edit_based_on_an_old_revision_is_a_conflict(thread: backscroll.Thread) -> None:
    """A caller that passes the revision it saw cannot lose an update."""
    (message,) = say(thread, "u one")
    thread.edit(message.id, "two", seen=message.revision)
    with pytest.raises(backscroll.Conflict) as refused:
        thread.edit(message.id, "three", seen=message.revision)
    assert refused.value.hint
    with pytest.raises(backscroll.Conflict):
        thread.regenerate(message.id, "three", seen=message.revision)
    assert texts(thread) == ["two"]
    thread.edit(message.id, "three", seen=str(thread.message(0).revision))
    thread.edit(message.id, "four")
    assert texts(thread) == ["four"]


def test_edit_and_regenerate_keep_the_author(thread: backscroll.Thread) -> None:
    """New words are by the same author unless they say otherwise."""
    message = thread.append("assistant", "Meow", author="小猫")
    assert thread.edit(message.id, "Purr").author == "小猫"
    assert thread.regenerate(message.id, "Hiss").author == "小猫"
    signed = backscroll.Content((backscroll.Text("Woof"),), author="狗")
    assert thread.edit(message.id, signed).author == "狗"


def test_delete_and_restore(thread: backscroll.Thread) -> None:
    """A restored message returns to its position."""
    a, b, c = say(thread, "u a", "a b", "u c")
    assert thread.delete(b.id, c.id) == 2
    assert texts(thread) == ["a"]
    assert [(m.text, m.deleted) for m in thread.messages(deleted=True)] == [
        ("a", False),
        ("b", True),
        ("c", True),
    ]
    assert thread.message(b.id).deleted
    assert thread.delete(b.id) == 0
    assert thread.restore(b.id) == 1
    assert thread.restore(b.id) == 0
    assert texts(thread) == ["a", "b"]
    thread.restore(c.id)
    assert [m.id for m in thread] == [a.id, b.id, c.id]


def test_deleted_message_cannot_be_changed(thread: backscroll.Thread) -> None:
    """It must be restored first."""
    (message,) = say(thread, "u a")
    thread.delete(message.id)
    for work in (
        lambda: thread.edit(message.id, "b"),
        lambda: thread.regenerate(message.id, "b"),
        lambda: thread.choose(message.id, 0),
        lambda: thread.hide(message.id),
        lambda: thread.pin(message.id),
        lambda: thread.move(message.id, after=None),
    ):
        with pytest.raises(backscroll.Conflict):
            work()
    with pytest.raises(backscroll.NotFound):
        thread.fork(message.id)
    assert kinds(thread)[-1] == "deleted"


def test_regenerate_and_choose_by_number_and_by_revision(thread: backscroll.Thread) -> None:
    """Alternatives are numbered from 0, and any can be made live again."""
    say(thread, "u Tell me a joke")
    (answer,) = say(thread, "a first")
    second = thread.regenerate(answer.id, "second")
    assert (second.id, second.alternative, second.alternatives) == (answer.id, 1, 2)
    aside = thread.regenerate(answer.id, "third", live=False)
    assert (aside.text, aside.alternative, aside.alternatives) == ("second", 1, 3)
    assert thread.choose(answer.id, 0).text == "first"
    assert thread.choose(answer.id, 2).text == "third"
    assert thread.choose(answer.id, second.revision).text == "second"
    assert thread.choose(answer.id, str(answer.revision)).text == "first"
    before = thread.head
    assert thread.choose(answer.id, 0).text == "first"
    assert thread.head == before


def test_edited_alternative_keeps_its_number(thread: backscroll.Thread) -> None:
    """The number gives its newest text."""
    (answer,) = say(thread, "a first")
    thread.regenerate(answer.id, "second")
    thread.edit(answer.id, "second, better")
    thread.choose(answer.id, 0)
    chosen = thread.choose(answer.id, 1)
    assert (chosen.text, chosen.alternative) == ("second, better", 1)
    assert [(r.alternative, r.content.text) for r in thread.revisions(answer.id) if r.content] == [
        (0, "first"),
        (1, "second"),
        (1, "second, better"),
    ]


@pytest.mark.parametrize("which", [7, -1, Ref("0" * 32, 1)])
def test_choosing_a_missing_alternative_is_not_found(thread: backscroll.Thread, which: int | Ref) -> None:
    """An alternative or revision that a message does not have is not found."""
    (answer, other) = say(thread, "a first", "a other")
    for wanted in (which, other.revision):
        with pytest.raises(backscroll.NotFound):
            thread.choose(answer.id, wanted)


def test_insert_at_the_start_after_or_before_a_message(thread: backscroll.Thread) -> None:
    """A message can be put anywhere, and the others keep their ids and their order."""
    one, two = say(thread, "u one", "a two")
    thread.insert("system", "start")
    thread.insert("user", "after one", after=one.id)
    thread.insert("user", "before two", before=str(two.id))
    thread.insert("user", "after two", after=two.id)
    thread.insert("user", "before one", before=one.id)
    assert texts(thread) == ["start", "before one", "one", "after one", "before two", "two", "after two"]
    say(thread, "u end")
    assert texts(thread)[-1] == "end"
    with pytest.raises(backscroll.InvalidInput):
        thread.insert("user", "both", after=one.id, before=two.id)


def test_insert_into_an_empty_thread(thread: backscroll.Thread) -> None:
    """The beginning of nothing is a place too."""
    thread.insert("user", "only")
    assert texts(thread) == ["only"]


def test_repeated_inserts_at_one_place_keep_their_order(thread: backscroll.Thread) -> None:
    """A hundred messages inserted between the same two keep the order of insertion."""
    first, _ = say(thread, "u first", "u last")
    for number in range(50):
        thread.insert("assistant", f"up {number}", after=first.id)
    middle = thread.message(1)
    for number in range(50):
        thread.insert("assistant", f"down {number}", before=middle.id)
    wanted = [f"down {n}" for n in range(50)] + [f"up {n}" for n in range(49, -1, -1)]
    assert texts(thread) == ["first", *wanted, "last"]


def test_move_message(thread: backscroll.Thread) -> None:
    """Forwards, backwards, to the beginning and to the end."""
    a, b, c, d = say(thread, "u a", "u b", "u c", "u d")
    thread.move(a.id, after=b.id)
    assert texts(thread) == ["b", "a", "c", "d"]
    thread.move(d.id, after=None)
    assert texts(thread) == ["d", "b", "a", "c"]
    moved = thread.move(d.id, after=str(c.id))
    assert texts(thread) == ["b", "a", "c", "d"]
    assert moved == thread.message(3)
    say(thread, "u e")
    assert texts(thread) == ["b", "a", "c", "d", "e"]
    with pytest.raises(backscroll.InvalidInput):
        thread.move(a.id, after=a.id)


def test_deleted_message_keeps_its_place(thread: backscroll.Thread) -> None:
    """Messages inserted and moved around it are on the correct side after it is restored."""
    a, b, c = say(thread, "u a", "u b", "u c")
    thread.delete(b.id)
    thread.insert("user", "after a", after=a.id)
    thread.insert("user", "before c", before=c.id)
    thread.insert("user", "after b", after=b.id)
    thread.restore(b.id)
    assert texts(thread) == ["a", "after a", "b", "after b", "before c", "c"]


def test_hide_and_pin_do_not_change_the_text(thread: backscroll.Thread) -> None:
    """Flags can be set for several messages at once and change neither text nor order."""
    a, b = say(thread, "u a", "a b")
    assert thread.hide(a.id, b.id) == 2
    assert thread.hide(a.id) == 0
    assert thread.pin(b.id) == 1
    assert [(m.hidden, m.pinned) for m in thread] == [(True, False), (True, True)]
    assert thread.unhide(b.id) == 1
    assert thread.unpin(a.id) == 0
    assert thread.unpin(b.id) == 1
    assert [(m.hidden, m.pinned) for m in thread] == [(True, False), (False, False)]
    assert texts(thread) == ["a", "b"]
    kept = thread.append("user", "c", hidden=True, pinned=True)
    assert (thread.message(kept.id).hidden, thread.message(kept.id).pinned) == (True, True)


def test_delete_of_several_messages_is_all_or_nothing(thread: backscroll.Thread) -> None:
    """If one cannot be deleted, none is."""
    a, b = say(thread, "u a", "a b")
    with pytest.raises(backscroll.NotFound):
        thread.delete(a.id, Ref(thread.id, 99), b.id)
    assert texts(thread) == ["a", "b"]
    assert kinds(thread) == ["created", "appended", "appended"]


def test_message_keeps_its_time_across_edits(thread: backscroll.Thread) -> None:
    """The time of saying may lie in the past, has a zone, and survives edits; regenerated words have their own."""
    message = thread.append("assistant", "then", at="2024-02-29T23:59:59+08:00")
    assert thread.message(message.id).at == "2024-02-29T23:59:59+08:00"
    assert thread.edit(message.id, "now").at == "2024-02-29T23:59:59+08:00"
    naive = thread.append("user", "local", at=datetime(2024, 1, 1, 12))
    assert datetime.fromisoformat(naive.at).tzinfo is not None
    assert thread.regenerate(message.id, "anew").at > "2024-03"
    inserted = thread.insert("user", "early", at="2020-01-01T00:00:00Z")
    assert datetime.fromisoformat(inserted.at) == datetime(2020, 1, 1, tzinfo=UTC)
