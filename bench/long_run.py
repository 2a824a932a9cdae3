"""Measure a long agent run: hundreds of steps with large tool results under a small budget, over real HTTP.

    python -m bench.long_run [--steps 300] [--budget 16000] [--model gpt-5] [--wire openai]

The scripted service refuses every prompt that a real one would refuse, and every prompt that is longer than the budget. Printed: how
many requests there were and how many were refused, the longest prompt, time per step at the beginning and at the end (our own part of it:
building the prompt, recording, tools), what the record holds of every result, and what the run cost beside the same run with the
full history in every prompt, at the prices of the day.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import backscroll
from backscroll.agent.agent import Agent
from backscroll.agent.events import Asked, Called, Finished, RunStep
from backscroll.agent.person import Nobody
from backscroll.agent.toolbox import tool
from backscroll.llm.prices.ledger import Tokens
from backscroll.llm.prices.prices import rates_for
from backscroll.llm.providers import Provider
from backscroll.llm.tokens.tokens import tokenizer_for
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.testing.scenario import ScriptedCall as Call
from backscroll.vocab.part import ToolResult

_RESERVE = 1024


def page(number: int, size: int) -> str:
    """A large result that no other step has, like a log or a file."""
    lines = [
        f"record {number}: checksum {number * 7919 % 100_003:06d}, state {'ok' if number % 7 else 'broken'}"
    ]
    while sum(map(len, lines)) < size:
        n = len(lines)
        lines.append(
            f"{number:04d}.{n:03d} worker-{(number * n) % 13} handled item {number * 1000 + n} in {n % 97} ms"
        )
    return "\n".join(lines)


@dataclass
class Account:
    """What a run gave."""

    steps: int = 0
    requests: int = 0
    refused: int = 0
    longest: int = 0  # tokens of the longest prompt, as the service counted
    times: list[float] = field(
        default_factory=list[float]
    )  # seconds of each step, without the service's part
    missing: int = 0  # results that the record does not hold verbatim
    compactions: int = 0
    end: str = ""
    nano: int = 0
    cached: int = 0
    input: int = 0
    output: int = 0
    full_input: int = 0  # the same with all of the history in every prompt
    full_nano: int = 0  # … with a cache that always hits
    cold_nano: int = 0  # … without any cache


@contextmanager
def _agent(
    folder: Path, server: ScriptedServer, kind: str, model: str, budget: int, size: int, steps: int
) -> Iterator[Agent]:
    @tool(effect="read")
    def read_page(number: int) -> str:
        """Read one page of the log.

        Args:
            number: which page
        """
        return page(number, size)

    url = server.url if kind != "anthropic" else server.url.removesuffix("/v1")
    provider = Provider("here", kind=kind, base_url=url, model=model, tries=1)  # type: ignore[arg-type]
    with backscroll.open(folder / "run.db", background=False, reserve=_RESERVE) as engine:
        thread = engine.create("long run")
        agent = Agent(
            thread, (read_page,), provider=provider, root=folder, person=Nobody(), standard=False,
            max_steps=steps + 2, budget=budget, system="Read every page, then say which were broken.",
        )  # fmt: skip
        with agent:
            yield agent


def long_run(
    folder: Path,
    steps: int = 300,
    budget: int = 16_000,
    *,
    size: int = 6_000,
    kind: str = "openai",
    model: str = "gpt-5",
) -> Account:
    """Run it and keep the account."""
    answers = [
        Line(text=f"Page {n}.", calls=(Call("read_page", {"number": n}),), times=1)
        for n in range(1, steps + 1)
    ]
    scenario = Scenario(
        lines=(*answers, Line(text="All pages are read.")), budget=budget - _RESERVE, tokens=model
    )
    account = Account()
    count = tokenizer_for(model).count
    with (
        ScriptedServer(scenario, count=count) as server,
        _agent(folder, server, kind, model, budget, size, steps) as agent,
    ):
        results: dict[str, str] = {}
        began = time.perf_counter()
        for happening in agent.events("Read all pages of the log."):
            match happening:
                case Asked():
                    account.compactions += bool(happening.compacted)
                case RunStep():
                    now = time.perf_counter()
                    account.times.append(now - began)
                    began = now
                case Called():
                    results[happening.call_id] = happening.text
                case Finished():
                    account.end, account.steps = happening.end, happening.steps
                    counted = happening.counted
                    account.nano = counted.nano or 0
                    account.cached, account.input, account.output = (
                        counted.cached,
                        counted.input,
                        counted.output,
                    )
                case _:
                    pass
        account.requests = len(server.asked)
        account.refused = account.requests - account.steps
        account.longest = max(sum(count(p.text) for p in asked.pieces) for asked in server.asked)
        held = _held(agent.thread)
        account.missing = sum(held.get(call) != text for call, text in results.items()) + (
            steps - len(results)
        )
        _full_history(account, agent.thread, model)
    return account


def _held(thread: Any) -> dict[str, str]:
    out: dict[str, str] = {}
    for message in thread.messages():
        for part in message.parts:
            if isinstance(part, ToolResult):
                out[part.call_id] = "".join(getattr(p, "text", "") for p in part.content)
    return out


def _full_history(account: Account, thread: Any, model: str) -> None:
    """What sending everything every time would have cost, with a cache that always hits and with none."""
    count = tokenizer_for(model).count
    rates = rates_for(model, at=datetime.now(UTC))
    sofar = before = 0
    answered = 0
    for message in thread.messages():
        if message.role == "assistant":
            account.full_input += sofar
            if rates is not None:
                account.full_nano += (
                    rates.nano(Tokens(input=sofar, cached=before, written=sofar - before)) or 0
                )
                account.cold_nano += rates.nano(Tokens(input=sofar, written=sofar)) or 0
            before = sofar
            answered += 1
        words = "".join(
            getattr(p, "text", "") or "".join(getattr(q, "text", "") for q in getattr(p, "content", ()))
            or str(getattr(p, "arguments", ""))
            for p in message.parts
        )  # fmt: skip
        sofar += count(words) + 8
    if rates is not None:
        spoken = rates.nano(Tokens(output=account.output)) or 0
        account.full_nano += spoken
        account.cold_nano += spoken


def main() -> None:
    """Print the account."""
    parser = argparse.ArgumentParser(prog="python -m bench.long_run", description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--budget", type=int, default=16_000)
    parser.add_argument("--size", type=int, default=6_000, help="characters of a result")
    parser.add_argument("--model", default="gpt-5")
    parser.add_argument("--wire", default="openai", choices=("openai", "openai-responses", "anthropic"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="backscroll-long-run-") as folder:
        done = long_run(
            Path(folder),
            options.steps,
            options.budget,
            size=options.size,
            kind=options.wire,
            model=options.model,
        )
    tenth = max(1, len(done.times) // 10)
    first, last = statistics.median(done.times[:tenth]), statistics.median(done.times[-tenth:])
    rows = (
        ("ended", f"{done.end} after {done.steps} steps, {done.compactions} compactions"),
        ("requests · refused by the service", f"{done.requests} · {done.refused}"),
        ("longest prompt (budget)", f"{done.longest} tokens ({options.budget})"),
        ("results missing from the record", str(done.missing)),
        ("time per step, first · last tenth", f"{first * 1000:.1f} · {last * 1000:.1f} ms"),
        ("slowest step", f"{max(done.times) * 1000:.0f} ms"),
        ("prompt tokens sent (cached)", f"{done.input:,} ({done.cached / max(1, done.input):.0%})"),
        ("full history would have sent", f"{done.full_input:,}"),
        ("cost", f"${done.nano / 1e9:.3f}"),
        ("full history, cache always hits", f"${done.full_nano / 1e9:.3f}"),
        ("full history, no cache", f"${done.cold_nano / 1e9:.3f}"),
    )
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")


if __name__ == "__main__":
    main()
