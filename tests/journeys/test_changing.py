"""Journeys of a user who edits a conversation."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tests.journeys.conftest import Cli


def texts(cli: Cli, name: str) -> list[str]:
    return [m["text"] for m in cli.ok("show", name, "--json").json]


def test_new_and_append_serve_scripts(cli: Cli) -> None:
    """Only an id is printed; text comes from an argument or from standard input, whole."""
    name = cli.ok(
        "new", "发布说明", "--project", "site", "--kind", "agent", "--tag", "a", "--tag", "b"
    ).out.strip()
    assert len(name) == 32
    message = cli.ok("append", name, "user", text="two\nlines\n").out.strip()
    assert message == f"{name[:8]}.2"
    cli.ok(
        "append", name, "assistant", "-", "--author", "Ann", "--at", "2026-11-01T10:00:00+08:00", text="回答"
    )
    made = cli.ok("append", name, "tool", "result", "--hidden", "--pinned", "--json").json
    assert (made["hidden"], made["pinned"], made["number"]) == (True, True, 3)
    messages = cli.ok("show", name, "--json").json
    assert [m["text"] for m in messages] == ["two\nlines", "回答", "result"]
    assert (messages[1]["author"], messages[1]["at"]) == ("Ann", "2026-11-01T10:00:00+08:00")
    info = cli.ok("threads", "--json").json[0]
    assert (info["title"], info["project"], info["kind"], info["tags"]) == (
        "发布说明",
        "site",
        "agent",
        ["a", "b"],
    )


def test_edit_adds_a_revision(cli: Cli) -> None:
    """The history, the diff and the restore are available."""
    name = cli.conversation("first words", "answer")
    assert "undo" in cli.ok("edit", name, "1", "second words").out
    cli.ok("edit", name, "#1", "-", text="third words\n")
    revisions = cli.ok("revisions", name, "1", "--json").json
    assert [(r["text"], r["live"]) for r in revisions] == [
        ("first words", False),
        ("second words", False),
        ("third words", True),
    ]
    assert "live" in cli.ok("revisions", name, "1").out
    newest = cli.ok("diff", name, "1").out
    assert "-second words" in newest
    assert "+third words" in newest
    whole = cli.ok("diff", name, "1", "1", "3", "--json").json["diff"]
    assert "-first words" in whole
    assert cli.ok("edit", name, "1", "third words").out.strip() == "Nothing to change."


def test_edit_opens_an_editor(cli: Cli) -> None:
    """Without text the editor opens on the current text; leaving it unchanged changes nothing."""
    name = cli.conversation("hello world", "answer")
    editor = cli.folder / "editor.py"
    editor.write_text(
        "import pathlib, sys; p = pathlib.Path(sys.argv[1]); p.write_text(p.read_text().replace('world', '世界'))"
    )
    command = f"{sys.executable} {editor}"
    cli.ok("edit", name, "1", BACKSCROLL_EDITOR=command)
    assert texts(cli, name)[0] == "hello 世界"
    assert "Nothing to change" in cli.ok("edit", name, "1", BACKSCROLL_EDITOR=command).out
    failed = cli("edit", name, "1", BACKSCROLL_EDITOR="false")
    assert failed.code == 2
    missing = cli("edit", name, "1", BACKSCROLL_EDITOR="no-such-editor-anywhere")
    assert (missing.code, "no-such-editor-anywhere" in missing.err) == (2, True)
    assert len(cli.ok("revisions", name, "1", "--json").json) == 2


def test_edit_reports_a_conflict(cli: Cli) -> None:
    """With --seen a change made in between is never overwritten, and the new text is not lost."""
    name = cli.conversation("old", "answer")
    seen = cli.ok("show", name, "--json").json[0]["revision"]
    cli.ok("edit", name, "1", "theirs", "--actor", "user:bob")
    refused = cli("edit", name, "1", "mine", "--seen", seen, TMPDIR=str(cli.folder))
    assert refused.code == 5
    assert texts(cli, name)[0] == "theirs"
    kept = [p for p in cli.folder.iterdir() if p.name.startswith("backscroll-unsaved-")]
    assert [p.read_text() for p in kept] == ["mine\n"]
    assert str(kept[0]) in refused.err


def test_alternatives_can_be_added_and_selected(cli: Cli) -> None:
    """Another answer becomes live by default; any can be selected again."""
    name = cli.conversation("question", "first answer")
    cli.ok("regenerate", name, "2", "second answer")
    aside = cli.ok("regenerate", name, "2", "third answer", "--aside", "--json").json
    assert (aside["text"], aside["alternative"], aside["alternatives"]) == ("second answer", 2, 3)
    cli.ok("edit", name, "last", "fourth answer", "--regenerate")
    for which, text in (
        ("1", "first answer"),
        ("next", "second answer"),
        ("prev", "first answer"),
        ("last", "fourth answer"),
        ("first", "first answer"),
        ("3", "third answer"),
    ):
        assert cli.ok("choose", name, "2", which, "--json").json["text"] == text
    revision = cli.ok("revisions", name, "2", "--json").json[1]["id"]
    assert cli.ok("choose", name, "2", revision, "--json").json["text"] == "second answer"
    assert cli("choose", name, "2", "9").code == 4
    assert "answer 2/4" in cli.ok("show", name).out


def test_delete_restore_undo_redo(cli: Cli) -> None:
    """Several messages are deleted in one stroke and restored in one."""
    name = cli.conversation("one", "two", "three", "four")
    deleted = cli.ok("delete", name, "2:3", "--json").json
    assert deleted["changed"] == 2
    assert texts(cli, name) == ["one", "four"]
    assert cli.ok("undo", name).out.startswith("Undone: deleted")
    assert texts(cli, name) == ["one", "two", "three", "four"]
    assert cli.ok("redo", name).out.startswith("Redone: deleted")
    assert texts(cli, name) == ["one", "four"]
    cli.ok("restore", name, *deleted["messages"])
    assert texts(cli, name) == ["one", "two", "three", "four"]
    cli.ok("delete", name, "1")
    cli.ok("restore", name, "last")
    assert texts(cli, name)[0] == "one"
    assert "Nothing to change" in cli.ok("restore", name, deleted["messages"][0]).out


def test_undo_covers_only_own_changes(cli: Cli) -> None:
    """It never reverts what another actor did."""
    name = cli.conversation("one")
    cli.ok("edit", name, "1", "bob's", "--actor", "user:bob")
    refused = cli("undo", name, "--actor", "user:ann")
    assert refused.code == 4
    assert cli.ok("undo", name, "--actor", "user:bob", "--json").json["kind"] == "undone"
    assert texts(cli, name) == ["one"]


def test_hide_and_pin_can_be_set_and_cleared(cli: Cli) -> None:
    """Hidden and pinned, on and off."""
    name = cli.conversation("one", "two")
    for on, off, key in (("hide", "unhide", "hidden"), ("pin", "unpin", "pinned")):
        cli.ok(on, name, "1", "2")
        assert [m[key] for m in cli.ok("show", name, "--json").json] == [True, True]
        assert key in cli.ok("show", name).out
        cli.ok(off, name, "1")
        assert [m[key] for m in cli.ok("show", name, "--json").json] == [False, True]


def test_messages_can_be_inserted_and_moved(cli: Cli) -> None:
    """Before or after any other."""
    name = cli.conversation("one", "two")
    cli.ok("insert", name, "system", "between", "--after", "1")
    cli.ok("insert", name, "system", "before all", "--before", "1")
    assert texts(cli, name) == ["before all", "one", "between", "two"]
    assert cli.ok("move", name, "last", "--first", "--json").json["number"] == 1
    assert texts(cli, name) == ["two", "before all", "one", "between"]
    cli.ok("move", name, "1", "--after", "3")
    assert texts(cli, name) == ["before all", "one", "two", "between"]
    assert cli("move", name, "1").code == 2
    assert cli("insert", name, "user", "x").code == 2
    assert cli("insert", name, "user", "x", "--after", "1", "--before", "1").code == 2


def test_thread_can_be_titled_tagged_and_forked(cli: Cli) -> None:
    """A fork leaves the original unchanged."""
    name = cli.conversation("one", "two", "three")
    assert cli.ok("rename", name, "新标题", "--json").json["title"] == "新标题"
    assert cli.ok("tag", name, "a", "#b", "--json").json["tags"] == ["a", "b"]
    assert cli.ok("untag", name, "a", "--json").json["tags"] == ["b"]
    fork = cli.ok("fork", name, "2", "--title", "elsewhere", "--json").json
    assert (fork["parent"], fork["messages"], fork["title"]) == (name, 2, "elsewhere")
    cli.ok("append", fork["id"], "user", "another way")
    assert texts(cli, fork["id"]) == ["one", "two", "another way"]
    assert texts(cli, name) == ["one", "two", "three"]
    assert "fork of" in cli.ok("show", fork["id"]).out
    assert cli.ok("fork", name, "--json").json["messages"] == 3


def test_diff_compares_two_events(cli: Cli) -> None:
    """What changed between them, message by message."""
    name = cli.conversation("one", "two", "three")
    before = str(cli.ok("threads", "--json").json[0]["events"])
    cli.ok("edit", name, "1", "uno")
    cli.ok("pin", name, "2")
    cli.ok("delete", name, "3")
    cli.ok("append", name, "user", "four")
    found = cli.ok("diff", name, "--from", before, "--json").json["differences"]
    assert {(d["kind"], d["before"], d["after"]) for d in found} == {
        ("changed", "one", "uno"),
        ("flagged", "-", "pinned"),
        ("removed", "three", None),
        ("added", None, "four"),
    }
    printed = cli.ok("diff", name, "--from", before, "--lang", "zh").out
    assert all(word in printed for word in ("修改", "标记", "删除", "新增", "-one", "+uno"))
    assert "No difference" in cli.ok("diff", name, "--from", before, "--to", before).out


def test_edit_keeps_tool_calls(stocked: Cli) -> None:
    """When the text of a reply is edited."""
    agent = stocked.ok("threads", "--kind", "agent", "--json").json[0]["id"]
    before = stocked.ok("show", agent, "--range", "2", "--json").json[0]
    after = stocked.ok("edit", agent, "2", "Let me see.", "--json").json
    assert after["text"] == "Let me see."
    assert [p for p in after["parts"] if p["t"] == "call"] == [p for p in before["parts"] if p["t"] == "call"]


def test_sync_applies_differences_of_another_program(cli: Cli, tmp_path: Path) -> None:
    """The list is compared, shown and applied; a second sync finds nothing to do."""
    name = cli.conversation("hello", "hi there", "how are you", "fine")
    theirs = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "hi there, friend"},
        {"role": "user", "content": "how are you"},
        {"role": "assistant", "content": "fine"},
        {"role": "user", "content": "再见"},
    ]
    file = tmp_path / "theirs.json"
    file.write_text(json.dumps(theirs), encoding="utf-8")
    planned = cli.ok("sync", name, file, "--dry-run", "--json").json
    assert planned["dry_run"]
    assert planned["counts"]["added"] == 1
    assert texts(cli, name)[-1] == "fine"
    assert "Would sync" in cli.ok("sync", name, file, "--dry-run").out
    done = cli.ok("sync", name, file)
    assert done.out.startswith("Synced:")
    assert texts(cli, name) == [m["content"] for m in theirs]
    assert "Already up to date" in cli.ok("sync", name, "-", text=json.dumps({"messages": theirs})).out
    by_line = "\n".join(json.dumps(m) for m in theirs[:-1])
    gone = cli.ok("sync", name, "-", "--complete", "--json", text=by_line).json
    assert gone["counts"].get("deleted") == 1


def test_sync_of_a_prompt_keeps_the_history(cli: Cli) -> None:
    """A sent prompt may lack the beginning and contain inserted blocks: neither changes the history."""
    name = cli.conversation("one", "two", "three", "four")
    prompt = [
        {"role": "system", "content": "You are a helpful assistant with a long system prompt."},
        {"role": "user", "content": "three"},
        {"role": "assistant", "content": "four"},
    ]
    done = cli.ok("sync", name, "-", "--mode", "prompt", "--json", text=json.dumps(prompt)).json
    assert not done["counts"]
    assert done["notes"]
    assert texts(cli, name) == ["one", "two", "three", "four"]


def test_forget_asks_erases_and_reports_what_it_cannot_reach(cli: Cli) -> None:
    """Erasure asks first, is complete, and says what it cannot reach."""
    name = cli.conversation("the secret is xyzzy", "noted", "bye")
    refused = cli("forget", name, "1")
    assert refused.code == 2
    assert "--yes" in refused.err
    done = cli.ok("forget", name, "1", "--yes")
    assert "Forgotten: 1 message" in done.out
    assert "backups" in done.out
    assert texts(cli, name) == ["noted", "bye"]
    assert cli.ok("search", "xyzzy", "--json").json["hits"] == []
    files = [p for p in cli.folder.iterdir() if p.name.startswith("store.db")]
    assert not any(b"xyzzy" in p.read_bytes() for p in files)
    assert cli.ok("verify").code == 0
    whole = cli.ok("forget", name, "--all", "--yes", "--keep-shared", "--json").json
    assert whole["messages"] >= 2
    assert "forgotten" in cli.ok("threads").out
    assert "was forgotten" in cli.ok("show", name).out


def test_forget_asks_at_a_terminal(cli: Cli) -> None:
    """The terminal shows what would be erased; Enter means no."""
    import pty

    name = cli.conversation("keep me or not")
    shown = b""
    pid, terminal = pty.fork()
    if pid == 0:  # the child is the command line
        os.execvpe(sys.executable, cli.command("forget", name, "1"), cli.environment)
    answered = False
    while True:
        try:
            data = os.read(terminal, 4096)
        except OSError:
            break
        if not data:
            break
        shown += data
        if b"[y/N]" in shown and not answered:
            os.write(terminal, b"\n")
            answered = True
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert b"keep me or not" in shown
    assert b"Nothing was erased" in shown
    assert texts(cli, name) == ["keep me or not"]
