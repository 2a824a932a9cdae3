"""Git hooks and settings that a sandboxed command left in the working folder.

No sandbox can prevent these: git runs them later, outside, for anyone who uses the repository. So they are compared before and after, and
changes are reported to the user. Owns what counts as such (`sandbox.toml`). Refuses: reverting anything.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

_MOST = 200  # hooks that are checked
_LONGEST = 1_000_000  # bytes of a settings file


def runs_later(root: Path, keys: Sequence[str]) -> dict[str, str]:
    """Return everything in a folder's repository that git would run, with a fingerprint that shows changes."""
    home = root / ".git"
    found: dict[str, str] = {}
    try:
        if home.is_symlink() or not home.is_dir():
            return found
        hooks = home / "hooks"
        for path in sorted(hooks.iterdir())[:_MOST] if hooks.is_dir() else ():
            status = path.lstat()
            if not path.name.endswith(".sample") and _may_run(path, status):
                sign = f"{status.st_mtime_ns} {status.st_size} {status.st_ino}"
                found[f".git/hooks/{path.name}"] = sign
        with (home / "config").open("rb") as file:
            text = file.read(_LONGEST).decode("utf-8", "replace")
    except OSError:  # no settings yet, or they were removed meanwhile
        return found
    named = re.compile(rf"(?im)^\s*(?:{'|'.join(map(re.escape, keys))})\s*=|^\s*\[include|=\s*\"?!")
    lines = [line.strip() for line in text.splitlines() if named.search(line)]
    if lines:
        found[".git/config"] = "\n".join(lines)
    return found


def _may_run(path: Path, status: os.stat_result) -> bool:
    return path.is_symlink() or (stat.S_ISREG(status.st_mode) and bool(status.st_mode & 0o111))


def left_behind(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the names of what is new or different."""
    return sorted(name for name, sign in after.items() if before.get(name) != sign)
