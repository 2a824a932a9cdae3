"""A long run of an agent with everything that people do in between, in any order: every prompt on every wire is valid, within the
budget, and misses nothing that it must show.

Steps come in bursts of dozens with small, large and giant results, alone and in parallel; between them messages are pinned,
edited, deleted, hidden and cropped, the conversation is compacted, undone and rewound. Every message carries a word of its own.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import backscroll
from backscroll import Wire
from backscroll.assemble.validity import check
from backscroll.engine.folder.rewind import rewind_words
from backscroll.errors import BackscrollError, BudgetTooSmall
from backscroll.vocab.message import Message, is_spoken_by_user
from backscroll.vocab.part import Text, ToolCall, ToolResult
from backscroll.vocab.prompt import WIRES
from tests.properties.memory import spelled

#: Lines of a result: most are small, some are large, few are larger than any budget.
LINES = st.sampled_from([2, 2, 5, 20, 20, 60, 150, 900])
BUDGETS = (2_500, 6_000, 16_000)
WORDS = ("mend the harbour light", "把灯塔的说明写完整", "why does test_7 fail?")


class LongRun(RuleBasedStateMachine):
    """The model knows only which word belongs to which message."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="long-runs-"))
        self.store = backscroll.open(self.folder / "store.db", background=False)
        self.thread = self.store.create("a long run")
        self.marks: dict[str, str] = {}  # revision -> its word
        self.count = 0

    def teardown(self) -> None:
        """Nothing is left behind."""
        self.store.close()
        shutil.rmtree(self.folder)

    # -- what is said ----------------------------------------------------------------------------------------

    def mark(self) -> str:
        self.count += 1
        return f"qz{self.count}zq"

    def told(self, message: Message, mark: str) -> Message:
        self.marks[str(message.revision)] = mark
        return message

    @initialize(budget=st.sampled_from(BUDGETS))
    def begin(self, budget: int) -> None:
        """A system prompt and a first request."""
        self.budget = budget
        mark = self.mark()
        self.told(self.thread.append("system", f"You are careful. {mark} {{recent_operations}}"), mark)
        self.ask(0, pinned=False)

    @rule(which=st.integers(0, 2), pinned=st.booleans())
    def ask(self, which: int, pinned: bool) -> None:
        """The person says something; now and then it is pinned."""
        mark = self.mark()
        self.told(
            self.thread.append("user", f"{mark} {WORDS[which]}", pinned=pinned and self.count < 40), mark
        )

    @rule(count=st.integers(1, 40), lines=st.lists(LINES, min_size=1, max_size=6), calls=st.integers(1, 3))
    def work(self, count: int, lines: list[int], calls: int) -> None:
        """The agent takes many steps, with a prompt before some of them."""
        for n in range(count):
            self.step([lines[(n + k) % len(lines)] for k in range(calls)])
            if n % 7 == 3:
                self.prompted(WIRES[n % 3], write=True)

    def step(self, lines: list[int]) -> None:
        mark, names = self.mark(), [f"c{self.count}_{k}" for k in range(len(lines))]
        # An edit leaves calls as they are, so they carry no word of the reply.
        calls = [ToolCall(name, "Read", {"path": f"src/{name}.py"}) for name in names]
        self.told(self.thread.append("assistant", [Text(f"{mark} I look."), *calls]), mark)
        for call, size in zip(calls, lines, strict=True):
            word = self.mark()
            body = "\n".join(f"{word} line {i}: value_{i * 7} = {i} 值" for i in range(size))
            self.told(self.thread.append("tool", [ToolResult(call.id, (Text(body),), name="Read")]), word)

    # -- what people do in between ---------------------------------------------------------------------------

    def chosen(self, which: int, *roles: str) -> Message | None:
        found = [m for m in self.thread.messages() if m.role in roles and not m.hidden]
        return found[which % len(found)] if found else None

    @rule(which=st.integers(0, 99), on=st.booleans())
    def pin(self, which: int, on: bool) -> None:
        """A message of the person is pinned, or the pin is taken off."""
        message = self.chosen(which, "user")
        if message is not None and sum(m.pinned for m in self.thread.messages()) < 8:
            (self.thread.pin if on else self.thread.unpin)(message.id)

    @rule(which=st.integers(0, 99))
    def edit(self, which: int) -> None:
        """Somebody puts other words in the place of what was said; calls stay."""
        message = self.chosen(which, "user", "assistant")
        if message is not None:
            mark = self.mark()
            calls = [p for p in message.parts if isinstance(p, ToolCall)]
            self.told(self.thread.edit(message.id, [Text(f"{mark} said otherwise"), *calls]), mark)

    @rule(which=st.integers(0, 99), how=st.sampled_from(["delete", "hide"]))
    def drop(self, which: int, how: str) -> None:
        """A message goes, whatever it belongs to: a call without its result, a result without its call."""
        message = self.chosen(which, "user", "assistant", "tool")
        if message is not None:
            getattr(self.thread, how)(message.id)

    @rule(direction=st.sampled_from(["top", "bottom"]), amount=st.integers(1, 30))
    def crop(self, direction: str, amount: int) -> None:
        """A crop that would part a call from its result is refused; the neighbouring amounts are not."""
        for more in range(5):
            try:
                self.thread.crop(direction, amount + more)
            except BackscrollError as refused:
                note(f"refused: {refused}")
            else:
                return

    @rule()
    def compact(self) -> None:
        """The past is condensed on purpose."""
        try:
            self.thread.compact(self.budget)
        except BudgetTooSmall as refused:
            note(f"refused: {refused}")

    @rule(times=st.integers(1, 3))
    def undo(self, times: int) -> None:
        """The last things are taken back, whatever they were."""
        for _ in range(times):
            try:
                self.thread.undo()
            except BackscrollError as refused:
                note(f"refused: {refused}")

    @rule(back=st.integers(1, 3))
    def rewind(self, back: int) -> None:
        """Back to before one of the last turns."""
        turns = sum(m.role == "user" for m in self.thread.messages())
        if turns > back:
            rewind_words(self.thread, turns - back + 1)

    # -- what must hold --------------------------------------------------------------------------------------

    def prompted(self, wire: Wire, *, write: bool) -> Any:
        """A prompt that fits the budget, or the smallest one that is said to do."""
        try:
            return self.thread.prompt(self.budget, wire=wire, reserve=0, dry_run=not write)
        except BudgetTooSmall as refused:
            note(f"{self.budget} is too small, {refused.minimum} is said to do")
            return self.thread.prompt(refused.minimum, wire=wire, reserve=0, dry_run=True)

    @invariant()
    def every_prompt_is_valid_within_budget_and_whole(self) -> None:
        """On every wire; pins, system prompt and the person's latest words are there, what was taken out is not."""
        if not self.count or not any(not m.hidden and m.role != "system" for m in self.thread.messages()):
            return
        live = [m for m in self.thread.messages() if not m.hidden]
        words = {self.marks[str(m.revision)] for m in live}
        latest = next((m for m in reversed(live) if is_spoken_by_user(m)), None)
        must = {self.marks[str(m.revision)] for m in live if m.role == "system" or m.pinned or m == latest}
        gone = set(self.marks.values()) - words
        for wire in WIRES:
            made = self.prompted(wire, write=False)
            said = spelled(made)
            assert check(made.messages, wire, system=made.system) == []
            assert made.receipt.total <= made.receipt.budget
            assert {mark for mark in must if mark not in said} == set()
            assert {mark for mark in gone if mark in said} == set()


TestLongRun = LongRun.TestCase
TestLongRun.settings = settings(
    max_examples=6,
    stateful_step_count=10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
