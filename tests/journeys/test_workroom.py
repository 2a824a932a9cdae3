"""Journeys of a user whose agent changed files: changes, blame, rewind, commit."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.folder.workroom import Workroom
from tests.engine.workrooms import Desk, git
from tests.journeys.conftest import Cli


@dataclass
class Agent:
    """A folder in which an agent has worked, and the command line in that folder."""

    cli: Cli
    root: Path
    thread: str


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    """Two turns of work on a repository; the store and the snapshots lie where the command line looks for them."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    desk = Desk(tmp_path)
    root = desk.root
    git(root, "init", "-q")
    git(root, "config", "user.name", "Ann")
    git(root, "config", "user.email", "ann@example.org")
    desk.write("old.txt", "old\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    desk.room = Workroom(desk.thread, root)
    desk.turn("Say hello", hello__py="def hello():\n    return 'hello'\n")
    desk.turn("用中文问候", hello__py="def hello():\n    return '你好'\n")
    desk.close()
    cli = Cli(tmp_path)
    cli.folder = root
    return Agent(cli, root, desk.thread.id)


def test_changes_lists_what_the_agent_did(agent: Agent) -> None:
    """In the folder no thread need be given; by turn, by file, with the diff, as JSON."""
    out = agent.cli.ok("changes").out
    assert out.index("turn 2") < out.index("turn 1")
    assert "~ hello.py  +1 −1" in out
    only = agent.cli.ok("changes", "--turn", "1", "--diff").out
    assert "+    return 'hello'" in only
    assert "turn 2" not in only
    rows = agent.cli.ok("changes", agent.thread[:8], "--file", "hello.py", "--json").json
    assert [(r["turn"], r["by"], r["tool"]) for r in rows] == [
        (2, "tool", "write_file"),
        (1, "tool", "write_file"),
    ]
    assert rows[1]["files"][0]["action"] == "added"
    assert agent.cli.ok("changes", "--since", "2999-01-01").out == ""
    missing = agent.cli("changes", "--turn", "9", "--json")
    assert (missing.code, missing.error["kind"]) == (4, "not_found")


def test_workroom_is_found_from_a_subfolder(agent: Agent) -> None:
    """File paths are relative to the current folder."""
    (agent.root / "sub").mkdir()
    agent.cli.folder = agent.root / "sub"
    assert "turn 2" in agent.cli.ok("changes", "--file", "../hello.py").out
    assert "你好" in agent.cli.ok("blame", "../hello.py:2").out


def test_other_folder_requires_a_thread(agent: Agent, tmp_path: Path) -> None:
    """The error has a hint, in both languages."""
    (tmp_path / "elsewhere").mkdir()
    agent.cli.folder = tmp_path / "elsewhere"
    refused = agent.cli("changes")
    assert refused.code == 4
    assert "no conversation in" in refused.err
    assert "没有对话" in agent.cli("changes", "--lang", "zh").err
    assert "turn 2" in agent.cli.ok("changes", agent.thread).out


def test_blame_names_the_turn_and_the_reason(agent: Agent) -> None:
    """For a file and for a line; also as JSON."""
    out = agent.cli.ok("blame", "hello.py").out
    assert "asked: Say hello" in out
    assert "asked: 用中文问候" in out
    assert "why: I write hello.py" in out
    (line,) = agent.cli.ok("blame", "hello.py:2", "--json").json
    assert (line["turn"], line["asked"], line["by"]) == (2, "用中文问候", "tool")
    assert "before the first snapshot" in agent.cli.ok("blame", "old.txt").out
    assert "第一次快照之前" in agent.cli.ok("blame", "old.txt", "--lang", "zh").out
    (agent.root / "hello.py").write_text("mine\n")
    assert "manual edit" in agent.cli.ok("blame", "hello.py").out
    for wrong, code in (("none.py", 4), ("hello.py:99", 2), (".git/config", 2)):
        done = agent.cli("blame", wrong)
        assert done.code == code
        assert "Traceback" not in done.err


def test_rewind_and_redo(agent: Agent) -> None:
    """A preview first, then back, then forward; the conversation follows."""
    preview = agent.cli.ok("rewind", "2", "--dry-run").out
    assert agent.cli.ok("rewind", "last", "--dry-run").out == preview
    assert agent.cli.ok("rewind", agent.thread[:8], "最后", "--dry-run", "--lang", "zh").out.strip()
    assert "-    return '你好'" in preview
    assert "4 messages leave the conversation" in preview
    assert "你好" in (agent.root / "hello.py").read_text(encoding="utf-8")
    done = agent.cli.ok("rewind", "2", "--yes").out
    assert "Rewound to before turn 2: 1 file, 4 messages." in done
    assert (agent.root / "hello.py").read_text() == "def hello():\n    return 'hello'\n"
    assert len(agent.cli.ok("show", agent.thread, "--json").json) == 4
    assert "rewound" in agent.cli.ok("log", agent.thread).out
    assert "回退" in agent.cli.ok("log", agent.thread, "--lang", "zh").out
    back = agent.cli.ok("rewind", "--redo", "--yes", "--json").json
    assert (back["redone"], back["done"], len(back["messages"])) == (True, True, 4)
    assert "你好" in (agent.root / "hello.py").read_text(encoding="utf-8")
    again = agent.cli("rewind", "--redo", "--yes")
    assert (again.code, "no rewind" in again.err) == (4, True)


def test_rewind_of_files_or_conversation_alone(agent: Agent) -> None:
    """And plain undo for messages."""
    agent.cli.ok("rewind", agent.thread[:8], "1", "--files", "--yes")
    assert not (agent.root / "hello.py").exists()
    assert len(agent.cli.ok("show", agent.thread, "--json").json) == 8
    agent.cli.ok("rewind", "--redo", "-y")
    agent.cli.ok("rewind", "1", "--conversation", "--yes")
    assert (agent.root / "hello.py").exists()
    assert agent.cli.ok("show", agent.thread, "--json").json == []
    assert "undo" not in agent.cli.ok("undo", agent.thread).err
    assert len(agent.cli.ok("show", agent.thread, "--json").json) == 8


def test_rewind_refuses_changes_of_others(agent: Agent) -> None:
    """Manual edits stop it with exit code 5 and the file name; --force continues and loses nothing."""
    (agent.root / "hello.py").write_text("mine\n")
    assert "outside this conversation" in agent.cli.ok("rewind", "1", "--dry-run").out
    refused = agent.cli("rewind", "1", "--yes")
    assert (refused.code, "hello.py" in refused.err) == (5, True)
    assert "不属于这个对话" in agent.cli("rewind", "1", "--yes", "--lang", "zh").err
    assert (agent.root / "hello.py").read_text() == "mine\n"
    agent.cli.ok("rewind", "1", "--yes", "--force")
    assert not (agent.root / "hello.py").exists()
    agent.cli.ok("rewind", "--redo", "--yes")
    assert (agent.root / "hello.py").read_text() == "mine\n"


def test_rewind_refuses_invalid_input(agent: Agent) -> None:
    """No turn, an unknown turn, or no one to confirm: a clear error, and nothing changes."""
    for words, code in (
        (["rewind"], 2),
        (["rewind", "x"], 2),
        (["rewind", "0", "--yes"], 2),
        (["rewind", "7", "--yes"], 4),
        (["rewind", "1"], 2),
        (["rewind", "--redo", "--files"], 2),
        (["rewind", "1", "2", "3"], 2),
    ):
        done = agent.cli(*words)
        assert done.code == code, (words, done.err)
        assert "Traceback" not in done.err
    assert (agent.root / "hello.py").exists()


def test_commit_to_git(agent: Agent) -> None:
    """A dry run, then a commit of exactly the agent's changes, with thread and turns at the end."""
    (agent.root / "mine.txt").write_text("mine\n")
    git(agent.root, "add", "mine.txt")
    told = agent.cli.ok("commit", "--dry-run").out
    assert "Would commit 1 file:" in told
    assert "Backscroll-Turn: 1, 2" in told
    made = agent.cli.ok("commit", "-m", "Greet in Chinese", "--json").json
    assert (made["files"], len(made["commit"])) == (["hello.py"], 40)
    assert git(agent.root, "log", "-1", "--format=%s").strip() == "Greet in Chinese"
    assert git(agent.root, "diff", "--cached", "--name-only").split() == ["mine.txt"]
    empty = agent.cli("commit")
    assert (empty.code, "nothing to commit" in empty.err) == (4, True)


def test_workroom_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes, blame and rewind use hashes, and commit says what is missing."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    desk = Desk(tmp_path, git=False)
    desk.room = Workroom(desk.thread, desk.root)
    assert desk.room.keeper.keeper == "hashes"
    desk.turn("Say hello", a__txt="hello\n")
    desk.turn("Say more", a__txt="hello\nmore\n")
    desk.close()
    cli = Cli(tmp_path)
    cli.folder = desk.root
    nowhere = {"PATH": str(tmp_path / "nothing")}
    assert "turn 2" in cli.ok("changes", **nowhere).out
    assert "asked: Say more" in cli.ok("blame", "a.txt:2", **nowhere).out
    cli.ok("rewind", "2", "--yes", **nowhere)
    assert desk.read("a.txt") == "hello\n"
    refused = cli("commit", **nowhere)
    assert refused.code != 0
    assert "git" in refused.err
    assert "Traceback" not in refused.err


def test_interrupted_rewind_is_finished_and_reported(agent: Agent) -> None:
    """By the next command that opens the folder, next to its result."""
    from backscroll.engine.folder import rewind_journal as rewinding_journal

    with (
        backscroll.open(agent.cli.environment["BACKSCROLL_STORE"]) as engine,
        pytest.MonkeyPatch.context() as patched,
    ):

        def crash(*_: object) -> None:
            raise KeyboardInterrupt

        patched.setattr(rewinding_journal, "write_stroke", crash)
        with pytest.raises(KeyboardInterrupt):
            Workroom(engine.thread(agent.thread), agent.root).rewind(2)
    done = agent.cli.ok("blame", "hello.py")
    assert "Finished an interrupted rewind" in done.err
    assert len(agent.cli.ok("show", agent.thread, "--json").json) == 4


def test_snapshots_can_be_dropped(agent: Agent) -> None:
    """The list of changes stays."""
    agent.cli.ok("changes", "--forget-snapshots")
    assert "turn 2" in agent.cli.ok("changes").out
    assert agent.cli("rewind", "1", "--yes").code == 4
    held = [
        p for p in (Path(os.environ["HOME"]) / ".local/share/backscroll/shadow").rglob("*") if p.is_file()
    ]
    assert all("你好".encode() not in p.read_bytes() for p in held)


def test_file_can_be_forgotten(agent: Agent) -> None:
    """Confirmation is required; then no list contains its text, and the output says what it cannot reach."""
    refused = agent.cli("changes", "--forget-file", "hello.py")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert "hello.py" in agent.cli.ok("changes").out
    done = agent.cli.ok("changes", "--forget-file", "hello.py", "--yes")
    assert "Erased hello.py" in done.out
    assert "backscroll forget" in done.out
    assert "hello.py" not in agent.cli.ok("changes").out
    assert agent.cli("changes", "--forget-file", "hello.py", "--yes").code == 4
