"""Parse `git diff-tree` and `ls-tree` output, and the pointers for files whose content was not kept.

Zero-separated output only. Does not run git.
"""

from __future__ import annotations

import os
from dataclasses import replace

from backscroll.vocab.change import FileChange
from backscroll.workspace.git.modes import KINDS
from backscroll.workspace.snapshots.snapshots import SnapshotFile, Why

_WHYS: dict[str, Why] = {
    "large": "large",
    "secret": "secret",
    "unreadable": "unreadable",
    "erased": "erased",
}


def pointer(entry: SnapshotFile) -> bytes:
    """Return the lines stored instead of a content."""
    return f"content not kept: {entry.why}\nhash {entry.hash}\nsize {entry.size}\n".encode()


def parse_pointer(data: bytes, entry: SnapshotFile) -> SnapshotFile:
    """Return the entry behind such lines; `entry` is that of the lines themselves."""
    why, hashed, size = (line.rpartition(" ")[2] for line in data.decode("ascii").splitlines())
    return SnapshotFile(hashed, entry.kind, int(size), _WHYS[why])


def parse_tree(out: bytes) -> dict[str, SnapshotFile]:
    """Parse `ls-tree -r -z`, with or without sizes."""
    entries: dict[str, SnapshotFile] = {}
    for record in out.split(b"\0"):
        if not record:
            continue
        facts, _, path = record.partition(b"\t")
        mode, _, name, *size = facts.decode("ascii").split()
        kind = KINDS.get(mode)
        if kind is not None:
            entries[os.fsdecode(path)] = SnapshotFile(
                name, kind, int(size[0]) if size and size[0].isdigit() else 0
            )
    return entries


def parse_changes(out: bytes) -> list[FileChange]:
    """Parse `diff-tree -r -M -z --raw --numstat`: all changes, then the line counts of each."""
    pieces = out.split(b"\0")
    changes: dict[str, FileChange] = {}
    at = 0
    while at < len(pieces) - 1:
        head = pieces[at]
        if head.startswith(b":"):
            change, at = _raw(pieces, at)
            changes[change.path] = change
            continue
        added, removed, path = head.split(b"\t", 2)
        at += 1
        if not path:  # a rename: both names follow
            path, at = pieces[at + 1], at + 2
        found = os.fsdecode(path)
        if found in changes:
            binary = added == b"-"
            changes[found] = replace(
                changes[found],
                added=0 if binary else int(added),
                removed=0 if binary else int(removed),
                binary=binary,
            )
    return [changes[path] for path in sorted(changes)]


def _raw(pieces: list[bytes], at: int) -> tuple[FileChange, int]:
    old_mode, new_mode, before, after, status = pieces[at][1:].decode("ascii").split()
    ran, runs = old_mode == "100755", new_mode == "100755"
    before, after = ("" if not name.strip("0") else name for name in (before, after))
    first = os.fsdecode(pieces[at + 1])
    if status[0] in "RC":
        second = os.fsdecode(pieces[at + 2])
        return FileChange(
            second, "renamed", before, after, first, executable=runs if ran != runs else None
        ), at + 3
    action = {"A": "added", "D": "deleted"}.get(status[0], "changed")
    assert action in {"added", "deleted", "changed"}
    return FileChange(
        first,
        "added" if action == "added" else "deleted" if action == "deleted" else "changed",
        before,
        after,
        executable=runs if after and ran != runs else None,
    ), at + 2
