"""Living memory follows the history: whatever is done, graph, turn states, tasks and memories equal a rebuild.

Two engines on one store in turn, random delays between what is done and its analysis, forks, overrides, worlds, tasks. After
the steps of each run: the marks are those that an independent reference finds by looking at the history as of every event;
everything equals what a store comes to in which nothing was derived yet; nothing of a deleted or forgotten message is told;
and every override that was not lifted or undone stands.
"""

from __future__ import annotations

import itertools
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

import backscroll
from backscroll import Role
from backscroll.engine.background.worker import bring_up_to_date
from backscroll.engine.knowledge.analysis import catch_up, rebuild
from backscroll.errors import BackscrollError
from backscroll.graph.view import Rank
from backscroll.record.chain import from_bytes
from backscroll.vocab.assertion import Change
from backscroll.vocab.event import Kind
from tests import proof
from tests.properties.living import NAMES, Tales, living, marked, reference
from tests.properties.memory import Clock, opened, without_derived

MARK = re.compile(r"[Qq]z\d+zq")
places = st.integers(0, 1000)
EDITS = st.sampled_from(["ignore", "reconcile"])
DELETES = st.sampled_from(["retract", "ignore"])
PREDICATES = ("mood", "occupation", "lives_in", "age")


def marks_in(value: Any) -> set[str]:
    """All marks in anything."""
    return {mark.casefold() for mark in MARK.findall(value if isinstance(value, str) else repr(value))}


