"""Models, services, commands and tools that give too much: bounded, told, and what was said is kept."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from backscroll.agent.approval.approval import Rules
from backscroll.agent.commands.commands import _OutputEnds, run
from backscroll.agent.events import Called as Ran
from backscroll.agent.events import Finished, Noted, Output
from backscroll.agent.loop.execution import cut_off
from backscroll.agent.loop.step import MOST_CALLS
from backscroll.agent.tool import ToolContext
from backscroll.agent.toolbox import tool
from backscroll.engine.budget.costs import spending, sum_costs
from backscroll.testing import Line
from backscroll.testing.scenario import ScriptedCall
from tests.agent.scripted_agent import KINDS, call, stage

_threads: list[int] = []


@tool(effect="read")
def peek(number: int) -> str:
    """Look, and count who is at work.

    Args:
        number: which
    """
    _threads.append(threading.active_count())
    return f"seen {number}"


@tool(effect="read")
def chatter(context: ToolContext) -> str:
    """Print without end while at work, and give back a lot."""
    for _ in range(3000):
        context.show("blah " * 1000)
    return "y" * 3_000_000


@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_calls_in_one_reply(tmp_path: Path, kind: str) -> None:
    calls = tuple(ScriptedCall("peek", {"number": n}) for n in range(10_000))
    line = Line(text="Looking everywhere.", calls=calls, times=1, chunk=2000)
    scenario: dict[str, Any] = {"max_output": 10_000_000}
    settings = {"prices": str(_wide(tmp_path))}
    with stage(
        tmp_path,
        line,
        "enough",
        kind=kind,
        tools=[peek],
        standard=False,
        scenario=scenario,
        settings=settings,
    ) as on:
        told = on.say("look")
        end = told[-1]
        assert isinstance(end, Finished)
        assert (end.end, end.text) == ("answered", "enough")
        ran = [h for h in told if isinstance(h, Ran)]
        assert len(ran) == MOST_CALLS
        assert [h.text for h in told if isinstance(h, Noted) and h.kind == "calls"] == ["9,936"]
        assert "10,000 calls" in on.sent()
        assert max(_threads) < 100
        assert "Looking everywhere." in [m.text for m in on.thread.messages()]
        assert not on.server.flaws


def _wide(folder: Path) -> Path:
    """A table in which answers may be very long, so that the flood is not cut before it comes."""
    table = folder / "prices.toml"
    table.write_text(
        '[[model]]\nmatch = "gpt-4o"\nwindow = 5000000\nmax_output = 4000000\n', encoding="utf-8"
    )
    return table


@pytest.mark.parametrize("kind", KINDS)
def test_endless_answer_is_cut(tmp_path: Path, kind: str) -> None:
    line = Line(text="and so on, ", endless=True, chunk=4000)
    with stage(tmp_path, line, kind=kind, standard=False) as on:
        end = on.end("tell me everything")
        assert (end.end, end.steps) == ("cut", 1)  # it is not asked to continue
        assert end.text.startswith("and so on, and so on")
        assert len(end.text) < 2_000_000
        assert on.thread.message(-1).text == end.text


def test_single_chunk_of_many_megabytes_is_kept(tmp_path: Path) -> None:
    words = "word " * 200_000
    chunks = [
        {"choices": [{"index": 0, "delta": {"content": words}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]
    raw = tuple(f"data: {json.dumps(c)}\n\n" for c in chunks)
    with stage(tmp_path, Line(raw=raw), standard=False) as on:
        end = on.end("say much at once")
        assert end.text == words
        assert end.end == "cut"  # more than any answer of so many tokens


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("figure", [-7, 10**30, "lots", 3 * 10**7], ids=str)
def test_absurd_usage_is_reported_and_counted_locally(tmp_path: Path, kind: str, figure: Any) -> None:
    line = Line(text="fine", usage={"input": figure, "output": figure})
    with stage(tmp_path, line, kind=kind, standard=False) as on:
        told = on.say("hello")
        end = told[-1]
        assert isinstance(end, Finished)
        assert (end.end, end.text) == ("answered", "fine")
        assert [h.kind for h in told if isinstance(h, Noted)] == ["usage"]
        total = sum_costs(spending(on.engine, thread=on.thread))
        assert 0 < total.input < 10_000
        assert 0 < total.output < 100


def test_endless_command_output_is_cut(tmp_path: Path) -> None:
    done = run("yes 'all work and no play'", tmp_path, seconds=60, longest=100_000, flood=5_000_000)
    assert done.flooded
    assert not done.ok
    assert len(done.output) < 110_000
    assert "bytes left out" in done.output
    assert done.truncated > 4_000_000
    assert "without end" in done.told


def test_output_in_single_bytes_uses_bounded_memory() -> None:
    kept = _OutputEnds(200_000)
    for _ in range(400_000):
        kept.add(b"x")
    assert kept.total == 400_000
    assert len(kept.tail) <= 4
    text, _, gone = kept.render_output()
    assert gone >= 200_000
    assert text.count("x") <= 200_100


def test_live_output_of_a_tool_is_bounded(tmp_path: Path) -> None:
    with stage(tmp_path, call("chatter"), "well", tools=[chatter], standard=False, rules=Rules("all")) as on:
        told = on.say("go")
        printed = sum(len(h.text) for h in told if isinstance(h, Output))
        assert printed < 500_000
        assert len(on.sent()) < 200_000
        result: Any = next(m for m in on.thread.messages() if m.role == "tool").parts[0]
        assert len(result.content[0].text) == 3_000_000  # the record has it all


def test_message_for_a_cut_call_says_what_to_do() -> None:
    assert "smaller pieces" in cut_off("write_file", 4096).text
    assert "4,096" in cut_off("write_file", 4096).text
