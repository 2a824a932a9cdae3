"""Reading: from either end, any stretch, as of any event, while others write."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

import backscroll
from backscroll.vocab.ids import Ref
from tests.contracts.talk import say, texts


@pytest.fixture
def hundred(thread: backscroll.Thread) -> backscroll.Thread:
    """A conversation of a hundred messages, some of which were inserted, moved and deleted."""
    messages = say(thread, *(f"{'ua'[n % 2]} {n}" for n in range(100)))
    for n in (10, 50, 51):
        thread.insert("assistant", f"after {n}", after=messages[n].id)
    thread.move(messages[90].id, after=messages[5].id)
    thread.delete(*(m.id for m in messages[30:35]), messages[99].id)
    return thread


def expected() -> list[str]:
    """What that conversation says."""
    out: list[str] = []
    for n in range(100):
        out += [str(n)] if n not in {30, 31, 32, 33, 34, 90, 99} else []
        out += ["90"] if n == 5 else []
        out += [f"after {n}"] if n in {10, 50, 51} else []
    return out


def test_recent_messages(hundred: backscroll.Thread) -> None:
    """The last messages in order, as many as there are where more are wanted."""
    everything = expected()
    for n in (0, 1, 2, 5, 50, 97, 98, 1000, 10**30):
        assert texts(hundred.recent(n)) == everything[len(everything) - min(n, len(everything)) :]
    assert texts(hundred.recent()) == everything[-5:]
    with pytest.raises(backscroll.InvalidInput):
        hundred.recent(-1)


def test_message_ranges_are_slices(hundred: backscroll.Thread) -> None:
    """Any range of messages is that slice of the history, from either end."""
    everything = expected()
    for start, stop in itertools.product(
        (None, 0, 1, 6, 30, 52, 96, 97, 500), (None, 0, 1, 8, 60, 97, 500, 10**30)
    ):
        assert texts(hundred.messages(start, stop)) == everything[start:stop]
        assert texts(hundred.messages(start, stop, newest_first=True)) == everything[::-1][start:stop]
    for wrong in ((-1, None), (None, -5)):
        with pytest.raises(backscroll.InvalidInput):
            list(hundred.messages(*wrong))


def test_message_ranges_between_two_messages(hundred: backscroll.Thread) -> None:
    """What lies between two messages, counted from either end, deleted ones included where wanted."""
    everything = expected()
    messages = list(hundred)
    for low, high in ((0, 96), (5, 20), (20, 5), (50, 51)):
        after, before = messages[low].id, messages[high].id
        between = everything[low + 1 : high]
        assert texts(hundred.messages(after=after, before=before)) == between
        assert texts(hundred.messages(after=after, before=str(before), newest_first=True)) == between[::-1]
        assert texts(hundred.messages(2, 4, after=after, before=before)) == between[2:4]
        reverse = hundred.messages(2, 4, after=after, before=before, newest_first=True)
        assert texts(reverse) == between[::-1][2:4]
    everything_ever = [m.text for m in hundred.messages(deleted=True)]
    assert len(everything_ever) == 103
    for start, stop in ((28, 40), (33, 35), (60, 70), (101, 200)):
        assert texts(hundred.messages(start, stop, deleted=True)) == everything_ever[start:stop]
        reverse = hundred.messages(start, stop, deleted=True, newest_first=True)
        assert texts(reverse) == everything_ever[::-1][start:stop]
    with pytest.raises(backscroll.NotFound):
        list(hundred.messages(after=Ref(hundred.id, 999)))


def test_message_by_place_and_by_id(hundred: backscroll.Thread) -> None:
    """Places count from 0, or from -1 backwards; a place that is not there is not found."""
    everything = expected()
    for place in (0, 1, 6, 52, 96, -1, -2, -97):
        message = hundred.message(place)
        assert message.text == everything[place]
        assert hundred.message(message.id) == message
        assert hundred.place(message.id) == place % 97
    for place in (97, -98, 10**12, -(10**12)):
        with pytest.raises(backscroll.NotFound):
            hundred.message(place)
    deleted = next(m for m in hundred.messages(deleted=True) if m.deleted)
    with pytest.raises(backscroll.NotFound):
        hundred.place(deleted.id)


def test_time_travel_shows_the_history_as_of_every_event(thread: backscroll.Thread) -> None:
    """Messages, counts, positions and turns."""
    snapshots: list[tuple[list[backscroll.Message], int]] = [([], 0)]
    steps = [
        lambda: say(thread, "u a"),
        lambda: say(thread, "a b"),
        lambda: thread.edit(thread.message(0).id, "A"),
        lambda: thread.insert("system", "s"),
        lambda: thread.regenerate(thread.message(-1).id, "B"),
        lambda: thread.hide(thread.message(0).id),
        lambda: thread.delete(thread.message(1).id),
        lambda: say(thread, "u c"),
        lambda: thread.choose(thread.message(1).id, 0),
        lambda: thread.move(thread.message(-1).id, after=None),
        thread.undo,
        lambda: thread.restore(*(m.id for m in thread.messages(deleted=True))),
        lambda: thread.rename("x"),
    ]
    snapshots.append(([], 0))
    for step in steps:
        step()
        snapshots.append((list(thread), thread.info.turns))
    assert len(snapshots) == thread.head + 1
    for event, (messages, turns) in enumerate(snapshots):
        then = thread.at(event)
        assert list(then) == messages
        assert len(then) == len(messages)
        assert then.head == event
        assert sum(turn.sequence > 0 for turn in then.turns()) == turns
        assert [then.place(m.id) for m in messages] == list(range(len(messages)))
        assert then.recent(2) == messages[-2:]
        assert [e.seq for e in then.events()] == list(range(1, event + 1))
    assert list(thread.at(10**12)) == list(thread)
    with pytest.raises(backscroll.InvalidInput):
        thread.at(-1)


def test_iteration_sees_one_moment_during_writes(thread: backscroll.Thread) -> None:
    """The history is read as of the start of the iteration."""
    messages = say(thread, *(f"u {n}" for n in range(600)))
    walk = iter(thread)
    seen = [next(walk).text]
    say(thread, "u later")
    thread.edit(messages[400].id, "changed")
    thread.delete(messages[500].id, messages[501].id)
    thread.move(messages[599].id, after=messages[0].id)
    seen += texts(walk)
    assert seen == [str(n) for n in range(600)]


def test_the_log_can_be_read_in_parts(thread: backscroll.Thread) -> None:
    """Events are given by number, from either end."""
    say(thread, *(f"u {n}" for n in range(300)))
    assert [e.seq for e in thread.events(290, 295)] == list(range(290, 296))
    assert [e.seq for e in thread.events(299)] == [299, 300, 301]
    assert [e.seq for e in thread.events(newest_first=True)] == list(range(301, 0, -1))
    assert [e.seq for e in thread.events(2, 4, newest_first=True)] == [4, 3, 2]
    assert list(thread.events(400)) == []
    assert [e.seq for e in thread.events(-5, 2)] == [1, 2]


NAMING: dict[str, Callable[[backscroll.Thread, Ref], object]] = {
    "message": lambda t, ref: t.message(ref),
    "place": lambda t, ref: t.place(ref),
    "revisions": lambda t, ref: t.revisions(ref),
    "edit": lambda t, ref: t.edit(ref, "b"),
    "delete": lambda t, ref: t.delete(ref),
    "restore": lambda t, ref: t.restore(ref),
    "pin": lambda t, ref: t.pin(ref),
    "regenerate": lambda t, ref: t.regenerate(ref, "b"),
    "choose": lambda t, ref: t.choose(ref, 0),
    "move": lambda t, ref: t.move(ref, after=None),
    "move after": lambda t, ref: t.move(t.message(0).id, after=ref),
    "insert after": lambda t, ref: t.insert("user", "b", after=ref),
    "insert before": lambda t, ref: t.insert("user", "b", before=ref),
    "fork": lambda t, ref: t.fork(ref),
    "forget": lambda t, ref: t.forget(ref),
}


@pytest.mark.parametrize("name", NAMING)
def test_unknown_and_foreign_ids_are_not_found(thread: backscroll.Thread, name: str) -> None:
    """Unknown messages and ids of other threads are not found, wherever they are named; nothing is written."""
    say(thread, "u a")
    (other,) = say(thread.engine.create(), "u x")
    before = thread.head
    beyond = (Ref(thread.id, 99), Ref(thread.id, 2**32 + 2), Ref(thread.id, 9999999999))
    for ref in (other.id, Ref(thread.id, 1), Ref("0" * 32, 1), *beyond):
        with pytest.raises(backscroll.NotFound):
            NAMING[name](thread, ref)
    assert thread.head == before


@pytest.mark.parametrize(
    "name", ["", "x", "1", "." * 40, "0" * 32, "0" * 32 + ".0", "0" * 32 + ".1\n", "\ud800", "é"]
)
def test_text_that_is_not_an_id_is_refused(thread: backscroll.Thread, name: str) -> None:
    """Before anything is looked up."""
    say(thread, "u a")
    for work in (
        lambda: thread.message(name),
        lambda: thread.edit(name, "b"),
        lambda: thread.delete(name),
        lambda: thread.place(name),
    ):
        with pytest.raises(backscroll.InvalidInput):
            work()


def test_event_head_holds_no_words_and_body_is_sealed(thread: backscroll.Thread) -> None:
    """The header says what happened; the text is in the sealed body."""
    (message,) = say(thread, "u secret words")
    event = list(thread.events())[-1]
    assert event.id == message.id == event.message
    assert "secret" not in str(event.head)
    assert event.body is not None
    assert b"secret words" in event.body
    assert len(event.hash) == len(event.commit) == 32
    assert event.salt is not None
