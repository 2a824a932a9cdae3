"""Record our own writes to a folder until the next scan.

Owns the notes: which files, from which content to which. A change found by a scan is attributed to the running tool; these
notes separate what the tool itself wrote from what another process changed meanwhile. Bounded: beyond the limit nothing is
claimed. Comparison: `engine/folder/attribution`.
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
    """The change of one file from one content to another. None: no file."""

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
    """Record writes in a folder; without files, record that a tool which notes its writes is running."""
    with _one_at_a_time:
        notes = _notes.setdefault(str(root), _FolderWrites())
        for one in wrote:
            notes.size += len(one.before or b"") + len(one.after or b"")
            if len(notes.wrote) >= _MOST or notes.size > _BYTES:
                notes.wrote, notes.too_much = [], True
            if not notes.too_much:
                notes.wrote.append(one)


def taken_notes(root: Path) -> list[OwnWrite] | None:
    """Return the writes in a folder since the last call, in order; None if unknown."""
    with _one_at_a_time:
        notes = _notes.pop(str(root), None)
    return None if notes is None or notes.too_much else notes.wrote
