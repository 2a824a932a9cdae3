"""Journeys of import and export, and of invalid files."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests import programs
from tests.house import tree
from tests.journeys.conftest import SAMPLES, Cli

AGENT = SAMPLES / "coding-agent.jsonl"
ROLEPLAY = SAMPLES / "roleplay-zh.jsonl"
REAL = tree.ROOT.parent / "shared" / "data" / "transcripts"


def test_import_reports_what_was_imported(cli: Cli) -> None:
    """A table for people, reports for programs, and nothing twice."""
    first = cli.ok("import", AGENT, ROLEPLAY)
    assert "claude-code" in first.out
    assert "28 new" in first.out
    again = cli.ok("import", AGENT, "--json").json["reports"][0]
    assert (again["new"], again["counts"]) == (False, {"unchanged": 28})
    assert len(cli.ok("threads", "--json").json) == 2


def test_dry_run_changes_nothing(cli: Cli) -> None:
    """It counts what would be imported."""
    planned = cli.ok("import", ROLEPLAY, "--dry-run", "--json").json
    assert planned["dry_run"]
    assert planned["reports"][0]["counts"]["added"] == 14
    assert "nothing was imported" in cli.ok("import", ROLEPLAY, "--dry-run").out
    assert not cli.store.exists()
    cli.ok("new", "x")
    cli.ok("import", ROLEPLAY, "--dry-run")
    assert len(cli.ok("threads", "--json").json) == 1


def test_import_of_a_grown_file_adds_new_messages(cli: Cli, tmp_path: Path) -> None:
    """Changes made here stay."""
    file = tmp_path / "chat.jsonl"
    lines = ROLEPLAY.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(lines[:8]), encoding="utf-8")
    name = cli.ok("import", file, "--project", "书店", "--json").json["reports"][0]["thread"]
    assert cli.ok("threads", "--json").json[0]["project"] == "书店"
    cli.ok("edit", name, "2", "changed here")
    file.write_text("".join(lines), encoding="utf-8")
    report = cli.ok("import", file, "--json").json["reports"][0]
    assert (report["thread"], report["counts"]["added"]) == (name, 7)
    assert cli.ok("show", name, "--json").json[1]["text"] == "changed here"


def test_import_finds_conversations_in_folders(cli: Cli, tmp_path: Path) -> None:
    """Other files are named and left alone."""
    inside = tmp_path / "chats" / "deep"
    inside.mkdir(parents=True)
    shutil.copy(AGENT, inside)
    shutil.copy(ROLEPLAY, inside.parent)
    (inside / "notes.txt").write_text("shopping list")
    done = cli.ok("import", tmp_path / "chats", "--json").json
    assert sorted(r["format"] for r in done["reports"]) == ["claude-code", "sillytavern"]
    assert [Path(p).name for p in done["skipped"]] == ["notes.txt"]
    empty = tmp_path / "empty"
    empty.mkdir()
    assert cli("import", empty).code == 3


def test_damaged_lines_are_named_and_the_rest_is_imported(cli: Cli, tmp_path: Path) -> None:
    """A truncated line costs that line, with its number, in the user's language."""
    lines = ROLEPLAY.read_text(encoding="utf-8").splitlines()
    lines[4] = lines[4][: len(lines[4]) // 2]
    file = tmp_path / "damaged.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = cli.ok("import", file)
    assert "damaged.jsonl:5" in done.err
    assert "13 new" in done.out
    problems = cli.ok("import", file, "--json", "--store", str(tmp_path / "other.db")).json["reports"][0][
        "problems"
    ]
    assert [p["line"] for p in problems] == [5]


def test_secrets_are_reported_masked(cli: Cli, tmp_path: Path) -> None:
    """Only the first letters of a key are shown."""
    key = "sk-ant-api03-" + "Ab3xK9" * 10
    message = {"role": "user", "content": f"my key is {key}"}
    file = tmp_path / "chat.json"
    file.write_text(json.dumps([message, {"role": "assistant", "content": "ok"}]))
    done = cli.ok("import", file)
    assert "possible secret" in done.err
    assert "anthropic-key" in done.err
    assert key not in done.out + done.err
    assert key not in cli.ok("import", file, "--again", "--json", "--store", str(tmp_path / "b.db")).out


BAD: dict[str, tuple[bytes, int]] = {
    "truncated.json": (b'[{"role": "user", "conten', 3),
    "wrong.json": (b'{"recipe": "pancakes", "eggs": 3}', 3),
    "binary.jsonl": (bytes(range(256)) * 40, 3),
    "empty.jsonl": (b"", 3),
    "prose.md": (b"# A cookbook\n\nPancakes need eggs.\n", 3),
}


@pytest.mark.parametrize("name", BAD)
def test_files_without_a_conversation_are_refused(cli: Cli, tmp_path: Path, name: str) -> None:
    """Truncated, wrong, binary and empty files are recognised, with a hint and without a traceback."""
    data, code = BAD[name]
    file = tmp_path / name
    file.write_bytes(data)
    done = cli("import", file, "--lang", "en")
    assert done.code == code, done.err
    assert "Traceback" not in done.err
    assert name in done.err
    chinese = cli("import", file, "--lang", "zh")
    assert "错误：" in chinese.err
    failed = json.loads(cli("import", file, "--json").out)["failed"]
    assert failed[0]["error"]["kind"] == "format_error"
    assert failed[0]["error"]["hint"]


def test_bad_file_does_not_stop_the_others(cli: Cli, tmp_path: Path) -> None:
    """Good files are imported; the exit code is that of the first bad one."""
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    done = cli("import", bad, ROLEPLAY, tmp_path / "missing.jsonl")
    assert done.code == 3
    assert "14 new" in done.out
    assert "missing.jsonl" in done.err


def test_format_can_be_named(cli: Cli) -> None:
    """An unknown name lists the known ones."""
    assert (
        cli.ok("import", ROLEPLAY, "--format", "SillyTavern", "--json").json["reports"][0]["format"]
        == "sillytavern"
    )
    unknown = cli("import", ROLEPLAY, "--format", "pigeon")
    assert unknown.code == 3
    assert "sillytavern" in unknown.err


def test_import_without_a_path_is_refused_with_a_hint(cli: Cli) -> None:
    """Without a path the hint says what to give."""
    done = cli("import")
    assert done.code == 2
    assert "--discover" in done.err


def test_discovery_lists_and_imports_histories(cli: Cli) -> None:
    """Those in the user's folders, after confirmation."""
    project = cli.folder / "home" / ".claude" / "projects" / "tides"
    project.mkdir(parents=True)
    shutil.copy(AGENT, project)
    listed = cli.ok("import", "--discover")
    assert "claude-code" in listed.out
    assert "--yes" in listed.out
    assert cli.ok("import", "--discover", "--json").json[0]["format"] == "claude-code"
    assert not cli.store.exists()
    assert "28 new" in cli.ok("import", "--discover", "--yes").out
    assert "No histories" in cli.ok("import", "--discover", "--format", "cline").out


def test_watch_imports_a_growing_file(cli: Cli, tmp_path: Path) -> None:
    """Ctrl-C ends it cleanly."""
    file = tmp_path / "chat.jsonl"
    lines = ROLEPLAY.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(lines[:5]), encoding="utf-8")
    watching = programs.start(
        cli.command("import", "--watch", file, "--jsonl"),
        env=cli.environment,
        cwd=cli.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert watching.stdout is not None
        first = json.loads(watching.stdout.readline())
        assert first["counts"]["added"] == 4
        file.write_text("".join(lines), encoding="utf-8")
        second = json.loads(watching.stdout.readline())
        assert second["counts"]["added"] == 10
    finally:
        watching.send_signal(signal.SIGINT)
        _, error = watching.communicate(timeout=60)
    assert watching.returncode == 0, error
    assert cli.ok("show", first["thread"], "--json").json[-1]["number"] == 14


def test_watch_refuses_a_missing_path(cli: Cli) -> None:
    """At once, without waiting for it."""
    assert cli("import", "--watch", "no-such-file.jsonl").code == 4


def test_export_to_standard_output(stocked: Cli) -> None:
    """The output can be imported again; remarks go to standard error."""
    roleplay = stocked.ok("threads", "--kind", "roleplay", "--json").json[0]["id"]
    out = stocked.ok("export", roleplay, "--format", "sillytavern").out
    ours = [json.loads(line) for line in out.splitlines()]
    assert ours == [json.loads(line) for line in ROLEPLAY.read_text(encoding="utf-8").splitlines()]
    markdown = stocked.ok("export", roleplay, "--format", "markdown").out
    assert "柿子树" in markdown


def test_export_lists_what_the_format_cannot_hold(stocked: Cli, tmp_path: Path) -> None:
    """What a format has no place for is listed."""
    roleplay = stocked.ok("threads", "--kind", "roleplay", "--json").json[0]["id"]
    target = tmp_path / "out.json"
    done = stocked.ok("export", roleplay, "--format", "openai", "-o", target)
    assert str(target) in done.out
    assert "cannot represent" in done.err
    assert json.loads(target.read_text(encoding="utf-8"))
    report = stocked.ok("export", roleplay, "--format", "openai", "--json").json
    assert report["problems"]
    assert report["text"]


def test_native_export_round_trips(stocked: Cli, tmp_path: Path) -> None:
    """Another store made from it has the same content."""
    roleplay = stocked.ok("threads", "--kind", "roleplay", "--json").json[0]["id"]
    stocked.ok("edit", roleplay, "2", "edited before the move")
    file = tmp_path / "everything.jsonl"
    stocked.ok("export", "--all", "-o", file)
    other = str(tmp_path / "other.db")
    stocked.ok("import", file, "--store", other)
    assert (
        stocked.ok("show", roleplay, "--json", "--store", other).out
        == stocked.ok("show", roleplay, "--json").out
    )
    assert stocked.ok("log", roleplay, "-n", "0", "--json", "--store", other).out == (
        stocked.ok("log", roleplay, "-n", "0", "--json").out
    )
    stocked.ok("verify", "--store", other)


def test_export_into_a_folder_writes_one_file_per_thread(stocked: Cli, tmp_path: Path) -> None:
    """Several threads become several files."""
    folder = tmp_path / "exported"
    stocked.ok("export", "--all", "--format", "markdown", "-o", f"{folder}/")
    assert len(list(folder.iterdir())) == 2
    crowded = stocked("export", "--all", "--format", "markdown", "-o", tmp_path / "one.md")
    assert crowded.code == 2


def test_export_requires_one_selection(stocked: Cli) -> None:
    """Neither nothing nor two things at once."""
    assert stocked("export").code == 2
    assert stocked("export", "last", "--all").code == 2
    assert stocked("export", "last", "--format", "pigeon").code == 3
    assert stocked("export", "last", "--format", "chatgpt").code == 3
    listed = stocked.ok("export", "--list-formats", "--json").json
    assert {"name": "markdown", "label": "Markdown page", "reads": False, "writes": True} in listed
    assert "claude-code" in stocked.ok("export", "--list-formats").out


def test_backup_and_restore(stocked: Cli, tmp_path: Path) -> None:
    """A backup is never overwritten; restoring one keeps what was there."""
    file = tmp_path / "backups" / "monday.db"
    assert stocked.ok("backup", file, "--json").json["bytes"] > 0
    assert stocked("backup", file).code == 5
    stocked.ok("new", "made after the backup")
    refused = stocked("restore-backup", file)
    assert refused.code == 2
    assert "--yes" in refused.err
    restored = stocked.ok("restore-backup", file, "--yes", "--json").json
    assert Path(restored["kept"]).exists()
    assert len(stocked.ok("threads", "--json").json) == 2
    assert len(stocked.ok("threads", "--json", "--store", restored["kept"]).json) == 3
    assert stocked("restore-backup", tmp_path / "missing.db", "--yes").code == 4
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"not a store at all" * 100)
    assert stocked("restore-backup", broken, "--yes").code == 8
    assert len(stocked.ok("threads", "--json").json) == 2


