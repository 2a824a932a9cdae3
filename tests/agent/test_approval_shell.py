"""Reading command lines: what is plain is taken apart as a shell would, everything else is in doubt."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backscroll.agent.approval.approval import Rules
from backscroll.agent.approval.offers import kept_words, suggest_rule
from backscroll.agent.approval.shell import read
from backscroll.agent.person import Preview, Proposal


def words_of(line: str) -> list[tuple[str, ...]]:
    found = read(line)
    assert found.doubt == "", found
    return [command.words for command in found.commands]


def test_plain_lines_are_split_into_commands() -> None:
    """Every simple command of a line, with quotes gone and blanks inside them kept."""
    assert words_of("git status && rm -rf 'my files'; ls | wc -l || true") == [
        ("git", "status"),
        ("rm", "-rf", "my files"),
        ("ls",),
        ("wc", "-l"),
        ("true",),
    ]
    assert words_of("echo \"a  b\"c'd' ''") == [("echo", "a  bcd", "")]
    assert words_of("打印 你好 '再见'") == [("打印", "你好", "再见")]
    assert words_of("git log a#b HEAD^ x=y 2>&1 >/dev/null") == [("git", "log", "a#b", "HEAD^", "x=y")]


@pytest.mark.parametrize(
    "line",
    [
        "echo $(rm x)",
        "echo `rm x`",
        'echo "$(rm x)"',
        "echo $HOME",
        "echo a > file",
        "echo a >> file",
        "cat < $file",
        "cat < a*",
        "cat <& 3",
        "cat <> file",
        "cat 3< file",
        "cat <(ls)",
        "cat <<< x",
        "cat <<X",
        "echo a >/dev/nullx",
        "echo a >/dev/null/../x",
        "git status &",
        "git status & rm x",
        "ls &> out",
        "ls |& sh",
        "(rm x)",
        "{ rm x; }",
        "ls {a,b}",
        "git status\nrm x",
        "git status\rrm x",
        "git\u00a0status",
        "git\u200bstatus",
        "echo 'open",
        'echo "open',
        "echo a\\ b",
        "FOO=1 git status",
        "PATH=. git status",
        "if true; then rm x; fi",
        "! git status",
        "env -S 'rm x'",
        "timeout -x 3 rm x",
        "./timeout 3 ls",
        "bash -ic ls",
        "bash -c ls x",
        "bash script.sh",
        "command cd ..",
        "sudo ls",
        "/usr/bin/sudo ls",
        "env A=1 rm x",
        "xargs rm",
        "ls | sh",
        "ls | xargs rm",
        "eval rm",
        ". ./x",
        "source x",
        "bash -c 'rm $x'",
        "bash -c 'sudo rm x'",
        "sh -c \"sh -c 'a > b'\"",
        "find . -exec rm x",
        "find . -delete",
        "git -c core.pager=rm status",
        "git -C /elsewhere status",
        "git --exec-path=. status",
        "git log --output=x",
        "git log --outp=x",
        "git grep -Orm x",
        "git rebase -x rm",
        "git submodule foreach rm",
        "python -c 'import os'",
        "python3 -Ic 'import os'",
        "perl -e 1",
        "awk 1",
        "sed 1e",
        "tar -xf a --to-command=rm",
        "*",
        "~/x",
        "ls;;rm",
        "&& ls",
        "ls &&",
        "ls ; ",
        "",
        "# rm",
        "export PATH=.; git status",
        "alias git=rm; git status",
        "\ud800",
    ],
)
def test_lines_that_may_run_or_write_more_are_doubtful(line: str) -> None:
    assert read(line).doubt


FRAGMENTS = [
    *(
        "git",
        "status",
        "ls",
        "rm",
        "evil",
        "x",
        "-c",
        "-v",
        "FOO=1",
        "if",
        "then",
        "fi",
        "time",
        "do",
        "env",
        "sh",
    ),
    *("&&", "||", ";", "|", "&", " ", " ", "  ", "\t", "\n", "\r", "\x0b", "\u3000", "\u00a0"),
    *(
        "$(evil)",
        "`evil`",
        "${evil}",
        "$x",
        "'",
        '"',
        "\\",
        "#",
        "(",
        ")",
        "{",
        "}",
        "!",
        "[",
        "]",
        "~",
        "*",
        "=",
        "中文",
    ),
    *("2>&1", ">/dev/null", "2>", ">", "<", "<<", "1", "2", "-exec", "^", "%", "@", ","),
]
#: Lines that would be allowed, with something in between.
LINES = st.lists(st.sampled_from(FRAGMENTS), max_size=9) | st.lists(
    st.sampled_from(["git status", "ls ", "ls", " ", " && ", ";", "|"]) | st.sampled_from(FRAGMENTS),
    max_size=6,
)
LINES |= st.lists(st.sampled_from(FRAGMENTS), max_size=4).map(lambda some: ["ls ", *some])
LISTED = ("git status *", "ls *", "echo *")


def proposal(line: str) -> Proposal:
    return Proposal(
        "1", "run_command", "command", {"command": line}, Preview(line, command=line, subject=line)
    )


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose commands only write down that they were called; nothing else can be found."""
    folder = tmp_path_factory.mktemp("stage")
    (folder / "bin").mkdir()
    for name in ("git", "ls", "rm", "evil", "x", "env", "sh", "status", "中文"):
        stub = folder / "bin" / name
        stub.write_text(f'#!/bin/sh\necho "{name} $1" >> "{folder}/called"\n', encoding="utf-8")
        stub.chmod(0o755)
    return folder


