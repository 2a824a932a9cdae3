"""What every keeper of snapshots can do, whatever it keeps them in.

Owns the protocol and the choice of a keeper. Two keepers: `shadow` (a git repository beside the user's, which never touches
theirs) and `hashed` (no git on this machine: contents by their hash). Refuses: the log (`engine/changing`). Before:
`vocab/change`. After: `engine/changing`, `workspace/restoring`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from backscroll.vocab.change import FileChange


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
        """A snapshot of the folder as it is now; gives its name. The same content has the same name."""
        ...

    def compare(self, before: str, after: str) -> list[FileChange]:
        """What changed between two snapshots, renames found, in the order of the paths."""
        ...

    def diff(self, before: str, after: str, paths: Sequence[str] = (), *, longest: int = 200_000) -> str:
        """The same as a unified diff; binary files are only named, and what is too long is cut and says so."""
        ...

    def files(self, snapshot: str) -> dict[str, str]:
        """Every path of a snapshot with the hash of its content."""
        ...

    def read(self, snapshot: str, path: str) -> bytes | None:
        """The content of a file in a snapshot; None where there is no such file, or its content was too large to keep."""
        ...

    def has(self, snapshot: str) -> bool:
        """True where this keeper still knows the snapshot."""
        ...
