"""What is loaded while a person types: everything that a first answer needs, and nothing is written or asked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import backscroll
from backscroll.agent.agent import Agent
from backscroll.agent.warmup import AgentWarmup
from backscroll.llm.clients.kinds import preload
from backscroll.llm.providers import Provider, client_for
from backscroll.testing import Line, Scenario, ScriptedServer


def test_warmup_writes_nothing_and_sends_no_request(tmp_path: Path):
    """The log stays the same although files changed, and the service receives no request."""
    root = tmp_path / "work"
    root.mkdir()
    with (
        ScriptedServer(Scenario(lines=(Line(text="Yes."),))) as server,
        backscroll.open(tmp_path / "a.db") as engine,
    ):
        thread = engine.create("t")
        provider = Provider("here", base_url=server.url, model="gpt-5", tries=1)
        with Agent(thread, provider=provider, root=root) as agent:
            assert agent.run("hello").end == "answered"
            (root / "by_hand.txt").write_text("a person wrote this\n", encoding="utf-8")
            asked, head = len(server.asked), thread.head
            warming = AgentWarmup(agent)
            warming.run()
            assert warming.trouble == []
            assert (len(server.asked), thread.head) == (asked, head)
            assert agent.run("and now?").end == "answered"
            assert [f.path for c in agent.workroom.changes() for f in c.files] == ["by_hand.txt"]  # type: ignore[union-attr]


def test_failing_warmup_step_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A step that fails does not keep the next ones from being done."""
    done: list[str] = []
    with backscroll.open(tmp_path / "a.db", workspace_snapshots=False) as engine:
        agent = Agent(engine.create("t"), root=tmp_path)

        def broken() -> None:
            raise ValueError("no such thing")

        warming = AgentWarmup(agent)
        monkeypatch.setattr(agent, "rehearse", broken)
        monkeypatch.setattr(warming, "_recall", lambda: done.append("recall"))
        warming.run()
        agent.close()
    assert warming.trouble == ["ValueError: no such thing"]
    assert done == ["recall"]


def test_closed_warmup_does_not_start_again(tmp_path: Path):
    """After `close` nothing is at work any more, and nothing begins again."""
    with backscroll.open(tmp_path / "a.db") as engine, Agent(engine.create("t"), root=tmp_path) as agent:
        warming = AgentWarmup(agent)
        warming.start()
        warming.close()
        again = AgentWarmup(agent)
        again.close()
        again.start()
        again.wait()
    assert warming.trouble == []


def test_warmup_is_off_without_background_work(tmp_path: Path):
    """The setting `background` switches this off too."""
    with (
        backscroll.open(tmp_path / "a.db", background=False) as engine,
        Agent(engine.create("t"), root=tmp_path) as agent,
    ):
        warming = AgentWarmup(agent)
        warming.start()
        warming.wait()
        assert warming._thread is None


@pytest.mark.parametrize("kind", ["openai", "openai-responses", "anthropic"])
def test_warmup_uses_the_wire_of_the_client(kind: str):
    """The warm-up prompt is rendered for the wire on which it would be sent."""
    provider = Provider("here", kind=kind, base_url="http://127.0.0.1:9/v1", model="m")  # type: ignore[arg-type]
    client = client_for(provider, {})
    assert provider.wire == client.wire
    client.close()
    preload(provider)


@pytest.mark.parametrize("kind", ["openai", "openai-responses", "anthropic"])
def test_first_answer_after_warmup_loads_no_large_package(tmp_path: Path, kind: str):
    """In a fresh process: after warming, talking to a service loads nothing of the SDKs, of numpy or of the tokenizers."""
    code = """
import sys
from pathlib import Path
import backscroll
from backscroll.agent.agent import Agent
from backscroll.agent.warmup import AgentWarmup
from backscroll.llm.providers import Provider

folder, url, kind = Path(sys.argv[1]), *sys.argv[2:]
with backscroll.open(folder / "b.db", background=False) as engine:
    provider = Provider("here", kind=kind, base_url=url, model="gpt-5", tries=1)
    with Agent(engine.create("t"), provider=provider, root=folder) as agent:
        AgentWarmup(agent).run()
        before = set(sys.modules)
        assert agent.run("What did we say about the cheese?").end == "answered"
        large = ("openai", "anthropic", "numpy", "tokenizers", "tiktoken", "genai_prices", "pydantic")
        print(sorted(m for m in set(sys.modules) - before if m.partition(".")[0] in large))
"""
    with ScriptedServer(Scenario(lines=(Line(text="Nothing."),))) as server:
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path), server.url, kind],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
