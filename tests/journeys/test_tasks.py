"""Journeys with tasks: started, attempted, sent back, completed, cancelled, corrected."""

from __future__ import annotations

from pathlib import Path

import pytest

import backscroll
from backscroll.vocab.part import Text, ToolCall, ToolResult
from tests.journeys.conftest import Cli


@pytest.fixture
def work(cli: Cli) -> str:
    """A thread with a little talk in it; gives its id."""
    return cli.conversation("Good morning, what can you do?", "I can look after the harbour.")


def talk(cli: Cli, thread: str, name: str, turns: int = 3) -> None:
    with backscroll.open(cli.environment["BACKSCROLL_STORE"], background=False) as store:
        found = store.thread(thread)
        for n in range(1, turns + 1):
            found.append("user", f"{name} request {n}: please look after pier {n}")
            call = ToolCall(f"{name}{n}", "Edit", {"file_path": f"{name}{n}.py"})
            found.append("assistant", [Text(f"{name} looking {n}"), call])
            found.append("tool", [ToolResult(f"{name}{n}", (Text(f"{name} content {n}\n" * 40),))])
            found.append("assistant", f"{name} answer {n}: we decided to keep {name}{n}.py for the tests.")


def test_task_from_start_to_verdict(cli: Cli, work: str, tmp_path: Path) -> None:
    """Every step reports what it did, and the state is visible throughout."""
    assert "No current task" in cli.ok("task", "status", work).out
    begun = cli.ok("task", "start", work, "Paint the shed", "--json").json
    task = begun["task"]["id"]
    assert begun["act"] == "start"
    assert begun["task"]["state"] == "in_progress"
    talk(cli, work, "paint", 5)
    assert "waiting for review" not in cli.ok("task", "show", work).out
    said = cli.ok("task", "attempt", work, "-", "--actor", "agent:painter", text="Painted, twice.\n").out
    assert "task complete" in said
    page = cli.ok("task", "show", work).out
    assert "Painted, twice." in page
    assert "agent:painter" in page
    picture = tmp_path / "door.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")
    back = cli.ok("task", "incomplete", work, "The door is still green", "--image", picture)
    assert "Sent back" in back.out
    assert "left the prompt" in back.out
    status = cli.ok("task", "status", work).out
    assert "The door is still green" in status
    assert "1 image attached" in status
    cli.ok("task", "attempt", work, "The door is red.")
    done = cli.ok("task", "complete", work, "--note", "fine", "--json").json
    assert done["task"]["decided_as"] == "person"
    assert [a["verdict"] for a in done["task"]["attempts"]] == ["refused", "accepted"]
    assert done["released"][0]["messages"] > 10
    assert "content 3" not in cli.ok("prompt", work, "--dry-run").out
    assert "paint content 3" in cli.ok("show", work, "--full").out
    cli.ok("undo", work)
    assert cli.ok("task", "show", work, task, "--json").json["state"] == "in_progress"


def test_tasks_are_listed_linked_and_compared(cli: Cli, work: str) -> None:
    """Two tasks, linked, in a table that marks the current one."""
    first = cli.ok("task", "start", work, "Paint the shed", "--json").json["task"]["id"]
    talk(cli, work, "paint")
    second = cli.ok("task", "start", work, "Mend the crane", "--json").json
    assert second["rests"] == first
    other = second["task"]["id"]
    talk(cli, work, "crane", 2)
    later = cli.ok("task", "start", work, "Write the docs", "--later").out
    assert "Planned task" in later
    listed = cli.ok("task", "list", work).out
    assert [("▸" in line) for line in listed.splitlines()[1:]] == [False, True, False]
    assert [t["title"] for t in cli.ok("task", "list", work, "--state", "not_started", "--json").json] == [
        "Write the docs"
    ]
    cli.ok("task", "link", work, other, first, "--how", "related")
    compared = cli.ok("task", "compare", work, first, other)
    assert "paint1.py" in compared.out
    assert "crane1.py" in compared.out
    shape = cli.ok("task", "compare", work, first, other, "--json").json
    assert shape["common"]["tools"] == ["Edit"]
    assert shape["linked"] == "related"
    cli.ok("task", "rename", work, "Repaint the shed", "--task", first)
    assert "Repaint the shed" in cli.ok("task", "resume", work, first).out
    assert "crane content 1" not in cli.ok("prompt", work, "--dry-run").out


def test_tasks_can_be_split_and_merged(cli: Cli, work: str) -> None:
    """Nothing is lost."""
    task = cli.ok("task", "start", work, "Everything", "--json").json["task"]["id"]
    talk(cli, work, "paint", 2)
    whole = cli.ok("task", "show", work, "--json").json["messages"]
    new = cli.ok("task", "split", work, "7", "Second half", "--json").json["task"]["id"]
    assert len(cli.ok("task", "show", work, new, "--json").json["messages"]) == 4
    cli.ok("task", "merge", work, task, new)
    assert cli.ok("task", "show", work, "--json").json["messages"] == whole


def test_refused_steps_say_what_to_do(cli: Cli, work: str) -> None:
    """No current task, a cancelled title, an illegal transition, a missing file."""
    none = cli("task", "complete", work)
    assert none.code == 5
    assert "task start" in none.err
    cli.ok("task", "start", work, "Paint the shed")
    cli.ok("append", work, "user", "paint it")
    cli.ok("task", "cancel", work, "the shed burned down")
    again = cli("task", "start", work, "paint the shed", "--lang", "zh")
    assert again.code == 5
    assert "the shed burned down" in again.err
    assert "取消" in again.err
    assert "Similar to task" in cli.ok("task", "start", work, "paint the shed", "--again").out
    missing = cli("task", "incomplete", work, "look", "--image", "nowhere.png")
    assert missing.code == 4
    assert cli("task", "attempt", work, "x", "--ask").code == 2
    assert cli("task", "fly", work).code == 2


def test_tasks_speak_chinese(cli: Cli, work: str) -> None:
    """Help, states and steps."""
    assert "以裁定结束" in cli.ok("--help", "--lang", "zh").out
    assert "接受结果" in cli.ok("task", "--help", "--lang", "zh").out
    assert "已开始任务" in cli.ok("task", "start", work, "修理起重机", "--lang", "zh").out
    assert "进行中" in cli.ok("task", "list", work, "--lang", "zh").out


def test_help_lists_every_step(cli: Cli) -> None:
    """For the command group and for each command."""
    page = cli.ok("task", "--help").out
    for name in ("start", "attempt", "complete", "incomplete", "cancel", "resume", "split", "merge"):
        assert f"\n  {name} " in page
    assert "--again" in cli.ok("task", "start", "--help").out
    assert cli.ok("task").out == page


def test_boundaries_are_shown_with_reasons(cli: Cli, work: str) -> None:
    """A message that starts something new is found; JSON has the same."""
    talk(cli, work, "paint", 3)
    cli.ok(
        "append",
        work,
        "user",
        "Great, that is done. Now let's start a new task: write the invoice for the mayor.",
    )
    found = cli.ok("task", "boundaries", work, "--json").json
    assert found[-1]["number"] == len(cli.ok("show", work, "--json").json)
    assert found[-1]["reasons"]
    assert "invoice" in cli.ok("task", "boundaries", work).out
    assert "begin another task" in cli.ok("task", "status", work).out
    assert cli.ok("task", "boundaries", work, BACKSCROLL_TASK_BOUNDARIES="off", text="").out.startswith(
        "No task boundaries found"
    )
