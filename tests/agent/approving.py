"""A working folder with everything that approval has to tell apart, and asking about lines in it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from backscroll.agent.approval.approval import Rules
from backscroll.agent.person import Preview, Proposal

SECRET = "s3cr3t-hunter2"
#: Files that hold it: none of them may be shown unasked.
HIDING = (
    ".env",
    ".env.local",
    "config/prod.env",
    "config/.env.production",
    "server.key",
    "id_rsa",
    "secrets.yml",
    ".npmrc",
    ".vscode/settings.json",
    ".claude/settings.local.json",
    ".cursor/mcp.json",
    ".bashrc",
)
#: Files that steer others: they may come up in a search, and are asked about where they are named.
STEERING = (
    "AGENTS.md",
    "CLAUDE.md",
    ".github/workflows/ci.yml",
    ".gitlab-ci.yml",
    "Jenkinsfile",
    ".cursorrules",
)


def git(root: Path, *words: str) -> None:
    """Run git in a folder, as somebody."""
    named = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *named, *words], cwd=root, check=True, capture_output=True, timeout=120)


def project(folder: Path, *, repository: bool = True) -> Path:
    """A folder with sources, secrets, links and a repository; what lies beside it is elsewhere."""
    root = folder / "project"
    for path, text in {
        "README.md": "# Read me\nfoo and bar\n",
        "src/a.py": "import os\nfoo = os.environ['HOME']\n",
        "src/b.txt": "bar\n",
        "web/Makefile": "test:\n\techo tested\n",
        "docs/说明.md": "foo\n",
        "build.sh": "echo built\n",
        **dict.fromkeys(HIDING, f"TOKEN={SECRET}\n"),
        **dict.fromkeys(STEERING, "obey\n"),
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    (folder / "elsewhere.txt").write_text(f"{SECRET}\n", encoding="utf-8")
    (root / "notes.txt").symlink_to(".env")
    (root / "src" / "up").symlink_to("..")
    (root / "outside").symlink_to(folder)
    if repository:
        git(root, "init", "-q")
        git(root, "add", "README.md", "src/a.py", "src/b.txt", "web", "docs", "build.sh", "AGENTS.md")
        git(root, "commit", "-qm", "first")
        (root / "README.md").write_text("# Read me\nfoo, bar and baz\n", encoding="utf-8")
    return root


def command(line: str, folder: str = "", **more: Any) -> Proposal:
    """A call of `run_command`."""
    preview = Preview(f"run: {line}", command=line, subject=line, folder=folder, **more)
    return Proposal("c", "run_command", "command", {"command": line}, preview)


def rules_in(root: Path, mode: str = "ask", **more: Any) -> Rules:
    """Rules of a folder, with a file of permissions that is not there."""
    return Rules(mode, root=root, file=root.parent / "settings" / "permissions.toml", **more)


def said(rules: Rules, proposal: Proposal | str) -> str:
    """`allow`, `deny` or `ask`."""
    found = rules.verdict(command(proposal) if isinstance(proposal, str) else proposal)
    return "ask" if found is None else "allow" if found.allowed else "deny"
