"""The scripted model for journeys: order, exact moments, templates, budgets, and a log for other processes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from backscroll.errors import InvalidInput
from backscroll.llm.clients.client import Done, Tally, TextDelta
from backscroll.testing import Line, Scenario, ScriptedServer, scenario_of
from backscroll.testing.answer import fill_placeholders
from backscroll.testing.scenario import Fault, ScriptedCall
from tests import programs
from tests.house import tree
from tests.testing.scripted_talk import KINDS, TOOLS, Kind, ask, client_at

every_kind = pytest.mark.parametrize("kind", KINDS)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_lines_are_played_in_order() -> None:
    """With `once` every line answers once, unless it gives a number."""
    scenario = Scenario((Line(text="one"), Line(text="two", times=2), Line(text="three")), once=True)
    with ScriptedServer(scenario) as server, client_at(server.url) as client:
        assert [client.complete(ask()).text for _ in range(4)] == ["one", "two", "two", "three"]
        with pytest.raises(InvalidInput):
            client.complete(ask())
    assert [flaw[:10] for flaw in server.flaws] == ["request 5:"]


@every_kind
def test_line_counts_its_steps(kind: Kind) -> None:
    """Three hundred steps are one line: `{step}` counts them, in text and arguments, also as a number."""
    call = ScriptedCall(
        "read", {"path": "src/{step}.py", "offset": "{step:int}", "deep": [{"n": "{number}"}]}
    )
    lines = (Line(text="{step}: {last}", fill=True, times=3, calls=(call,)), Line(text="done"))
    with ScriptedServer(None, *lines) as server, client_at(server.url, kind) as client:
        replies = [client.complete(ask("go", tools=[TOOLS[kind]])) for _ in range(3)]
    assert [r.text for r in replies] == ["1: go", "2: go", "3: go"]
    told = [c.arguments for r in replies for c in r.tool_calls]
    assert [json.loads(a) if isinstance(a, str) else a for a in told] == [
        {"path": f"src/{n}.py", "offset": n, "deep": [{"n": str(n)}]} for n in (1, 2, 3)
    ]
    assert len({c.id for r in replies for c in r.tool_calls}) == 3


def test_only_known_placeholders_are_filled() -> None:
    """Other braces stay, and inserted text is not filled again."""
    facts: dict[str, int | str] = {"last": "{step}", "step": 7}
    assert fill_placeholders("{last} {step} {other} {} {step:int}", facts) == "{step} 7 {other} {} {step:int}"
    assert fill_placeholders("{last:int}", facts) == "{last:int}"


@every_kind
def test_stream_pauses_until_a_file_appears(kind: Kind, tmp_path: Path) -> None:
    """It stops after so many pieces, signals this by a file, and continues when another one exists."""
    here, go = tmp_path / "here", tmp_path / "go"
    line = Line(text="one two three", chunk=4, wait_for_file=str(go), wait_after=7, touch=str(here))
    with ScriptedServer(None, line) as server, client_at(server.url, kind) as client:
        heard: list[str] = []

        def read() -> None:
            for event in client.stream(ask()):
                if isinstance(event, Tally):  # services tell what they have counted at moments of their own
                    continue
                words = event.text if isinstance(event, TextDelta) else type(event).__name__
                heard.append(words)

        thread = threading.Thread(target=read)
        thread.start()
        while not here.exists():
            assert thread.is_alive()
        assert "Done" not in heard
        go.touch()
        thread.join(20)
    assert heard[-1] == "Done"
    assert "".join(heard[:-1]) == "one two three"


@every_kind
def test_hanging_up_during_a_pause_is_logged(kind: Kind, tmp_path: Path) -> None:
    """The log says that the other side was gone."""
    log = tmp_path / "log.jsonl"
    line = Line(text="one two three", wait_for_file=str(tmp_path / "never"), wait_after=6, chunk=4)
    with ScriptedServer(None, line, log=log) as server, client_at(server.url, kind) as client:
        stream = client.stream(ask())
        next(stream)
        stream.close()  # type: ignore[attr-defined]
        while len(lines_of(log)) < 2:
            continue
    assert lines_of(log)[1] == {"event": "ended", "number": 1, "how": "gone"}


@every_kind
def test_log_contains_requests_and_reports(kind: Kind, tmp_path: Path) -> None:
    """Whole bodies, the answers, the reported usage, faults and cuts; no keys."""
    log = tmp_path / "log.jsonl"
    lines = (
        Line(fault=Fault(429, "slow down", retry_after=1.0), times=1),
        Line(text="cut", cut_after=2, times=1),
        Line(text="潮水", usage={"input": 50, "cached": 20, "output": 7}),
    )
    with ScriptedServer(None, *lines, log=log) as server, client_at(server.url, kind) as client:
        for _ in range(2):
            with pytest.raises(Exception, match=r"slow down|broke off"):
                list(client.stream(ask()))
        (last,) = [e for e in client.stream(ask("潮汐？", system="知道潮汐")) if isinstance(e, Done)]
    asked = [line for line in lines_of(log) if line["event"] == "asked"]
    assert [a["status"] for a in asked] == [429, 200, 200]
    assert asked[0]["fault"] == "slow down"
    assert "潮汐？" in json.dumps(asked[2]["body"], ensure_ascii=False)
    assert (asked[2]["text"], asked[2]["streamed"], asked[2]["number"]) == ("潮水", True, 3)
    usage = last.reply.usage
    told = asked[2]["usage"]
    assert (usage.input, usage.cached, usage.output) == (told["input"], told["cached"], told["output"])
    assert [line["how"] for line in lines_of(log) if line["event"] == "ended"] == ["refused", "cut", "sent"]
    assert "sk-a-planted" not in log.read_text(encoding="utf-8")


@every_kind
def test_prompts_over_the_budget_are_flaws(kind: Kind) -> None:
    """Counted by the text alone, with the model's own tables; tools count too."""
    scenario = Scenario((Line(text="x"),), budget=100, tokens="gpt-5")
    with ScriptedServer(scenario) as server, client_at(server.url, kind) as client:
        assert client.complete(ask("潮汐 " * 20)).text == "x"
        with pytest.raises(InvalidInput, match="over the budget"):
            client.complete(ask("word " * 200))
        with pytest.raises(InvalidInput, match="over the budget"):
            client.complete(ask("word " * 60, tools=[TOOLS[kind]] * 5))
    assert len(server.flaws) == 2


