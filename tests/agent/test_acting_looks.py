"""What goes ahead because it only looks is looked at again where an earlier call of the same reply may have changed something."""

from __future__ import annotations

from pathlib import Path

from backscroll.agent.approval.approval import Rules
from tests.agent.scripted_agent import call, stage


def test_reading_command_is_not_run_if_its_target_changes_after_the_check(tmp_path: Path) -> None:
    """One reply creates a link and reads through it; the read was judged before the link existed."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / ".env").write_text("TOKEN=hunter2\n", encoding="utf-8")
    both = [
        call(
            "run_command",
            command="mkdir sub && cp -s ../.e?? sub/public 2>/dev/null; ln -s $(echo .env) notes.txt",
        ),
        call("run_command", command="cat notes.txt"),
    ]
    rules = Rules("ask", root=tmp_path / "work", file=tmp_path / "none.toml")
    with stage(tmp_path, both, "done", rules=rules) as on:
        on.say("go")
        assert [p.preview.command for asked in on.person.asked for p in asked] == [
            both[0].arguments["command"]
        ]
        assert (on.root / "notes.txt").is_symlink()
        assert "hunter2" not in on.sent()
        assert "was not run: what it touches changed" in on.sent()


def test_reading_command_runs_after_an_unrelated_change(tmp_path: Path) -> None:
    both = [call("write_file", path="a.txt", content="new words\n"), call("run_command", command="cat a.txt")]
    with stage(tmp_path, both, "done") as on:
        on.say("go")
        assert [p.tool for asked in on.person.asked for p in asked] == ["write_file"]
        assert "new words" in on.sent()
