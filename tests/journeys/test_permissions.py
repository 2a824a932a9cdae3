"""Journeys with `permissions`: what the agent may do without approval."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journeys.conftest import Cli


def test_rules_are_listed_added_and_removed(cli: Cli) -> None:
    """Everywhere and for a folder; the file agrees and can be edited manually."""
    assert "No rules" in cli.ok("permissions").out
    cli.ok("permissions", "allow", "run_command(git status *)")
    cli.ok("permissions", "deny", "write_file(密钥/**)", "--project", ".")
    cli.ok("permissions", "ask", "read_file", "--project", "/elsewhere")
    listed = cli.ok("permissions", "--json").json
    assert [(r["rule"], r["verdict"], r["where"]) for r in listed["rules"]] == [
        ("run_command(git status *)", "allow", "always"),
        ("write_file(密钥/**)", "deny", str(cli.folder)),
    ]
    assert len(cli.ok("permissions", "list", "--all", "--json").json["rules"]) == 3
    assert "write_file(密钥/**)" in Path(listed["file"]).read_text(encoding="utf-8")
    cli.ok("permissions", "remove", "run_command(git status *)")
    assert "git status" not in cli.ok("permissions").out


def test_subfolder_inherits_the_rules_of_its_parent(cli: Cli) -> None:
    (cli.folder / "sub").mkdir()
    cli.ok("permissions", "allow", "recall", "--project", ".")
    assert len(cli.ok("permissions", "list", "--project", "sub", "--json").json["rules"]) == 1
    assert cli.ok("permissions", "list", "--project", "/", "--json").json["rules"] == []


def test_permissions_speak_chinese(cli: Cli) -> None:
    assert "允许" in cli.ok("--lang", "zh", "permissions", "allow", "run_command(ls *)").out
    shown = cli.ok("--lang", "zh", "permissions").out
    assert "规则" in shown
    assert "处处" in shown


@pytest.mark.parametrize(("language", "mark"), [("en", "allow (broad)"), ("zh", "允许（过宽）")])
def test_broad_rules_of_the_previous_version_are_marked(cli: Cli, language: str, mark: str) -> None:
    """They still load; the user sees what they cover."""
    file = Path(cli.ok("permissions", "--json").json["file"])
    file.parent.mkdir(parents=True)
    kept = (
        "run_command(cat *)",
        "run_command(cd *)",
        "run_command(terraform *)",
        "run_command(git status *)",
    )
    file.write_text("[always]\n" + "".join(f'"{rule}" = "allow"\n' for rule in kept), encoding="utf-8")
    assert [r["broad"] for r in cli.ok("permissions", "--json").json["rules"]] == [True, True, True, False]
    assert cli.ok("--lang", language, "permissions").out.count(mark) == 3


def test_adding_an_existing_rule_is_reported(cli: Cli) -> None:
    cli.ok("permissions", "allow", "recall")
    assert "already" in cli.ok("permissions", "allow", "recall").out
    assert cli.ok("permissions", "deny", "recall", "--json").json["added"] is True


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("allow",), 2),
        (("list", "x"), 2),
        (("allow", "git *"), 2),
        (("remove", "recall"), 4),
        (("allow", "recall", "--all"), 2),
        (("perhaps", "recall"), 2),
    ],
)
def test_invalid_usage_is_refused(cli: Cli, arguments: tuple[str, ...], code: int) -> None:
    done = cli("permissions", *arguments)
    assert done.code == code
    assert "Traceback" not in done.err
    assert done.err.strip()


def test_broken_file_is_named_with_its_line(cli: Cli) -> None:
    file = Path(cli.ok("permissions", "--json").json["file"])
    file.parent.mkdir(parents=True)
    file.write_text('[always]\n"recall" = "sure"\n', encoding="utf-8")
    done = cli("permissions")
    assert done.code == 2
    assert "line 2" in done.err
    assert "第 2 行" in cli("--lang", "zh", "permissions").err
    assert cli("permissions", "allow", "expand").code == 2
    assert "expand" not in file.read_text(encoding="utf-8")
