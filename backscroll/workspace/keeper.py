"""What both keepers of snapshots do alike: opening, looking, remembering, reading back, and noticing that others were here.

Owns the life of a keeper around its contents: when it begins anew, when it looks again, which lists of files stay in memory, mending
what is damaged. Refuses: how contents and snapshots lie on the disk (`workspace/shadow`, `workspace/hashed`). Before:
`workspace/kept_home`, `workspace/looking`. After: the two keepers.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Generic, Protocol, TypeVar

from backscroll.errors import NotFound, StoreError
from backscroll.vocab.change import FileChange
from backscroll.workspace.kept_home import KeptHome
from backscroll.workspace.looking import Contents, Looker
from backscroll.workspace.snapshots import Entry

_REMEMBERED = 8  # snapshots whose lists of files stay in memory


class KeptContents(Contents, Protocol):
    """Contents that can be read back."""

    written: set[str]  # what need not be written again

    def read(self, name: str) -> bytes | None:
        """A content by its hash; None where it is not here, or damaged."""
        ...


C = TypeVar("C", bound=KeptContents)


class Keeper(ABC, Generic[C]):
    """A keeper of one folder. Several processes may use it at once: what is written appears whole, and never changes."""

    kind: ClassVar[str]  # `git` or `hashes`
    named: ClassVar[re.Pattern[str]]  # the form of its hashes

    def __init__(self, kept: KeptHome, make_looker: Callable[[C, bytes], Looker]) -> None:
        self._kept = kept
        self._make_looker = make_looker
        self._open()

    def _open(self) -> None:
        place = self._kept.place
        self._prepare(place)
        self._kept.open()
        self._contents = self._contents_in(place)
        self._looker = self._make_looker(self._contents, self._kept.salt)
        self._kept.recall(self._looker)
        self._last: tuple[dict[str, Entry], str] | None = None
        self._checked = False
        self._lists: dict[str, dict[str, Entry]] = {}

    # -- each keeper in its own way --------------------------------------------------------------------------

    @abstractmethod
    def _prepare(self, place: Path) -> None:
        """Put aside what cannot be used, and make what is missing."""

    @abstractmethod
    def _contents_in(self, place: Path) -> C:
        """The contents in a folder."""

    @abstractmethod
    def _write(self, entries: dict[str, Entry]) -> str:
        """Keep a snapshot of these files, whose contents are kept already; gives its name."""

    @abstractmethod
    def _there(self, snapshot: str) -> bool:
        """True where a snapshot is seen to be kept, at a glance."""

    @abstractmethod
    def _missing(self, names: set[str]) -> set[str]:
        """Those of the contents that are not kept."""

    @abstractmethod
    def _load(self, snapshot: str) -> dict[str, Entry]:
        """The files of a snapshot."""

    @abstractmethod
    def _drop_damaged(self, name: str) -> None:
        """Remove what cannot be read: this content, and whatever else is found damaged on the way."""

    @abstractmethod
    def has(self, snapshot: str) -> bool:
        """True where this keeper still knows the snapshot."""

    @abstractmethod
    def compare(self, before: str, after: str) -> list[FileChange]:
        """What changed between two snapshots, renames found, in the order of the paths."""

    @abstractmethod
    def diff(self, before: str, after: str, paths: Sequence[str] = (), *, longest: int = 200_000) -> str:
        """The same as a unified diff; binary files are only named, and what is too long is cut and says so."""

    @abstractmethod
    def tidy(self) -> None:
        """Make what is kept smaller; drops nothing."""

    # -- looking ---------------------------------------------------------------------------------------------

    @property
    def root(self) -> Path:
        """The folder."""
        return self._looker.root

    @property
    def keeper(self) -> str:
        """`git` or `hashes`."""
        return self.kind

    @property
    def notes(self) -> tuple[str, ...]:
        """What happened to the keeper that a person should know."""
        return tuple(self._kept.notes)

    def take(self) -> str:
        """A snapshot of the folder as it is now; gives its name. The same content has the same name."""
        if not self._kept.begun:
            self._kept.notes.append(
                "the snapshots of this folder were deleted and are begun anew; earlier ones are lost"
            )
            self._open()
        try:
            if not self._checked:
                self._forget_missing()
            entries = self._looker.look()
            self._kept.remember(self._looker)
            if self._last is not None and self._last[0] == entries and self._there(self._last[1]):
                return self._last[1]
            name = self._write(entries)
        except OSError as error:
            raise StoreError(
                f"snapshots cannot be kept in {self._kept.folder}: {error.strerror}",
                hint="is the disk full, or the folder read-only?",
                path=str(self._kept.folder),
            ) from error
        self._last = (entries, name)
        self._listed(name, entries)
        return name

    def _forget_missing(self) -> None:
        """What was read in an earlier run counts as read only if it is still kept."""
        self._checked = True
        known = self._looker.memory
        gone = self._missing({entry.hash for _, entry in known.values() if entry.kept})
        if gone:
            self._looker.memory = {
                path: (seen, entry)
                for path, (seen, entry) in known.items()
                if not entry.kept or entry.hash not in gone
            }

    def _listed(self, name: str, entries: dict[str, Entry]) -> dict[str, Entry]:
        while len(self._lists) >= _REMEMBERED:
            self._lists.pop(next(iter(self._lists)))
        self._lists[name] = entries
        return entries

    def now(self) -> dict[str, Entry]:
        """Every file of the folder as it is at this moment; nothing is kept."""
        return self._looker.look(keep=False)

    def ignores(self, path: str) -> bool:
        """True for a path that snapshots leave alone."""
        return self._looker.ignores(path)

    # -- reading back ----------------------------------------------------------------------------------------

    def holds(self, name: str) -> bool:
        """True where the content with this hash is kept by some snapshot."""
        return self.content(name) is not None

    def content(self, name: str) -> bytes | None:
        """A content by its hash; None where it is not kept."""
        return self._contents.read(name) if self.named.fullmatch(name) else None

    def name(self, data: bytes) -> str:
        """The hash that this keeper gives to a content."""
        return self._contents.name(data)

    def files(self, snapshot: str) -> dict[str, str]:
        """Every path of a snapshot with the hash of its content."""
        return {path: entry.hash for path, entry in self.entries(snapshot).items()}

    def entries(self, snapshot: str) -> dict[str, Entry]:
        """Every path of a snapshot, with what is known of it."""
        self._known(snapshot)
        found = self._lists.get(snapshot)
        if found is None:
            found = self._listed(snapshot, self._load(snapshot))
        return dict(found)

    def read(self, snapshot: str, path: str) -> bytes | None:
        """The content of a file in a snapshot; None where there is no such file, or its content was not kept."""
        entry = self.entries(snapshot).get(path)
        return None if entry is None or not entry.kept else self._content(entry, path)

    def _content(self, entry: Entry, path: str) -> bytes:
        data = self._contents.read(entry.hash)
        if data is None:
            self._mend(entry.hash)
            data = self._contents.read(entry.hash)
        if data is None:
            raise StoreError(
                f"the content of {path} in this snapshot is damaged",
                hint="other snapshots may still be sound",
            )
        return data

    def _known(self, *names: str) -> None:
        for name in names:
            if not self.has(name):
                raise NotFound(
                    f"no snapshot {name} of {self.root}",
                    hint="it may have been dropped, or belongs to another folder",
                )

    def _mend(self, name: str = "") -> None:
        """Remove what is damaged, and write it anew where the folder still has it."""
        self._drop_damaged(name)
        self._contents.written.clear()
        self._looker.memory = {}
        self._lists.clear()
        self._last = None
        self.take()

    def forget(self) -> None:
        """Drop every snapshot of this folder; the next one begins anew."""
        self._kept.forget()
        self._open()
