"""What is recorded of a call is true, at whatever moment a run is broken off."""

from __future__ import annotations

import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import pytest

from backscroll.agent.events import Calling, Output
from backscroll.agent.loop.execution import RunContext
from backscroll.vocab.part import Text, ToolResult
from tests.agent.scripted_agent import call, stage


def _results(thread: Any) -> dict[str, str]:
    return {
        part.call_id: "".join(p.text for p in part.content if isinstance(p, Text))
        for message in thread.messages()
        for part in message.parts
        if isinstance(part, ToolResult)
    }


def _causes(on: Any) -> list[str]:
    return [change.cause.by for change in on.agent.workroom.changes() for _ in change.files]


def test_interrupted_command_is_not_reported_as_not_run(tmp_path: Path) -> None:
    """Leaving the iterator during a command records it as stopped, with its file changes."""
    slow = "echo begun; echo x > made.txt; sleep 30"
    with stage(tmp_path, [call("run_command", command=slow), call("run_command", command="ls")], "ok") as on:
        run = cast("Generator[Any]", on.agent.events("go"))
        for happening in run:
            if isinstance(happening, Output):
                break
        for _ in range(100):
            if (on.root / "made.txt").exists():
                break
            time.sleep(0.05)
        run.close()
        told = list(_results(on.thread).values())
        assert len(told) == 2
        assert "was not run" not in told[0]
        assert "stopped" in told[0]
        assert "was not run" in told[1]
        assert _causes(on) == ["tool"]


@pytest.mark.parametrize("moment", ["_record_change", "_answer_call"])
def test_interrupt_after_a_command_keeps_its_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Ctrl-C between the end of a command and its record: the result is recorded once."""
    real = getattr(RunContext, moment)
    struck: list[bool] = []

    def once(self: RunContext, *given: Any) -> Any:
        if not struck:
            struck.append(True)
            raise KeyboardInterrupt
        return real(self, *given)

    with stage(tmp_path, call("run_command", command="echo it-ran; echo x > made.txt"), "ok") as on:
        monkeypatch.setattr(RunContext, moment, once)
        seen = on.say("go")
        assert seen[-1].end == "stopped"  # type: ignore[union-attr]
        told = list(_results(on.thread).values())
        assert len(told) == 1
        assert "it-ran" in told[0]
        on.say("on")
        assert _causes(on) == ["tool"]


def test_interrupt_before_a_command_reports_it_as_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while the folder is scanned: nothing ran, and the record says so."""

    def struck(self: RunContext) -> str:
        raise KeyboardInterrupt

    with stage(tmp_path, call("run_command", command="echo x > made.txt"), "ok") as on:
        monkeypatch.setattr(RunContext, "_take_snapshot", struck)
        seen = on.say("go")
        assert any(isinstance(s, Calling) for s in seen)
        assert "was not run" in next(iter(_results(on.thread).values()))
        assert not (on.root / "made.txt").exists()


def test_denial_by_a_rule_is_not_reported_as_the_persons_refusal(tmp_path: Path) -> None:
    """The model must not be told that a person refused if only a rule did."""
    from backscroll.agent.approval.approval import Rules

    rules = Rules("ask", root=tmp_path, deny=["run_command(rm *)"], file=tmp_path / "permissions.toml")
    with stage(tmp_path, call("run_command", command="rm -rf x"), "ok", rules=rules) as on:
        on.say("go")
        told = next(iter(_results(on.thread).values()))
        assert "person refused" not in told
        assert "a rule forbids this" in told
        assert not on.person.asked


def test_command_of_the_person_first_answers_open_calls(tmp_path: Path) -> None:
    """`!command` after a crash: open calls get their result before anything else is appended."""
    from backscroll.vocab.part import ToolCall

    with stage(tmp_path, "ok") as on:
        on.thread.append("user", "go")
        on.thread.append("assistant", [ToolCall("left", "run_command", {"command": "ls"})])
        list(on.agent.command("echo here"))
        roles = [m.role for m in on.thread.messages() if m.role != "system"]
        assert roles == ["user", "assistant", "tool", "assistant", "tool"]
        assert "was not run" in _results(on.thread)["left"]


def test_call_interrupted_by_a_crash_is_reported_as_begun(tmp_path: Path) -> None:
    """A new message after the crash does not mark the call as not run, nor its files as manual edits."""
    from backscroll.engine.calls.replies import mark_at_work
    from backscroll.vocab.part import ToolCall

    with stage(tmp_path, "ok") as on:
        on.thread.append("user", "go")
        crashed = ToolCall("begun", "run_command", {"command": "make"})
        on.thread.append("assistant", [crashed])
        assert on.agent.workroom is not None
        mark_at_work(on.thread, crashed, on.agent.workroom.look())
        (on.root / "made.txt").write_text("by the command")
        on.say("something else")
        told = _results(on.thread)["begun"]
        assert "was running when the program ended" in told
        assert "made.txt" in told
        assert _causes(on) == ["tool"]


def test_failed_regenerate_keeps_an_answer_of_several_steps(tmp_path: Path) -> None:
    """A regeneration that fails or is abandoned early restores the earlier steps."""
    from backscroll.testing import Line
    from backscroll.testing.scenario import Fault

    broken = Line(fault=Fault(400, "no"))
    with stage(tmp_path, call("list_files"), "the answer", broken) as on:
        on.say("go")
        before = [m.id for m in on.thread.messages()]
        assert list(on.agent.regenerate())[-1].end == "failed"  # type: ignore[union-attr]
        assert [m.id for m in on.thread.messages()] == before
        left = cast("Generator[Any]", on.agent.regenerate())
        next(left)
        left.close()
        assert [m.id for m in on.thread.messages()] == before


def test_interrupt_after_recording_a_result_does_not_record_it_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C between the record of a result and the next breath: one result for the call."""
    real = RunContext._record
    struck: list[bool] = []

    def once(self: RunContext, *given: Any) -> Any:
        done = real(self, *given)
        if not struck:
            struck.append(True)
            raise KeyboardInterrupt
        return done

    with stage(tmp_path, call("run_command", command="echo it-ran"), "ok") as on:
        monkeypatch.setattr(RunContext, "_record", once)
        on.say("go")
        parts = [p for m in on.thread.messages() for p in m.parts if isinstance(p, ToolResult)]
        assert len(parts) == 1
