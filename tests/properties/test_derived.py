"""Memory follows the history: whatever is done to conversations, everything derived equals a rebuild, and nothing gone is told.

Two engines on one file in turn, forks of forks, prompts and background work at any moment, a clock that jumps. After the
steps of each run: digests, trees, vectors, counts, recall and prompts are those of a store in which all of it was made
from nothing; no mark of a message that is deleted, hidden, edited or swiped away, or forgotten is told anywhere.
"""

from __future__ import annotations

import itertools
import os
import random
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
from backscroll import Role, Wire
from backscroll.assemble.validity import check
from backscroll.engine.background.worker import Worker, bring_up_to_date
from backscroll.engine.crops.crops import crops
from backscroll.engine.inputs.lessons import reset
from backscroll.errors import BackscrollError, BudgetTooSmall
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Part, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import WIRES
from tests import proof
from tests.properties.memory import (
    Clock,
    Marks,
    allowed,
    derived,
    marks_in,
    opened,
    spelled,
    without_derived,
)

BUDGETS = (900, 2500, 9000)
QUESTIONS = ["Which table must never be touched?", "刚才决定把什么调到三十秒？", "src fox ValueError"]
places = st.integers(0, 1000)
sizes = st.sampled_from([1, 1, 2, 5, 40])
CHANGES = ("delete", "delete", "restore", "hide", "unhide", "pin", "unpin")


