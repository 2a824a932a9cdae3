"""Cutting a history into turns: numbers, names and versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.record.turns import into_turns, turn_of, version
from backscroll.vocab.ids import Ref, turn_uuid
from backscroll.vocab.message import ROLES, Message, Role, content_of
from backscroll.vocab.thread import Turn

THREAD, FORK = "a" * 32, "b" * 32

role_lists = st.lists(st.sampled_from(ROLES), max_size=15)


def spoken(roles: Sequence[Role], thread: str = THREAD) -> list[Message]:
    """Messages of these roles, as appended one after the other."""
    refs = [Ref(thread, seq) for seq in range(2, len(roles) + 2)]
    return [
        Message(ref, role, ref, content_of(f"{role} {ref.seq}"), f"2024-05-01T10:00:{ref.seq:02}+00:00")
        for ref, role in zip(refs, roles, strict=True)
    ]


def cut(messages: Sequence[Message], first: int = 0) -> list[Turn]:
    return list(into_turns(THREAD, messages, first))


def test_greeting_is_turn_0() -> None:
    """What precedes the first user message belongs to the thread; user messages open turns 1, 2, 3."""
    turns = cut(spoken(["system", "assistant", "user", "assistant", "tool", "user", "user"]))
    assert [(t.sequence, [m.id.seq for m in t.messages]) for t in turns] == [
        (0, [2, 3]),
        (1, [4, 5, 6]),
        (2, [7]),
        (3, [8]),
    ]
    assert [t.id for t in turns] == [turn_uuid(Ref(THREAD, n)) for n in (0, 4, 7, 8)]
    assert [t.timestamp for t in turns] == [t.messages[0].at for t in turns]


def test_no_turn_0_without_a_greeting() -> None:
    """Numbering starts at 1 if a user speaks first; without user messages there are no turns."""
    assert [t.sequence for t in cut(spoken(["user", "assistant"]))] == [1]
    assert cut([]) == []


@given(role_lists)
def test_turns_cut_a_history_without_losing_anything(roles: list[Role]) -> None:
    """Put together they are the history; each is opened by its only user message, and numbers go up by one."""
    messages = spoken(roles)
    turns = cut(messages)
    assert [m for turn in turns for m in turn.messages] == messages
    for turn in turns:
        users = [m.role == "user" for m in turn.messages]
        assert users == [turn.sequence > 0] + [False] * (len(users) - 1)
    start = 0 if roles and roles[0] != "user" else 1
    assert [t.sequence for t in turns] == list(range(start, start + len(turns)))
    assert len({t.id for t in turns}) == len(turns)


@given(role_lists, st.data())
def test_a_part_of_a_history_has_the_turns_of_the_whole(roles: list[Role], data: st.DataObject) -> None:
    """From any user message on, given the number of earlier turns, names and numbers are the same."""
    messages = spoken(roles)
    openings = [n for n, role in enumerate(roles) if role == "user"]
    if not openings:
        return
    place = data.draw(st.sampled_from(openings), "place")
    before = roles[:place].count("user")
    assert cut(messages[place:], before) == [t for t in cut(messages) if t.sequence > before]


@given(role_lists, st.data())
def test_a_turn_keeps_its_name_whatever_happens_around_it(roles: list[Role], data: st.DataObject) -> None:
    """After any messages before or after were deleted, a turn that is still opened has its id, if not its number."""
    messages = spoken(roles)
    names = {t.messages[0].id: t.id for t in cut(messages) if t.sequence}
    kept = [m for m in messages if data.draw(st.booleans())]
    left = {t.messages[0].id: t.id for t in cut(kept) if t.sequence}
    assert left == {ref: name for ref, name in names.items() if ref in {m.id for m in kept}}


def test_fork_shares_the_turn_ids_of_its_past() -> None:
    """Turns opened by shared messages have one id in both threads; turn 0 does not."""
    shared = spoken(["assistant", "user", "assistant"])
    own = [*shared, *spoken(["user", "user", "user", "user"], FORK)[-1:]]
    here, there = list(into_turns(THREAD, shared)), list(into_turns(FORK, own))
    assert here[1] == there[1]
    assert here[0].id != there[0].id
    assert there[2].id == turn_uuid(Ref(FORK, 5))


@given(st.lists(st.sampled_from(ROLES), min_size=1, max_size=8), st.data())
def test_the_version_follows_the_revisions_only(roles: list[Role], data: st.DataObject) -> None:
    """Another live revision is another version, and going back to the old one is the old version; flags are neither."""
    messages = spoken(roles)
    place = data.draw(st.integers(0, len(messages) - 1), "place")
    old = messages[place]
    before = version(messages)
    for revision in (Ref(THREAD, 99), Ref(FORK, old.id.seq)):
        messages[place] = replace(old, revision=revision)
        assert version(messages) != before
    messages[place] = replace(old, hidden=True, pinned=True, at="later", alternatives=7)
    assert version(messages) == before


@given(st.sets(st.integers(1, 30), max_size=6), st.sets(st.integers(1, 30), max_size=6))
def test_equal_versions_mean_equal_revisions(one: set[int], other: set[int]) -> None:
    """Two turns have the same version just where the same revisions are live in them."""
    replies: list[Role] = ["assistant"] * 30
    everyone = {m.id.seq: m for m in spoken(replies)}
    some, others = ([everyone[n + 1] for n in numbers] for numbers in (one, other))
    assert (version(some) == version(others)) == (one == other)


def test_turn_versions_never_change() -> None:
    """An analysed turn is identified by its version, also in later releases."""
    assert version(spoken(["user", "assistant"])) == "4d98bcf8e624407b49a15771155f6c7c"


@given(role_lists)
def test_a_turn_of_its_own_is_the_same_as_one_cut_out(roles: list[Role]) -> None:
    """Making one turn and cutting many agree."""
    for turn in cut(spoken(roles)):
        assert turn_of(THREAD, turn.sequence, turn.messages) == turn
        assert turn.version == version(turn.messages)
        assert not turn.processed
        assert turn.processed_at is None


def test_turns_are_yielded_as_soon_as_they_are_complete() -> None:
    """The history is read no further than the message that opens the next turn."""
    messages = spoken(["user", "assistant", "user", "assistant", "user"])
    read: list[int] = []

    def source() -> Iterator[Message]:
        for message in messages:
            read.append(message.id.seq)
            yield message

    turns = into_turns(THREAD, source())
    assert [m.id.seq for m in next(turns).messages] == [2, 3]
    assert read == [2, 3, 4]


@pytest.mark.parametrize("first", [0, 1, 7])
def test_continuation_of_an_earlier_turn_keeps_its_number(first: int) -> None:
    """Messages before the next user message belong to the turn opened before them."""
    turns = cut(spoken(["assistant", "user"]), first)
    assert [t.sequence for t in turns] == [first, first + 1]
