"""Journeys around the program itself: help, errors, exit codes, settings, pipes, completion, the demonstration."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from backscroll.surfaces.cli.catalogue import MODULES
from tests.house import tree
from tests.journeys.conftest import Cli

LOADED = """
import sys
sys.argv = ["backscroll", *{arguments}]
from backscroll.surfaces.cli.main import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print()
print(" ".join(name for name in ("rich", "sqlite3", "psycopg", "click", "Stemmer") if name in sys.modules))
"""


def loaded_by(cli: Cli, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(arguments=list(arguments))],
        env=cli.environment,
        cwd=tree.ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("arguments", [["--help"], ["-h", "--lang", "zh"], ["--version"]])
def test_overview_commands_load_nothing_heavy(cli: Cli, arguments: list[str]) -> None:
    """Help for the whole program needs no database, no drawing library and no parser."""
    assert loaded_by(cli, *arguments) == set()


def test_command_help_opens_no_store(cli: Cli) -> None:
    """It loads that command only."""
    assert loaded_by(cli, "threads", "--help") == {"click"}


def test_list_output_needs_no_library(cli: Cli) -> None:
    """Tables are drawn by our own code; the library is for progress bars."""
    cli.ok("new", "x")
    assert "rich" not in loaded_by(cli, "threads")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_command_has_help(cli: Cli, language: str) -> None:
    """In both languages, within 80 columns."""
    whole = cli.ok("--help", "--lang", language, COLUMNS="80").out
    for name in MODULES:
        assert f"\n  {name} " in whole
    pages = [
        cli.ok(name, "--help", "--lang", language, COLUMNS="80").out
        for name in ("show", "import", "diff", "config")
    ]
    for page in (whole, *pages):
        assert ("用法" in page) is (language == "zh")
        assert all(len(line) <= 80 for line in page.splitlines())


def test_version_is_printed(cli: Cli) -> None:
    """The version, wherever it is asked for."""
    import backscroll

    assert (
        cli.ok("--version").out
        == cli.ok("--version", "--json").out
        == f"backscroll {backscroll.__version__}\n"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "kind"),
    [
        (["bogus"], 2, "usage"),
        (["show"], 2, "usage"),
        (["threads", "--bogus"], 2, "usage"),
        (["threads", "-n", "many"], 2, "usage"),
        (["threads", "-n", "-1"], 2, "usage"),
        (["show", "last", "--range", "9:1"], 2, "invalid_input"),
        (["show", "last", "--range", "1:2", "--recent", "1"], 2, "invalid_input"),
        (["show", "last", "--turns", "--deleted"], 2, "invalid_input"),
        (["show", "last", "--as-of", "noon"], 2, "invalid_input"),
        (["search", "x", "--since", "soon"], 2, "invalid_input"),
        (["search", "-n", "3", "--", "-only"], 2, "invalid_input"),
        (["append", "last", "nobody", "x"], 2, "usage"),
        (["append", "last", "user"], 2, "invalid_input"),
        (["new", "x", "--actor", "two\nlines"], 2, "invalid_input"),
        (["new", "x", "--lang", "klingon"], 2, "invalid_input"),
        (["diff", "last"], 2, "invalid_input"),
        (["diff", "last", "1"], 4, "not_found"),
        (["diff", "last", "--from", "0", "--to", "999"], 4, "not_found"),
        (["sync", "last", "missing.json"], 4, "not_found"),
        (["show", "ffffffff"], 4, "not_found"),
        (["show", "not-an-id"], 4, "not_found"),
        (["edit", "last", "99", "x"], 4, "not_found"),
        (["edit", "last", "1", "x", "--seen", "zz.1"], 4, "not_found"),
        (["undo", "last"], 4, "not_found"),
        (["redo", "last"], 4, "not_found"),
        (["restore", "last", "last"], 4, "not_found"),
        (["restore", "last", "1"], 2, "invalid_input"),
        (["config", "set", "colour", "red"], 2, "invalid_input"),
        (["config", "set", "patience", "long"], 2, "invalid_input"),
        (["config", "set", "language", "fr"], 2, "invalid_input"),
        (["config", "set", "language"], 2, "invalid_input"),
        (["completion", "powershell"], 2, "usage"),
        (["--store", "ftp://example.org/x", "threads"], 2, "invalid_input"),
    ],
)
def test_mistakes_are_reported_in_a_line_or_two(cli: Cli, arguments: list[str], code: int, kind: str) -> None:
    """In the user's language, with an exit code; never a traceback."""
    cli.conversation("only message")
    plain = cli(*arguments)
    assert plain.code == code, plain.err
    assert plain.err.startswith("error: ")
    assert "Traceback" not in plain.err
    as_json = (
        cli(*arguments[:1], "--json", *arguments[1:])
        if arguments[0] != "--store"
        else cli("--json", *arguments)
    )
    assert as_json.code == code
    assert as_json.error["kind"] == kind
    assert as_json.out == ""
    if "--lang" not in arguments:
        chinese = cli("--lang", "zh", *arguments)
        assert chinese.err.startswith("错误：")
        assert chinese.err != plain.err


