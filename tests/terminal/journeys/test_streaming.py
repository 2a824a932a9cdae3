"""Answers as they stream, and the same for programs."""

from __future__ import annotations

import json

import pytest

from tests.terminal.journeys.stage import BUSY, READY, Stage, call, wait_until
from tests.terminal.terminal import CTRL_O, ENTER

TIDES = """# Tides

High water is at **06:12**, low water at *12:30*.

- bring a `lamp`
- come early

```python
print("hello")
```

The end."""


def test_answer_is_drawn_while_it_streams(stage: Stage) -> None:
    """Complete blocks appear as Markdown before the rest; then the figures are those of the service."""
    go, paused = stage.outside / "go", stage.outside / "paused"
    stage.plays(
        {
            "text": TIDES,
            "reasoning": "Let me look at the table.\nYes.",
            "chunk": 5,
            "wait_for_file": str(go),
            # The thinking and everything up to the list, in pieces of five characters.
            "wait_after": (len("Let me look at the table.\nYes.") + TIDES.index("- come")) // 5 + 2,
            "touch": str(paused),
            "usage": {"input": 2000, "cached": 1500, "output": 100},
        }
    )
    terminal = stage.ready()
    terminal.enter("When is high water?")
    wait_until(paused.exists)
    shown = terminal.wait_for("High water is at 06:12, low water at 12:30.", "• bring a lamp", BUSY)
    assert "The end." not in shown
    assert "thought for" in shown
    go.touch()
    shown = terminal.wait_for("The end.", "↑2.0k ↓100", "75% cached", READY, gone=BUSY)
    assert "**" not in shown
    assert "```" not in shown
    assert shown.count("High water") == 1
    terminal.type(CTRL_O)
    terminal.wait_for("Let me look at the table.", READY)


@pytest.mark.parametrize("kind", ["openai-responses", "anthropic"])
def test_other_wires_work_in_the_chat(stage: Stage, kind: str) -> None:
    """Thinking, two calls at once, a refusal and the figures."""
    stage.plays(
        {
            "text": "I look.",
            "reasoning": "First the files.",
            "calls": [call("list_files"), call("run_command", command="touch made")],
            "usage": {"input": 3000, "cached": 2000, "written": 0, "output": 60},
        },
        {"text": "**As you like.**", "usage": {"input": 4000, "cached": 3000, "written": 0, "output": 10}},
        {"text": "Good bye.", "usage": {"input": 5000, "cached": 4000, "written": 0, "output": 3}},
        kind=kind,
    )
    terminal = stage.ready()
    terminal.enter("look around")
    terminal.wait_for("$ touch made", "y allow")
    terminal.type("n")
    terminal.wait_for("Why not?")
    terminal.type("nothing new, please" + ENTER)
    terminal.wait_for("As you like.", "↑7.0k ↓70", "71% cached", READY, gone=BUSY)
    assert not (stage.folder / "made").exists()
    assert "nothing new, please" in json.dumps(stage.asked()[1]["body"], ensure_ascii=False)
    terminal.enter("bye")
    terminal.wait_for("Good bye.", "↑12k ↓73", "75% cached", READY, gone=BUSY)


def test_run_jsonl_reports_the_same_for_programs(stage: Stage) -> None:
    """What was refused, the cost and the end, also by exit code."""
    stage.plays(
        {
            "text": "I try.",
            "calls": [call("run_command", command="touch made"), call("list_files")],
            "usage": {"input": 900, "cached": 800, "output": 40},
        },
        {"text": "**Done**.", "usage": {"input": 1000, "cached": 900, "output": 5}},
        {"calls": [call("attempt_completion", result="All of it.")]},
        {"fault": {"status": 401, "message": "wrong key"}},
    )
    told = [json.loads(line) for line in stage.cli("run", "--jsonl", "go").splitlines()]
    called = [each for each in told if each["type"] == "called"]
    assert [bool(each.get("refused")) for each in called] == [True, False]
    assert not (stage.folder / "made").exists()
    last = told[-1]
    reported = stage.usage()
    assert {kind: last["counted"][kind] for kind in reported} == reported
    assert (last["end"], last["text"]) == ("answered", "**Done**.")
    assert stage.json("cost", "last")["total"]["usd"] == last["counted"]["nano"] / 1e9
    assert stage.cli("run", "--continue", "--accept", "all of it, please") == "All of it.\n"
    stage.cli("run", "--continue", "and more", code=12)
    terminal = stage.chat("--continue")
    terminal.wait_for("The last run did not finish", "user: and more")
