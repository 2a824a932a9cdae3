"""The sandbox on the command line: requested by a flag, shown by `doctor`, reported during a run."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest

from backscroll.agent.person import Preview, Proposal
from backscroll.surfaces import i18n
from backscroll.surfaces.chat.person import proposal_lines
from backscroll.surfaces.i18n.translation import say
from backscroll.testing import Line
from tests.agent.sandboxes import needs_landlock
from tests.journeys.conftest import Cli
from tests.journeys.test_run import Model, call

pytestmark = pytest.mark.disk


@pytest.fixture
def model(cli: Cli) -> Any:
    with ExitStack() as stack:
        yield Model(cli, stack)


@needs_landlock
def test_sandbox_flag_confines_commands(model: Model) -> None:
    """With everything allowed, nothing outside the folder is written; the output says how to allow it."""
    home = model.root / "home"
    home.mkdir()
    line = "echo kept > inside.txt; echo x > $HOME/../../beside.txt; cat $BACKSCROLL_CONFIG"
    model.plays(
        call("run_command", command=line),
        call("run_command", command="touch out", outside_sandbox=True, folder="home"),
        Line(text="done"),
    )
    done = model.run("--jsonl", "--sandbox", "read-only", "--approve", "all", "go", HOME=str(home))
    called = [each for each in done.lines if each["type"] == "called"]
    assert done.code == 0, done.err
    assert not (model.root / "inside.txt").exists()
    assert not (model.root.parent / "beside.txt").exists()
    assert "base_url" not in model.said_to_it()
    assert "outside_sandbox: true" in model.said_to_it(1)
    assert ["refused" in each for each in called] == [False, True]
    assert not (home / "out").exists()


@needs_landlock
def test_rule_to_leave_the_sandbox_is_offered(model: Model) -> None:
    """With its folder: the rule covers just that call."""
    (model.root / "web").mkdir()
    model.plays(call("run_command", command="npm test", outside_sandbox=True, folder="web"), Line(text="no"))
    done = model.run("--sandbox", "workspace", "--approve", "all", "go")
    assert "--allow 'run_command(outside in web: npm test)'" in done.err


def test_doctor_reports_the_sandbox(cli: Cli) -> None:
    """In both languages, with or without a store."""
    found = {each["name"]: each for each in cli.ok("doctor", "--json").json}
    assert found["sandbox"]["ok"] is None
    assert "Landlock" in found["sandbox"]["detail"]
    assert "沙箱" in cli.ok("doctor", "--lang", "zh").out


def test_unknown_sandbox_mode_is_refused(cli: Cli) -> None:
    """As flag and as setting."""
    assert cli("run", "--sandbox", "jail", "hello").code == 2
    assert cli("run", "hello", BACKSCROLL_AGENT_SANDBOX="jail").code == 2


@pytest.mark.parametrize("language", ["en", "zh"])
def test_approval_names_the_sandbox(language: i18n.Language) -> None:
    """In the chat, in both languages: confined, or asking to leave."""
    held = Preview(
        "run: make",
        command="make",
        sandbox="in the sandbox: writes only the working folder and temporary folders; no network",
    )
    outside = Preview(
        "run: make",
        command="make",
        warnings=("outside the sandbox: it may do all that you may",),
        outside=True,
    )
    i18n.use(language)
    try:
        shown = [
            "\n".join(map(str, proposal_lines(Proposal("1", "run_command", "command", {}, each), 1, 1, 80)))
            for each in (held, outside)
        ]
        line = say("exit code 0, 2 lines, in the sandbox")
    finally:
        i18n.use("en")
    words = {
        "en": ("in the sandbox: writes only", "! outside the sandbox", "in the sandbox"),
        "zh": ("在沙箱中：只能写", "! 在沙箱之外", "退出码 0，2 行，在沙箱中"),
    }[language]
    assert words[0] in shown[0]
    assert words[1] in shown[1]
    assert words[2] in line
