"""Preferences along the tree: whatever was done and however much of it was worked off, they are those of the live messages."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import backscroll
from backscroll.engine.background.worker import bring_up_to_date
from backscroll.engine.core.lineage import View
from backscroll.engine.tree import tree
from backscroll.engine.work.memory import preferences as remembering_said
from backscroll.engine.work.memory.preferences import Allowance, ThreadStatements, said_in
from backscroll.errors import Conflict, NotFound
from backscroll.tasks.preferences.reader import PreferenceStatement, statements

WORDS = (
    "Always use pnpm.",
    "From now on use npm.",
    "以后都用中文回答。",
    "Never push to main without asking me.",
    "Go on.",
)


def expected(thread: backscroll.Thread) -> list[PreferenceStatement]:
    """What the live messages say, read one by one."""
    return sorted((s for m in thread for s in statements(m)), key=_order)


def found(thread: backscroll.Thread, most: int | None = None) -> ThreadStatements:
    """The same, as the engine reads it, with nothing kept in memory."""
    thread.engine.memo.clear()
    allowance = None if most is None else Allowance(most)
    return thread.reading(lambda view: said_in(thread.engine, view, allowance))


def _order(one: PreferenceStatement) -> tuple[object, ...]:
    return (one.message, one.number)


class Stating(RuleBasedStateMachine):
    """A thread with statements, edited at will, worked on in slices of any size."""

    @initialize()
    def begin(self) -> None:
        """A store with a short talk."""
        self.folder = tempfile.TemporaryDirectory()
        place = str(Path(self.folder.name) / "store.db")
        self.engine = backscroll.open(place, background=False, encoder="none", extractor="none")
        self.thread = self.engine.create("t")
        for number in range(30):
            self.thread.append("user", WORDS[number % len(WORDS)])
            self.thread.append("assistant", f"Answer {number}.")

    def teardown(self) -> None:
        """Nothing is left behind."""
        if hasattr(self, "engine"):
            self.engine.close()
            self.folder.cleanup()

    def _any(self, place: int) -> backscroll.Message | None:
        messages = list(self.thread)
        return messages[place % len(messages)] if messages else None

    @rule(text=st.sampled_from(WORDS), times=st.integers(1, 6))
    def say(self, text: str, times: int) -> None:
        """The user says something, several times."""
        for _ in range(times):
            self.thread.append("user", text)
            self.thread.append("assistant", "Done.")

    @rule(place=st.integers(0, 200), text=st.sampled_from(WORDS))
    def edit(self, place: int, text: str) -> None:
        """A message gets other words."""
        if (message := self._any(place)) is not None:
            self.thread.edit(message.id, text)

    @rule(place=st.integers(0, 200), how=st.sampled_from(["delete", "hide", "pin", "forget"]))
    def take(self, place: int, how: str) -> None:
        """A message goes, or is marked."""
        if (message := self._any(place)) is not None:
            getattr(self.thread, how)(message.id)

    @rule(place=st.integers(0, 200), text=st.sampled_from(WORDS))
    def insert(self, place: int, text: str) -> None:
        """A message is put between two others."""
        if (message := self._any(place)) is not None:
            self.thread.insert("user", text, after=message.id)

    @rule(place=st.integers(0, 200), other=st.integers(0, 200))
    def move(self, place: int, other: int) -> None:
        """A message is put elsewhere."""
        one, after = self._any(place), self._any(other)
        if one is not None and after is not None and one.id != after.id:
            self.thread.move(one.id, after=after.id)

    @rule(back=st.booleans())
    def undo(self, back: bool) -> None:
        """The last stroke is taken back, or done again."""
        try:
            self.thread.undo() if back else self.thread.redo()
        except (NotFound, Conflict):
            return

    @rule(place=st.integers(0, 200))
    def fork(self, place: int) -> None:
        """The talk goes on in a fork."""
        if (message := self._any(place)) is not None:
            self.thread = self.thread.fork(message.id)

    @rule(limit=st.integers(1, 60))
    def grow(self, limit: int) -> None:
        """A worker comes a little further with the tree …"""
        tree.catch_up(self.engine, self.thread.id, limit)

    @rule(limit=st.integers(1, 60))
    def read(self, limit: int) -> None:
        """… and with the preferences."""
        remembering_said.catch_up(self.engine, self.thread.id, limit)

    @rule()
    def finish(self) -> None:
        """Nothing is left to do: then a prompt has all of it, though it reads no more than the end."""
        bring_up_to_date(self.engine, self.thread.id)
        said = found(self.thread, 40)
        assert sorted(said.stated, key=_order) == expected(self.thread)
        assert said.pending == 0

    @invariant()
    def equals_reading_everything(self) -> None:
        """Without a bound everything is there; with one, some of it, and never anything else."""
        if not hasattr(self, "engine"):
            return
        wanted = expected(self.thread)
        whole = found(self.thread)
        assert sorted(whole.stated, key=_order) == wanted
        assert whole.pending == 0
        some = found(self.thread, 8)
        assert set(some.stated) <= set(wanted)
        assert len(set(some.stated)) == len(some.stated)
        assert some.pending or len(some.stated) == len(wanted)


TestStating = Stating.TestCase
TestStating.settings = settings(
    max_examples=15,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


# -- what a prompt reads -----------------------------------------------------------------------------------------


def _unseen(folder: Path, turns: int) -> str:
    """A thread as another process leaves it: nothing of it is derived."""
    url = str(folder / f"{turns}.db")
    with backscroll.open(url, background=False) as store:
        thread = store.create("t", kind="agent")
        for number in range(turns):
            thread.append("user", f"Please look at module_{number}. {WORDS[number % len(WORDS)]}")
            thread.append("assistant", f"In module_{number} the harbour is {number} miles away. " * 4)
    return url


class _Count:
    """Counts the rows that are read from the store."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rows = 0
        whole = View.page

        def page(view: View, *args: int, **named: object) -> object:
            rows = whole(view, *args, **named)
            self.rows += len(rows)
            return rows

        monkeypatch.setattr(View, "page", page)


@pytest.mark.parametrize("worker", [False, True])
def test_prompt_reads_no_more_of_a_longer_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worker: bool
) -> None:
    """The first prompt on a thread of which nothing is derived, and those after it."""
    if worker:  # one that lives, but does not get to anything
        monkeypatch.setattr("backscroll.engine.background.worker.Worker.run", lambda *_: 0)
    counted: list[list[int]] = []
    for turns in (800, 2_400):
        url, read = _unseen(tmp_path, turns), list[int]()
        with backscroll.open(url, background=worker, encoder="none", recall=False) as store:
            thread = store.thread(next(iter(store.threads())).id)
            with monkeypatch.context() as patch:
                count = _Count(patch)
                for number in range(4):
                    count.rows = 0
                    thread.prompt(4_000)
                    read.append(count.rows)
                    thread.append("user", f"And now? {number}")
        counted.append(read)
    few, many = counted
    assert many == pytest.approx(few, abs=64)
    assert max(many) < 3_000