class Living(RuleBasedStateMachine):
    """Somebody who tells tales, changes them, corrects the graph and works on tasks."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.clock, self.words = Clock(), Tales()
        self.engines: list[backscroll.Engine] = []
        self.ids: list[str] = []
        self.forgotten: set[str] = set()

    @initialize(
        size=st.integers(1, 4), delay=st.integers(0, 3), edits=EDITS, deletes=DELETES, turns=st.integers(0, 7)
    )
    def begin(self, size: int, delay: int, edits: str, deletes: str, turns: int) -> None:
        self.how = {
            "sliding_window_size": size,
            "sliding_window_processing_delay": min(delay, size - 1),
            "conflict_resolution_settled_edits": edits,
            "conflict_resolution_settled_deletes": deletes,
        }
        self.engines = [self.opened(seed) for seed in (1, 2)]
        self.turns = itertools.cycle(self.engines)
        self.ids = [self.engine.create("a tale").id]
        self.talk(0, turns)

    def opened(self, seed: int) -> backscroll.Engine:
        """Another engine on the same store."""
        return opened(self.folder / "store.db", self.clock, seed, **self.how)

    def teardown(self) -> None:
        try:
            if self.ids:
                self.what_must_hold()
        finally:
            for engine in self.engines:
                engine.close()

    @property
    def engine(self) -> backscroll.Engine:
        """Whose turn it is."""
        return next(self.turns)

    def thread(self, which: int) -> backscroll.Thread:
        return self.engine.thread(self.ids[which % len(self.ids)])

    def message(self, thread: backscroll.Thread, which: int) -> backscroll.Message | None:
        found = list(thread.messages(deleted=True))
        return found[which % len(found)] if found else None

    def tried(self, work: Callable[[], Any]) -> Any:
        """Not everything can be done to everything; a refusal changes nothing."""
        self.clock.wait(1)
        try:
            return work()
        except BackscrollError:
            return None

    # -- the history -----------------------------------------------------------------------------------------

    @rule(which=places, role=st.sampled_from(["user", "user", "assistant", "system"]), kind=places)
    def say(self, which: int, role: Role, kind: int) -> None:
        self.clock.wait(5)
        self.thread(which).append(role, self.words.text(kind))

    @rule(which=places, turns=st.integers(1, 4))
    def talk(self, which: int, turns: int) -> None:
        thread = self.thread(which)
        for _ in range(turns):
            thread.append("user", self.words.text())
            thread.append("assistant", self.words.text())

    @rule(which=places, at=places, kind=places, how=st.sampled_from(["edit", "edit", "regenerate"]))
    def reword(self, which: int, at: int, kind: int, how: str) -> None:
        thread = self.thread(which)
        if message := self.message(thread, at):
            self.tried(lambda: getattr(thread, how)(message.id, self.words.text(kind)))

    @rule(which=places, at=places, alternative=st.integers(0, 2))
    def swipe(self, which: int, at: int, alternative: int) -> None:
        thread = self.thread(which)
        if message := self.message(thread, at):
            self.tried(lambda: thread.choose(message.id, alternative))

    @rule(
        which=places,
        at=places,
        more=st.integers(0, 3),
        how=st.sampled_from(["delete", "delete", "restore", "hide", "unhide"]),
    )
    def flag(self, which: int, at: int, more: int, how: str) -> None:
        thread = self.thread(which)
        found = [m.id for n in range(more + 1) if (m := self.message(thread, at + n))]
        if found:
            self.tried(lambda: getattr(thread, how)(*found))

    @rule(which=places, at=places, to=places)
    def move(self, which: int, at: int, to: int) -> None:
        thread = self.thread(which)
        message, after = self.message(thread, at), self.message(thread, to)
        if message and after:
            self.tried(lambda: thread.move(message.id, after=after.id if to % 5 else None))

    @rule(which=places, at=places, role=st.sampled_from(["user", "assistant"]))
    def insert(self, which: int, at: int, role: Role) -> None:
        thread = self.thread(which)
        message = self.message(thread, at)
        text = self.words.text()
        self.tried(lambda: thread.insert(role, text, after=None if message is None else message.id))

    @rule(which=places, how=st.sampled_from(["undo", "undo", "redo"]))
    def take_back(self, which: int, how: str) -> None:
        self.tried(getattr(self.thread(which), how))

    @precondition(lambda self: len(self.ids) < 3)
    @rule(which=places, at=places)
    def fork(self, which: int, at: int) -> None:
        thread = self.thread(which)
        message = self.message(thread, at)
        made = self.tried(lambda: thread.fork(message.id if message and at % 4 else None))
        if made is not None:
            self.ids.append(made.id)

    @rule(which=places, at=places)
    def forget(self, which: int, at: int) -> None:
        thread = self.thread(which)
        message = self.message(thread, at)
        if at % 4 or message is None:
            return
        said = marks_in([str(r.content) for r in thread.revisions(message.id)])
        if self.tried(lambda: thread.forget(message.id)) is not None:
            self.forgotten |= said

    @rule(which=places, drop=places, at=places)
    def sync(self, which: int, drop: int, at: int) -> None:
        """Another program's whole list: one message missing, one changed, one new at the end."""
        thread = self.thread(which)
        theirs = [{"role": m.role, "content": m.text} for m in thread]
        if len(theirs) < 3 or any(m["role"] == "system" for m in theirs):
            return
        del theirs[drop % len(theirs)]
        theirs[at % len(theirs)] = {**theirs[at % len(theirs)], "content": self.words.text()}
        theirs.append({"role": "user", "content": self.words.text()})
        self.tried(lambda: thread.sync(theirs))

    # -- the person ------------------------------------------------------------------------------------------

    @rule(which=places, at=places, how=st.sampled_from(list(Change)), predicate=st.sampled_from(PREDICATES))
    def override(self, which: int, at: int, how: Change, predicate: str) -> None:
        graph = self.thread(which).graph
        nodes = graph.nodes()
        node = nodes[at % len(nodes)].id if nodes else NAMES[0]
        other = nodes[(at + 1) % len(nodes)].id if nodes else NAMES[1]
        acts: dict[Change, Callable[[], Any]] = {
            Change.SET: lambda: graph.set(node, predicate, f"value {at}"),
            Change.PIN: lambda: graph.pin(node, predicate),
            Change.FORBID: lambda: graph.forbid(node, predicate),
            Change.RENAME: lambda: graph.rename(node, f"Name{at}"),
            Change.MERGE: lambda: graph.merge(node, other),
            Change.SPLIT: lambda: graph.split(node, [at % 5]),
            Change.DELETE: lambda: graph.delete(node),
            Change.ADD: lambda: graph.add(f"Added{at}", "person", mood="calm"),
        }
        self.tried(acts[how])

    @rule(which=places, at=places)
    def lift(self, which: int, at: int) -> None:
        graph = self.thread(which).graph
        if found := graph.overrides():
            chosen = found[at % len(found)].id
            assert chosen is not None
            self.tried(lambda: graph.lift(chosen))

    @rule(which=places, kind=st.integers(0, 2))
    def tell_world(self, which: int, kind: int) -> None:
        text = ("# Forest elves\nForest elves are shy.", "Tom: an old sailor.", "艾莉是森林精灵。")[kind]
        self.tried(lambda: self.thread(which).graph.tell_world(f"book {kind}", text))

    @rule(
        which=places,
        how=st.sampled_from(
            ["start", "attempt", "complete", "incomplete", "cancel", "merge", "split", "resume"]
        ),
        at=places,
    )
    def work_on_a_task(self, which: int, how: str, at: int) -> None:
        thread = self.thread(which)
        tasks = thread.tasks
        known = list(tasks.list())
        message = self.message(thread, at)
        acts: dict[str, Callable[[], Any]] = {
            "start": lambda: tasks.start(f"task {at}"),
            "attempt": lambda: tasks.attempt(f"result {at}"),
            "complete": tasks.complete,
            "incomplete": lambda: tasks.incomplete(f"feedback {at}"),
            "cancel": lambda: tasks.cancel(f"reason {at}"),
            "merge": lambda: (
                tasks.merge(known[at % len(known)], known[(at + 1) % len(known)]) if known else None
            ),
            "split": lambda: tasks.split(message.id) if message else None,
            "resume": lambda: tasks.resume(known[at % len(known)]) if known else None,
        }
        self.tried(acts[how])

    # -- analysis --------------------------------------------------------------------------------------------

    @rule(which=places, limit=st.integers(1, 30))
    def analyse_a_little(self, which: int, limit: int) -> None:
        thread = self.thread(which)
        catch_up(self.engine, thread.id, limit)

    @rule(which=places)
    def flush(self, which: int) -> None:
        self.thread(which).graph.flush()

    @rule(which=places)
    def look(self, which: int) -> None:
        """Looking changes nothing, and whoever looks next sees the same."""
        thread = self.thread(which)
        assert living(thread) == living(thread)

    @rule()
    def open_again(self) -> None:
        """A process ends, another one begins: with nothing in its memory."""
        self.engines[0].close()
        self.engines[0] = self.opened(100 + self.words.count)
        self.turns = itertools.cycle(self.engines)

    # -- what must hold --------------------------------------------------------------------------------------

    def what_must_hold(self) -> None:
        for engine in self.engines:
            for name in self.ids:
                bring_up_to_date(engine, name)
        for name in self.ids:
            thread = self.engines[0].thread(name)
            assert marked(thread) == reference(thread)
            self.nothing_gone_is_told(thread)
            self.overrides_stand(thread)
        held = {name: living(self.engines[0].thread(name)) for name in self.ids}
        assert {name: living(self.engines[1].thread(name)) for name in self.ids} == held
        self.equals_a_rebuild(held)
        self.nothing_forgotten_is_left()
        proof.assert_sound(self.engines[0])

    def equals_a_rebuild(self, held: dict[str, Any]) -> None:
        copy = self.folder / "again.db"
        without_derived(self.folder / "store.db", copy)
        with opened(copy, self.clock, 3, **self.how) as fresh:
            for name in self.ids:
                bring_up_to_date(fresh, name)
                found = living(fresh.thread(name))
                for what in held[name]:
                    assert found[what] == held[name][what], what
                rebuild(fresh, name)
                assert living(fresh.thread(name))["graph"] == held[name]["graph"]
        copy.unlink()

    def nothing_gone_is_told(self, thread: backscroll.Thread) -> None:
        """Words of deleted messages are nowhere; words that were edited away only where a settled turn keeps them."""
        live = {m.id for m in thread}
        kept: set[str] = set()
        shown: set[str] = set()
        for message in thread.messages(deleted=True):
            shown |= marks_in(str(message.content)) if message.id in live else set()
            told = marks_in([str(r.content) for r in thread.revisions(message.id)])
            kept |= told if message.id in live else set()
        settings_ = thread.engine.settings
        dump = living(thread)
        if settings_.conflict_resolution_settled_deletes == "retract":
            graph = marks_in(dump["graph"]) - self.by_hand(thread)
            allowed = kept if settings_.conflict_resolution_settled_edits == "ignore" else shown
            assert graph <= allowed, graph - allowed
        assert marks_in([dump["memories"], dump["tasks"]]) <= shown
        prompt = thread.prompt(6000, reserve=0, dry_run=True)
        assert marks_in(repr(prompt.request)) <= shown | self.by_hand(thread)

    def by_hand(self, thread: backscroll.Thread) -> set[str]:
        """Marks in the person's own changes: they hang on names, and stay when the text goes."""
        return marks_in([repr(o) for o in thread.graph.overrides()])

    def overrides_stand(self, thread: backscroll.Thread) -> None:
        """What a person set is what the graph says, unless the person later said otherwise about the same node."""
        overrides = thread.graph.overrides()
        plain = {Change.SET, Change.ADD}
        if any(o.change not in plain for o in overrides):
            return
        last = {(o.node, o.predicate): o for o in overrides if o.change is Change.SET}
        for override in last.values():
            facts = [
                f for f in thread.graph.node(override.node).attributes if f.predicate == override.predicate
            ]
            assert [(f.value, f.rank) for f in facts] == [(override.value, Rank.PERSON)]

    def nothing_forgotten_is_left(self) -> None:
        """No byte of it, but for names in the person's own changes: those were said on purpose, and are erased by themselves."""
        kept = self.names_by_hand()
        for folder, _, names in os.walk(self.folder):
            for name in names:
                found = marks_in(Path(folder, name).read_bytes().decode("latin-1"))
                assert not found & self.forgotten - kept, (name, found & self.forgotten - kept)

    def names_by_hand(self) -> set[str]:
        """Marks in the names of nodes that a person ever changed."""
        events = [e for name in self.ids for e in self.engines[0].thread(name).events()]
        bodies = [from_bytes(e.body) for e in events if e.kind is Kind.OVERRIDDEN and e.body is not None]
        return marks_in([[b["node"], b.get("object", ""), b.get("names", "")] for b in bodies])


def explore(made: Callable[[], RuleBasedStateMachine], examples: int, steps: int) -> None:
    """Run the machine."""
    run_state_machine_as_test(
        cast("Any", made),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=[
                HealthCheck.too_slow,
                HealthCheck.data_too_large,
                HealthCheck.filter_too_much,
            ],
            report_multiple_bugs=False,
        ),
    )


def test_living_memory_follows_the_history(tmp_path: Path) -> None:
    """Any sequence of changes, overrides, tasks and delayed analysis: equal to a rebuild, no residue."""
    explore(lambda: Living(Path(tempfile.mkdtemp(dir=tmp_path))), max(8, settings().max_examples // 8), 30)
