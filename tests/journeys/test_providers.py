"""Journeys with providers: adding, testing, selecting and removing them, and keys in the keyring."""

from __future__ import annotations

import os
import pty
import select
import subprocess
from pathlib import Path

import pytest

from backscroll.testing import Line, Scenario, ScriptedServer
from tests.journeys.conftest import Cli

KEY = "sk-planted-journey-2"


@pytest.fixture
def file(cli: Cli) -> Path:
    path = cli.folder / "config.toml"
    cli.environment["BACKSCROLL_CONFIG"] = str(path)
    return path


@pytest.fixture
def keyring(cli: Cli) -> Path:
    pytest.importorskip("keyring")
    path = cli.folder / "keyring.json"
    cli.environment |= {
        "PYTHON_KEYRING_BACKEND": "tests.journeys.file_keyring.Keyring",
        "TEST_KEYRING": str(path),
        "XDG_DATA_HOME": str(cli.folder / "data"),
    }
    return path


def test_provider_from_setup_to_an_answer(cli: Cli, file: Path, keyring: Path) -> None:
    """Added by flags, key from a pipe, tested, selected, removed; the key is only in the keyring."""
    file.write_text("# mine\n", encoding="utf-8")
    with ScriptedServer(Scenario((Line(text="ready"),), key=KEY)) as server:
        assert "No model service" in cli.ok("config", "provider").out
        added = cli.ok(
            *(
                "config",
                "provider",
                "add",
                "work",
                "--base-url",
                server.url,
                "--model",
                "m",
                "--key-env",
                "WORK_KEY",
            )
        )
        assert "backscroll config key set work" in added.err
        missing = cli("config", "provider", "test", "work")
        assert (missing.code, "WORK_KEY" in missing.err) == (12, True)
        assert KEY not in cli.ok("config", "key", "set", "work", text=f"{KEY}\n").out
        assert cli.ok("config", "key", "--json").json == {"keys": ["work"]}
        assert "from the keyring" in cli.ok("config", "provider", "show", "work").out
        tried = cli.ok("config", "provider", "test", "work", "--json").json
        assert (tried["text"], tried["model"], tried["output"] > 0) == ("ready", "m", True)
        assert cli.ok("config", "provider", "test", "--json").json["text"] == "ready"  # the one that is asked
        wrong = cli("config", "provider", "test", "work", WORK_KEY="sk-wrong-0000")
        assert (wrong.code, "sk-wrong" in wrong.err) == (12, False)
    for path in cli.folder.rglob("*"):
        assert path == keyring or path.is_dir() or KEY.encode() not in path.read_bytes()
    assert "still in the keyring" in cli.ok("config", "provider", "remove", "work").err
    assert file.read_text(encoding="utf-8").startswith("# mine\n")
    assert cli.ok("config", "key", "remove", "work", "--json").json["removed"] is True
    assert KEY not in keyring.read_text(encoding="utf-8")


def test_presets_can_be_added(cli: Cli, file: Path) -> None:
    """By name, or as a template under another name; the first is the default until another is selected."""
    cli.ok("config", "provider", "add", "deepseek")
    more = cli.ok("config", "provider", "add", "office", "--preset", "qwen", "--model", "qwen-max")
    assert "config provider use office" in more.err
    assert [p["asked"] for p in cli.ok("config", "provider", "--json").json["providers"]] == [True, False]
    cli.ok("config", "provider", "use", "office")
    listed = cli.ok("config", "provider", "list", "--json").json
    assert [(p["name"], p["model"], p["asked"]) for p in listed["providers"]] == [
        ("deepseek", "deepseek-chat", False),
        ("office", "qwen-max", True),
    ]
    assert "llama.cpp" in listed["presets"]
    cli.ok("config", "provider", "remove", "office")
    assert cli("config", "provider").code == 0
    assert file.stat().st_mode & 0o077 == 0


def test_provider_mistakes_are_refused(cli: Cli, file: Path) -> None:
    """With what would be right; nothing is written."""
    for wrong, code in (
        (("provider", "add"), 2),
        (("provider", "add", "x"), 2),
        (("provider", "add", "x", "--preset", "y"), 4),
        (("provider", "add", "x", "--model", "m", "--kind", "telegraph"), 2),
        (("provider", "add", "ollama"), 2),
        (("provider", "use", "x"), 4),
        (("provider", "remove", "x"), 4),
        (("provider", "test", "x"), 4),
        (("provider", "dance", "x"), 2),
        (("set", "language", "zh", "--model", "m"), 2),
        (("key", "set"), 2),
        (("key", "show", "x"), 2),
    ):
        done = cli("config", *wrong)
        assert done.code == code, (wrong, done)
        assert "Traceback" not in done.err
    assert not file.exists()


def test_missing_keyring_is_reported(cli: Cli, file: Path) -> None:
    """At once, in both languages, with the alternative; the key is not repeated."""
    pytest.importorskip("keyring")
    nothing = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    refused = cli("config", "key", "set", "work", text=f"{KEY}\n", **nothing)
    assert refused.code == 7
    assert "key_env" in refused.err
    assert KEY not in refused.err + refused.out
    assert "钥匙串" in cli("--lang", "zh", "config", "key", "set", "work", text=f"{KEY}\n", **nothing).err
    assert not file.exists()


def test_provider_setup_asks_at_a_terminal(cli: Cli, file: Path, keyring: Path) -> None:
    """Without flags; Enter takes the default in brackets; a key is not echoed."""
    asked = talk(cli, ["config", "provider", "add", "deepseek"], "\n\nMY_KEY\n")
    assert "[https://api.deepseek.com/v1]" in asked
    text = file.read_text(encoding="utf-8")
    assert 'model = "deepseek-chat"' in text
    assert 'key_env = "MY_KEY"' in text
    again = talk(
        cli,
        ["config", "provider", "add"],
        "\nhome\nhttp://wrong\nopenai\nnowhere\nhttp://127.0.0.1:1/v1\nany\n\n",
    )
    assert "addresses begin with" in again  # what cannot be is asked for again at once
    assert 'base_url = "http://127.0.0.1:1/v1"' in file.read_text(encoding="utf-8")
    shown = talk(cli, ["config", "key", "set", "deepseek"], f"{KEY}\n")
    assert KEY not in shown
    assert KEY in keyring.read_text(encoding="utf-8")


def talk(cli: Cli, words: list[str], typed: str) -> str:
    """Run a command in a terminal, answer its questions, give what it showed."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        cli.command(*words),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=cli.environment,
        cwd=cli.folder,
        start_new_session=True,
    ) as program:
        os.close(slave)
        shown, left = "", typed.splitlines(keepends=True)
        while select.select([master], [], [], 60)[0]:
            try:
                piece = os.read(master, 4096)
            except OSError:  # the other side is gone
                break
            if not piece:
                break
            shown += piece.decode("utf-8", "replace")
            if left and shown.rstrip(" ").endswith((":", "：")):
                os.write(master, left.pop(0).encode())
        assert program.wait(60) == 0, shown
    os.close(master)
    return shown
