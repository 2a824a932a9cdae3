"""A talk made by hand: a real store and a real agent, a console that records, and a person who answers as told."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console, RenderableType

from backscroll.agent.agent import Agent
from backscroll.agent.events import Finished, Happening
from backscroll.engine.engine import Engine
from backscroll.engine.thread import Thread
from backscroll.llm.clients.client import Done, Reply, Request, StreamEvent, TextDelta, Usage
from backscroll.surfaces.chat.slash import registry
from backscroll.vocab.prompt import Wire


@dataclass
class Parrot:
    """A model that says what it was told to, answer after answer."""

    answers: list[str] = field(default_factory=list[str])
    asked: list[Request] = field(default_factory=list[Request])
    wire: Wire = "openai-chat"
    provider: str = "parrot"

    def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        text = self.answers.pop(0) if self.answers else f"answer {len(self.asked)}"
        return Reply(text, "parrot-1", usage=Usage(input=100, cached=50, output=10))

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        reply = self.complete(request)
        yield TextDelta(reply.text)
        yield Done(reply)

    def abort(self) -> None:
        """Nothing is going on."""

    def close(self) -> None:
        """Nothing is open."""


@dataclass
class HandTalk:
    """Everything a slash command may ask for; `asks`, `picks` and `yeses` are the person's answers in order."""

    engine: Engine
    thread: Thread
    root: Path
    parrot: Parrot = field(default_factory=Parrot)
    asks: list[str | None] = field(default_factory=list[str | None])
    picks: list[int | str | None] = field(default_factory=list[int | str | None])
    yeses: list[bool] = field(default_factory=list[bool])
    questions: list[str] = field(default_factory=list[str])
    shown_options: list[list[str]] = field(default_factory=list[list[str]])
    initials: list[str] = field(default_factory=list[str])
    finished: list[Finished] = field(default_factory=list[Finished])
    left: bool = False
    offline: bool = False

    def __post_init__(self) -> None:
        self.console = Console(
            file=io.StringIO(), width=110, markup=False, emoji=False, highlight=False, color_system=None
        )
        self.agent = self._agent()

    def _agent(self) -> Agent:
        if self.offline:
            return Agent(self.thread, root=self.root, provider="none")
        return Agent(self.thread, client=self.parrot, model="parrot-1", root=self.root, budget=16_000)

    def show(self, *what: RenderableType) -> None:
        for each in what:
            self.console.print(each)

    def ask(self, question: str, *, initial: str = "", lines: bool = False) -> str | None:
        self.questions.append(question)
        self.initials.append(initial)
        return self.asks.pop(0) if self.asks else None

    def choose(self, title: str, options: Sequence[str], *, initial: int = 0) -> int | None:
        self.questions.append(title)
        self.shown_options.append(list(options))
        wanted = self.picks.pop(0) if self.picks else None
        if isinstance(wanted, str):
            return next(n for n, option in enumerate(options) if wanted in option)
        return wanted

    def confirm(self, question: str, *, usual: bool = False) -> bool:
        self.questions.append(question)
        return self.yeses.pop(0) if self.yeses else False

    def play(self, happenings: Iterable[Happening]) -> Finished | None:
        ends = [happening for happening in happenings if isinstance(happening, Finished)]
        self.finished += ends
        return ends[-1] if ends else None

    def say(self, text: str) -> Finished | None:
        return self.play(self.agent.events(text))

    def switch(self, thread: Thread, *, answer: bool = False) -> None:
        self.agent.close()
        self.thread = thread
        self.agent = self._agent()
        if answer:
            self.play(self.agent.events(None))

    def leave(self) -> None:
        self.left = True

    # -- for tests -------------------------------------------------------------------------------------------

    def run(self, line: str) -> str:
        """What a command prints."""
        file = self.console.file
        assert isinstance(file, io.StringIO)
        before = len(file.getvalue())
        registry.run(self, line)
        return file.getvalue()[before:]

    def offers(self, typed: str) -> list[str]:
        """What is offered behind what was typed."""
        return [c.text for c in registry.complete(self, typed)]

    def texts(self) -> list[str]:
        """The words of the live history."""
        return [m.text for m in self.thread if m.role != "system"]


def with_many(talk: HandTalk, messages: int) -> None:
    """A long conversation, quickly."""
    from backscroll.engine.core.pen import Pen
    from backscroll.engine.log import operations
    from backscroll.vocab.message import content_of

    def write(pen: Pen) -> None:
        for n in range(messages):
            operations.append(pen, "assistant" if n % 2 else "user", content_of(f"line {n}"))

    talk.thread.stroke(write)