def test_global_options_work_before_and_after_the_command(cli: Cli) -> None:
    """Global options may stand on either side of it."""
    cli.ok("new", "x")
    assert cli.ok("--json", "threads").out == cli.ok("threads", "--json").out
    elsewhere = str(cli.folder / "elsewhere.db")
    cli.ok("--store", elsewhere, "new", "there")
    assert cli.ok("threads", "--store", elsewhere, "--json").json[0]["title"] == "there"
    cli.ok("rename", "last", "y", "--actor", "user:ann")
    assert cli.ok("log", "last", "-n", "1", "--json").json[0]["actor"] == "user:ann"


def test_words_after_two_dashes_are_text(cli: Cli) -> None:
    """Even if they look like options."""
    name = cli.conversation("x")
    cli.ok("append", name, "user", "--", "--json")
    assert cli.ok("show", name, "--json").json[-1]["text"] == "--json"
    assert not cli("show", "ffff", "--", "--json").err.startswith("{")


def test_newer_schema_is_refused_untouched(cli: Cli) -> None:
    """The exit code says so."""
    cli.ok("new", "x")
    with sqlite3.connect(cli.store) as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    before = cli.store.read_bytes()
    done = cli("threads")
    assert done.code == 9
    assert "update" in done.err
    assert "请更新" in cli("threads", "--lang", "zh").err
    assert cli.store.read_bytes() == before


def test_other_file_is_refused_as_a_store(cli: Cli) -> None:
    """It is recognised and left alone."""
    cli.store.write_text("Dear diary, " * 1000)
    done = cli("threads", "--json")
    assert (done.code, done.error["kind"]) == (8, "store_corrupt")
    assert cli.store.read_text().startswith("Dear diary")
    assert cli("threads", "--store", str(cli.folder)).code == 7


def test_store_on_a_server(cli: Cli, database_url: str) -> None:
    """The same commands work on PostgreSQL; file copies are refused with a hint."""
    cli.environment["BACKSCROLL_STORE"] = database_url
    assert "import" in cli.ok().out
    name = cli.conversation("hello server", "你好，服务器", "the secret is xyzzy")
    cli.ok("edit", name, "1", "hello again")
    cli.ok("undo", name)
    assert cli.ok("show", name, "--json").json[0]["text"] == "hello server"
    assert cli.ok("search", "服务器", "--json").json["hits"][0]["number"] == 2
    cli.ok("forget", name, "3", "--yes")
    cli.ok("verify")
    cli.ok("stats")
    cli.ok("doctor")
    refused = cli("backup", "copy.db")
    assert (refused.code, "export" in refused.err) == (7, True)
    assert cli("restore-backup", "copy.db", "--yes").code == 2
    assert cli("threads", BACKSCROLL_STORE="postgresql://nobody@127.0.0.1:1/none").code == 7


def test_reading_creates_no_store(cli: Cli) -> None:
    """A mistyped path does not become an empty store."""
    for arguments in (
        ("show", "last"),
        ("search", "x"),
        ("verify",),
        ("stats",),
        ("export", "--all"),
        ("backup", "b.db"),
    ):
        done = cli(*arguments)
        assert done.code == 4
        assert "no store" in done.err
    assert cli.ok("doctor").code == 0
    assert cli("import", "no-such-file.json").code == 4
    assert not cli.store.exists()


