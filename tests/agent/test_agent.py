"""The agent that users hold: answers made again, commands of the person, asynchronous programs, changing the model."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll import Agent
from backscroll.agent.events import Called, Finished, Noted, Said
from backscroll.errors import InvalidInput, NotFound
from backscroll.testing import Line
from tests.agent.scripted_agent import call, stage


def spoken(thread: Any) -> list[str]:
    return [m.text for m in thread.messages() if m.role == "assistant"]


def test_regenerate_adds_an_alternative(tmp_path: Path) -> None:
    with stage(tmp_path, "first", "second", standard=False) as on:
        on.say("go")
        end = list(on.agent.regenerate())[-1]
        assert isinstance(end, Finished)
        assert end.text == "second"
        assert spoken(on.thread) == ["second"]
        answer = on.thread.recent(1)[0]
        assert (answer.alternative, answer.alternatives) == (1, 2)
        assert "first" not in on.sent()
        on.thread.undo()
        assert spoken(on.thread) == ["first"]


def test_regenerate_replaces_an_answer_with_steps_and_undo_restores_it(tmp_path: Path) -> None:
    answers = (call("list_files"), "first", "second")
    with stage(tmp_path, *answers) as on:
        on.say("go")
        before = [m.id for m in on.thread.messages()]
        list(on.agent.regenerate())
        assert spoken(on.thread) == ["second"]
        on.thread.undo()
        assert [m.id for m in on.thread.messages()][: len(before)] == before


def test_failed_regenerate_keeps_the_old_answer(tmp_path: Path) -> None:
    with stage(tmp_path, "first", standard=False) as on:
        on.say("go")
        end = list(on.agent.regenerate())[-1]
        assert isinstance(end, Finished)
        assert end.end == "failed"
        assert spoken(on.thread) == ["first"]


def test_regenerate_without_an_answer_is_refused(tmp_path: Path) -> None:
    with stage(tmp_path, standard=False) as on, pytest.raises(InvalidInput, match="no answer"):
        on.agent.regenerate()


def test_model_sees_a_command_the_person_ran(tmp_path: Path) -> None:
    with stage(tmp_path, "I see it.") as on:
        done = list(on.agent.command("echo here-I-am; touch made.txt"))
        called = next(d for d in done if isinstance(d, Called))
        assert "here-I-am" in called.text
        assert not on.person.asked
        assert (on.root / "made.txt").exists()
        assert on.agent.unfinished == ""  # nobody owes an answer to it
        on.say("what did I do?")
        assert "here-I-am" in on.sent()


def test_async_stream_yields_the_same_events(tmp_path: Path) -> None:
    with stage(tmp_path, Line(text="one two three", chunk=4, times=1), standard=False) as on:

        async def listen() -> list[Any]:
            return [h async for h in on.agent.stream("go")]

        seen = asyncio.run(listen())
        assert "".join(s.text for s in seen if isinstance(s, Said)) == "one two three"
        assert isinstance(seen[-1], Finished)


def test_leaving_an_async_run_stops_it(tmp_path: Path) -> None:
    with stage(tmp_path, Line(text="word " * 300, chunk=4, times=1), standard=False) as on:

        async def leave() -> None:
            stream = on.agent.stream("go")
            async for happening in stream:
                if isinstance(happening, Said):
                    break
            await stream.aclose()  # type: ignore[attr-defined]

        asyncio.run(leave())
        assert on.thread.recent(1)[0].content.metadata["act"]["interrupted"]


def test_run_returns_the_end_and_reports_every_event(tmp_path: Path) -> None:
    heard: list[Any] = []
    with stage(tmp_path, "yes", standard=False) as on:
        assert on.agent.run("is it so?", heard.append).text == "yes"
        assert isinstance(heard[-1], Finished)


def test_system_prompt_is_sent_once_and_follows_the_project(tmp_path: Path) -> None:
    with stage(tmp_path, "a", "b", "c") as on:
        on.say("one")
        on.say("two")
        systems = [m for m in on.thread.messages() if m.role == "system"]
        assert len(systems) == 1
        assert len(on.thread.revisions(systems[0].id)) == 1
        (on.root / "AGENTS.md").write_text("Always say please.", encoding="utf-8")
        on.say("three")
        assert "Always say please." in on.sent()
        systems = [m for m in on.thread.messages() if m.role == "system"]
        assert len(systems) == 1
        assert "{" not in systems[0].text.replace("{recent_operations}", "")


def test_custom_system_prompt_file(tmp_path: Path) -> None:
    own = tmp_path / "own.md"
    own.write_text("Be a pirate in {workspace}. {recent_operations} {unknown}", encoding="utf-8")
    with stage(tmp_path, "arr", settings={"agent_prompt": str(own)}) as on:
        on.say("hi")
        first = next(iter(on.thread.messages()))
        assert f"Be a pirate in {on.root}" in first.text
        assert "{unknown}" in first.text
    with stage(tmp_path, "x", settings={"agent_prompt": str(tmp_path / "none.md")}) as on:
        end = on.end("hi")
        assert end.end == "failed"
        assert "system prompt" in end.error
        assert on.thread.recent(1)[0].text == "hi"  # nothing that was said is lost


def test_agent_without_a_model_is_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BACKSCROLL_CONFIG", str(tmp_path / "none.toml"))
    with backscroll.open(tmp_path / "s.db", background=False) as engine:
        thread = engine.create("alone")
        thread.append("user", "The password of the garden gate is 4711.")
        thread.append("assistant", "Noted.")
        with Agent(thread, root=tmp_path) as agent:
            assert agent.offline
            assert agent.provider_name == "offline"
            end = agent.run("What is the password of the garden gate?")
            assert end.end == "answered"
            assert "4711" in end.text
            assert agent.counted().calls == 0


def test_agent_refuses_a_root_that_is_not_a_folder(tmp_path: Path) -> None:
    with backscroll.open(tmp_path / "s.db", background=False) as engine:
        with pytest.raises(InvalidInput, match="not a folder"):
            Agent(engine.create("x"), root=tmp_path / "gone")
        with pytest.raises(NotFound):
            Agent(engine.create("y"), root=tmp_path, provider="unknown")


def test_tools_of_configured_mcp_servers_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools of a table [mcp.NAME] are offered and callable; a server that cannot be started is noted."""
    script = tmp_path / "server.py"
    script.write_text(
        "from mcp.server.mcpserver import MCPServer\n"
        "server = MCPServer('weather', log_level='ERROR')\n"
        "@server.tool()\n"
        "def forecast(city: str) -> str:\n"
        "    'The weather of tomorrow.'\n"
        "    return f'rain in {city}'\n"
        "server.run('stdio')\n",
        encoding="utf-8",
    )
    config = tmp_path / "config.toml"
    config.write_text(
        f'[mcp.weather]\ncommand = "{sys.executable}"\nargs = ["{script}"]\n[mcp.gone]\ncommand = "no-such-program"\n',
        encoding="utf-8",
    )
    monkeypatch.setenv("BACKSCROLL_CONFIG", str(config))
    with stage(tmp_path, call("weather__forecast", city="Oslo"), "take an umbrella") as on:
        seen = on.say("what will it be like?")
        assert [p.tool for p in on.person.asked[0]] == ["weather__forecast"]
        assert any(isinstance(s, Called) and "rain in Oslo" in s.text for s in seen)
        assert any(isinstance(s, Noted) and s.kind == "mcp" and "no-such-program" in s.text for s in seen)
