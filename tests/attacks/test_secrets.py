"""Keys and passwords: not in what happens, not in what is recorded, not in what is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from backscroll.llm.providers import Provider
from backscroll.testing import Line
from backscroll.testing.scenario import Fault
from tests.agent.scripted_agent import KINDS, call, stage

KEY = "zq1234-hunter2-of-no-known-shape"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 429, 500])
def test_key_echoed_by_a_service_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, status: int
) -> None:
    """No run event, message or error contains a key that a service repeats."""
    monkeypatch.setenv("SOME_NAME", KEY)
    fault = Fault(status, f"Authorization: Bearer {KEY} is not good", retry_after=0.01)
    with stage(tmp_path, Line(fault=fault), kind=kind) as on:
        asked = on.agent._provider
        assert asked is not None
        on.agent._provider = Provider(
            "here",
            kind=asked.kind,
            base_url=asked.base_url,
            model="gpt-4o",
            tries=2,
            key_env="SOME_NAME",
        )
        seen = repr(on.say("hello"))
        assert "failed" in seen
        assert "hunter2" not in seen
        assert "hunter2" not in repr(list(on.thread.messages()))
    assert not any(b"hunter2" in file.read_bytes() for file in tmp_path.glob("store.db*"))


def test_password_in_an_unreachable_url_is_not_shown(tmp_path: Path) -> None:
    """The error shows the address without user name and password."""
    with stage(tmp_path, "ok") as on:
        on.agent._provider = Provider(
            "here", base_url="http://ada:hunter2@127.0.0.1:1/v1", model="gpt-4o", tries=1
        )
        end = on.end("hello")
        assert "http://127.0.0.1:1/v1" in end.error
        assert "hunter2" not in repr(end)


def test_environment_keys_do_not_reach_prompts_through_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither through `env` nor through the environment of parent processes."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("DATABASE_URL", f"postgres://ada:{KEY}@db/x")
    with stage(tmp_path, call("run_command", command="env; printenv; export -p"), "ok") as on:
        on.say("go")
        assert "PATH=" in on.sent()
        assert "hunter2" not in on.sent()
