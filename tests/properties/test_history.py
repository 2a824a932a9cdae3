"""Whatever people do to conversations, in whatever order, the store agrees with a plain model of them.

Several threads, forks of forks, several actors; after every step the live histories are compared, and every so often an
earlier moment, a search, the turns and the log. At the end of each run the whole store is proven sound from its logs.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import backscroll
from backscroll import Role
from backscroll.config import Settings
from backscroll.engine.engine import Engine
from backscroll.engine.search.words import search
from backscroll.errors import BackscrollError
from backscroll.stores.sqlite.store import SqliteStore
from backscroll.vocab.ids import Ref
from tests import proof
from tests.properties.model import FLAGS, Entry, Model, Thread, outcome

WORDS = ["river", "stone", "lantern", "小猫", "石头", "quartz", ""]
#: Titles and tags. Never said in a message, because a title that repeats a forgotten one goes with it.
NAMES = ["Morning", "Evening", "夜晚"]
ACTORS = ["user:ann", "user:bob", "program"]
NOBODY = Ref("0" * 32, 1)

texts = st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)
roles = st.sampled_from(["user", "assistant", "assistant", "system", "tool"])
actors = st.sampled_from(ACTORS)
Opener = Callable[[], list[backscroll.Engine]]


class Histories(RuleBasedStateMachine):
    """Does the same to a store and to the model."""

    def __init__(self, opener: Opener) -> None:
        super().__init__()
        self.engines = opener()
        self.turns = itertools.cycle(self.engines)
        self.model = Model()

    def teardown(self) -> None:
        try:
            proof.assert_sound(self.engine)
        finally:
            for engine in self.engines:
                engine.close()

    @property
    def engine(self) -> backscroll.Engine:
        """Whose turn it is: what one engine remembers must not outlive what the other one does."""
        return next(self.turns)

    # -- choosing --------------------------------------------------------------------------------------------

    def a_thread(self, data: st.DataObject) -> Thread:
        return data.draw(st.sampled_from(list(self.model.threads.values())), "thread")

    def a_message(self, data: st.DataObject, thread: Thread) -> Ref:
        """Usually a message of the thread in any state, sometimes one that is not in it."""
        others = [r for t in self.model.threads.values() for r in t.entries if r not in thread.entries]
        return data.draw(st.sampled_from([*thread.in_order(), *others[:2], NOBODY]), "message")

    def real(self, thread: Thread, actor: str) -> backscroll.Thread:
        return self.engine.thread(thread.id, actor=actor)

    def both(self, expected: Callable[[], Any], actual: Callable[[], Any]) -> tuple[Any, Any]:
        """Do it on both sides: the same refusal, or none."""
        wanted, refusal = outcome(expected)
        got, refused = outcome(actual)
        assert refused is refusal
        return wanted, got

    @property
    def any_thread(self) -> bool:
        return bool(self.model.threads)

    # -- threads ---------------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.model.threads) < 3)
    @rule(actor=actors, title=st.sampled_from(["", *NAMES]))
    def create(self, actor: str, title: str) -> None:
        made = self.engine.create(title, project="caves", actor=actor)
        about = {
            "title": title,
            "project": "caves",
            "language": "",
            "tags": (),
            "kind": "chat",
            "metadata": {},
        }
        self.model.create(made.id, actor, about)

    @precondition(lambda self: self.any_thread and len(self.model.threads) < 7)
    @rule(data=st.data(), actor=actors, title=st.sampled_from([None, *NAMES]))
    def fork(self, data: st.DataObject, actor: str, title: str | None) -> None:
        thread = self.a_thread(data)
        at = data.draw(st.sampled_from([None, *thread.in_order(), NOBODY]), "at")
        _, refusal = outcome(lambda: None if at is None else self.model.check_fork(thread, at))
        made, refused = outcome(lambda: self.real(thread, actor).fork(at, title=title))
        assert refused is refusal
        if made is not None:
            self.model.fork(made.id, thread, at, actor, title)

    @precondition(lambda self: self.any_thread)
    @rule(data=st.data(), actor=actors, what=st.sampled_from(["title", "project", "language", "tags"]))
    def describe(self, data: st.DataObject, actor: str, what: str) -> None:
        thread = self.a_thread(data)
        real = self.real(thread, actor)
        word = data.draw(st.sampled_from(NAMES), "word")
        if what == "tags" and word in thread.about["tags"]:
            left = tuple(t for t in thread.about["tags"] if t != word)
            self.both(
                lambda: self.model.describe(thread, actor, "untagged", {"tags": left}),
                lambda: real.untag(word),
            )
        elif what == "tags":
            tags = (*thread.about["tags"], word)
            self.both(
                lambda: self.model.describe(thread, actor, "tagged", {"tags": tags}), lambda: real.tag(word)
            )
        elif what == "title":
            self.both(
                lambda: self.model.describe(thread, actor, "renamed", {"title": word}),
                lambda: real.rename(word),
            )
        else:
            self.both(
                lambda: self.model.describe(thread, actor, "described", {what: word}),
                lambda: real.describe(**{what: word}),
            )

    @precondition(lambda self: self.any_thread)
    @rule(data=st.data(), actor=actors, text=texts)
    def change_code(self, data: st.DataObject, actor: str, text: str) -> None:
        thread = self.a_thread(data)
        self.real(thread, actor).log_code_change(text, "caves/map.py")
        self.model.note(thread, actor, "code_changed")

    # -- speaking --------------------------------------------------------------------------------------------

    @precondition(lambda self: self.any_thread)
    @rule(data=st.data(), actor=actors, role=roles, text=texts, hidden=st.booleans(), pinned=st.booleans())
    def append(
        self, data: st.DataObject, actor: str, role: Role, text: str, hidden: bool, pinned: bool
    ) -> None:
        thread = self.a_thread(data)
        expected = self.model.append(thread, actor, role, text, hidden, pinned)
        message = self.real(thread, actor).append(role, text, hidden=hidden, pinned=pinned)
        assert (message.id, message.text, message.hidden, message.pinned) == (expected, text, hidden, pinned)

    @precondition(lambda self: self.any_thread)
    @rule(
        data=st.data(),
        actor=actors,
        role=roles,
        text=texts,
        side=st.sampled_from(["start", "after", "before"]),
    )
    def insert(self, data: st.DataObject, actor: str, role: Role, text: str, side: str) -> None:
        thread = self.a_thread(data)
        real = self.real(thread, actor)
        if side == "start":
            self.both(
                lambda: self.model.insert(thread, actor, role, text, None), lambda: real.insert(role, text)
            )
            return
        anchor = self.a_message(data, thread)
        if side == "after":
            expected, message = self.both(
                lambda: self.model.insert(thread, actor, role, text, anchor),
                lambda: real.insert(role, text, after=anchor),
            )
        else:
            expected, message = self.both(
                lambda: self.model.insert(thread, actor, role, text, self.model.one_before(thread, anchor)),
                lambda: real.insert(role, text, before=anchor),
            )
        assert message is None or message.id == expected

    @precondition(lambda self: self.any_thread)
    @rule(data=st.data(), actor=actors, text=texts, look=st.sampled_from(["blind", "seen", "stale"]))
    def edit(self, data: st.DataObject, actor: str, text: str, look: str) -> None:
        thread = self.a_thread(data)
        message = self.a_message(data, thread)
        entry = thread.entries.get(message)
        seen = {"blind": None, "seen": entry.revision if entry else None, "stale": NOBODY}[look]
        _, edited = self.both(
            lambda: self.model.edit(thread, actor, message, text, seen),
            lambda: self.real(thread, actor).edit(message, text, seen=seen),
        )
        assert edited is None or (edited.id, edited.text) == (message, text)

    @precondition(lambda self: self.any_thread)
    @rule(data=st.data(), actor=actors, text=texts, live=st.booleans())
    def regenerate(self, data: st.DataObject, actor: str, text: str, live: bool) -> None:
        thread = self.a_thread(data)
        message = self.a_message(data, thread)
        self.both(
            lambda: self.model.regenerate(thread, actor, message, text, live),
            lambda: self.real(thread, actor).regenerate(message, text, live=live),
        )

    @precondition(lambda self: self.any_thread)
    @rule(data=st.data(), actor=actors)
    def choose(self, data: st.DataObject, actor: str) -> None:
        thread = self.a_thread(data)
        message = self.a_message(data, thread)
        options = thread.alternatives.get(message, [])
        choices = [*(ref for ref, _ in options), *sorted({number for _, number in options}), 9, NOBODY]
        which = data.draw(st.sampled_from(choices), "which")
        self.both(
            lambda: self.model.choose(thread, actor, message, which),
            lambda: self.real(thread, actor).choose(message, which),
        )

    # -- flags and places ------------------------------------------------------------------------------------

    @precondition(lambda self: self.any_thread)
    @rule(
        data=st.data(),
        actor=actors,
        kind=st.sampled_from([*FLAGS, "deleted", "restored"]),
        many=st.booleans(),
    )
    def flag(self, data: st.DataObject, actor: str, kind: str, many: bool) -> None:
        thread = self.a_thread(data)
        messages = [self.a_message(data, thread)]
        if many:
            messages += data.draw(st.lists(st.sampled_from(thread.in_order() or [NOBODY]), max_size=4))
        real = self.real(thread, actor)
        verbs = {
            "deleted": real.delete,
            "restored": real.restore,
            "hidden": real.hide,
            "unhidden": real.unhide,
            "pinned": real.pin,
            "unpinned": real.unpin,
        }
        expected, changed = self.both(
            lambda: self.model.flag(thread, actor, kind, messages), lambda: verbs[kind](*messages)
        )
        assert changed == expected

    @precondition(lambda self: self.any_thread)
    @rule(data=st.data(), actor=actors)
    def move(self, data: st.DataObject, actor: str) -> None:
        thread = self.a_thread(data)
        message = self.a_message(data, thread)
        after = data.draw(st.sampled_from([None, *(r for r in thread.in_order() if r != message)]), "after")
        self.both(
            lambda: self.model.move(thread, actor, message, after),
            lambda: self.real(thread, actor).move(message, after=after),
        )

    @precondition(lambda self: self.any_thread)
    @rule(
        data=st.data(), actor=actors, how=st.sampled_from(["undo", "undo", "redo"]), times=st.integers(1, 3)
    )
    def take_back(self, data: st.DataObject, actor: str, how: str, times: int) -> None:
        thread = self.a_thread(data)
        real = self.real(thread, actor)
        for _ in range(times):
            if how == "undo":
                self.both(lambda: self.model.undo(thread, actor), real.undo)
            else:
                self.both(lambda: self.model.redo(thread, actor), real.redo)

    # -- forgetting ------------------------------------------------------------------------------------------

    def forgotten(self) -> None:
        self.model.caught_up({name: self.engine.thread(name).head for name in self.model.threads})

    @precondition(lambda self: self.any_thread)
    @rule(data=st.data(), actor=actors, seldom=st.integers(0, 3))
    def forget(self, data: st.DataObject, actor: str, seldom: int) -> None:
        if seldom:
            return
        thread = self.a_thread(data)
        messages = list(dict.fromkeys(self.a_message(data, thread) for _ in range(2)))
        self.both(
            lambda: self.model.forget(thread, messages), lambda: self.real(thread, actor).forget(*messages)
        )
        self.forgotten()

    @precondition(lambda self: len(self.model.threads) > 2)
    @rule(data=st.data(), actor=actors, seldom=st.integers(0, 7))
    def forget_thread(self, data: st.DataObject, actor: str, seldom: int) -> None:
        if seldom:
            return
        thread = self.a_thread(data)
        self.model.forget_thread(thread)
        self.real(thread, actor).forget_thread()
        self.forgotten()
        assert self.engine.thread(thread.id).info.forgotten

    # -- comparing -------------------------------------------------------------------------------------------

    def same(self, messages: list[backscroll.Message], expected: list[tuple[Ref, Entry, str]]) -> None:
        found = [
            (m.id, m.role, m.revision, m.text, m.alternative, m.alternatives, m.hidden, m.pinned)
            for m in messages
        ]
        assert found == [
            (ref, e.role, e.revision, text, e.alternative, e.alternatives, e.hidden, e.pinned)
            for ref, e, text in expected
        ]

    @invariant()
    def live_histories_agree(self) -> None:
        for thread in self.model.threads.values():
            real = self.engine.thread(thread.id)
            expected = self.model.live(thread)
            self.same(list(real), expected)
            info = real.info
            assert (info.events, info.messages) == (thread.head, len(expected))
            assert info.turns == sum(entry.role == "user" for _, entry, _ in expected)
            about = {k: v for k, v in thread.about.items() if k != "kind"}
            assert about == {k: getattr(info, k) for k in about}

    @precondition(lambda self: self.any_thread)
    @rule(data=st.data())
    def look_back(self, data: st.DataObject) -> None:
        thread = self.a_thread(data)
        event = data.draw(st.integers(0, thread.head), "event")
        earlier = self.engine.thread(thread.id).at(event)
        expected = self.model.live(thread, thread.moment(event)) if event else []
        self.same(list(earlier), expected)
        assert len(earlier) == len(expected)
        self.same(list(earlier.messages(newest_first=True)), expected[::-1])
        for place, (ref, _, _) in enumerate(expected):
            assert earlier.place(ref) == place
            self.same([earlier.message(ref)], [expected[place]])
            self.same(list(earlier.messages(place, place + 2)), expected[place : place + 2])

    @precondition(lambda self: self.any_thread)
    @rule(data=st.data(), n=st.integers(0, 6))
    def look_around(self, data: st.DataObject, n: int) -> None:
        thread = self.a_thread(data)
        real = self.engine.thread(thread.id)
        expected = self.model.live(thread)
        self.same(real.recent(n), expected[len(expected) - n :] if n <= len(expected) else expected)
        deleted = [(r, e) for r in thread.in_order() if not (e := thread.entries[r]).forgotten]
        assert [(m.id, m.deleted) for m in real.messages(deleted=True)] == [
            (r, e.deleted) for r, e in deleted
        ]
        if expected:
            low, high = sorted(data.draw(st.lists(st.integers(0, len(expected) - 1), min_size=2, max_size=2)))
            between = list(real.messages(after=expected[low][0], before=expected[high][0]))
            self.same(between, expected[low + 1 : high])
        kinds = [(e.seq, e.kind, "" if e.kind == "forgotten" else e.actor) for e in real.events()]
        assert kinds == self.log_of(thread, thread.head)

    def log_of(self, thread: Thread, last: int) -> list[tuple[int, str, str]]:
        shared = self.log_of(thread.parent, thread.fork_seq) if thread.parent else []
        return [*shared, *(line for line in thread.log if line[0] <= last)]

    @precondition(lambda self: self.any_thread)
    @rule(data=st.data())
    def count_turns(self, data: st.DataObject) -> None:
        thread = self.a_thread(data)
        real = self.engine.thread(thread.id)
        turns: list[list[Ref]] = [[]]
        for ref, entry, _ in self.model.live(thread):
            if entry.role == "user":
                turns.append([])
            turns[-1].append(ref)
        numbered = [(n, refs) for n, refs in enumerate(turns) if refs]
        assert [(t.sequence, [m.id for m in t.messages]) for t in real.turns()] == numbered
        number = data.draw(st.integers(0, len(turns)), "turn")
        found, refused = outcome(lambda: real.turn(number))
        if number < len(turns) and turns[number]:
            assert [m.id for m in found.messages] == turns[number]
            assert [m.id for t in real.turns(number) for m in t.messages] == [
                r for t in turns[number:] for r in t
            ]
        else:
            assert refused is backscroll.NotFound

    @precondition(lambda self: self.any_thread)
    @rule(data=st.data(), word=st.sampled_from(WORDS[:-1]))
    def look_for(self, data: st.DataObject, word: str) -> None:
        everywhere = search(self.engine, word, limit=10_000)
        found = [(hit.message, hit.revision) for hit in everywhere.hits]
        assert sorted(found) == sorted(self.model.revisions_with(word, self.model.threads.values()))
        for hit in everywhere.hits:
            assert (hit.message, hit.revision) in self.model.revisions_with(
                word, [self.model.threads[hit.thread]]
            )
        thread = self.a_thread(data)
        here = search(self.engine, word, thread=thread.id, limit=10_000)
        assert {(h.message, h.revision) for h in here.hits} == self.model.revisions_with(word, [thread])

    @precondition(lambda self: self.any_thread)
    @rule(data=st.data())
    def revisions(self, data: st.DataObject) -> None:
        thread = self.a_thread(data)
        message = self.a_message(data, thread)
        found, refused = outcome(lambda: self.engine.thread(thread.id).revisions(message))
        if message not in thread.entries:
            assert refused is backscroll.NotFound
            return
        kept = [(r, n) for r, n in thread.alternatives[message] if r not in self.model.forgotten]
        assert [(r.id, r.alternative, r.content.text) for r in found] == [
            (r, n, self.model.words[r]) for r, n in kept
        ]


def explore(opener: Opener, examples: int, steps: int) -> None:
    """Run the machine; the profile (`HYPOTHESIS_PROFILE=thorough`) decides how often."""
    run_state_machine_as_test(
        cast("Any", lambda: Histories(opener)),  # it takes anything that makes a machine
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
            report_multiple_bugs=False,
        ),
    )


def test_sqlite_agrees_with_the_model(tmp_path: Path) -> None:
    """For any sequence of operations on a SQLite store, by two engines in turn."""

    def opener() -> list[backscroll.Engine]:
        place = Path(tempfile.mkdtemp(dir=tmp_path)) / "store.db"
        return [Engine(SqliteStore(place), Settings()) for _ in range(2)]

    explore(opener, 3 * settings().max_examples, 60)


@pytest.mark.postgres
def test_postgres_agrees_with_the_model(postgres_url: str) -> None:
    """For any sequence of operations on a PostgreSQL store, by two engines in turn."""
    from backscroll.stores.postgres.store import PostgresStore

    numbers = itertools.count()

    def opener() -> list[backscroll.Engine]:
        tenant = f"machine-{next(numbers)}"
        return [Engine(PostgresStore(postgres_url, tenant=tenant), Settings()) for _ in range(2)]

    explore(opener, settings().max_examples // 5, 40)


def test_refusals_belong_to_one_tree_of_errors() -> None:
    """What the model compares are classes of the one tree of errors."""
    assert outcome(lambda: backscroll.NotFound) == (backscroll.NotFound, None)
    assert issubclass(
        outcome(lambda: Model().standing(Thread("", "", 0, {}), NOBODY))[1] or int, BackscrollError
    )
