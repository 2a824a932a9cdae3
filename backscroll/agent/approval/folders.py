"""The folder each command of a line runs in: `cd web && make test` runs `make test` in `web`.

Owns following `cd` through a line, as far as it can be determined without running it. After `;` and `||` a `cd` may have failed, so a
command may run in one of several folders; where a `cd` leads out of the working folder, through a link, or to what only the shell
knows, the folder is unknown (None), and no allow rule matches there. Refuses: parsing the line (`agent/approval/shell`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from posixpath import join, normpath

from backscroll.agent.approval.shell import InnerShell, SimpleCommand

#: Folders, relative to the working folder; None: unknown.
Folders = frozenset[str | None]
_MOST = 8  # folders that a command may run in before they count as unknown
_SHELLS = ("sh", "bash", "dash")


def is_cd(command: SimpleCommand) -> bool:
    """Return True for the shell's own `cd`; behind a wrapper it is another program and changes nothing."""
    return command.words[0] == "cd" and (not command.through or command.through[-1] in _SHELLS)


def folders_of(
    inside: Sequence[SimpleCommand | InnerShell], start: str | None, root: Path | None
) -> list[Folders]:
    """Return where each simple command of a line may run, in order; `start` is the folder the line starts in."""
    return _follow_folders(inside, frozenset({start}), root)


def _follow_folders(
    inside: Sequence[SimpleCommand | InnerShell], start: Folders, root: Path | None
) -> list[Folders]:
    out: list[Folders] = []
    now = ends = start  # where the next command runs; where the shell may be after the current list
    led: Folders | None = None  # where the last `cd` leads if it succeeds
    mixed = False  # the list contains `||`: which part of it succeeded is unknown
    for place, each in enumerate(inside):
        if each.joined == "&&":
            now = ends if mixed else now if led is None else led
        elif each.joined == "||":
            mixed, now = True, ends
        elif each.joined == ";":
            mixed, now = False, ends
        led = None
        if isinstance(each, InnerShell):
            out += _follow_folders(each.inside, now, root)
            continue
        out.append(now)
        following = inside[place + 1].joined if place + 1 < len(inside) else ""
        if is_cd(each) and "|" not in (each.joined, following):  # in a pipe it runs in its own shell
            led = leads(each, now, root)
            ends = _limit_folders(ends | led)
    return out


def leads(command: SimpleCommand, folders: Folders, root: Path | None) -> Folders:
    """Return where a `cd` leads from where it may run."""
    return frozenset(_target(command, at, root) for at in folders)


def _target(command: SimpleCommand, at: str | None, root: Path | None) -> str | None:
    """Return where a `cd` leads from a folder."""
    words = [word for place, word in enumerate(command.words[1:], 1) if place != 1 or word != "--"]
    if at is None or len(words) != 1 or command.open or not words[0] or words[0].startswith("-"):
        return None
    given = words[0]
    if given.startswith("/"):
        if root is None or not Path(normpath(given)).is_relative_to(root):
            return None
        found = Path(normpath(given)).relative_to(root).as_posix()
    else:
        found = normpath(join(at, given))
    if found == ".." or found.startswith(("../", "/")):
        return None
    if root is not None and os.path.realpath(root / found) != normpath(str(root / found)):
        return None  # a link: where `..` leads from there differs for the shell and for programs
    return found


def _limit_folders(folders: Folders) -> Folders:
    return folders if len(folders) <= _MOST else frozenset({None})
