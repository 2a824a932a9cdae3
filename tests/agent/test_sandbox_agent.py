"""A whole run in a sandbox: held, told why, let out by the person alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from backscroll.agent.approval.approval import Rules
from backscroll.agent.events import Called
from backscroll.agent.person import Decision, Proposal
from tests.agent.sandboxes import needs_landlock
from tests.agent.scripted_agent import Told, call, stage

pytestmark = pytest.mark.disk
SANDBOX: dict[str, Any] = {"agent_sandbox": "workspace"}


@pytest.fixture(autouse=True)
def _no_temporary(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' own folder is a temporary one."""
    monkeypatch.setattr("backscroll.agent.commands.sandbox._temporary", list[Path])


@needs_landlock
def test_leaving_the_sandbox_needs_approval_even_if_all_is_allowed(tmp_path: Path) -> None:
    """The retry outside the sandbox is asked about, and the record distinguishes the two calls."""
    line = f"echo x > {tmp_path / 'beside'}"
    answers = (
        call("run_command", command=line),
        call("run_command", command=line, outside_sandbox=True),
        "done",
    )
    rules = Rules("all", file=tmp_path / "permissions.toml")
    with stage(tmp_path, *answers, settings=SANDBOX, rules=rules) as on:
        happened = on.say("go")
        results = [each for each in happened if isinstance(each, Called)]
        assert [each.is_error for each in results] == [True, False]
        assert "outside_sandbox: true" in on.sent(1)
        assert [[p.preview.outside for p in asked] for asked in on.person.asked] == [[True]]
        assert (tmp_path / "beside").read_text() == "x\n"
        acts = [m.content.metadata["act"] for m in on.thread.messages() if m.role == "tool"]
        assert acts[0]["facts"]["sandbox"] == "workspace"
        assert "sandbox" not in acts[1]["facts"]


@needs_landlock
def test_refused_outside_command_is_not_run(tmp_path: Path) -> None:
    """The reason reaches the model, and nothing is done."""
    line = f"touch {tmp_path / 'beside'}"

    def no(proposal: Proposal) -> Decision:
        return Decision(not proposal.preview.outside, "it stays inside")

    answers = (call("run_command", command=line, outside_sandbox=True), "as you like")
    with stage(tmp_path, *answers, settings=SANDBOX, person=Told(decide=no)) as on:
        on.say("go")
        assert "it stays inside" in on.sent(1)
        assert not (tmp_path / "beside").exists()


@needs_landlock
def test_commands_of_the_person_run_outside_the_sandbox(tmp_path: Path) -> None:
    """The sandbox applies to agents, not to commands that the user types."""
    with stage(tmp_path, settings=SANDBOX) as on:
        list(on.agent.command(f"touch {tmp_path / 'mine'}"))
        assert (tmp_path / "mine").exists()
        assert on.person.asked == []


@needs_landlock
def test_file_changes_of_a_sandboxed_command_are_recorded(tmp_path: Path) -> None:
    """Snapshots are taken outside of the sandbox, around it."""
    answers = (call("run_command", command="echo new > new.txt && rm -f old.txt"), "done")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "old.txt").write_text("old\n")
    rules = Rules("ask", file=tmp_path / "permissions.toml", sandboxed_unasked=True)
    with stage(tmp_path, *answers, settings=SANDBOX, rules=rules) as on:
        done = next(each for each in on.say("go") if isinstance(each, Called))
        assert done.change is not None
        assert sorted(each.path for each in done.change.files) == ["new.txt", "old.txt"]
        assert on.person.asked == []
