"""Approval in a real terminal: what one key covers, what it never covers, what is never asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.terminal.journeys.stage import BUSY, READY, Stage, call, command
from tests.terminal.terminal import ENTER, ESCAPE

SECRET = "hunter2-and-more"
#: What the question says, by language.
WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "allow": "y allow",
        "covers": "s and a allow: ",
        "session": "allowed for this session: ",
        "wider": "w wider",
        "title": "Allow more than this?",
        "through": "would allow without approval",
        "still": "Approval is still required for protected files",
        "once": "y allow once",
        "protected": ".env is protected: it holds keys or passwords. Approval is required every time.",
        "no": "Why not?",
        "broad": "allow (broad)",
        "span": "2. for this session",
    },
    "zh": {
        "allow": "y 允许",
        "covers": "s 和 a 涵盖：",
        "session": "已允许（本次会话内）：",
        "wider": "w 放宽",
        "title": "要允许得更多吗？",
        "through": "会不经询问地放行",
        "still": "仍会询问：受保护的文件",
        "once": "y 只允许这一次",
        "protected": ".env 受保护：含有密钥或密码。每次都会询问。",
        "no": "为什么不",
        "broad": "允许（过宽）",
        "span": "2. 本次会话内",
    },
}
languages = pytest.mark.parametrize("language", ["en", "zh"])


def project(stage: Stage) -> Path:
    """A project with two folders that have a Makefile, and a secret."""
    for name in ("web", "elsewhere"):
        (stage.folder / name).mkdir()
        recipe = f"test:\n\t@touch ran && echo tested-{name}\n"
        (stage.folder / name / "Makefile").write_text(recipe, encoding="utf-8")
    (stage.folder / ".env").write_text(f"TOKEN={SECRET}\n", encoding="utf-8")
    (stage.folder / "README.md").write_text("# Tides\n", encoding="utf-8")
    return stage.folder


def results(stage: Stage, number: int) -> list[str]:
    """What the tools answered, as the model read it in one request."""
    return [str(m["content"]) for m in stage.asked()[number]["body"]["messages"] if m["role"] == "tool"]


def lines(*commands: str) -> list[dict[str, Any]]:
    """A model that wants these commands run one after the other, and then says so."""
    return [*({"calls": [command(line)]} for line in commands), {"text": "That was all."}]


@languages
def test_rule_for_one_folder_does_not_apply_to_another(stage: Stage, language: str) -> None:
    """`s` on `cd web && make test` covers that command in any form; not the other folder, and not `cd`."""
    words, folder = WORDS[language], project(stage)
    stage.plays(
        *lines("cd web && make test", "bash -lc 'cd ./web && make test'", "cd elsewhere && make test")
    )
    terminal = stage.ready("--lang", language)
    terminal.enter("go")
    terminal.wait_for("$ cd web && make test", words["allow"], f"{words['covers']}in web: make test")
    terminal.type("s")
    terminal.wait_for(
        "$ cd elsewhere && make test", words["allow"], f"{words['covers']}in elsewhere: make test"
    )
    assert f"{words['session']}in web: make test" in terminal.everything()
    assert (folder / "web" / "ran").exists()
    assert not (folder / "elsewhere" / "ran").exists()
    assert sum("tested-web" in text for text in results(stage, 2)) == 2
    terminal.type("n")
    terminal.wait_for(words["no"])
    terminal.type(ENTER)
    terminal.wait_for("That was all.", READY, gone=BUSY)
    assert not (folder / "elsewhere" / "ran").exists()


@languages
def test_reading_needs_no_approval_but_protected_files_do(stage: Stage, language: str) -> None:
    """`cat web/Makefile` runs; `cat .env` is asked each time, once only; no request contains its secret."""
    words, _ = WORDS[language], project(stage)
    stage.plays(*lines("cat web/Makefile", "cat .env", "cat '.e'nv | head -1"))
    stage.cli("permissions", "allow", "run_command(cat *)")  # as the version before kept it
    terminal = stage.ready("--lang", language, "--approve", "edits", columns=100)
    terminal.enter("go")
    for line in ("$ cat .env", "$ cat '.e'nv | head -1"):
        shown = terminal.wait_for(line, words["once"], words["protected"])
        assert words["covers"] not in shown.splitlines()[-1]
        terminal.type("saw")  # nothing that would be remembered can be chosen
        terminal.type("n")
        terminal.wait_for(words["no"])
        terminal.type(ENTER)
    terminal.wait_for("That was all.", READY, gone=BUSY)
    assert "echo tested-web" in results(stage, 1)[0]
    assert all(SECRET not in stage.words(n) for n in range(len(stage.asked())))
    assert words["broad"] in stage.cli("--lang", language, "permissions")


@languages
def test_subcommand_rule_can_be_widened_after_a_preview(stage: Stage, language: str) -> None:
    """`terraform apply` is never `terraform`; widening shows examples first and can be cancelled."""
    words, folder = WORDS[language], project(stage)
    tools = stage.outside / "tools"
    tools.mkdir()
    (tools / "terraform").write_text('#!/bin/sh\necho "ran $*" >> "$PWD/calls"\n', encoding="utf-8")
    (tools / "terraform").chmod(0o755)
    stage.plays(
        *lines(
            "terraform apply", "terraform apply -target=a", "terraform apply -target=b", "terraform destroy"
        )
    )
    import os

    terminal = stage.ready("--lang", language, PATH=f"{tools}:{os.environ['PATH']}")
    terminal.enter("go")
    terminal.wait_for("$ terraform apply", words["wider"], f"{words['covers']}terraform apply")
    terminal.type("s")
    terminal.wait_for("$ terraform apply -target=a", words["wider"])
    terminal.type("w")
    terminal.wait_for(words["title"], "1. terraform apply *", "2. in **: terraform apply *", "3. ")
    terminal.type("2")
    terminal.wait_for(words["through"], "cd any/folder && terraform apply", words["still"], words["span"])
    terminal.type(ESCAPE)
    terminal.wait_for(words["wider"], f"{words['covers']}terraform apply -target=a")
    terminal.type("w")
    terminal.wait_for(words["title"])
    terminal.type("1")
    terminal.wait_for("“terraform apply *”", words["still"], words["span"], gone=words["title"])
    terminal.type("2")
    terminal.wait_for("$ terraform destroy", words["allow"])
    assert (folder / "calls").read_text() == "ran apply\nran apply -target=a\nran apply -target=b\n"
    terminal.type("n")
    terminal.wait_for(words["no"])
    terminal.type(ENTER)
    terminal.wait_for("That was all.", READY, gone=BUSY)


@languages
def test_read_only_commands_run_unless_strict(stage: Stage, language: str) -> None:
    """Git, lists and pipelines run in the default mode; `strict` asks about each."""
    words, _ = WORDS[language], project(stage)
    looking = (
        "git init -q . >/dev/null",
        "git status --short",
        "ls -la | head -3",
        "cat README.md",
        "git diff",
    )
    stage.plays(*lines(*looking), *lines("cat README.md"))
    terminal = stage.ready("--lang", language)
    terminal.enter("go")
    terminal.wait_for("$ git init -q .", words["allow"])
    terminal.type("y")
    shown = terminal.wait_for("That was all.", READY, gone=BUSY)
    assert words["covers"] not in shown
    assert terminal.bells == 1
    assert "# Tides" in results(stage, 4)[-1]
    terminal.enter("/permissions mode strict")
    terminal.wait_for(READY)
    terminal.enter("again")
    terminal.wait_for("$ cat README.md", words["allow"])
    terminal.type("y")
    terminal.wait_for("That was all.", READY, gone=BUSY)
    assert terminal.bells == 2


def test_edits_of_build_files_and_instructions_need_approval(stage: Stage) -> None:
    """With `--approve edits` a source file is changed at once; build files and agent instructions are not."""
    project(stage)
    stage.plays(
        {"calls": [call("write_file", path="src/a.py", content="x\n")]},
        {"calls": [call("write_file", path=".github/workflows/ci.yml", content="on: push\n")]},
        {"calls": [call("read_file", path="AGENTS.md")]},
        {"text": "That was all."},
    )
    (stage.folder / "AGENTS.md").write_text("obey\n", encoding="utf-8")
    terminal = stage.ready("--approve", "edits", columns=100)
    terminal.enter("go")
    terminal.wait_for(
        ".github/workflows/ci.yml is protected: it steers the builds of the project", "y allow once"
    )
    assert (stage.folder / "src" / "a.py").exists()
    terminal.type("n")
    terminal.wait_for("Why not?")
    terminal.type(ENTER)
    terminal.wait_for("AGENTS.md is protected: agents follow what it says", "y allow once")
    terminal.type("y")
    terminal.wait_for("That was all.", READY, gone=BUSY)
    assert not (stage.folder / ".github").exists()
