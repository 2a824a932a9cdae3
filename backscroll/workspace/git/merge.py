"""Merge the agent's part of a file onto HEAD and onto the index.

Owns contents as the repository would store them (the user's line ends and filters applied), and three-way merges. Binary
files and overlapping changes are left to the user.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from backscroll.errors import Conflict
from backscroll.workspace.git.modes import KINDS, MODES, Kind, is_binary
from backscroll.workspace.git.repository import Repository

_LARGEST_MERGE = 20_000_000
#: The empty content in both sorts of repositories: what `git add -N` puts into the index.
_EMPTY = {
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
}


@dataclass(frozen=True, slots=True)
class Blob:
    """A file as stored in the repository."""

    name: str  # of the object
    kind: Kind

    @property
    def mode(self) -> str:
        """Its mode in git."""
        return MODES[self.kind]


@dataclass(slots=True)
class RepositoryBlobs:
    """Contents of one repository: what HEAD and the index have, and new ones."""

    repository: Repository
    head: dict[str, Blob] = field(default_factory=dict[str, Blob])
    index: dict[str, Blob] = field(default_factory=dict[str, Blob])
    #: The agent's intermediate versions of a file, if no other process changed it.
    steps: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def load(self, paths: Sequence[str]) -> None:
        """Load some paths from HEAD and the user's index."""
        git = self.repository.git
        for some in _portions(paths):
            if self.repository.head:
                out = git("ls-tree", "-z", "--full-tree", self.repository.head, "--", *some).out
                self.head |= _parse_listing(out, name_at=2)
            self.index |= _parse_listing(git("ls-files", "-s", "-z", "--", *some).out, name_at=1)

    def blob(self, path: str, data: bytes | None, kind: Kind) -> Blob | None:
        """Return a content of the working tree as an object of the repository."""
        if data is None:
            return None
        as_path = ["--no-filters"] if kind == "link" else [f"--path={path}"]
        name = self.repository.git("hash-object", "-w", "--stdin", *as_path, stdin=data).text
        return Blob(name, kind)

    def read(self, blob: Blob) -> bytes:
        """Return the content of an object."""
        return self.repository.git("cat-file", "blob", blob.name).out

    def merge(self, ours: Blob, origin: Blob, theirs: Blob) -> Blob | None:
        """Return what changed from `origin` to `theirs`, applied to `ours`; None if the two overlap, or are not text."""
        if "link" in {ours.kind, origin.kind, theirs.kind}:
            return None
        kind = theirs.kind if theirs.kind != origin.kind else ours.kind
        if origin.name == theirs.name:
            return Blob(ours.name, kind)
        contents = [self.read(blob) for blob in (ours, origin, theirs)]
        if any(is_binary(data) or len(data) > _LARGEST_MERGE for data in contents):
            return None
        with tempfile.TemporaryDirectory(prefix="backscroll-") as folder:
            names = [Path(folder) / name for name in ("ours", "origin", "theirs")]
            for name, data in zip(names, contents, strict=True):
                name.write_bytes(data)
            ran = self.repository.git("merge-file", "-p", "-q", *map(str, names), check=False)
        if ran.code:
            return None
        # Already in the repository's form: do not filter again.
        name = self.repository.git("hash-object", "-w", "--stdin", "--no-filters", stdin=ran.out).text
        return Blob(name, kind)


def _parse_listing(out: bytes, *, name_at: int) -> dict[str, Blob]:
    found: dict[str, Blob] = {}
    for record in out.split(b"\0"):
        facts, _, path = record.partition(b"\t")
        if path:
            values = facts.decode("ascii").split()
            if values[0] in KINDS:
                found[os.fsdecode(path)] = Blob(values[name_at], KINDS[values[0]])
    return found


def _portions(paths: Sequence[str], size: int = 500) -> list[Sequence[str]]:
    return [paths[n : n + size] for n in range(0, len(paths), size)]


def merged_with_head(
    blobs: RepositoryBlobs, head: Blob | None, before: Blob | None, after: Blob | None
) -> Blob | Literal[False] | None:
    """Return the commit's version of a path; False if the agent's part cannot be separated from other people's."""
    if head in {before, after}:
        return after
    if head is not None and after is not None and head.name == after.name:
        # The content already exists; only the executable bit may differ.
        return after if before is None or before.kind != after.kind else head
    if head is None or before is None or after is None:
        return False
    merged = blobs.merge(head, before, after)
    return False if merged is None else merged


def _is_old(blobs: RepositoryBlobs, path: str, head: Blob | None, index: Blob | None) -> bool:
    """Return True if what is staged is an earlier version by the agent itself, or only the announcement of a file."""
    if index is None:
        return False
    return index.name in blobs.steps.get(path, ()) or (head is None and index.name in _EMPTY)


def merged_with_index(blobs: RepositoryBlobs, files: Mapping[str, Blob | None]) -> dict[str, Blob | None]:
    """Return the user's new index at these paths: their staged edits stay, on top of the commit."""
    staged: dict[str, Blob | None] = {}
    unclear: list[str] = []
    for path, committed in files.items():
        head, index = blobs.head.get(path), blobs.index.get(path)
        if index in (head, committed) or _is_old(blobs, path, head, index):
            staged[path] = committed
        elif index is None or head is None or committed is None:
            unclear.append(path)
        else:
            merged = blobs.merge(index, head, committed)
            if merged is None:
                unclear.append(path)
            else:
                staged[path] = merged
    if unclear:
        names = ", ".join(blobs.repository.strip_prefix(path) for path in sorted(unclear))
        raise Conflict(
            f"you have staged other edits to the same lines of: {names}",
            hint="commit or unstage them first",
            paths=sorted(unclear),
        )
    return staged
