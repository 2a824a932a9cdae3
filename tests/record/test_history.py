"""The fold from events to entries: each kind of event, every earlier moment, forks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import InvalidInput, StoreCorrupt
from backscroll.record.history import (
    DELETED,
    FORGOTTEN,
    HIDDEN,
    PINNED,
    Entry,
    EntrySpan,
    changes,
    pack,
    replay,
)
from backscroll.record.order import at_end, between
from backscroll.vocab.event import DELIBERATE, Event, Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import ROLES, Role
from backscroll.vocab.part import Json

THREAD, OTHER = "a" * 32, "b" * 32
AT = "2024-05-01T10:00:00+00:00"


def nobody(message: Ref) -> Entry | None:
    """The shared past of a thread that is not a fork."""
    return None


@dataclass
class Log:
    """A log and what follows each of its events, kept as events come in."""

    thread: str = THREAD
    past: Mapping[Ref, Entry] = field(default_factory=dict[Ref, Entry])
    events: list[Event] = field(default_factory=list[Event])
    entries: dict[Ref, Entry] = field(default_factory=dict[Ref, Entry])
    moments: list[dict[Ref, Entry]] = field(default_factory=lambda: [{}])

    def current(self, message: Ref) -> Entry | None:
        return self.entries.get(message) or self.past.get(message)

    def write(self, kind: Kind, target: Ref | None = None, **head: Json) -> list[Entry]:
        event = Event(self.thread, len(self.events) + 1, kind, "user:ann", AT, target, head)
        opened = changes(event, self.current)
        self.events.append(event)
        self.entries |= {entry.message: entry for entry in opened}
        self.moments.append(dict(self.entries))
        return opened

    def append(self, role: str = "user", **head: Json) -> Ref:
        (entry,) = self.write(Kind.APPENDED, role=role, **head)
        return entry.message


@pytest.mark.parametrize("role", ROLES)
def test_appended_message_is_last(role: Role) -> None:
    """Its position is the number of its event, and its first revision is the event itself."""
    log = Log()
    log.write(Kind.CREATED)
    (entry,) = log.write(Kind.APPENDED, role=role)
    me = Ref(THREAD, 2)
    assert entry == Entry(me, at_end(2), role, me, since=2)
    assert entry.live
    assert entry.opens_turn == (role == "user")


def test_inserted_message_has_the_position_of_its_event() -> None:
    """Flags may be set as well."""
    log = Log()
    first, second = log.append(), log.append()
    place = between(log.entries[first].position, log.entries[second].position, 3)
    (entry,) = log.write(Kind.INSERTED, role="assistant", position=place.hex(), flags=HIDDEN | PINNED)
    assert (entry.position, entry.flags) == (place, HIDDEN | PINNED)
    order = sorted(log.entries.values(), key=lambda e: e.position)
    assert [e.message for e in order] == [first, entry.message, second]


def test_unknown_role_is_refused() -> None:
    """We did not write such a log."""
    with pytest.raises(InvalidInput, match="unknown role"):
        Log().write(Kind.APPENDED, role="narrator")


@pytest.mark.parametrize(
    ("on", "off", "flag"),
    [
        (Kind.DELETED, Kind.RESTORED, DELETED),
        (Kind.HIDDEN, Kind.UNHIDDEN, HIDDEN),
        (Kind.PINNED, Kind.UNPINNED, PINNED),
    ],
)
@pytest.mark.parametrize("others", [0, DELETED | HIDDEN | PINNED])
def test_flags_are_set_and_cleared_independently(on: Kind, off: Kind, flag: int, others: int) -> None:
    """Setting one twice equals once, and the other flags stay."""
    log = Log()
    me = log.append(flags=others & ~flag)
    for kind, wanted in ((on, flag), (on, flag), (off, 0), (off, 0)):
        (entry,) = log.write(kind, me)
        assert entry.flags == others & ~flag | wanted
        assert entry.since == len(log.events)
        assert entry.live == (not entry.flags & DELETED)


def test_edit_adds_a_revision_of_the_same_alternative() -> None:
    """The message, its position and its number of alternatives stay."""
    log = Log()
    me = log.append("assistant")
    log.write(Kind.REGENERATED, me)
    before = log.entries[me]
    (entry,) = log.write(Kind.EDITED, me)
    assert entry == replace(before, revision=Ref(THREAD, 3), since=3)
    assert (entry.alternative, entry.alternatives) == (1, 2)


def test_regenerated_answer_becomes_live_unless_set_aside() -> None:
    """Each adds an alternative; one that is set aside does not become live."""
    log = Log()
    me = log.append("assistant")
    (second,) = log.write(Kind.REGENERATED, me)
    assert (second.revision, second.alternative, second.alternatives) == (Ref(THREAD, 2), 1, 2)
    (third,) = log.write(Kind.REGENERATED, me, aside=True)
    assert (third.revision, third.alternative, third.alternatives) == (Ref(THREAD, 2), 1, 3)
    (fourth,) = log.write(Kind.REGENERATED, me)
    assert (fourth.revision, fourth.alternative, fourth.alternatives) == (Ref(THREAD, 4), 3, 4)


def test_selecting_makes_a_known_revision_live() -> None:
    """The number of alternatives stays."""
    log = Log()
    me = log.append("assistant")
    log.write(Kind.REGENERATED, me)
    (entry,) = log.write(Kind.CHOSEN, me, revision=str(me), alternative=0)
    assert (entry.revision, entry.alternative, entry.alternatives) == (me, 0, 2)


def test_moving_changes_the_position_only() -> None:
    """Everything else about the message stays."""
    log = Log()
    me = log.append(flags=PINNED)
    before = log.entries[me]
    (entry,) = log.write(Kind.MOVED, me, position="0102")
    assert entry == replace(before, position=b"\1\2", since=2)


def test_forgetting_several_messages_is_permanent() -> None:
    """Other flags stay, unknown messages are skipped, and neither restore nor undo reverts it."""
    log = Log()
    one, two, three = log.append(), log.append(flags=DELETED), log.append()
    before = pack(log.entries[one])
    holes = [{"message": str(ref)} for ref in (one, two, Ref(OTHER, 9))]
    opened = log.write(Kind.FORGOTTEN, messages=holes)
    assert [(e.message, e.flags) for e in opened] == [(one, FORGOTTEN), (two, DELETED | FORGOTTEN)]
    assert log.entries[three].live
    log.write(Kind.RESTORED, two)
    log.write(Kind.UNDONE, entries=[before])
    assert not log.entries[one].live
    assert not log.entries[two].live


@pytest.mark.parametrize("kind", [Kind.UNDONE, Kind.REDONE])
def test_undo_restores_the_recorded_state(kind: Kind) -> None:
    """Position, revision and flags; the count of alternatives continues."""
    log = Log()
    one, two = log.append(), log.append("assistant")
    before = [log.entries[one], log.entries[two]]
    log.write(Kind.MOVED, one, position="ff")
    log.write(Kind.REGENERATED, two)
    log.write(Kind.HIDDEN, two)
    opened = log.write(kind, entries=[pack(entry) for entry in before])
    assert opened == [replace(before[0], since=6), replace(before[1], alternatives=2, since=6)]


def test_undo_of_an_unknown_message_is_damage() -> None:
    """We did not write an undo about a message of another history."""
    stray = Entry(Ref(OTHER, 1), b"\1", "user", Ref(OTHER, 1))
    with pytest.raises(StoreCorrupt, match="not in this history"):
        Log().write(Kind.UNDONE, entries=[pack(stray)])


@pytest.mark.parametrize("kind", [k for k in Kind if k not in (Kind.APPENDED, Kind.INSERTED)])
def test_event_about_no_message_changes_none(kind: Kind) -> None:
    """Without a target, or with a target that this history does not have."""
    log = Log()
    log.append()
    assert log.write(kind) == []
    assert log.write(kind, Ref(OTHER, 1)) == []


def test_undo_records_contain_no_text() -> None:
    """Ids, positions and numbers are enough, and survive every forget."""
    entry = Entry(Ref(THREAD, 2), b"\0\xff", "assistant", Ref(OTHER, 3), 1, 2, HIDDEN, 7)
    assert pack(entry) == {
        "message": f"{THREAD}.2",
        "position": "00ff",
        "revision": f"{OTHER}.3",
        "alternative": 1,
        "flags": HIDDEN,
    }


steps = st.lists(st.tuples(st.sampled_from(Kind), st.integers(0, 9), st.integers(0, 9)), max_size=25)


def carry_out(log: Log, kind: Kind, which: int, other: int) -> None:
    """Some event of this kind that makes sense, about some message of the log or its past."""
    known = [*log.past, *log.entries]
    seq = len(log.events) + 1
    if kind is Kind.APPENDED or kind is Kind.INSERTED or not known:
        places = sorted({e.position for e in map(log.current, known) if e} | {b""})
        low = places[other % len(places)]
        high = next((p for p in places if p > low), None)
        place: dict[str, Json] = {"position": between(low, high, seq).hex()} if kind is Kind.INSERTED else {}
        log.write(kind if place else Kind.APPENDED, None, role=ROLES[which % 4], **place)
        return
    ref = known[which % len(known)]
    entry = log.current(ref)
    assert entry is not None
    second = known[other % len(known)]
    earlier = [m[ref] for m in log.moments if ref in m] or [entry]
    heads: dict[Kind, dict[str, Json]] = {
        Kind.CHOSEN: {"revision": str(earlier[0].revision), "alternative": earlier[0].alternative},
        Kind.MOVED: {"position": (at_end(other) + at_end(seq)).hex()},
        Kind.REGENERATED: {"aside": bool(other % 2)},
        Kind.FORGOTTEN: {"messages": [{"message": str(r)} for r in dict.fromkeys([ref, second])]},
        Kind.UNDONE: {"entries": [pack(earlier[other % len(earlier)])]},
        Kind.REDONE: {"entries": [pack(earlier[-1])]},
    }
    aims = kind in DELIBERATE and kind not in (Kind.RENAMED, Kind.TAGGED, Kind.UNTAGGED, Kind.DESCRIBED)
    log.write(kind, ref if aims else None, **heads.get(kind, {}))


def at_moment(spans: list[EntrySpan], event: int) -> dict[Ref, Entry]:
    """The entries that stood after an event; one for each message."""
    stood = [s.entry for s in spans if s.entry.since <= event and (s.until is None or event < s.until)]
    assert len({entry.message for entry in stood}) == len(stood)
    return {entry.message: entry for entry in stood}


@given(steps)
def test_folding_again_gives_every_moment(plan: list[tuple[Kind, int, int]]) -> None:
    """After any log, folding from nothing gives what stood after each event when it was written."""
    log = Log()
    for step in plan:
        carry_out(log, *step)
    spans = replay(log.events, nobody)
    for event, moment in enumerate(log.moments):
        assert at_moment(spans, event) == moment
    opened = [(span.entry.message, span.entry.since) for span in spans]
    assert len(set(opened)) == len(opened)


@given(steps, steps)
def test_a_fork_changes_nothing_of_what_it_shares(
    plan: list[tuple[Kind, int, int]], own: list[tuple[Kind, int, int]]
) -> None:
    """A fork has entries of its own for what it changed, folded the same again; its past stays as it was."""
    parent = Log()
    for step in plan:
        carry_out(parent, *step)
    past = dict(parent.entries)
    fork = Log(OTHER, past)
    for step in own:
        carry_out(fork, *step)
    spans = replay(fork.events, past.get)
    assert at_moment(spans, len(fork.events)) == fork.entries
    assert past == parent.entries
    assert all(span.entry.since >= 1 for span in spans)
    for span in spans:
        known = past.get(span.entry.message)
        assert known is None or span.entry.role == known.role


@given(steps)
def test_a_message_keeps_name_and_role_for_life(plan: list[tuple[Kind, int, int]]) -> None:
    """No event takes a message away, changes who said it, or gives it fewer alternatives; forgotten stays so."""
    log = Log()
    for step in plan:
        carry_out(log, *step)
    for before, after in zip(log.moments, log.moments[1:], strict=False):
        for ref, entry in before.items():
            assert after[ref].message == ref
            assert after[ref].role == entry.role
            assert after[ref].alternatives >= entry.alternatives
            assert after[ref].flags & FORGOTTEN >= entry.flags & FORGOTTEN
