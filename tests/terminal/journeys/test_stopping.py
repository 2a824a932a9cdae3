"""Interrupted runs: stopped by a key, killed in the middle, a failing service."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import backscroll
from backscroll.surfaces.chat.screen.status import short
from tests.terminal.journeys.stage import BUSY, READY, Stage, command, wait_until
from tests.terminal.terminal import CTRL_C, CTRL_D, ENTER


def test_run_is_stopped_during_a_stream_and_continued(stage: Stage) -> None:
    """Ctrl-C keeps the text, marked; the next request has it; two at an empty line quit."""
    never = stage.outside / "never"
    stage.plays(
        {
            "text": "These words came. Those did not.",
            "chunk": 17,
            "wait_for_file": str(never),
            "wait_after": 2,
        },
        {"text": "Here is the rest."},
    )
    terminal = stage.ready()
    terminal.enter("tell me")
    terminal.wait_for("These words came.", BUSY)
    terminal.type(CTRL_C)
    shown = terminal.wait_for("Stopped.", READY, gone=BUSY)
    assert "These words came." in shown
    partial = stage.record()[-1]
    assert partial.text.startswith("These words came.")
    assert partial.content.metadata["act"]["interrupted"]
    terminal.enter("go on")
    terminal.wait_for("Here is the rest.", READY, gone=BUSY)
    assert "These words came." in stage.words()
    terminal.type(CTRL_C)
    terminal.wait_for("again to quit")
    terminal.type(CTRL_C)
    assert terminal.wait_for_end() == 0
    wait_until(lambda: [e["how"] for e in stage.ended()] == ["gone", "sent"])


def test_stopped_run_is_reported_and_not_offered(stage: Stage) -> None:
    """The next start asks nothing, so that Enter continues nothing; /continue does."""
    never = stage.outside / "never"
    stage.plays(
        {"text": "Never heard.", "wait_for_file": str(never)},
        {"calls": [command("echo begun; exec sleep 600")]},
        {"text": "Gone on."},
    )
    terminal = stage.ready("--approve", "all")
    terminal.enter("tell me")
    wait_until(lambda: len(stage.asked()) == 1)
    terminal.wait_for(BUSY)
    terminal.type(CTRL_C)
    terminal.wait_for("Stopped.", READY, gone=BUSY)
    terminal.type(CTRL_D)
    terminal.wait_for_end()
    again = stage.ready("--continue", "--approve", "all")
    again.wait_for("You stopped the last run (the answer).")
    again.type(ENTER)  # means nothing here
    again.enter("/continue")
    again.wait_for("│ begun", BUSY)
    again.type(CTRL_C)
    again.wait_for("Stopped.", READY, gone=BUSY)
    again.type(CTRL_D)
    again.wait_for_end()
    third = stage.ready("--continue", "--lang", "zh")
    third.wait_for("上一次是您停下的（回答）")
    third.enter("/继续")
    third.wait_for("Gone on.", READY)
    third.enter("/继续")
    third.wait_for("没有未做完的事", READY)


def test_judged_result_is_not_offered_again(stage: Stage) -> None:
    """A verdict has ended the run: the next start shows the prompt, and says what was left."""
    done = {"calls": [{"name": "attempt_completion", "arguments": {"result": "It is **done**."}}]}
    stage.plays(done, done)
    terminal = stage.ready()
    terminal.enter("do it")
    terminal.wait_for("It is done.", "l leave open")
    terminal.type("y")
    terminal.wait_for("accepted", READY)
    terminal.type(CTRL_D)
    terminal.wait_for_end()
    again = stage.ready("--continue")
    assert "last run" not in again.everything()
    again.enter("once more")
    again.wait_for("It is done.", "l leave open")
    again.type("l")
    again.wait_for("left open", READY)
    again.type(CTRL_D)
    again.wait_for_end()
    third = stage.ready("--continue")
    third.wait_for("The last result was not accepted.")


def test_step_limit_is_reported_and_not_offered(stage: Stage) -> None:
    """A limit is meant to end the run."""
    stage.plays({"calls": [command("echo one")]}, {"text": "The rest."}, settings="agent_max_steps = 1")
    terminal = stage.ready("--approve", "all")
    terminal.enter("work")
    terminal.wait_for("limit of this run", READY, gone=BUSY)
    terminal.type(CTRL_D)
    terminal.wait_for_end()
    again = stage.ready("--continue")
    again.wait_for("The last run reached its limit")
    again.enter("/continue")
    again.wait_for("The rest.", READY)


def test_chat_is_killed_during_a_command(stage: Stage) -> None:
    """Its processes end; the next start reports it, continues, and tells the model what is unknown."""
    stage.plays(
        {"text": "I wait.", "calls": [command("echo $$ > pid; echo begun; exec sleep 600")]},
        {"text": "So it was broken off."},
    )
    terminal = stage.ready()
    terminal.enter("wait a while")
    terminal.wait_for("y allow")
    terminal.type("y")
    terminal.wait_for("│ begun", BUSY)
    pid = int((stage.folder / "pid").read_text())
    os.kill(terminal.process.pid, signal.SIGKILL)
    terminal.process.wait()
    wait_until(lambda: not Path(f"/proc/{pid}").exists())
    again = stage.chat("--continue")
    again.wait_for("The last run did not finish (run_command was at work). Resume it?")
    again.type(ENTER)
    again.wait_for("So it was broken off.", READY, gone=BUSY)
    (result,) = [m for m in stage.asked()[1]["body"]["messages"] if m["role"] == "tool"]
    assert "[run_command]" in str(result["content"])
    assert [m.role for m in stage.record() if m.role != "system"] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


def test_window_is_closed_during_a_command(stage: Stage) -> None:
    """The command ends with its terminal, its effects are recorded, and the next start continues."""
    stage.plays(
        {"calls": [command("echo $$ > pid; echo begun; exec sleep 600")]},
        {"text": "Welcome back."},
    )
    terminal = stage.ready("--approve", "all")
    terminal.enter("wait a while")
    terminal.wait_for("│ begun", BUSY)
    pid = int((stage.folder / "pid").read_text())
    os.kill(terminal.process.pid, signal.SIGHUP)
    terminal.wait_for_end()
    wait_until(lambda: not Path(f"/proc/{pid}").exists())
    again = stage.chat("--continue")
    again.wait_for("The last run did not finish")
    again.type("y")
    again.wait_for("Welcome back.", READY, gone=BUSY)
    assert [m.role for m in stage.record() if m.role != "system"] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


def test_chat_is_killed_during_a_stream(stage: Stage) -> None:
    """The partial answer does not count: the next start says so, asks the model again, and the log is consistent."""
    never = stage.outside / "never"
    stage.plays(
        {"text": "Some words. More.", "chunk": 6, "wait_for_file": str(never), "wait_after": 3},
        {"text": "Finished after all."},
    )
    terminal = stage.ready()
    terminal.enter("tell me")
    terminal.wait_for("Some words.", BUSY)
    os.kill(terminal.process.pid, signal.SIGKILL)
    terminal.process.wait()
    again = stage.chat("--continue", "--lang", "zh")
    again.wait_for("上一次没有做完（回答）。要接着做吗？")
    again.type("是")
    again.wait_for("Finished after all.", READY, gone=BUSY)
    assert [m.role for m in stage.record() if m.role != "system"][-1] == "assistant"
    assert "tell me" in stage.words()


def test_overload_and_cut_stream_are_retried_and_counted(stage: Stage) -> None:
    """The ledger has every paid call, failed attempts included, and all surfaces agree."""
    usage = {"input": 12_000, "cached": 9_000, "output": 700}
    stage.plays(
        {"fault": {"status": 429, "message": "slow down", "retry_after": 0.1}},
        {"text": "Half of the answer came.", "chunk": 6, "cut_after": 4},
        {"text": "The whole **answer**.", "usage": usage},
        {"calls": [command("touch one")], "usage": {"input": 13_000, "cached": 12_000, "output": 50}},
        {"text": "Done.", "usage": {"input": 14_000, "cached": 12_500, "output": 5}},
    )
    terminal = stage.ready()
    terminal.enter("hello")
    shown = terminal.wait_for("The whole answer.", READY, gone=BUSY)
    assert "Half of" not in shown
    first = {group["purpose"]: group for group in stage.json("cost", "last")["groups"]}
    assert {kind: first["answer"][kind] for kind in usage} == usage
    # Nobody reports what a cut answer took: it is counted here, and marked; one that was turned away took nothing.
    failed = first["failed"]
    assert (failed["calls"], failed["estimated"]) == (2, 1)
    assert failed["input"] > 0
    before = (12_000 + failed["input"], 700 + failed["output"])
    assert f"↑{short(before[0])} ↓{short(before[1])}" in shown
    terminal.enter("go on")
    terminal.wait_for("y allow")
    terminal.type("y")
    figures = f"↑{short(39_000 + failed['input'])} ↓{short(755 + failed['output'])}"
    shown = terminal.wait_for("Done.", READY, figures, gone=BUSY)
    cost = stage.json("cost", "last")
    (answers,) = [group for group in cost["groups"] if group["purpose"] == "answer"]
    reported = {"input": 39_000, "cached": 33_500, "output": 755}
    assert {kind: answers[kind] for kind in reported} == reported
    # gpt-4o-mini: 0.15 and 0.60 dollars for a million tokens, cached ones half of it
    money = (5_500 * 0.15 + 33_500 * 0.075 + 755 * 0.60) / 1e6
    guessed = (failed["input"] * 0.15 + failed["output"] * 0.60) / 1e6
    assert answers["usd"] == pytest.approx(money)
    assert cost["total"]["usd"] == pytest.approx(money + guessed)
    assert f"${money + guessed:.6f}" in shown
    terminal.enter("/cost")
    told = terminal.wait_for(f"{39_000 + failed['input']:,}", READY)
    assert f"${money + guessed:.6f}" in told


def test_prompt_that_is_too_long_is_compacted_and_resent(stage: Stage) -> None:
    """The service names its window; the past is condensed, and the question is answered."""
    stage.plays({"text": "Fine.", "times": 100}, once=False, window=9_000, settings="budget = 100000")
    with backscroll.open(str(stage.store), background=False) as store:
        thread = store.create("A long talk", metadata={"workspace": str(stage.folder)})
        for number in range(24):
            thread.append("user", f"Question {number}: what of the harbour? " + "Tell me all of it. " * 40)
            thread.append("assistant", f"Answer {number}. " + "The wall was mended with granite. " * 40)
    terminal = stage.ready("--continue")
    terminal.enter("and now?")
    shown = terminal.wait_for("Fine.", READY, gone=BUSY)
    assert "the prompt was too long for the model; compacted it, retrying" in shown
    assert "history compacted: near the limit" in shown
    statuses = [line["status"] for line in stage.asked()]
    assert statuses == [400, 200]
    assert stage.asked()[1]["words"] < stage.asked()[0]["words"]
    assert "and now?" in stage.words(1)
