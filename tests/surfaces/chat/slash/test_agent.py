"""`/model`, `/cost`, `/tools`, `/permissions`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from backscroll.surfaces import i18n
from tests.surfaces.chat.slash.hand import HandTalk


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two configured providers."""
    file = tmp_path / "config.toml"
    file.write_text(
        '[providers.near]\nkind = "openai"\nmodel = "small"\nbase_url = "http://127.0.0.1:9/v1"\nkey_env = "NEAR_KEY"\n'
        '[providers.far]\nkind = "openai"\nmodel = "large"\nbase_url = "http://127.0.0.1:9/v1"\n',
        encoding="utf-8",
    )
    monkeypatch.setenv("BACKSCROLL_CONFIG", str(file))
    monkeypatch.delenv("NEAR_KEY", raising=False)


@pytest.mark.usefixtures("services")
def test_model_can_be_switched_by_name(talk: HandTalk) -> None:
    """A provider, a model of a provider, or another model of the same provider."""
    said = talk.run("/model near")
    assert "near/small" in said
    assert "NEAR_KEY" in said  # the key is missing, and that is said before the first message fails
    assert "far/huge" in talk.run("/model far/huge")
    assert (talk.agent.provider_name, talk.agent.model) == ("far", "huge")
    assert "far/vendor/tiny" in talk.run("/model far/vendor/tiny")
    assert "far/other" in talk.run("/model other")
    assert "usage: " in talk.run("/model far/")
    assert talk.offers("/model n") == ["near/small"]


@pytest.mark.usefixtures("services")
def test_model_can_be_switched_by_picker(talk: HandTalk) -> None:
    """Every provider with its model; a missing key is shown before the choice."""
    talk.picks = ["far"]
    talk.run("/model")
    assert talk.agent.provider_name == "far"
    assert any("near/small" in o and "NEAR_KEY" in o for o in talk.shown_options[0])
    talk.picks, talk.asks = ["far"], ["larger"]
    talk.run("/model")
    assert talk.agent.model == "larger"
    talk.picks = ["far"]
    assert "nothing was changed" in talk.run("/model")


def test_model_command_without_a_provider(make_talk: Callable[..., HandTalk]) -> None:
    """It says how to add one; an unknown name is refused."""
    talk = make_talk(("hi", "hello"), offline=True)
    said = talk.run("/model")
    assert "no model is configured" in said
    assert "config provider add" in said
    assert "model service gpt-9 is not configured" in talk.run("/model gpt-9")
    assert talk.agent.offline
    i18n.use("zh")
    assert "未配置模型" in talk.run("/模型")


def test_cost_shows_what_the_model_reported(talk: HandTalk) -> None:
    """For the thread by model, and for the day; the price of an unknown model is unknown."""
    talk.say("one")
    talk.say("two")
    said = talk.run("/cost")
    rows = {line.split("  ")[0].strip(): line.split() for line in said.splitlines()}
    assert rows["this conversation"][-5:] == ["2", "200", "50%", "20", "unknown"]
    assert rows["· parrot-1"][-5:] == ["2", "200", "50%", "20", "unknown"]
    assert "today" in said
    assert rows["this chat session"][-5:] == ["2", "200", "50%", "20", "unknown"]


def test_cost_of_the_run_excludes_earlier_calls(talk: HandTalk) -> None:
    """The thread has all of its calls, the run only its own."""
    from backscroll.engine.budget.costs import record_call

    usage = {"prompt_tokens": 7, "completion_tokens": 1}
    record_call(
        talk.engine,
        model="old-1",
        usage=usage,
        purpose="chat",
        thread=talk.thread,
        at="2020-01-01T00:00:00+00:00",
    )
    said = talk.run("/cost")
    rows = {line.split("  ")[0].strip(): line.split() for line in said.splitlines()}
    assert rows["this conversation"][-5] == "1"
    assert rows["this chat session"][-5] == "0"


def test_cost_includes_calls_without_an_answer(talk: HandTalk) -> None:
    """A run killed while waiting counts with its maximum cost, and this is said."""
    from backscroll.engine.budget.costs import record_asked

    record_asked(talk.engine, model="gpt-5", counted=1234, reserve=1000, thread=talk.thread)
    said = " ".join(talk.run("/cost").split())
    assert "1 call without an answer" in said
    assert "about 1,234 tokens, at most $0.012" in said


def test_tools_are_listed(talk: HandTalk) -> None:
    """Names, effects, descriptions, in both languages."""
    said = talk.run("/tools")
    assert "run_command" in said
    assert "runs commands" in said
    i18n.use("zh")
    assert "运行命令" in talk.run("/工具")


def test_rules_are_added_listed_and_removed(talk: HandTalk) -> None:
    """For this run, for the folder, for everything; patterns as typed."""
    assert "no rules" in talk.run("/permissions")
    talk.picks = [0, 1, 2]
    talk.run("/permissions allow run_command git status *")
    talk.run("/permissions deny write_file(*.lock)")
    talk.run("/permissions ask read_file")
    rules = {(r.verdict, r.text, r.source) for r in talk.agent.rules.list_rules()}
    assert rules == {
        ("allow", "run_command(git status *)", "session"),
        ("deny", "write_file(*.lock)", "project"),
        ("ask", "read_file", "always"),
    }
    assert "write_file(*.lock)" in talk.run("/permissions")
    assert "removed" in talk.run("/permissions remove write_file(*.lock)")
    assert "removed" in talk.run("/permissions remove read_file")
    assert "this run only" in talk.run("/permissions remove run_command git status *")
    assert "rule not found: nothing" in talk.run("/permissions remove nothing")
    assert talk.offers("/permissions remove ") == ['"run_command(git status *)"']


def test_cancelled_and_invalid_rules_are_not_saved(talk: HandTalk) -> None:
    """Without an answer nothing is remembered; a rule that is none is refused."""
    talk.run("/permissions allow run_command ls")
    assert talk.agent.rules.list_rules() == []
    assert "not a rule" in talk.run("/permissions allow ((")


def test_mode_can_be_changed(talk: HandTalk) -> None:
    """It decides the calls that no rule matches."""
    assert "allow file edits" in talk.run("/permissions mode edits")
    assert talk.agent.rules.mode == "edits"
    assert "unknown approval mode" in talk.run("/permissions mode wild")
    assert talk.agent.rules.mode == "edits"