SHELLS = [shell for shell in ("/bin/sh", "/bin/bash") if shutil.which(shell)]


@pytest.mark.parametrize("shell", SHELLS)
@given(line=LINES.map("".join))
@example(line="git status;ls")
@example(line="git status && ls 2>&1 | ls")
@example(line="git status>/dev/null ls")
@example(line="ls '' \"a\"x")
def test_an_allowed_line_runs_nothing_but_listed_commands(shell: str, line: str, stage: Path) -> None:
    """The shell itself is asked what it calls for a line that the patterns cover."""
    rules = Rules(allow=[f"run_command({pattern})" for pattern in LISTED], file=stage / "none.toml")
    decision = rules.verdict(proposal(line))
    if decision is None or not decision.allowed:
        return
    called = stage / "called"
    called.unlink(missing_ok=True)
    work = stage / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    subprocess.run(
        [shell, "-c", line],
        cwd=work,
        env={"PATH": str(stage / "bin")},
        capture_output=True,
        timeout=120,
        check=False,
    )
    names = called.read_text(encoding="utf-8").splitlines() if called.exists() else []
    assert {name.strip() for name in names if name.split()[0] == "git"} <= {"git status"}
    assert {name.split()[0] for name in names} <= {"git", "ls"}
    assert list(work.iterdir()) == [], "a file was written"


def test_wrapper_commands_are_stripped() -> None:
    """Rules apply to the wrapped command; nested shells are parsed as lines."""
    assert words_of("timeout 30 make test && nice -n 5 rg x | time wc -l; env ls; nohup a") == [
        ("make", "test"),
        ("rg", "x"),
        ("wc", "-l"),
        ("ls",),
        ("a",),
    ]
    assert words_of("bash -lc 'cd web && make test'; sh -euo pipefail -c \"ls -l\"") == [
        ("cd", "web"),
        ("make", "test"),
        ("ls", "-l"),
    ]
    assert [c.words for c in read("sudo -u root rm x; ls | xargs -n 1 cat").commands] == [
        ("rm", "x"),
        ("ls",),
        ("cat",),
    ]


def test_input_redirection_is_recorded() -> None:
    found = read("wc -l < 'my file' >/dev/null")
    assert (found.doubt, found.commands[0].words, found.commands[0].inputs) == (
        "",
        ("wc", "-l"),
        ("my file",),
    )


@given(st.text("ab \\$`\"'!*", max_size=8))
def test_double_quotes_mean_what_they_mean_to_a_shell(inside: str) -> None:
    """What is read out of them is what a shell passes on; what it would expand is in doubt."""
    line = f'printf %s "{inside}"'
    found = read(line)
    if found.doubt:
        return
    for shell in SHELLS:
        done = subprocess.run([shell, "-c", line], capture_output=True, text=True, timeout=120, check=False)
        assert done.stdout == "".join(found.commands[0].words[2:]), (shell, line)


@pytest.mark.parametrize(
    ("line", "narrow", "wide"),
    [
        ("git fetch -p", "git fetch -p", "git fetch *"),
        ("npm run test -- -u", "npm run test -- -u", "npm run test *"),
        ("python -m pytest -q", "python -m pytest -q", "python -m pytest *"),
        ("pytest tests", "pytest tests", "pytest *"),
        ("terraform apply", "terraform apply", "terraform apply *"),
        ("someprogram sub x", "someprogram sub x", "someprogram sub *"),
        ("timeout 60 cargo test a", "cargo test a", "cargo test *"),
        ("rm -rf build", "rm -rf build", ""),
        ("git push origin main", "git push origin main", ""),
        ("python script.py", "python script.py", ""),
        ("curl http://x", "curl http://x", ""),
        ("pytest tests/*", "", "pytest *"),
        ("make > log", "", None),
        ("sudo make", "", None),
    ],
)
def test_suggested_rules_are_narrow(line: str, narrow: str, wide: str | None) -> None:
    """These words by default; the subcommand with anything behind it only where that is chosen, and not for what can do harm."""
    assert suggest_rule(proposal(line)) == narrow
    if wide is not None:
        assert kept_words(read(line).commands[0]) == wide