class Memory(RuleBasedStateMachine):
    """Somebody who does all sorts of things to conversations in one store."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.place = folder / "store.db"
        self.clock, self.words = Clock(), Marks()
        self.engines = [opened(self.place, self.clock, seed) for seed in (1, 2)]
        self.turns = itertools.cycle(self.engines)
        self.ids = [self.engine.create("a talk").id]
        self.calls = 0
        self.forgotten: set[str] = set()
        self.own: list[
            tuple[str, str, dict[Ref, Ref]]
        ] = []  # summaries by hand: thread, mark, what they speak of

    def teardown(self) -> None:
        try:
            self.nothing_gone_is_told()
            self.equals_a_rebuild()
            proof.assert_sound(self.engine)
        finally:
            for engine in self.engines:
                engine.close()

    @property
    def engine(self) -> backscroll.Engine:
        """Whose turn it is: what one engine remembers must not outlive what the other one does."""
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

    # -- saying ----------------------------------------------------------------------------------------------

    @initialize(turns=st.integers(3, 12))
    def begin(self, turns: int) -> None:
        self.thread(0).append("system", self.words.text())
        self.talk(0, turns)
        self.use_tools(0, 2, 20, 2)

    @rule(
        which=places, role=st.sampled_from(["user", "assistant", "user", "assistant", "system"]), size=sizes
    )
    def say(self, which: int, role: Role, size: int) -> None:
        self.clock.wait(5)
        self.thread(which).append(role, self.words.text(size))

    @rule(which=places, count=st.integers(1, 3), size=sizes, answered=st.integers(0, 3))
    def use_tools(self, which: int, count: int, size: int, answered: int) -> None:
        thread = self.thread(which)
        names = [f"call_{self.calls + n}" for n in range(count)]
        self.calls += count
        calls: list[Part] = [ToolCall(n, "Read", {"path": f"src/{self.words.text(1, 7)}"}) for n in names]
        thread.append("assistant", [Text(self.words.text()), *calls])
        for name in names[:answered]:
            thread.append("tool", [ToolResult(name, (Text(self.words.text(size * 2)),), name="Read")])

    @rule(which=places, turns=st.integers(2, 8))
    def talk(self, which: int, turns: int) -> None:
        """Several turns at once, so that histories become long enough to be condensed."""
        thread = self.thread(which)
        for _ in range(turns):
            thread.append("user", self.words.text(2))
            thread.append("assistant", self.words.text(4))

    # -- changing --------------------------------------------------------------------------------------------

    @rule(which=places, at=places, size=sizes, how=st.sampled_from(["edit", "edit", "regenerate"]))
    def reword(self, which: int, at: int, size: int, how: str) -> None:
        thread = self.thread(which)
        if message := self.message(thread, at):
            calls = [p for p in message.parts if isinstance(p, ToolCall | ToolResult)]
            parts: list[Part] = [Text(self.words.text(size)), *calls]
            parts = [replaced(p, self.words) for p in parts]
            self.tried(lambda: getattr(thread, how)(message.id, parts))

    @rule(which=places, at=places, alternative=st.integers(0, 2))
    def choose(self, which: int, at: int, alternative: int) -> None:
        thread = self.thread(which)
        if message := self.message(thread, at):
            self.tried(lambda: thread.choose(message.id, alternative))

    @rule(which=places, at=places, more=st.integers(0, 2), how=st.sampled_from(CHANGES))
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

    @rule(which=places, at=places, size=sizes, role=st.sampled_from(["user", "assistant", "system"]))
    def insert(self, which: int, at: int, size: int, role: Role) -> None:
        thread = self.thread(which)
        message = self.message(thread, at)
        text = self.words.text(size)
        self.tried(lambda: thread.insert(role, text, after=None if message is None else message.id))

    @rule(
        which=places, how=st.sampled_from(["undo", "undo", "redo"]), actor=st.sampled_from(["", "backscroll"])
    )
    def take_back(self, which: int, how: str, actor: str) -> None:
        thread = self.thread(which)
        self.tried(getattr(thread.as_actor(actor) if actor else thread, how))

    @precondition(lambda self: len(self.ids) < 4)
    @rule(which=places, at=places)
    def fork(self, which: int, at: int) -> None:
        thread = self.thread(which)
        message = self.message(thread, at)
        made = self.tried(lambda: thread.fork(message.id if message and at % 4 else None))
        if made is not None:
            self.ids.append(made.id)

    @rule(which=places, at=places, more=st.integers(0, 1))
    def forget(self, which: int, at: int, more: int) -> None:
        thread = self.thread(which)
        if at % 3:
            return
        found = [m for n in range(more + 1) if (m := self.message(thread, at + n))]
        said = {mark for m in found for r in thread.revisions(m.id) for mark in marks_in(str(r.content))}
        if found and self.tried(lambda: thread.forget(*(m.id for m in found))) is not None:
            self.forgotten |= said

    @rule(which=places, drop=places, at=places)
    def sync(self, which: int, drop: int, at: int) -> None:
        """Another program's list: one message missing, one changed, one new at the end."""
        thread = self.thread(which)
        theirs = [
            {"role": m.role, "content": m.text}
            for m in thread
            if m.role in ("user", "assistant") and not any(isinstance(p, ToolCall) for p in m.parts)
        ]
        if len(theirs) < 3 or any(m.role in ("tool", "system") or m.hidden for m in thread):
            return
        del theirs[drop % len(theirs)]
        theirs[at % len(theirs)] = {**theirs[at % len(theirs)], "content": self.words.text()}
        theirs.append({"role": "user", "content": self.words.text()})
        self.tried(lambda: thread.sync(theirs))

    # -- condensing ------------------------------------------------------------------------------------------

    @rule(which=places, way=st.sampled_from(["top", "bottom"]), amount=st.integers(1, 9), own=st.booleans())
    def crop(self, which: int, way: str, amount: int, own: bool) -> None:
        thread = self.thread(which)
        words = self.words.text() if own else None
        before = {m.id: m.revision for m in thread if not m.hidden}
        made = self.tried(lambda: thread.crop(way, amount, words))
        if made is not None and words is not None:
            held = {ref: before[ref] for ref in before if crops(thread)[-1].holds(ref)}
            (mark,) = marks_in(words)
            self.own.append((thread.id, mark, held))

    @rule(which=places, at=places)
    def uncrop(self, which: int, at: int) -> None:
        thread = self.thread(which)
        if found := crops(thread):
            self.tried(lambda: thread.uncrop(found[at % len(found)].handle))

    @rule(which=places, budget=st.sampled_from(BUDGETS))
    def compact(self, which: int, budget: int) -> None:
        thread = self.thread(which)
        self.tried(lambda: thread.compact(budget))

    @rule(which=places, amount=st.integers(1, 6), budget=st.sampled_from(BUDGETS), crop=st.booleans())
    def and_back(self, which: int, amount: int, budget: int, crop: bool) -> None:
        """Undoing a crop or a compaction brings back the prompt as it was, byte for byte."""
        thread = self.thread(which)
        before = [spelled(least(thread, 2500, wire)) for wire in WIRES]
        head = thread.head
        self.tried(lambda: thread.crop("top", amount) if crop else thread.compact(budget))
        if thread.head > head:
            self.clock.wait(-1)
            thread.undo()
            assert [spelled(least(thread, 2500, wire)) for wire in WIRES] == before

    # -- asking ----------------------------------------------------------------------------------------------

    @rule(which=places, budget=st.sampled_from(BUDGETS), wire=st.sampled_from(WIRES))
    def prompt(self, which: int, budget: int, wire: Wire) -> None:
        self.clock.wait(2)
        thread = self.thread(which)
        made = least(thread, budget, wire, dry_run=False)
        self.told(thread, spelled(made))
        assert made.receipt.total <= made.receipt.budget

    @rule(which=places, limit=st.integers(1, 40))
    def work_a_little(self, which: int, limit: int) -> None:
        """Background work that is stopped after a few events."""
        from backscroll.engine.search.embedding import embed_pending
        from backscroll.engine.tree.tree import catch_up

        thread = self.thread(which)
        catch_up(self.engine, thread.id, limit)
        embed_pending(self.engine, thread.id, limit)

    @rule()
    def work(self) -> None:
        """A worker that does all there is to do."""
        worker = Worker(self.engine)
        worker.run()
        assert worker.progress.last_error == ""

    @rule(seconds=st.sampled_from([30, 400, 90_000]))
    def wait(self, seconds: int) -> None:
        self.clock.wait(seconds)

    @rule()
    def open_again(self) -> None:
        """A process ends, another one begins: with nothing in its memory."""
        self.engines[0].close()
        self.engines[0] = opened(self.place, self.clock, 100 + self.words.count)
        self.turns = itertools.cycle(self.engines)

    # -- what must hold --------------------------------------------------------------------------------------

    def may_tell(self, thread: backscroll.Thread) -> set[str]:
        """Marks of live words that are not hidden, and of summaries by hand whose messages are as they were."""
        out = allowed(thread)
        now = {m.id: m.revision for m in thread if not m.hidden}
        for home, mark, held in self.own:
            # A fork has what its parent had when it began.
            if (home == thread.id or thread.id in self.ids[1:]) and all(
                now.get(r) == v for r, v in held.items()
            ):
                out.add(mark)
        return out

    def told(self, thread: backscroll.Thread, *texts: Any) -> None:
        found = set[str]().union(*(marks_in(t) for t in texts))
        assert found <= self.may_tell(thread), found - self.may_tell(thread)

    @rule(which=places)
    def look(self, which: int) -> None:
        self.look_at(self.thread(which))

    def look_at(self, thread: backscroll.Thread) -> None:
        """Nothing that is gone is told: in no prompt, account, list, recall, search, nor behind any handle."""
        for wire in WIRES:
            made = least(thread, BUDGETS[len(wire) % len(BUDGETS)], wire)
            again = least(thread, made.receipt.budget, wire)
            assert spelled(again) == spelled(made)
            assert check(made.messages, wire, system=made.system) == []
            assert made.receipt.total <= made.receipt.budget
            self.told(thread, spelled(made))
        self.told(thread, thread.summary(), str(thread.operations()))
        for question in QUESTIONS:
            self.told(thread, thread.recall(question, 600).text)
        for mark in crops(thread):
            expanded = self.tried(lambda mark=mark: thread.expand(mark.handle))
            self.told(thread, *(str(m.content) for m in expanded or ()))

    def nothing_gone_is_told(self) -> None:
        for which in range(len(self.ids)):
            self.look_at(self.thread(which))
        for mark in self.forgotten:
            assert not self.engine.search(mark).hits
        for folder, _, names in os.walk(self.place.parent):
            for name in names:
                found = marks_in(Path(folder, name).read_bytes().decode("latin-1"))
                assert not found & self.forgotten, (name, found & self.forgotten)

    def equals_a_rebuild(self) -> None:
        """What grew step by step is what a store without anything derived comes to."""
        for engine in self.engines:
            for name in self.ids:
                bring_up_to_date(engine, name)
        held = {name: self.everything(self.engines[0], name) for name in self.ids}
        other = {name: self.everything(self.engines[1], name) for name in self.ids}
        assert other == held
        copy = self.place.parent / "again.db"
        without_derived(self.place, copy)
        with opened(copy, self.clock, 3) as fresh:
            for name in self.ids:
                bring_up_to_date(fresh, name)
            for name in self.ids:
                found = self.everything(fresh, name)
                for what in held[name]:
                    assert found[what] == held[name][what], what
        copy.unlink()

    def everything(self, engine: backscroll.Engine, name: str) -> dict[str, Any]:
        thread = engine.thread(name)
        reset(engine, None)  # what was learned from asking is no part of the history
        prompts = {wire: spelled(least(thread, 2500, wire)) for wire in WIRES}
        return {**derived(engine, thread, QUESTIONS), "prompts": prompts}


