"""Journeys with `recall`."""

from __future__ import annotations

from tests.journeys.conftest import Cli

TALK = (
    "The staging server listens on port 8443.",
    "Noted.",
    "我最喜欢的电影是《流浪地球》。",
    "记住了。",
    "Tell me about roses.",
    "Roses are red and have thorns.",
)


def test_recall_from_a_thread(cli: Cli) -> None:
    """The answer with its handle, speaker and reason; as text for a prompt; as JSON."""
    thread = cli.conversation(*TALK)
    shown = cli.ok("recall", thread[:8], "which", "port", "does", "staging", "use?").out
    assert shown.startswith("[bs:2]")
    assert "8443" in shown
    assert "words" in shown
    text = cli.ok("recall", "last", "我喜欢哪部电影？", "--text", "--budget", "120").out
    assert "user: 我最喜欢的电影是《流浪地球》。" in text
    found = cli.ok("recall", "last", "staging port", "--json", "-n", "1").json
    assert [item["handle"] for item in found["items"]] == ["[bs:2]"]
    assert found["tokens"] <= 2000
    assert found["exact"] is True


def test_recall_from_all_threads(cli: Cli) -> None:
    """Handles name their thread; an unknown project has no results."""
    thread = cli.conversation(*TALK)
    found = cli.ok("recall", "--all", "which port does staging use?", "--json").json
    assert found["items"][0]["handle"] == f"[bs:{thread[:8]}.2]"
    nothing = cli.ok("recall", "--project", "nowhere", "which port does staging use?")
    assert "No answer found" in nothing.out


def test_recall_refuses_bad_questions(cli: Cli) -> None:
    """A clear error, in both languages."""
    cli.conversation(*TALK)
    assert cli("recall", "last").code == 2
    assert cli("recall", "--all", "--project", "x", "port?").code == 2
    assert cli("recall", "last", "port?", "--budget", "0").code == 2
    assert "问题" in cli("recall", "last", BACKSCROLL_LANGUAGE="zh").err
