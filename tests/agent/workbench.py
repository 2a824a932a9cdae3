"""What a tool gets to work with, in tests: a thread in a store of its own, a folder, a person who answers what they are told to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import backscroll
from backscroll.agent.loop.calls import call
from backscroll.agent.person import Decision, Judgement, Preview, Proposal
from backscroll.agent.stop_switch import Stop
from backscroll.agent.tool import ToolContext, ToolOutput
from backscroll.agent.toolbox import Toolbox
from backscroll.agent.tools import standard_tools
from backscroll.engine.thread import Thread
from backscroll.vocab.part import Text, ToolCall, ToolResult


@dataclass
class Told:
    """A person who was told what to answer, and remembers what they were asked."""

    verdict: Judgement = field(default_factory=lambda: Judgement(None))
    words: str | None = None
    asked: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    judged: list[tuple[str, str]] = field(default_factory=list)

    def approve(self, proposals: Sequence[Proposal]) -> Sequence[Decision]:
        return [Decision(True) for _ in proposals]

    def judge(self, result: str, command: str = "") -> Judgement:
        self.judged.append((result, command))
        return self.verdict

    def answer(self, question: str, options: Sequence[str] = ()) -> str | None:
        self.asked.append((question, tuple(options)))
        return self.words


@dataclass
class Bench:
    """A thread, a folder, a toolbox."""

    thread: Thread
    root: Path
    person: Told = field(default_factory=Told)
    stop: Stop = field(default_factory=Stop)
    shown: list[str] = field(default_factory=list)
    seconds: float = 20.0
    toolbox: Toolbox = field(default_factory=Toolbox)
    calls: int = 0

    def context(self, call_id: str = "c1") -> ToolContext:
        return ToolContext(
            self.thread, call_id, self.root, self.person, self.stop, self.shown.append, self.seconds
        )

    def call(self, tool: str, /, **arguments: Any) -> ToolOutput:
        return call(self.toolbox, ToolCall("c1", tool, arguments), self.context())

    def preview(self, tool: str, /, **arguments: Any) -> Preview:
        return self.toolbox.get(tool).preview(self.context(), self.toolbox.check(tool, arguments))

    def recorded(self, tool: str, /, **arguments: Any) -> ToolOutput:
        """The same as a run does it: the call stands in the thread first, the result after it."""
        self.calls += 1
        wanted = ToolCall(f"r{self.calls}", tool, arguments)
        self.thread.append("assistant", [wanted])
        done = call(self.toolbox, wanted, self.context(wanted.id))
        self.thread.append("tool", [ToolResult(wanted.id, (Text(done.text),), done.is_error, tool)])
        return done


@contextmanager
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A bench with our own tools, in a folder `work`."""
    root = tmp_path / "work"
    root.mkdir()
    with backscroll.open(tmp_path / "store.db", background=False) as engine:
        yield Bench(engine.create("a talk"), root, toolbox=Toolbox(standard_tools(root)))
