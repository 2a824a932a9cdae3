"""Random histories in a ladder of budgets, on every wire, with and without tools.

Whatever was said and done: once a budget works, every larger one does; a refusal names a minimum that works; every prompt is
within its budget and is accepted by the strict scripted service and by a second, independent judge.
"""

from __future__ import annotations

import json
import pathlib
import random
from typing import Any

import backscroll
from backscroll.assemble.validity import check
from backscroll.engine.thread import Thread
from backscroll.errors import BackscrollError, BudgetTooSmall
from backscroll.testing.refusals import flaw
from backscroll.testing.request import read_request
from backscroll.vocab.event import Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Media, Part, Reasoning, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import WIRES, Wire
from tests.assemble.wire_oracle import judge

LADDER = (60, 200, 500, 1000, 2000, 3000, 4500, 6000, 8000, 11000, 16000, 24000, 40000, 80000)
FILLER = (
    "The quick brown fox reads src/module.py and decides. ",
    "我们决定先把超时调到三十秒，因为网络很慢。",
    "x = [1, 2, 3]\n",
)
SIZES = (0, 0, 1, 3, 12, 60, 240, 900)
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
TOOLS: dict[str, list[dict[str, Any]]] = {
    "openai-chat": [{"type": "function", "function": {"name": "Read", "parameters": {"type": "object"}}}],
    "openai-responses": [{"type": "function", "name": "Read", "parameters": {"type": "object"}}],
    "anthropic": [{"name": "Read", "input_schema": {"type": "object"}}],
}


class Story:
    """A conversation made by chance; `told` lists what was done, as a reproduction."""

    def __init__(self, thread: Thread, chance: random.Random) -> None:
        self.thread, self.chance = thread, chance
        self.told: list[str] = []
        self.calls = 0

    def words(self) -> str:
        text = self.chance.choice(FILLER) * self.chance.choice(SIZES)
        return f"word{len(self.told)}q {text}"

    def act(self) -> None:
        """Do one thing."""
        names = ("say", "say", "ask", "ask", "step", "step", "step", "picture", "change", "change", "narrow")
        name = self.chance.choice(names)
        self.told.append(name)
        try:
            getattr(self, name)()
        except BackscrollError as refused:
            self.told.append(f"refused: {refused}")

    def say(self) -> None:
        role = self.chance.choice(("assistant", "assistant", "system", "user"))
        more: list[Part] = (
            [Reasoning("hm", "sig")] if role == "assistant" and self.chance.random() < 0.2 else []
        )
        self.thread.append(role, [*more, Text(self.words())])
        self.told.append(f"{role} {len(self.told)}")

    def ask(self) -> None:
        self.thread.append("user", self.words(), pinned=self.chance.random() < 0.1)

    def step(self) -> None:
        """A reply with calls, of which some, all or none are answered."""
        count = self.chance.choice((1, 1, 2, 3, 8))
        names = [f"call_{self.calls + n}" for n in range(count)]
        self.calls += count
        self.told.append(f"calls {names}")
        parts: list[Part] = [Text(self.words())] if self.chance.random() < 0.5 else []
        calls = [ToolCall(n, "Read", {"path": f"src/{n}.py", "text": self.words()}) for n in names]
        self.thread.append("assistant", [*parts, *calls], pinned=self.chance.random() < 0.05)
        answered = self.chance.choice((0, count, count, count - 1))
        self.chance.shuffle(names)
        for name in names[:answered]:
            inner: list[Any] = [Text(self.words())]
            if self.chance.random() < 0.1:
                inner.append(Media("image/png", data=PIXEL))
            result = ToolResult(name, tuple(inner), name="Read")
            self.thread.append("tool", [result], pinned=self.chance.random() < 0.05)

    def picture(self) -> None:
        parts: list[Part] = [Media("image/png", data=PIXEL) for _ in range(self.chance.choice((1, 1, 4)))]
        self.thread.append("user", [Text(self.words()), *parts])

    def change(self) -> None:
        """Edit, delete, hide, pin, move or undo something."""
        found = list(self.thread.messages())
        how = self.chance.choice(
            ("edit", "delete", "delete", "hide", "pin", "unpin", "undo", "restore", "newest")
        )
        if not found or how == "undo":
            self.told.append("undo")
            self.thread.undo()
            return
        at = len(found) - 1 if how == "newest" else self.chance.randrange(len(found))
        self.told.append(f"{how} {at}")
        message = found[at]
        if how == "edit":
            if message.role != "tool":
                calls = [p for p in message.parts if isinstance(p, ToolCall)]
                self.thread.edit(message.id, [Text(self.words()), *calls])
        else:
            getattr(self.thread, "delete" if how == "newest" else how)(message.id)

    def narrow(self) -> None:
        """Crop, compact, fork, or ask for a prompt that may condense."""
        how = self.chance.choice(("crop", "compact", "prompt", "prompt", "fork"))
        size = self.chance.choice(LADDER[4:])
        self.told.append(f"{how} {size}")
        if how == "crop":
            self.thread.crop(self.chance.choice(("top", "bottom")), self.chance.randrange(1, 7))
        elif how == "compact":
            self.thread.compact(size)
        elif how == "prompt":
            self.thread.prompt(size, wire=self.chance.choice(WIRES))
        else:
            found = list(self.thread.messages())
            self.thread = self.thread.fork(self.chance.choice(found).id if found else None)