def test_restore_into_a_missing_store(stocked: Cli, tmp_path: Path) -> None:
    """The backup becomes the store, without asking."""
    file = tmp_path / "copy.db"
    stocked.ok("backup", file)
    fresh = str(tmp_path / "fresh.db")
    assert stocked.ok("restore-backup", file, "--store", fresh, "--json").json["kept"] is None
    assert len(stocked.ok("threads", "--json", "--store", fresh).json) == 2


def test_verify_finds_a_changed_byte(stocked: Cli) -> None:
    """It reports exactly where the store was tampered with."""
    stocked.ok("verify")
    with sqlite3.connect(stocked.store) as connection:
        row = connection.execute(
            "SELECT rowid, body FROM events WHERE body IS NOT NULL ORDER BY rowid LIMIT 1"
        ).fetchone()
        connection.execute(
            "UPDATE events SET body = ? WHERE rowid = ?", (row[1].replace(b'"', b"'", 1), row[0])
        )
    connection.close()
    done = stocked("verify")
    assert done.code == 8
    assert "problems found" in done.out
    found = json.loads(stocked("verify", "--json").out)
    assert not found["ok"]
    assert all(flaw["what"] for flaw in found["flaws"])
    assert stocked("verify", "--lang", "zh").out.count("正文") >= 1


@pytest.mark.skipif(not REAL.exists(), reason="the transcripts of other tools are not beside the repository")
def test_import_of_real_files_of_other_tools(cli: Cli) -> None:
    """A folder of real transcripts is imported twice and verifies."""
    first = cli.ok("import", REAL / "claude-code", "--json").json
    assert len(first["reports"]) >= 8
    assert not first["failed"]
    second = cli.ok("import", REAL / "claude-code", "--json").json
    assert not any(report["counts"].get("added") for report in second["reports"])
    cli.ok("verify")


def test_interrupt_ends_a_command_with_130(cli: Cli) -> None:
    """Without a traceback."""
    running = programs.start(
        cli.command("check", "-"),
        env=cli.environment,
        cwd=cli.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert running.stdin is not None
    running.stdin.write(b" " * 1_000_000)  # more than a pipe holds: returns once the command reads
    running.stdin.flush()
    running.send_signal(signal.SIGINT)
    _, error = running.communicate(timeout=60)
    assert running.returncode == 130
    assert b"Interrupted" in error
    assert b"Traceback" not in error
