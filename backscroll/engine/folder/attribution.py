"""Attribution: what a tool wrote itself, and what another process changed while it ran.

Owns dividing the difference between two snapshots: first what others did (in other files, and in the same file before the
tool wrote it), then what the tool wrote, then what others did to its result. Each part is a change of its own between two
snapshots, so blame, rewind and commit need no rule for it. Never guesses: if a tool does not record what it writes (a
command), the whole difference is reported as made while it ran.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backscroll.vocab.change import Cause
from backscroll.workspace.snapshots.snapshots import SnapshotFile

if TYPE_CHECKING:
    from backscroll.workspace.own_writes import OwnWrite
    from backscroll.workspace.snapshots.snapshots import Snapshots

#: Tools that write files in one way only, and record all that they write.
NOTING = frozenset({"write_file", "edit_file", "apply_patch"})


@dataclass(frozen=True, slots=True)
class SnapshotInterval:
    """One part of the changes between two scans."""

    before: str  # names of snapshots
    after: str
    own: bool  # the tool wrote exactly this; otherwise another process did it


def surely(cause: Cause, own: bool) -> bool:
    """Return True if a change is known to be its cause's own work, not only observed while it ran."""
    return cause.by != "tool" or own or cause.tool in NOTING


def split_change(
    keeper: Snapshots, before: str, after: str, cause: Cause, wrote: Sequence[OwnWrite] | None
) -> list[SnapshotInterval]:
    """Return the parts in order; empty if they cannot be distinguished."""
    if wrote is None or cause.by != "tool" or cause.tool not in NOTING:
        return []
    old, new = keeper.entries(before), keeper.entries(after)
    first = {one.path: one.before for one in reversed(wrote)}
    last = {one.path: one.after for one in wrote}
    mine = {path for path in last if path in old or path in new}
    if any(not entry.kept for path in mine for entry in (old.get(path), new.get(path)) if entry is not None):
        return []  # too large to be stored: there is nothing to compare
    others = {path for path in {*old, *new} - mine if old.get(path) != new.get(path)}
    start = {path: new.get(path) if path in others else entry for path, entry in _both(old, new).items()}
    start |= {path: _entry(keeper, first[path], old.get(path), old.get(path)) for path in mine}
    done = start | {path: _entry(keeper, last[path], new.get(path), start[path]) for path in mine}
    names = [before, _compose_snapshot(keeper, start, before), _compose_snapshot(keeper, done, after), after]
    owners = (False, True, False)
    return [
        SnapshotInterval(one, other, own)
        for one, other, own in zip(names, names[1:], owners, strict=False)
        if one != other
    ]


def _both(old: Mapping[str, SnapshotFile], new: Mapping[str, SnapshotFile]) -> dict[str, SnapshotFile | None]:
    return {path: old.get(path) for path in {*old, *new}}


def _entry(
    keeper: Snapshots, data: bytes | None, seen: SnapshotFile | None, like: SnapshotFile | None
) -> SnapshotFile | None:
    """Return a content as a snapshot entry: the scanned entry if it is the same, else one with the same mode."""
    if data is None:
        return None
    name = keeper.name(data)
    if seen is not None and seen.hash == name:
        return seen
    known = like or seen
    return SnapshotFile(keeper.keep(data), known.kind if known is not None else "file", len(data))


def _compose_snapshot(keeper: Snapshots, files: Mapping[str, SnapshotFile | None], like: str) -> str:
    """Return the name of a snapshot of these files; `like` is one that may be identical."""
    there = {path: entry for path, entry in sorted(files.items()) if entry is not None}
    return like if keeper.entries(like) == there else keeper.compose_snapshot(there)
