"""Erasing contents from all snapshots of a folder.

Owns what is to go (by hash, wherever it is; by path, where only a hash was kept), what is there instead, the files that are
not kept again as long as the user does not change them, and the journal by which a kill in the middle is finished at the next start. Refuses:
how snapshots lie on the disk (`workspace/snapshots/shadow_erasure`, `workspace/snapshots/hash_store`).
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from backscroll.vocab.part import Json
from backscroll.workspace.git.modes import Kind
from backscroll.workspace.snapshots.shadow_objects import write_whole
from backscroll.workspace.snapshots.snapshots import ERASED, SnapshotFile

#: Called before each operation on the disk, with what it is; tests end the process there.
Tick: TypeAlias = Callable[[str], None]
#: Size, time of change and number of a file that is not kept as long as they stay, and what represents it.
Spared: TypeAlias = dict[str, tuple[tuple[int, int, int], str]]


def silent(_: str) -> None:
    """Ignore a report."""


@dataclass(frozen=True, slots=True)
class SnapshotErasure:
    """What is to go. The salt is drawn for one erasure and thrown away with its journal: no mark can be guessed back."""

    names: frozenset[str]
    paths: frozenset[str]
    salt: bytes

    def mark(self, name: str) -> str:
        """Return what represents a hash from now on: equal for equal contents, and nothing else."""
        return ERASED + hashlib.sha256(self.salt + name.encode()).hexdigest()[:40]

    def entry(self, kind: Kind, name: str) -> SnapshotFile:
        """Return a file whose content is erased."""
        return SnapshotFile(self.mark(name), kind, 0, "erased")

    def takes(self, path: str, entry: SnapshotFile) -> bool:
        """Return True for a file of a snapshot that must not stay as it is."""
        return entry.hash in self.names if entry.kept else entry.why != "erased" and path in self.paths


def begin(journal: Path, names: Iterable[str], paths: Iterable[str]) -> SnapshotErasure:
    """Write down what is going to be erased."""
    made = SnapshotErasure(frozenset(names), frozenset(paths), secrets.token_bytes(32))
    document = {"names": sorted(made.names), "paths": sorted(made.paths), "salt": made.salt.hex()}
    write_whole(journal, json.dumps(document).encode("ascii"))
    return made


def read_unfinished(journal: Path) -> SnapshotErasure | None:
    """Return what a process that was killed had begun; None if there is nothing."""
    try:
        found: Json = json.loads(journal.read_bytes())
    except FileNotFoundError:
        return None
    return SnapshotErasure(frozenset(found["names"]), frozenset(found["paths"]), bytes.fromhex(found["salt"]))


def read_spared(path: Path) -> Spared:
    """Return the files that are not kept as long as the user does not change them; none if the list is gone or damaged."""
    try:
        found: Json = json.loads(path.read_bytes())
        return {name: ((int(a), int(b), int(c)), str(mark)) for name, (a, b, c, mark) in found.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}


def write_spared(path: Path, spared: Mapping[str, tuple[tuple[int, int, int], str]]) -> None:
    """Keep that list."""
    document = {name: [*seen, mark] for name, (seen, mark) in sorted(spared.items())}
    write_whole(path, json.dumps(document).encode("ascii"))
