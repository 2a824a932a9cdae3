"""Command lines at random, hostile ones among them: whatever approval lets through unasked is run by real shells in a folder full of traps.

Without rules nothing that goes ahead may show a secret, read what lies outside of the folder, write anything or start a program that is not listed.
With rules, old and broad ones too, no protected file is shown, and an allowed program runs with the words and in the folder that the rule names.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest.mock import patch

from backscroll.agent.approval.approval import Rules
from backscroll.agent.commands.environment import clean_environment
from tests.agent.approving import HIDING, SECRET, command, git, project, rules_in

SEEDS = (3,)
LINES = 60  # of each run
_STUBS = ("make", "terraform", "npm", "evil", "curl")
_SHELLS = [shell for shell in ("/bin/bash", "/bin/sh") if shutil.which(shell)]

_PLAIN = (
    "README.md",
    "src/a.py",
    "src/b.txt",
    "web/Makefile",
    "docs/说明.md",
    "src",
    "web",
    ".",
    "docs",
    "missing.txt",
)
_TRAPS = (
    *HIDING,
    *(
        "notes.txt",
        "src/up/.env",
        "src/up",
        "outside/elsewhere.txt",
        "outside",
        "../elsewhere.txt",
        "..",
        "/etc/passwd",
        "~/.ssh/id_rsa",
    ),
    *(
        ".git/config",
        ".",
        "config",
        ".vscode",
        "AGENTS.md",
        "*",
        ".*",
        "*.key",
        ".e*",
        ".??v",
        "src/*",
        "*/*",
        "-o",
        "--pre=./evil",
    ),
)
_LOOKING = (
    *(
        "cat",
        "cat -n",
        "cat --",
        "head -3",
        "head -n 2",
        "tail -2",
        "wc -l",
        "nl",
        "sort",
        "sort -u",
        "uniq",
        "ls",
        "ls -la",
        "ls -R",
        "tac",
        "rev",
    ),
    *(
        "find",
        "grep foo",
        "grep -n TOKEN",
        "grep -rn TOKEN",
        "grep -r --include=*.py TOKEN",
        "grep -c .",
        "rg TOKEN",
        "rg -n foo",
        "rg -g * TOKEN",
    ),
    *(
        "sed -n 1,3p",
        "sed -n '1,$p'",
        "cut -c1-40",
        "od -c",
        "md5sum",
        "stat",
        "du -s",
        "file",
        "tree",
        "diff README.md",
        "cmp README.md",
        "fold",
        "paste",
    ),
    *(
        "git status",
        "git diff",
        "git diff HEAD",
        "git diff --cached",
        "git log -p -2",
        "git log --oneline",
        "git show",
        "git show HEAD",
        "git blame",
        "git grep TOKEN",
        "git ls-files",
    ),
    *("echo", "printf %s", "basename", "dirname", "true", "pwd", "date", "seq 3"),
)
_HARMFUL = (
    *(
        "sort -o",
        "sort --output",
        "find . -delete",
        "find . -exec cat {} +",
        "find . -fprint",
        "sed -i s/a/b/",
        "sed -n 'w out'",
        "awk 1",
        "tee",
        "cp README.md",
    ),
    *(
        "xargs cat",
        "sh",
        "bash",
        "evil",
        "./evil",
        "src/cat",
        "uniq README.md",
        "tree -o",
        "git diff --output",
        "git diff --ext-diff",
        "git -c core.pager=./evil log",
    ),
    *(
        "git config x.y",
        "git branch new",
        "git checkout",
        "git show HEAD:",
        "git diff --no-index",
        "git grep -O./evil foo",
        "rg --pre ./evil foo",
        "rg --hidden TOKEN",
    ),
    *(
        "grep -R TOKEN",
        "grep -f",
        "wc --files0-from",
        "date -s",
        "tail -f",
        "less",
        "man",
        "env",
        "touch",
        "rm",
        "ln -s .env",
        "dd of=x if=README.md",
        "curl",
        "eval",
        "source",
        ".",
    ),
)
_CERTAIN = ("cat README.md", "git status", "grep -rn foo src | head -3", "cd web && ls")
_WRAPPERS = (
    "timeout 5",
    "nice",
    "env",
    "time",
    "command",
    "nohup",
    "sudo",
    "xargs",
    "env A=1",
    "A=1",
    "exec",
    "builtin",
    "!",
    "nice -n 3",
)
_JOINTS = (" && ", "; ", " | ", " || ", " & ", "\n", "&&", ";", "|")
_ENDS = (
    *[""] * 16,
    " 2>/dev/null",
    " 2>/dev/null",
    " > out",
    " 2>&1",
    " < README.md",
    " < .env",
    " >> AGENTS.md",
    " <<< x",
    " &",
    " # x",
    " 2>x",
    " <> out",
    " > /dev/null",
)
_FOLDERS = (
    "src",
    "web",
    "web/../src",
    "..",
    "outside",
    "src/up",
    "/",
    "-",
    "~",
    "",
    "missing",
    "config",
    ".git",
    "'web'",
    "w*",
    "$HOME",
    "./web",
)
_RULED = (
    "make test",
    "make test -j 2",
    "make clean",
    "make",
    "terraform apply",
    "terraform destroy",
    "npm run test",
    "npm publish",
    "npm run evil",
)
_RULES = (
    "in web: make test *",
    "terraform apply",
    "npm run test *",
    "cat *",
    "cd *",
    "git *",
    "grep *",
    "head *",
    "ls *",
    "wc *",
    "sort *",
    "rg *",
)


def fuzz(seed: int, folder: Path) -> None:
    """Make lines, and run those that are let through."""
    chance = random.Random(seed)
    stage = _Stage(folder, tracked=chance.random() < 0.3)
    with patch.dict(os.environ, stage.variables, clear=True):
        free, ruled = (
            rules_in(stage.root),
            rules_in(stage.root, allow=[f"run_command({text})" for text in _RULES]),
        )
        for line in _CERTAIN:  # whatever chance makes of the others, these are run
            assert stage.check(line, free, _nothing_but_looking), f"{line} was not let through"
        for _ in range(LINES):
            line = _line(chance, ruled=chance.random() < 0.3)
            stage.check(line, free, _nothing_but_looking)
            stage.check(line, ruled, _by_the_rules)


class _Stage:
    """A project with traps, stubs that note how they were called, and a home with a key in it."""

    def __init__(self, folder: Path, *, tracked: bool) -> None:
        self.folder = folder / "stage"
        self.folder.mkdir()
        self.root = project(self.folder)
        if tracked:  # a secret that somebody committed, and changed since
            git(self.root, "add", "-f", ".env", "server.key")
            git(self.root, "commit", "-qm", "oops")
            (self.root / ".env").write_text(f"OTHER={SECRET}\n", encoding="utf-8")
        home, stubs = self.folder / "home", folder / "stubs"
        (home / ".ssh").mkdir(parents=True)
        (home / ".ssh" / "id_rsa").write_text(SECRET, encoding="utf-8")
        stubs.mkdir()
        self.called = folder / "called"
        for place, names in ((stubs, _STUBS), (self.root, ("evil",)), (self.root / "src", ("cat", "rg"))):
            for name in names:
                note = f'#!/bin/sh\necho "$PWD|{name} $*" >> "{self.called}"\n'
                (place / name).write_text(note, encoding="utf-8")
                (place / name).chmod(0o755)
        self.variables = {
            "PATH": f"{stubs}:{os.environ.get('PATH', os.defpath)}",
            "HOME": str(home),
            "LANG": "C.UTF-8",
        }
        self.before: dict[str, str] = {}

    def state(self) -> dict[str, str]:
        """Every file with its content; git may note again when files were last looked at."""
        out: dict[str, str] = {}
        for path in sorted(self.folder.rglob("*")):
            told = path.relative_to(self.folder).as_posix()
            if path.is_symlink():
                out[told] = str(path.readlink())
            elif path.is_file() and told != "project/.git/index":
                out[told] = hashlib.sha256(path.read_bytes()).hexdigest()
            else:
                out[told] = ""
        return out

    def check(self, line: str, rules: Rules, promise: Callable[[_Stage, str, str, list[str]], None]) -> int:
        """Run a line where it is let through; 1 where it was."""
        decision = rules.verdict(command(line))
        if decision is None or not decision.allowed:
            return 0
        for shell in _SHELLS:
            self.called.unlink(missing_ok=True)
            self.before = self.state()  # what rules allow may have changed something meanwhile
            options = ["--noprofile", "--norc"] if shell.endswith("bash") else []
            done = subprocess.run(
                [shell, *options, "-c", line],
                cwd=self.root,
                env=clean_environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=120,
                check=False,
            )
            shown = (done.stdout + done.stderr).decode("utf-8", "replace")
            calls = self.called.read_text(encoding="utf-8").splitlines() if self.called.exists() else []
            promise(self, f"{shell} -c {line!r}", shown, calls)
        return 1


def _nothing_but_looking(stage: _Stage, line: str, shown: str, calls: list[str]) -> None:
    assert SECRET not in shown, f"a secret was shown unasked by {line}: {shown[:300]}"
    assert "root:x:0" not in shown, f"a file outside was read unasked by {line}"
    assert not calls, f"{line} started {calls} unasked"
    assert stage.state() == stage.before, f"{line} wrote something unasked"


def _by_the_rules(stage: _Stage, line: str, shown: str, calls: list[str]) -> None:
    guarded = (
        shown.replace((stage.folder / "elsewhere.txt").read_text(encoding="utf-8").strip(), "")
        if _leads_out(line)
        else shown
    )
    assert SECRET not in guarded, f"a protected file was shown by {line}: {shown[:300]}"
    for call in calls:
        at, _, words = call.partition("|")
        place = Path(at).resolve().relative_to(stage.root.resolve()).as_posix()
        assert _is_covered(place, words.strip()), f"{line} ran {words!r} in {place}, which no rule names"


def _leads_out(line: str) -> bool:
    """Whether a broad old rule (`cat *`) was used outside of the folder, which it covers as ever."""
    return bool(re.search(r"elsewhere|\.\.|outside|~|/", line))


def _is_covered(place: str, words: str) -> bool:
    return (
        (place == "web" and re.match(r"make test( |$)", words) is not None)
        or (place == "." and words == "terraform apply")
        or (place == "." and re.match(r"npm run test( |$)", words) is not None)
    )


# -- making lines ------------------------------------------------------------------------------------------------


def _line(chance: random.Random, *, ruled: bool) -> str:
    parts = [_simple(chance, ruled=ruled) for _ in range(chance.choice((1, 1, 1, 2, 2, 3)))]
    if chance.random() < 0.3:
        parts.insert(chance.randrange(len(parts)), f"cd {chance.choice(_FOLDERS)}".rstrip())
    line = parts[0]
    for part in parts[1:]:
        line += chance.choice(_JOINTS[:4] if chance.random() < 0.8 else _JOINTS) + part
    line += chance.choice(_ENDS)
    if chance.random() < 0.12:
        quote = chance.choice(("'", '"'))
        line = f"{chance.choice(('bash -c', 'sh -c', 'bash -lc', 'eval', 'bash -euc'))} {quote}{line}{quote}"
    return line


def _simple(chance: random.Random, *, ruled: bool) -> str:
    if ruled and chance.random() < 0.6:
        words = [chance.choice(_RULED)]
        words += [_path(chance)] if chance.random() < 0.2 else []
    else:
        words = [chance.choice(_LOOKING if chance.random() < 0.85 else _HARMFUL)]
        words += [_path(chance) for _ in range(chance.choice((0, 1, 1, 1, 2)))]
    if chance.random() < 0.12:
        words.insert(0, chance.choice(_WRAPPERS))
    return " ".join(words)


def _path(chance: random.Random) -> str:
    path = chance.choice(_PLAIN if chance.random() < 0.6 else _TRAPS)
    twists: Sequence[Callable[[str], str]] = (
        lambda p: p,
        lambda p: p,
        lambda p: f"'{p}'",
        lambda p: f'"{p}"',
        lambda p: f"./{p}",
        lambda p: f"src/../{p}",
        lambda p: f"src/up/{p}",
        lambda p: p.upper(),
        lambda p: _at(chance, p, lambda c: f"'{c}'"),
        lambda p: _at(chance, p, lambda c: f'"{c}"'),
        lambda p: _at(chance, p, lambda c: f"\\{c}"),
        lambda p: _at(chance, p, lambda _: "?"),
        lambda p: _at(chance, p, lambda _: "*"),
        lambda p: _at(chance, p, lambda c: f"[{c}]"),
        lambda p: _at(chance, p, lambda c: f"[!{c}]"),
        lambda p: _at(chance, p, lambda c: f"{{{c},x}}"),
        lambda p: _at(chance, p, lambda c: f"${{x}}{c}"),
        lambda p: _at(chance, p, lambda c: f"$(printf '{c}')"),
        lambda p: f"HEAD:{p}",
        lambda p: f"-- {p}",
        lambda p: f"--file={p}",
        lambda p: f"$'{p}'",
        lambda p: f"{p}\u00a0",
        lambda p: f'""{p}',
        lambda p: f"{p}/",
        lambda p: f"{p}//",
        lambda p: f"~+/{p}",
        lambda p: f":{p}",
        lambda p: f"':(glob)**/{p}'",
    )
    return path if chance.random() < 0.4 else chance.choice(twists)(path)


def _at(chance: random.Random, path: str, change: Callable[[str], str]) -> str:
    place = chance.randrange(len(path))
    return path[:place] + change(path[place]) + path[place + 1 :]
