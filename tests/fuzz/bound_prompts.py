"""The engine's own prompts, sent to a strict service that binds thinking, while everything happens in between: no request is refused.

Tools and system text change, calls wait while a prompt is made, answers break off and the user speaks, memories are forgotten, messages
edited, deleted and restored, the past is condensed and shown again. Where a prompt does not go on from the one before, its receipt says why.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import backscroll
from backscroll import Content, Text, ToolCall, ToolResult
from backscroll.assemble.validity.binding import Sent, check_growth
from backscroll.engine.core.clock import ClockAndIds
from backscroll.engine.prompts.prefixes import DOUBTED
from backscroll.errors import BackscrollError, BudgetTooSmall, StoreError
from backscroll.testing import Line, Scenario, speak_anthropic
from backscroll.testing.decision import ScriptedService
from backscroll.testing.request import ScriptedRequest, read_request
from backscroll.testing.scenario import ScriptedCall
from tests.fuzz.bound import part_of
from tests.fuzz.lore import BOOKS, some_book
from tests.fuzz.talk import Clock

SEEDS = tuple(range(8))
MODEL = "claude-fable-5-2"
STEPS = 30
NAMES = ("Read", "Bash", "expand_history")
WORDS = (
    "the harbour",
    "berth twelve",
    "a crane",
    "port is already allocated",
    "码头",
    "tide tables",
    "x = 1",
)


def fuzz(seed: int, folder: Path) -> None:
    """One conversation."""
    with backscroll.open(folder / "store.db", background=False) as store:
        store.means = ClockAndIds(Clock(), random.Random(seed + 1).randbytes)
        told = Conversation(random.Random(seed), store)
        try:
            for _ in range(STEPS):
                told.step()
        except AssertionError as error:
            error.add_note("\n".join(told.trail))
            raise


class Conversation:
    """A thread, and a model that answers its prompts."""

    def __init__(self, chance: random.Random, store: Any) -> None:
        self.chance, self.store = chance, store
        self.thread = store.create("Harbour", language=chance.choice(("", "zh")), project="harbour")
        self.thread.append("system", "You keep the books.")
        self.offered = [NAMES[0]]
        self.budget = chance.choice((1200, 3000, 8000))
        self.waiting: list[tuple[str, str]] = []  # calls without results
        self.calls = 0
        self.before: tuple[str, Sent] | None = None
        self.trail: list[str] = []
        self.service = ScriptedService(Scenario())
        self.service.answering = self._line

    def step(self) -> None:
        """Something happens, then the model is asked."""
        for _ in range(self.chance.choice((0, 1, 1, 2))):
            acts: list[Callable[[], object]] = [
                self._change,
                self._remember,
                self._work,
                self._offer,
                self._lore,
            ]
            weights = (5, 4, 4, 2, 3)
            self.chance.choices(acts, weights)[0]()
        if self.waiting and self.chance.random() < 0.8:
            while self.waiting:
                self._result()
        elif not self.waiting and self.chance.random() < 0.8:
            self._say("user")
        self.ask()

    # -- what happens --------------------------------------------------------------------------------------------

    def _tried(self, what: str, work: Callable[[], object]) -> None:
        self.trail.append(what)
        try:
            work()
        except StoreError:
            raise
        except BackscrollError as refused:
            self.trail[-1] += f" (refused: {refused})"

    def _some(self) -> str:
        found = [str(m.id) for m in self.thread.messages(deleted=True)]
        newest = found[-self.chance.choice((3, 10, 1000)) :]
        return self.chance.choice(newest)

    def _change(self) -> None:
        chance, thread, which = self.chance, self.thread, self._some()
        system = next((str(m.id) for m in thread if m.role == "system"), which)
        acts: dict[str, Callable[[], object]] = {
            "edit": lambda: thread.edit(which, f"Reworded: {chance.choice(WORDS)}."),
            "delete": lambda: thread.delete(which),
            "restore": lambda: thread.restore(which),
            "hide": lambda: thread.hide(which),
            "pin": lambda: thread.pin(which),
            "unpin": lambda: thread.unpin(which),
            "undo": thread.undo,
            "instruct": lambda: thread.edit(system, f"You keep the books of {chance.choice(WORDS)}."),
            "compact": lambda: thread.compact(self.budget),
            "uncompact": thread.undo_compaction,
            "crop": lambda: thread.crop("top", chance.randrange(1, 6)),
            "budget": lambda: setattr(self, "budget", chance.choice((1200, 3000, 8000, 40_000))),
        }
        how = chance.choice(list(acts))
        self._tried(f"{how} {which}", acts[how])

    def _remember(self) -> None:
        kept, chance = self.thread.memory, self.chance
        known = [m.id for m in kept.list(scope="thread", hidden=True)] + [
            m.id for m in kept.list(scope="thread")
        ]
        which = chance.choice(known) if known else ""
        acts: dict[str, Callable[[], object]] = {
            "add": lambda: kept.add(f"Bills of {chance.choice(WORDS)} are monthly, number {self.calls}."),
            "edit": lambda: kept.edit(which, f"Bills of {chance.choice(WORDS)} are yearly."),
            "pin": lambda: kept.pin(which),
            "forget": lambda: kept.forget(which),
            "erase": lambda: kept.forget(which, erase=True),
            "restore": lambda: kept.restore(which),
        }
        how = chance.choice(list(acts)) if known else "add"
        self._tried(f"memory {how} {which}", acts[how])

    def _work(self) -> None:
        tasks, chance = self.thread.tasks, self.chance
        acts: dict[str, Callable[[], object]] = {
            "start": lambda: tasks.start(
                chance.choice(("", "Book a berth", "修码头")), again=True, keep=True
            ),
            "attempt": lambda: tasks.attempt("Booked."),
            "complete": tasks.complete,
            "incomplete": lambda: tasks.incomplete("Not yet."),
            "cancel": lambda: tasks.cancel("no longer needed"),
        }
        how = chance.choice(list(acts))
        self._tried(f"task {how}", acts[how])

    def _lore(self) -> None:
        known, chance = self.thread.lore, self.chance
        book, called = some_book(chance), chance.choice(BOOKS)
        add = chance.random() < 0.7
        self._tried(
            f"lore {'add' if add else 'drop'} {called}",
            lambda: known.add(called, book) if add else known.drop(called),
        )

    def _offer(self) -> None:
        self.offered = sorted(self.chance.sample(NAMES, self.chance.choice((1, 1, 2, 3))))
        self.trail.append(f"offer {self.offered}")

    def _say(self, role: Any) -> None:
        words = f"{self.chance.choice(WORDS)} {self.calls}? " * self.chance.choice((1, 1, 3, 40))
        self.trail.append(f"append {role} -> {self.thread.append(role, words).id.seq}")

    def _result(self) -> None:
        call, name = self.waiting.pop(self.chance.randrange(len(self.waiting)))
        lines = self.chance.choices((1, 20, 200, 900), (8, 4, 3, 1))[0]
        text = "\n".join(f"{self.chance.choice(WORDS)} {call} {n}" for n in range(lines))
        made = self.thread.append("tool", [ToolResult(call, (Text(text),), name=name)])
        self.trail.append(f"result of {call}, {lines} lines -> {made.id.seq}")

    # -- the model -----------------------------------------------------------------------------------------------

    def _line(self, asked: ScriptedRequest) -> Line:
        names = [str(tool["name"]) for tool in asked.tools]
        calls: list[ScriptedCall] = []
        for _ in range(self.chance.choice((0, 0, 1, 2)) if names else 0):
            self.calls += 1
            calls.append(ScriptedCall(self.chance.choice(names), {"n": self.calls}, f"c{self.calls}"))
        thought = self.chance.choice(("", "I see.", "想一想。"))
        return Line(text=f"So {self.calls}.", reasoning=thought, calls=tuple(calls),
                    redacted=self.chance.random() < 0.2)  # fmt: skip

    def ask(self) -> None:
        """One prompt, and mostly its answer."""
        if all(m.role == "system" for m in self.thread):
            return
        tools = [{"name": name, "input_schema": {"type": "object"}} for name in self.offered]
        try:
            made = self.thread.prompt(self.budget, model=MODEL, wire="anthropic", reserve=0, tools=tools)
        except BudgetTooSmall as refused:
            self.trail.append(f"refused: {refused}")
            return
        self.trail.append(f"prompt {self.budget} broken={made.receipt.broken}")
        if not made.blocks:
            return
        self._grown(made)
        body = {"model": MODEL, "max_tokens": 500, **made.request}
        decided = self.service.decide(read_request("anthropic", json.loads(json.dumps(body))), {})
        assert decided.said is not None, f"{decided.fault}"
        if self.chance.random() < 0.1:
            self.trail.append("the answer is lost")
            return
        answer = [part_of(b) for b in speak_anthropic.whole(decided.said)["content"]]
        calls = [p for p in answer if isinstance(p, ToolCall)]
        about: dict[str, Any] = {"model": MODEL}
        if not calls and self.chance.random() < 0.3:
            about["act"] = {"cut": True}
        said = self.thread.append("assistant", Content(tuple(answer), metadata=about))
        self.trail.append(
            f"answer {[type(p).__name__ for p in answer]} cut={'act' in about} -> {said.id.seq}"
        )
        if self.chance.random() < 0.3:
            self.waiting = []  # the user does not wait
        self.waiting += [(call.id, call.name) for call in calls]

    def _grown(self, made: Any) -> None:
        """What was sent is the beginning of what is sent, or the receipt says why it is not."""
        now = Sent(made.messages, "anthropic", system=made.system, tools=list(made.tools), model=MODEL)
        known, self.before = self.before, (self.thread.id, now)
        grows = made.receipt.broken.get("cause", DOUBTED) == DOUBTED and not made.receipt.cut
        if known is not None and grows:
            flaws = check_growth(known[1], now)
            assert not flaws, f"{flaws[0]}, and the receipt does not say why"