def test_check_and_validate_are_synonyms() -> None:
    """In scenario files."""
    assert scenario_of({"server": {"check": False}}).validate is False
    assert scenario_of({"server": {"check": True, "budget": 9}}).validate is True


def test_raw_stream_is_sent_unchanged() -> None:
    """For services with a format of their own."""
    chunk = '{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}'
    with (
        ScriptedServer(None, Line(raw=(f"data: {chunk}\n\n",))) as server,
        client_at(server.url) as client,
    ):
        assert [type(e).__name__ for e in client.stream(ask())] == ["TextDelta", "Done"]


def test_program_writes_the_log_and_reports_flaws(tmp_path: Path) -> None:
    """Exit code 3 and the flaws on standard error, so that a shell notices too."""
    path, log = tmp_path / "s.toml", tmp_path / "log.jsonl"
    path.write_text("[server]\nonce = true\n[[line]]\ntext = 'x'\npace = 0.001\n", encoding="utf-8")
    command = [sys.executable, "-m", "backscroll.testing", str(path), "--log", str(log)]
    with programs.start(
        command, cwd=tree.ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        url = program.stdout.readline().strip()
        try:
            with client_at(url) as client:
                assert [type(e).__name__ for e in client.stream(ask())] == ["TextDelta", "Tally", "Done"]
                with pytest.raises(InvalidInput):
                    client.complete(ask())
        finally:
            program.send_signal(signal.SIGINT)
        _, told = program.communicate(timeout=120)
    assert program.returncode == 3
    assert "request 2:" in told
    assert [line["status"] for line in lines_of(log) if line["event"] == "asked"] == [200, 400]