def replaced(part: Part, words: Marks) -> Part:
    """A call or result with other words."""
    if isinstance(part, ToolCall):
        return ToolCall(part.id, part.name, {"path": f"src/{words.text(1, 7)}"})
    if isinstance(part, ToolResult):
        return ToolResult(part.call_id, (Text(words.text(3)),), name=part.name)
    return part


def least(thread: backscroll.Thread, budget: int, wire: Wire, *, dry_run: bool = True) -> Any:
    """A prompt, in the smallest budget that is said to do where this one does not."""
    try:
        return thread.prompt(budget, wire=wire, reserve=0, dry_run=dry_run)
    except BudgetTooSmall as refused:
        return thread.prompt(refused.minimum, wire=wire, reserve=0, dry_run=dry_run)


def explore(folder: Path, examples: int, steps: int) -> None:
    """Run the machine; the profile (`HYPOTHESIS_PROFILE=thorough`) decides how often."""
    run_state_machine_as_test(
        cast("Any", lambda: Memory(Path(tempfile.mkdtemp(dir=folder)))),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
            report_multiple_bugs=False,
        ),
    )


def test_memory_follows_the_history(tmp_path: Path) -> None:
    """Any sequence of changes, prompts and background work: equal to a rebuild, and no residue."""
    explore(tmp_path, max(4, settings().max_examples // 12), 30)


def test_native_copy_derives_the_same(tmp_path: Path) -> None:
    """A native export imported into an empty store derives the same and builds the same prompts."""
    chance = random.Random(11)
    machine = Memory(tmp_path)
    machine.begin(10)
    thread = machine.thread(0)
    for n in range(25):
        messages = [m.id for m in thread]
        machine.say(0, "user", 3)
        machine.use_tools(0, 1, 6, 1)
        if n % 4 == 1:
            machine.prompt(0, 2500, WIRES[n % 3])
        if n % 5 == 2:
            machine.reword(0, chance.randrange(len(messages)), 2, "edit")
        if n % 6 == 3:
            machine.flag(0, chance.randrange(len(messages)), 0, "delete")
    machine.crop(0, "top", 5, own=True)
    machine.crop(0, "bottom", 1, own=False)
    machine.take_back(0, "undo", "")
    machine.forget(0, 6, 0)
    source = machine.engines[0]
    source.export([thread.id], target=str(tmp_path / "copy.jsonl"))
    with opened(tmp_path / "copy.db", machine.clock, 9) as target:
        target.import_path(tmp_path / "copy.jsonl")
        for engine in (source, target):
            bring_up_to_date(engine, thread.id)
        # Accounts of prompts are no part of a conversation; without them no cache is known to be cold.
        assert machine.everything(target, thread.id) == machine.everything(source, thread.id)
    for engine in machine.engines:
        engine.close()
