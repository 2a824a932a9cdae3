"""Our own writes to a folder, remembered until the next scan.

Owns the notes: which files, from which content to which. A change that a look finds is attributed to the running tool; with
these notes it can tell what the tool itself wrote from what another process changed meanwhile. Bounded: where there is too much to
remember nothing is claimed. Refuses: comparing (`engine/folder/attribution`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

_MOST = 500  # writes in one folder between two looks
_BYTES = 32_000_000


@dataclass(frozen=True, slots=True)
class OwnWrite:
    """One file from one content to another. None: no file."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(slots=True)
class _FolderWrites:
    """What was written in one folder."""

    wrote: list[OwnWrite] = field(default_factory=list[OwnWrite])
    size: int = 0
    too_much: bool = False


_notes: dict[str, _FolderWrites] = {}
_one_at_a_time = threading.Lock()


def note_wrote(root: Path, wrote: Iterable[OwnWrite] = ()) -> None:
    """Remember what was written in a folder; without files: that a tool that notes its writes is at work."""
    with _one_at_a_time:
        notes = _notes.setdefault(str(root), _FolderWrites())
        for one in wrote:
            notes.size += len(one.before or b"") + len(one.after or b"")
            if len(notes.wrote) >= _MOST or notes.size > _BYTES:
                notes.wrote, notes.too_much = [], True
            if not notes.too_much:
                notes.wrote.append(one)


def taken_notes(root: Path) -> list[OwnWrite] | None:
    """Return what was written in a folder since the last call, in order; None if that is not known."""
    with _one_at_a_time:
        notes = _notes.pop(str(root), None)
    return None if notes is None or notes.too_much else notes.wrote
