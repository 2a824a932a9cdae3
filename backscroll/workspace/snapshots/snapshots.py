"""The protocol of all keepers of snapshots.

Two keepers implement it: `shadow` (a git repository separate from the user's) and `hash_store` (without git: contents by
their hash). Logging: `engine/folder/workroom`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from backscroll.vocab.change import FileChange
from backscroll.workspace.git.modes import Kind

#: Why the content of a file was not kept.
Why: TypeAlias = Literal["", "large", "secret", "unreadable", "erased"]
#: Prefix of the hash of an erased content: the rest is a mark that reveals nothing.
ERASED = "erased:"


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """One file in a snapshot."""

    hash: str  # of the content; salted for secrets
    kind: Kind = "file"
    size: int = 0
    why: Why = ""  # empty: the content was kept

    @property
    def kept(self) -> bool:
        """True if the content can be read back."""
        return not self.why


@dataclass(frozen=True, slots=True)
class FileTraces:
    """What snapshots contain of a file."""

    names: frozenset[str] = frozenset()  # hashes of its contents
    versions: int = 0  # contents, and marks of contents that were never kept
    snapshots: int = 0  # in which it is
    shared: tuple[str, ...] = ()  # other files with the same contents, which go with it
    present: tuple[str, ...] = ()  # files in the folder that have such a content at this moment


class Snapshots(Protocol):
    """A keeper of snapshots of one folder."""

    @property
    def root(self) -> Path:
        """The folder."""
        ...

    @property
    def keeper(self) -> str:
        """`git` or `hashes`."""
        ...

    def take(self) -> str:
        """Take a snapshot of the folder as it is now; return its name. The same content has the same name."""
        ...

    def compare(self, before: str, after: str) -> list[FileChange]:
        """Return what changed between two snapshots, renames found, in the order of the paths."""
        ...

    def diff(self, before: str, after: str, paths: Sequence[str] = (), *, longest: int = 200_000) -> str:
        """Return the same as a unified diff; binary files are only named, and a long diff is cut with a note."""
        ...

    def files(self, snapshot: str) -> dict[str, str]:
        """Return every path of a snapshot with the hash of its content."""
        ...

    def entries(self, snapshot: str) -> dict[str, SnapshotFile]:
        """Return every path of a snapshot, with what is known of it."""
        ...

    def now(self) -> dict[str, SnapshotFile]:
        """Return every file of the folder as it is now, in the same form; no snapshot is taken and nothing is stored."""
        ...

    def holds(self, name: str) -> bool:
        """Return True if the content with this hash is kept by some snapshot."""
        ...

    def content(self, name: str) -> bytes | None:
        """Return a content by its hash, from any snapshot; None if it is not stored. Faster than `read` for many."""
        ...

    def name(self, data: bytes) -> str:
        """Return the hash that this keeper gives to a content."""
        ...

    def ignores(self, path: str) -> bool:
        """Return True for a path that snapshots leave alone: ignored, not among the key files, or not inside the folder."""
        ...

    def read(self, snapshot: str, path: str) -> bytes | None:
        """Return the content of a file in a snapshot; None if the snapshot does not have it, or its content was too large to keep."""
        ...

    def has(self, snapshot: str) -> bool:
        """Return True if this keeper still knows the snapshot."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the keeper for the user: that it had to start over, for one."""
        ...

    def tidy(self) -> None:
        """Compact the storage; deletes nothing. Occasionally useful, never required."""
        ...

    def keep(self, data: bytes) -> str:
        """Store a content that may no longer be in any file; return its hash."""
        ...

    def compose_snapshot(self, entries: Mapping[str, SnapshotFile]) -> str:
        """Compose a snapshot of files that never existed together; their contents must be kept. Return its name."""
        ...

    def find_held(self, paths: Collection[str], names: Collection[str] = ()) -> FileTraces:
        """Return what all snapshots contain of some files, and of contents given by hash."""
        ...

    def erase(self, names: Collection[str], paths: Collection[str] = ()) -> int:
        """Erase contents by their hashes from all snapshots, and the marks of files that were never kept; return how many changed."""
        ...

    def forget(self) -> None:
        """Drop every snapshot of this folder; the next one starts over."""
        ...
