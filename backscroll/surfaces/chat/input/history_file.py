"""Earlier input in a folder, for the arrow keys.

Owns one file per folder in the user's state folder, readable only by the user, bounded, and safe to append to from several
terminals. It is not the history of the conversation: that is the log. If the file cannot be written, the chat still works.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias, cast

from prompt_toolkit.history import History

from backscroll.regular_files import read_text
from backscroll.surfaces.chat.input.pastes import Pastes

_KEPT = 2000  # lines
_LARGEST = 800_000  # bytes of the file; beyond that, the older half is dropped
_LONGEST = 100_000  # characters of a text that is kept: very long pastes are not
#: An input; with long pastes in it, typed and pasted pieces alternate.
_Typed: TypeAlias = str | list[str]


class FolderHistory(History):
    """The inputs of one folder: one JSON string per line, oldest first; a list of strings if something long was pasted."""

    def __init__(self, path: Path, pastes: Pastes | None = None) -> None:
        super().__init__()
        self.path = path
        self._pastes = pastes or Pastes()

    def load_history_strings(self) -> Iterable[str]:
        """Yield the inputs, newest first, as prompt_toolkit expects them."""
        found = reversed(_texts(self.path))
        return [text if isinstance(text, str) else self._pastes.fold_pieces(text) for text in found]

    def store_string(self, string: str) -> None:
        """Store an input; the same text twice in a row is kept once."""
        pieces = self._pastes.pieces(string)
        if sum(map(len, pieces)) > _LONGEST or not string.strip():
            return
        try:
            _append(self.path, pieces if len(pieces) > 1 else string)
        except OSError:
            return  # a full disk or a read-only home: the text itself is in the log


def history_path(root: Path) -> Path:
    """Return the file for a folder."""
    named = os.environ.get("XDG_STATE_HOME", "")
    state = Path(named) if Path(named).is_absolute() else Path.home() / ".local" / "state"
    name = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return state / "backscroll" / "typed" / f"{name}.jsonl"


def _texts(path: Path) -> list[_Typed]:
    try:
        lines = read_text(path, errors="replace").splitlines()
    except OSError:
        return []
    out: list[_Typed] = []
    for line in lines[-_KEPT:]:
        try:
            text = _parse_line(json.loads(line))
        except (ValueError, RecursionError):
            continue  # a line that a crash cut off
        if text is not None and (not out or out[-1] != text):
            out.append(text)
    return out


def _parse_line(found: object) -> _Typed | None:
    """Parse a line of the file; None if it is invalid."""
    if isinstance(found, str):
        return found
    pieces = cast("list[object]", found) if isinstance(found, list) else []
    texts = [piece for piece in pieces if isinstance(piece, str)]
    return texts if texts and len(texts) == len(pieces) else None


def _append(path: Path, text: _Typed) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    data = (json.dumps(text) + "\n").encode("ascii")  # escapes represent what UTF-8 cannot
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with os.fdopen(handle, "ab") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(data)
        size = file.tell()
    if size > _LARGEST:
        _shorten(path)


def _shorten(path: Path) -> None:
    lines: list[str] = []
    room = _LARGEST // 2
    for text in reversed(_texts(path)[-_KEPT // 2 :]):
        lines.append(json.dumps(text) + "\n")
        room -= len(lines[-1])
        if room < 0:
            break
    aside = path.with_suffix(f".{os.getpid()}")
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.writelines(reversed(lines))
    aside.replace(path)