def fuzz(seed: int, folder: pathlib.Path) -> None:
    """One random history in all budgets on all wires."""
    chance = random.Random(seed)
    with backscroll.open(folder / f"budgets-{seed}.db", background=False) as engine:
        story = Story(engine.create("budgets"), chance)
        for _ in range(chance.choice((1, 3, 10, 25, 60))):
            story.act()
        for wire in WIRES:
            tools = TOOLS[wire] if chance.random() < 0.5 else []
            reserve = chance.choice((None, 0))
            label = f"seed {seed}, {wire}, {len(tools)} tools, reserve {reserve}"
            try:
                climb(story.thread, wire, tools, reserve)
            except AssertionError as wrong:
                raise AssertionError(f"{label}: {wrong}\n" + "\n".join(story.told)) from wrong


def climb(thread: Thread, wire: Wire, tools: list[dict[str, Any]], reserve: int | None) -> None:
    """Ask for the prompt in one budget after the other."""
    worked, must = 0, waiting(thread)
    for budget in LADDER:
        refusal: BudgetTooSmall | None = None
        size = budget
        try:
            thread.prompt(budget, wire=wire, tools=tools, reserve=reserve, dry_run=True)
        except BudgetTooSmall as refused:
            refusal, size = refused, refused.minimum
        assert not (worked and refusal), f"{worked} works and {budget} does not: {refusal}"
        assert refusal is None or size > budget, f"{budget} is refused, {size} is said to do"
        worked = worked or (budget if refusal is None else 0)
        made = thread.prompt(size, wire=wire, tools=tools, reserve=reserve, dry_run=True)
        assert made.receipt.total <= made.receipt.budget
        missing = must - {block.message for block in made.blocks}
        assert not missing, f"{missing} waits for results and is not in a prompt of {budget}"
        accepted(made.request, wire)
        assert not check(made.messages, wire, system=made.system, tools=list(made.tools))


def waiting(thread: Thread) -> set[Ref]:
    """Replies of the newest turn of which a call has no result; crops, which hide whole turns, leave it open."""
    out: set[Ref] = set()
    told: set[str] = set()
    for message in reversed([m for m in thread.messages() if not m.hidden]):
        if message.role == "user" or any(e.kind is Kind.CROPPED for e in thread.events()):
            break
        told |= {p.call_id for p in message.parts if isinstance(p, ToolResult)}
        if any(isinstance(p, ToolCall) and p.id not in told for p in message.parts):
            out.add(message.id)
    return out


def accepted(request: dict[str, Any], wire: Wire) -> None:
    """The request as it is sent passes the strict service and the second judge."""
    body = json.loads(json.dumps({"model": "", **request}))
    wrong = flaw(read_request(wire, body))
    assert not wrong, wrong
    listed, beside = ("input", "instructions") if wire == "openai-responses" else ("messages", "system")
    judge(body[listed], wire, body.get(beside), tools=body.get("tools"))