def test_stats_and_doctor(stocked: Cli) -> None:
    """Store statistics and a diagnosis; in both languages and as JSON."""
    numbers = stocked.ok("stats", "--json").json
    assert (numbers["threads"], numbers["messages"]) == (2, 42)
    assert "live messages" in stocked.ok("stats").out
    assert "现有消息" in stocked.ok("stats", "--lang", "zh").out
    checks = stocked.ok("doctor", "--json").json
    assert {"python", "store", "full text"} <= {c["name"] for c in checks}
    assert "全文搜索" in stocked.ok("doctor", "--lang", "zh").out


def test_settings_can_be_set_shown_and_unset(cli: Cli) -> None:
    """With their source; comments in the file stay."""
    path = Path(cli.ok("config", "path").out.strip())
    assert path.is_relative_to(cli.folder)
    path.parent.mkdir(parents=True)
    path.write_text("# my settings\npatience = 5\n", encoding="utf-8")
    cli.ok("config", "set", "actor", 'Ann "A." 安\\')
    shown = cli.ok("config", "--json").json["settings"]
    assert shown["actor"] == {"value": 'Ann "A." 安\\', "source": "file"}
    assert shown["patience"] == {"value": 5.0, "source": "file"}
    assert shown["store"]["source"] == "environment"
    assert cli.ok("config", "--json", "--actor", "x").json["settings"]["actor"]["source"] == "argument"
    assert "# my settings" in path.read_text(encoding="utf-8")
    cli.ok("config", "unset", "actor")
    assert cli.ok("config", "--json").json["settings"]["actor"]["source"] == "default"
    assert "默认" in cli.ok("config", "--lang", "zh").out
    path.write_text("colour = 'red'\n", encoding="utf-8")
    broken = cli("threads")
    assert broken.code == 2
    assert str(path) in broken.err
    assert "Usage" in cli.ok("--help").out


