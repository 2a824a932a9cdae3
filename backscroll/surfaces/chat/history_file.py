"""What was typed before in a folder, so that the arrow keys find it again.

Owns one file per folder in the user's state folder, readable by nobody else, bounded, and safe to append to from several
terminals. Nothing here is the record: that is the log. A file that cannot be written costs the history, never the chat.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit.history import History

_KEPT = 2000  # lines
_LONGEST = 20_000  # characters of a text that is kept: a pasted file is no history


class FolderHistory(History):
    """The texts of one folder: one JSON string a line, oldest first."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def load_history_strings(self) -> Iterable[str]:
        """The newest first, as the input wants them."""
        return reversed(_texts(self.path))

    def store_string(self, string: str) -> None:
        """Keep one more; the same text twice in a row is kept once."""
        if len(string) > _LONGEST or not string.strip():
            return
        try:
            _append(self.path, string)
        except OSError:
            return  # a full disk or a read-only home: the text itself is in the record


def history_path(root: Path) -> Path:
    """The file for a folder."""
    named = os.environ.get("XDG_STATE_HOME", "")
    state = Path(named) if Path(named).is_absolute() else Path.home() / ".local" / "state"
    name = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return state / "backscroll" / "typed" / f"{name}.jsonl"


def _texts(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    out: list[str] = []
    for line in lines[-_KEPT:]:
        try:
            text = json.loads(line)
        except ValueError:
            continue  # a line that was cut by a crash
        if isinstance(text, str) and (not out or out[-1] != text):
            out.append(text)
    return out


def _append(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    data = (json.dumps(text) + "\n").encode("ascii")  # escapes carry what UTF-8 cannot
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with os.fdopen(handle, "ab") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(data)
        size = file.tell()
    if size > _KEPT * 400:
        _shorten(path)


def _shorten(path: Path) -> None:
    kept = _texts(path)[-_KEPT // 2 :]
    aside = path.with_suffix(f".{os.getpid()}")
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.writelines(json.dumps(text) + "\n" for text in kept)
    aside.replace(path)
