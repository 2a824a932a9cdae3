"""Journeys of a user who views memories and corrects them."""

from __future__ import annotations

import pytest

import backscroll
from backscroll.engine.work.tasks import Tasks
from backscroll.vocab.part import Text, ToolCall, ToolResult
from tests.journeys.conftest import Cli


@pytest.fixture
def thread(cli: Cli) -> str:
    """A thread with a task that was completed."""
    with backscroll.open(str(cli.store), background=False) as engine:
        home = engine.create("Login", project="shop")
        tasks = Tasks(home)
        tasks.start("Mend the login")
        home.append("user", "The login fails. Always run the tests before you commit.")
        home.append("assistant", [ToolCall("c1", "Bash", {"command": "pytest tests/test_login.py"})])
        home.append(
            "tool", ToolResult("c1", (Text("E KeyError: 'user'\n1 failed"),), is_error=True, name="Bash")
        )
        home.append(
            "assistant",
            [
                Text("The problem is that old cookies have no user key."),
                ToolCall("c2", "Edit", {"file_path": "src/login.py", "old_string": "a", "new_string": "b"}),
            ],
        )
        home.append("tool", ToolResult("c2", (Text("ok"),), name="Edit"))
        home.append("assistant", [ToolCall("c3", "Bash", {"command": "pytest tests/test_login.py"})])
        home.append("tool", ToolResult("c3", (Text("3 passed"),), name="Bash"))
        tasks.attempt("Old sessions log in again")
        tasks.complete()
        return home.id


def lesson_of(cli: Cli) -> str:
    found = cli.ok("memory", "list", "last", "--kind", "lesson", "--json").json
    assert len(found) == 1
    return str(found[0]["id"])


@pytest.mark.usefixtures("thread")
def test_memory_can_be_listed_searched_and_explained(cli: Cli) -> None:
    """A list by kind, by words, one in full, and why."""
    shown = cli.ok("memory", "list", "last").out
    assert "Always run the tests before you commit." in shown
    assert "KeyError" in shown
    assert "Accepted: Old sessions log in again" in shown
    kinds = {m["kind"] for m in cli.ok("memory", "list", "last", "--json").json}
    assert kinds == {"summary", "outcome", "lesson", "preference", "file"}
    only = cli.ok("memory", "list", "last", "login", "KeyError", "--kind", "lesson", "--json").json
    assert [m["kind"] for m in only] == ["lesson"]
    name = lesson_of(cli)
    assert "old cookies" in cli.ok("memory", "show", "last", name[:6]).out
    why = cli.ok("memory", "why", "last", name)
    assert "[bs:" in why.out
    assert "KeyError: 'user'" in why.out
    because = cli.ok("memory", "why", "last", name, "--json").json["because"]
    assert all(source["live"] and source["quote"] for source in because)


@pytest.mark.usefixtures("thread")
def test_memory_can_be_edited_pinned_and_hidden(cli: Cli) -> None:
    """Undo reverts the last change."""
    name = lesson_of(cli)
    cli.ok("memory", "edit", "last", name, "Old cookies break the login")
    assert "Old cookies break the login" in cli.ok("memory", "show", "last", name).out
    cli.ok("memory", "pin", "last", name)
    assert cli.ok("memory", "list", "last", "--json").json[0]["id"] == name
    assert cli.ok("memory", "why", "last", name).out.count("by user") == 2
    cli.ok("undo", "last")
    assert cli.ok("memory", "show", "last", name, "--json").json["pinned"] is False
    cli.ok("memory", "forget", "last", name)
    assert cli.ok("memory", "list", "last", "--kind", "lesson", "--json").json == []
    assert [m["id"] for m in cli.ok("memory", "list", "last", "--hidden", "--json").json] == [name]
    cli.ok("memory", "restore", "last", name)
    assert "KeyError" in cli.ok("memory", "show", "last", name).out


@pytest.mark.usefixtures("thread")
def test_memory_add_and_forget(cli: Cli) -> None:
    """From an argument or standard input; erased permanently on request."""
    made = cli.ok("memory", "add", "last", "Releases happen on Tuesdays", "--json").json
    assert made["kind"] == "fact"
    cli.ok("memory", "add", "last", "--kind", "preference", text="Always answer in English")
    assert "Always answer in English" in cli.ok("memory", "list", "last", "--kind", "preference").out
    refused = cli("memory", "forget", "last", made["id"], "--erase")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert cli.ok("memory", "forget", "last", made["id"], "--erase", "--yes", "--json").json["erased"] == 1
    assert b"Tuesdays" not in cli.store.read_bytes()
    assert cli.ok("verify").code == 0


def test_memory_finds_what_is_relevant_to_a_task(cli: Cli, thread: str) -> None:
    """In another thread of the project, with reasons; handles name their thread."""
    cli.ok("new", "Other", "--project", "shop")
    found = cli.ok("memory", "relevant", "last", "pytest tests/test_login.py KeyError again", "--json").json
    assert any("KeyError" in m["text"] and m["why"] for m in found["memories"])
    text = cli.ok("memory", "relevant", "last", "pytest tests/test_login.py KeyError again", "--text").out
    assert f"[bs:{thread[:8]}." in text
    assert (
        "No relevant memories"
        in cli.ok("memory", "relevant", "last", "paint the fence", "--scope", "thread").out
    )


@pytest.mark.usefixtures("thread")
def test_without_a_model_rules_write_memories(cli: Cli) -> None:
    assert cli.ok("memory", "write", "last", "--json").json["by_rules"] == 1


@pytest.mark.usefixtures("thread")
def test_memory_errors_are_in_both_languages(cli: Cli) -> None:
    assert cli("memory", "show", "last", "ffffffff").code == 4
    assert "没有记忆" in cli("memory", "show", "last", "ffffffff", BACKSCROLL_LANGUAGE="zh").err
    assert cli("memory", "add", "last", " ").code == 2
    assert cli("memory", "list", "last", "--kind", "song").code == 2
    assert "偏好" in cli.ok("memory", "list", "last", BACKSCROLL_LANGUAGE="zh").out
    assert "memory list" in cli.ok("memory").out or "list" in cli.ok("memory").out
