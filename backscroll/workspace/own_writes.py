"""What our own edits wrote, remembered until somebody looks at the folder.

Owns the notes: which files, from which content to which. A change that a look finds is the work of whoever was at work then; with
these notes it can tell what the tool itself wrote from what somebody else changed meanwhile. Bounded: where there is too much to
remember nothing is claimed. Refuses: comparing (`engine/folder/parting`). Before: nothing. After: `workspace/edits/application`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

_MOST = 500  # writes in one folder between two looks
_BYTES = 32_000_000


@dataclass(frozen=True, slots=True)
class Wrote:
    """One file from one content to another. None: no file."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(slots=True)
class _Notes:
    """What was written in one folder."""

    wrote: list[Wrote] = field(default_factory=list[Wrote])
    size: int = 0
    too_much: bool = False


_notes: dict[str, _Notes] = {}
_one_at_a_time = threading.Lock()


def note_wrote(root: Path, wrote: Iterable[Wrote] = ()) -> None:
    """Remember what was written in a folder; with nothing: that somebody is at work there who notes all that they write."""
    with _one_at_a_time:
        notes = _notes.setdefault(str(root), _Notes())
        for one in wrote:
            notes.size += len(one.before or b"") + len(one.after or b"")
            if len(notes.wrote) >= _MOST or notes.size > _BYTES:
                notes.wrote, notes.too_much = [], True
            if not notes.too_much:
                notes.wrote.append(one)


def taken_notes(root: Path) -> list[Wrote] | None:
    """What was written in a folder since somebody last asked, in order; None where that is not known."""
    with _one_at_a_time:
        notes = _notes.pop(str(root), None)
    return None if notes is None or notes.too_much else notes.wrote