def test_closed_output_pipe_is_no_error(stocked: Cli) -> None:
    """As with `head`."""
    for arguments in (
        ("show", "last", "--full"),
        ("show", "last", "--json"),
        ("log", "last", "-n", "0"),
        ("show", "--help"),
        ("--help",),
    ):
        running = subprocess.Popen(
            stocked.command(*arguments),
            env=stocked.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == b""
        running.stderr.close()
        assert running.wait(timeout=60) in {0, 141}


def test_internal_errors_are_reported_as_bugs(cli: Cli) -> None:
    """In one line; BACKSCROLL_DEBUG=1 shows the rest."""
    cli.ok("new", "x")
    trap = cli.folder / "trap"
    trap.mkdir()
    (trap / "sitecustomize.py").write_text(
        "import backscroll.engine.engine as e\n"
        "def broken(self, **_): raise ZeroDivisionError('planted')\n"
        "e.Engine.threads = broken\n"
    )
    paths = f"{trap}{os.pathsep}{tree.ROOT}"
    done = cli("threads", PYTHONPATH=paths)
    assert done.code == 1
    assert "ZeroDivisionError: planted" in done.err
    assert "BACKSCROLL_DEBUG" in done.err
    assert "Traceback" not in done.err
    assert "Traceback" in cli("threads", PYTHONPATH=paths, BACKSCROLL_DEBUG="1").err
    assert cli("threads", "--json", PYTHONPATH=paths).error["kind"] == "fault"


def test_narrow_encodings_do_not_crash(stocked: Cli) -> None:
    """Characters that the terminal cannot encode are escaped; JSON is always UTF-8."""
    roleplay = stocked.ok("threads", "--kind", "roleplay", "--json").json[0]["id"]
    plain = stocked.ok("show", roleplay, "--range", "1:1", PYTHONIOENCODING="ascii")
    assert "\\u" in plain.out
    exact = stocked.ok("show", roleplay, "--range", "1:1", "--json", PYTHONIOENCODING="ascii")
    assert "夜猫书店" in exact.json[0]["text"]
    exported = stocked.ok("export", roleplay, "--format", "markdown", PYTHONIOENCODING="ascii")
    assert "夜猫书店" in exported.out
    assert "\\u" in stocked.ok("--help", "--lang", "zh", PYTHONIOENCODING="ascii").out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(cli: Cli, shell: str) -> None:
    """The script of each shell calls the program back."""
    assert "_BACKSCROLL_COMPLETE" in cli.ok("completion", shell).out


def test_completion_offers_commands_and_threads(stocked: Cli) -> None:
    """Also options; without a store it offers nothing, quietly."""
    asked = {"_BACKSCROLL_COMPLETE": "bash_complete", "COMP_CWORD": "1"}
    assert "plain,threads" in stocked(COMP_WORDS="backscroll thr", **asked).out
    asked["COMP_CWORD"] = "2"
    ids = [i["id"][:8] for i in stocked.ok("threads", "--json").json]
    offered = stocked(COMP_WORDS="backscroll show ", **asked).out
    assert all(f"plain,{name}" in offered for name in (*ids, "last"))
    none = stocked(COMP_WORDS="backscroll show ", BACKSCROLL_STORE=str(stocked.folder / "none.db"), **asked)
    assert none.err == ""


@pytest.mark.parametrize("language", ["en", "zh"])
def test_demo_works_offline(cli: Cli, language: str) -> None:
    """Without network, key and terminal, in both languages, leaving nothing behind."""
    place = cli.folder / "tmp"
    place.mkdir()
    done = cli.ok("demo", "--lang", language, TMPDIR=str(place), COLUMNS="80")
    assert list(place.iterdir()) == []
    assert not cli.store.exists()
    for command in (
        "import",
        "threads",
        "show",
        "search",
        "edit",
        "revisions",
        "choose",
        "undo",
        "graph show",
        "graph why",
        "graph world",
        "log",
        "verify",
    ):
        assert f"$ backscroll {command}" in done.out
    moved = done.out.partition("$ backscroll graph history")[2]
    assert ("白石镇" if language == "zh" else "Dunmere") in moved.partition("$ ")[0], (
        "the graph follows the edit"
    )
    assert "[柿子树]" in done.out
    assert "[midnight]" in done.out
    assert ("一切完好" if language == "zh" else "No damage found") in done.out


def test_demo_keep_leaves_a_store(cli: Cli) -> None:
    """`--keep` leaves a store that can be explored."""
    kept = cli.ok("demo", "--keep", "--json", TMPDIR=str(cli.folder)).json
    assert len(kept["threads"]) == 3
    assert cli.ok("verify", "--store", kept["store"]).code == 0
    told = cli.ok("demo", "--keep", TMPDIR=str(cli.folder)).out
    assert "BACKSCROLL_STORE=" in told


def test_colours_only_at_a_terminal(stocked: Cli) -> None:
    """Not in a pipe, and not with NO_COLOR."""
    assert "\x1b" not in stocked.ok("threads").out
    coloured = at_a_terminal(stocked, "threads")
    assert "\x1b[" in coloured
    assert "\x1b[" not in at_a_terminal(stocked, "threads", NO_COLOR="1")


def at_a_terminal(cli: Cli, *arguments: str, **environment: str) -> str:
    """The same as a person at an 80-column terminal sees it."""
    import pty

    parent, child = pty.openpty()
    environment = {**cli.environment, "COLUMNS": "80", "TERM": "xterm", "PAGER": "cat", **environment}
    done = subprocess.run(
        cli.command(*arguments),
        env=environment,
        stdin=child,
        stdout=child,
        stderr=child,
        check=False,
        timeout=60,
    )
    os.close(child)
    out = b""
    while True:
        try:
            data = os.read(parent, 65536)
        except OSError:
            break
        if not data:
            break
        out += data
    os.close(parent)
    assert done.returncode == 0, out
    return out.decode()


def test_output_fits_80_columns(stocked: Cli) -> None:
    """Chinese included."""
    from backscroll.surfaces.screen.cells import width

    for arguments in (
        ("threads",),
        ("show", "last", "--range", "1:6"),
        ("search", "柿子"),
        ("log", "last"),
        ("config",),
    ):
        for language in ("en", "zh"):
            shown = at_a_terminal(stocked, *arguments, "--lang", language, NO_COLOR="1")
            wide = [line for line in shown.splitlines() if width(line) > 80 and "store" not in line]
            assert [line for line in wide if "/" not in line] == [], arguments
