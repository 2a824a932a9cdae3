"""Ways around the question: lines that look like what a rule allows, and run something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from backscroll.act.approval import Rules
from backscroll.act.person import Preview, Proposal


def verdict(line: str, tmp_path: Path, mode: str = "ask", **rules: Any) -> bool | None:
    """What is decided on a command without asking; None: the person is asked."""
    made = Rules(mode, root=tmp_path, file=tmp_path / "permissions.toml", **rules)
    preview = Preview(f"run: {line}", command=line, subject=line)
    found = made.verdict(Proposal("c", "run_command", "command", {"command": line}, preview))
    return None if found is None else found.allowed


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("make test *", "make test SHELL=./evil"),
        ("make test *", "make test --eval='x:;evil'"),
        ("make test *", "make test -f evil.mk"),
        ("make test *", "make test -C elsewhere"),
        ("go test *", "go test -exec ./evil ./..."),
        ("go test *", "go test -toolexec=./evil ./..."),
        ("cargo test *", "cargo test --config build.rustc-wrapper=./evil"),
        ("cargo test *", "cargo test --manifest-path=../other/Cargo.toml"),
        ("npm run test *", "npm run test --script-shell=./evil"),
        ("npm test *", "npm test --prefix ../other"),
        ("zip *", "zip out.zip a -T -TT evil"),
        ("zip *", "zip out.zip a -T --unzip-command=evil"),
        ("tar *", "tar cIf ./evil out.tar a"),
        ("git status *", "git -c core.fsmonitor=./evil status"),
        ("ls *", "ls\nevil"),
        ("ls *", "ls\revil"),
        ("ls *", "ls \u202e# live"),
        ("echo *", "echo x >~/.bashrc"),
        ("cat *", "cat <<E | sh\nevil\nE"),
    ],
)
def test_what_a_rule_allows_is_not_a_way_to_run_something_else(rule: str, line: str, tmp_path: Path) -> None:
    """The person is asked although a rule allows the words in front."""
    allow = [f"run_command({rule})"]
    assert verdict(line, tmp_path, allow=allow) is None
    plain = rule.removesuffix(" *") + " x"
    assert verdict(plain, tmp_path, allow=allow) is True


@pytest.mark.parametrize(
    "line",
    [
        *(
            "rm x",
            "/bin/rm x",
            "RM x",
            "\\rm x",
            "r''m x",
            "command rm x",
            "env A=1 rm x",
            "ls;rm x",
            "(rm x)",
        ),
        *("x=rm; $x y", "$(echo rm) x", "bash -c 'r\"\"m x'", "ls\nrm x", "r\\\nm x", "$'rm' x", "/bin/r? x"),
        *(
            "echo cm0geA== | base64 -d | sh",
            "find . -exec rm {} +",
            "r{,}m x",
            "awk 'BEGIN{system(\"rm x\")}'",
        ),
    ],
)
def test_what_is_forbidden_never_runs_unasked_however_it_is_written(line: str, tmp_path: Path) -> None:
    """Even where everything else goes ahead, a forbidden command is refused or asked about."""
    assert verdict(line, tmp_path, "all", deny=["run_command(rm *)"]) is not True
