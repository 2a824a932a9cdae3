"""An agent on a scripted model over real HTTP, in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import backscroll
from backscroll.agent.agent import Agent
from backscroll.agent.events import Finished, Happening
from backscroll.agent.person import Decision, Judgement, Proposal
from backscroll.llm.providers import Provider
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.testing.scenario import ScriptedCall

KINDS = ("openai", "openai-responses", "anthropic")


@dataclass
class Told:
    """A person who says what they were told to say, and keeps what they were asked."""

    decide: Callable[[Proposal], Decision] = lambda _: Decision(True)
    judgements: list[Judgement] = field(default_factory=list[Judgement])
    answers: list[str | None] = field(default_factory=list[str | None])
    asked: list[Sequence[Proposal]] = field(default_factory=list[Sequence[Proposal]])
    results: list[str] = field(default_factory=list[str])
    questions: list[str] = field(default_factory=list[str])

    def approve(self, proposals: Sequence[Proposal]) -> Sequence[Decision]:
        self.asked.append(proposals)
        return [self.decide(p) for p in proposals]

    def judge(self, result: str, command: str = "") -> Judgement:
        self.results.append(result)
        return self.judgements.pop(0) if self.judgements else Judgement(None)

    def answer(self, question: str, options: Sequence[str] = ()) -> str | None:
        self.questions.append(question)
        return self.answers.pop(0) if self.answers else None


@dataclass
class Stage:
    """Everything a test looks at."""

    server: ScriptedServer
    engine: Any
    thread: Any
    agent: Agent
    root: Path
    person: Told

    def say(self, text: str | None) -> list[Happening]:
        """What happens after the person says something (None: goes on)."""
        return list(self.agent.events(text))

    def end(self, text: str) -> Finished:
        """How a run ends."""
        last = self.say(text)[-1]
        assert isinstance(last, Finished)
        return last

    def sent(self, number: int = -1) -> str:
        """Everything in one request that the server got."""
        return str(self.server.asked[number])


def call(name: str, **arguments: Any) -> ScriptedCall:
    """A tool call that the model makes."""
    return ScriptedCall(name, arguments)


def lines(*answers: Line | str | ScriptedCall | Sequence[ScriptedCall]) -> tuple[Line, ...]:
    """Answers one after another, each once: words, a call, several calls at once, or a whole line."""
    out: list[Line] = []
    for one in answers:
        match one:
            case Line():
                out.append(one)
            case str():
                out.append(Line(text=one, times=1))
            case ScriptedCall():
                out.append(Line(calls=(one,), times=1))
            case _:
                out.append(Line(calls=tuple(one), times=1))
    return tuple(out)


@contextmanager
def stage(
    tmp_path: Path,
    *answers: Line | str | ScriptedCall | Sequence[ScriptedCall],
    kind: str = "openai",
    person: Told | None = None,
    settings: dict[str, Any] | None = None,
    scenario: dict[str, Any] | None = None,
    **how: Any,
) -> Iterator[Stage]:
    """A running server, a store, a folder and an agent in it."""
    root = tmp_path / "work"
    root.mkdir(exist_ok=True)
    someone = person or Told()
    with ScriptedServer(Scenario(lines=lines(*answers), **(scenario or {}))) as server:
        url = server.url if kind != "anthropic" else server.url.removesuffix("/v1")
        provider = Provider("here", kind=kind, base_url=url, model="gpt-4o", tries=3)  # type: ignore[arg-type]
        with backscroll.open(
            tmp_path / "store.db", background=False, **cast("Any", settings or {})
        ) as engine:
            thread = engine.create("work", metadata={"workspace": str(root)})
            how.setdefault("budget", 30_000)
            with Agent(thread, provider=provider, root=root, person=someone, **how) as agent:
                yield Stage(server, engine, thread, agent, root, someone)
