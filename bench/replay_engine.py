"""Adapter of the whole engine for the replay harness: what a thread's own prompts cost and keep.

    cd ../shared/bench/replay && PYTHONPATH=<this repository> python run.py --policy bench.replay_engine:Engine --source specstory

Where `bench/replay_policy` asks the pure rooms alone, this one writes the recorded session into a store and asks `Thread.prompt` before
every recorded call: the sheet, compactions that are written down, the summary tree, insertions. `python -m bench replay` prints the table.
"""

from __future__ import annotations

import re
import tempfile
import time
from pathlib import Path
from typing import Any

import backscroll
from backscroll.assemble.validity.binding import Sent, check_growth
from backscroll.errors import BudgetTooSmall
from backscroll.testing import Line, Scenario
from backscroll.testing.decision import ScriptedService
from backscroll.testing.request import read_request
from backscroll.vocab.message import Content, Message
from backscroll.vocab.part import Part, Reasoning
from backscroll.vocab.prompt import Level
from bench.replay_policy import message_of, recorded_of

_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Engine:
    """A thread that is written call by call, and asked for a prompt before each."""

    recall = True
    wire = "openai-chat"

    def __init__(self) -> None:
        self.spent: list[float] = []  # processor time of each `Thread.prompt`, in seconds
        self.failures: list[str] = []  # prompts that changed what was sent before without saying why
        self.compactions = 0
        self._open: tuple[tempfile.TemporaryDirectory[str], backscroll.Engine] | None = None

    def reset(self, meta: dict[str, Any]) -> None:
        """A new trajectory, in a store of its own."""
        self.close()
        folder = tempfile.TemporaryDirectory(prefix="backscroll-replay-")
        engine = backscroll.open(Path(folder.name) / "replay.db", background=False)
        self._open = folder, engine
        self.thread = engine.create(str(meta["id"]))
        self.places: dict[Any, int] = {}  # message -> its number in the recorded history
        self.before: tuple[Any, Sent] | None = None

    def close(self) -> None:
        """Remove the store of the last trajectory."""
        if self._open is not None:
            folder, engine = self._open
            self._open = None
            engine.close()
            folder.cleanup()

    def prompt(self, history: list[dict[str, Any]], budget: int) -> tuple[list[dict[str, Any]], list[Any]]:
        """Return the prompt for this call."""
        for number in range(len(self.places), len(history)):
            recorded = message_of(number, history[number])
            made = self.thread.append(recorded.role, self.content(recorded))
            self.places[made.id] = number
        start = time.process_time()
        made_now = self._asked(budget)
        self.spent.append(time.process_time() - start)
        self.compactions += bool(made_now.receipt.compaction)
        self.judge(made_now)
        out: list[dict[str, Any]] = []
        for block in made_now.blocks:
            whole = block.level is Level.VERBATIM and block.message in self.places
            number = self.places.get(block.message, -1)
            same = whole and history[number]["role"] == block.role
            out.append(history[number] if same else recorded_of(block))
        return out, []

    def _asked(self, budget: int) -> Any:
        """The thread's prompt; where the budget is refused, the one for the smallest budget that would do, which counts as over budget."""
        more = {"wire": self.wire, "reserve": 0, "recall": self.recall, **self.more()}
        try:
            return self.thread.prompt(budget, **more)
        except BudgetTooSmall as refused:
            return self.thread.prompt(refused.minimum, **more)

    def content(self, recorded: Message) -> Content:
        """What is appended for a recorded message."""
        return Content(recorded.parts)

    def more(self) -> dict[str, Any]:
        """Further arguments of the prompt."""
        return {}

    def judge(self, made: Any) -> None:
        """Between two compactions, a prompt is the one before plus something at its end."""
        sent = Sent(made.messages, made.wire, system=made.system, tools=list(made.tools))
        if self.before is not None:
            last, earlier = self.before
            listed = made.receipt.compaction or made.receipt.cut or last.receipt.cut
            flaws = [] if listed else check_growth(earlier, sent)
            self.failures += [f"call {len(self.spent)}: {flaw.where}: {flaw.what}" for flaw in flaws]
        self.before = made, sent


class Plain(Engine):
    """The same without recalled details and without the graph."""

    recall = False


class Sealed(Engine):
    """The same on Anthropic's wire, where every reply thinks, and a scripted service binds thinking to what stood before it.

    The service works in this process, with its own code: it checks each request, refuses thinking behind another prefix than
    its own, and signs the thinking of the reply.
    """

    wire = "anthropic"
    model = "claude-fable-5-2"

    def reset(self, meta: dict[str, Any]) -> None:
        """A new trajectory, and a service that has seen nothing of it. `meta["tools"]`: names of the tools called in it."""
        super().reset(meta)
        names = sorted(name for name in meta["tools"] if _TOOL_NAME.fullmatch(name))
        self.tools = [{"name": name, "input_schema": {"type": "object"}} for name in names]
        self.service = ScriptedService(Scenario())
        self.service.answering = lambda _: Line(text="…", reasoning="I think about it.")
        self.thought: Reasoning | None = None

    def content(self, recorded: Message) -> Content:
        """A reply begins with the thinking that the service signed."""
        if recorded.role != "assistant" or self.thought is None:
            return Content(recorded.parts)
        parts: tuple[Part, ...] = (self.thought, *recorded.parts)
        self.thought = None
        return Content(parts, metadata={"model": self.model})

    def more(self) -> dict[str, Any]:
        """The model and the tools."""
        return {"model": self.model, "tools": self.tools}

    def judge(self, made: Any) -> None:
        """Let the service accept the request, or record its reason."""
        super().judge(made)
        body = {"model": self.model, "max_tokens": 1000, **made.request}
        decided = self.service.decide(read_request("anthropic", body), {})
        self.service.asked.clear()
        if decided.said is None:
            self.failures.append(f"call {len(self.spent)}: {decided.fault and decided.fault.message}")
            self.thought = None
            return
        self.thought = Reasoning(decided.said.reasoning, signature=decided.said.seal)
