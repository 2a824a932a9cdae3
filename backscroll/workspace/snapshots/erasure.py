"""Erase contents from all snapshots of a folder.

Owns what is erased (by hash anywhere; by path if only a hash was kept), its replacement, the files that are not kept again
until the user changes them, and the journal from which an interrupted erasure is finished at the next start. Storage:
`workspace/snapshots/shadow_erasure`, `workspace/snapshots/hash_store`.
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

#: Called with the name of each disk operation before it runs; tests kill the process there.
Tick: TypeAlias = Callable[[str], None]
#: Size, modification time and inode of a file that is not kept while they stay the same, and its mark.
Spared: TypeAlias = dict[str, tuple[tuple[int, int, int], str]]


def silent(_: str) -> None:
    """Ignore a report."""


@dataclass(frozen=True, slots=True)
class SnapshotErasure:
    """What to erase. The salt is drawn per erasure and discarded with its journal, so that no mark can be guessed."""

    names: frozenset[str]
    paths: frozenset[str]
    salt: bytes

    def mark(self, name: str) -> str:
        """Return the mark that replaces a hash: equal for equal contents, revealing nothing else."""
        return ERASED + hashlib.sha256(self.salt + name.encode()).hexdigest()[:40]

    def entry(self, kind: Kind, name: str) -> SnapshotFile:
        """Return the entry of a file whose content is erased."""
        return SnapshotFile(self.mark(name), kind, 0, "erased")

    def takes(self, path: str, entry: SnapshotFile) -> bool:
        """Return True for a file of a snapshot that must be erased."""
        return entry.hash in self.names if entry.kept else entry.why != "erased" and path in self.paths


def begin(journal: Path, names: Iterable[str], paths: Iterable[str]) -> SnapshotErasure:
    """Write the journal of an erasure."""
    made = SnapshotErasure(frozenset(names), frozenset(paths), secrets.token_bytes(32))
    document = {"names": sorted(made.names), "paths": sorted(made.paths), "salt": made.salt.hex()}
    write_whole(journal, json.dumps(document).encode("ascii"))
    return made


def read_unfinished(journal: Path) -> SnapshotErasure | None:
    """Return the erasure that a killed process had begun; None if there is none."""
    try:
        found: Json = json.loads(journal.read_bytes())
    except FileNotFoundError:
        return None
    return SnapshotErasure(frozenset(found["names"]), frozenset(found["paths"]), bytes.fromhex(found["salt"]))


def read_spared(path: Path) -> Spared:
    """Return the files that are not kept until the user changes them; none if the list is missing or damaged."""
    try:
        found: Json = json.loads(path.read_bytes())
        return {name: ((int(a), int(b), int(c)), str(mark)) for name, (a, b, c, mark) in found.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}


def write_spared(path: Path, spared: Mapping[str, tuple[tuple[int, int, int], str]]) -> None:
    """Write that list."""
    document = {name: [*seen, mark] for name, (seen, mark) in sorted(spared.items())}
    write_whole(path, json.dumps(document).encode("ascii"))
