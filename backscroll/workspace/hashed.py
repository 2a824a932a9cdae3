"""Snapshots without git: contents by their hash, and for each snapshot a list of its files.

Owns the same as `workspace/shadow`, for machines that have no git. A content is one compressed file named by its SHA-256; a snapshot
is a JSON document named by its own. Refuses: packing, and being read by anything else. Before: `workspace/looking`,
`workspace/comparing`. After: `engine/changing`, `workspace/restoring`.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from backscroll.errors import NotFound, StoreError
from backscroll.vocab.change import FileChange
from backscroll.vocab.part import Json
from backscroll.workspace.comparing import Reader, compare_entries, cut_diff, unified, wanted_paths
from backscroll.workspace.kept_home import KeptHome
from backscroll.workspace.looking import Hasher, Looker
from backscroll.workspace.shadow_objects import clear_stale, write_whole
from backscroll.workspace.snapshots import Entry

_NAME = re.compile(r"[0-9a-f]{64}")
_REMEMBERED = 8


@dataclass(slots=True)
class HashedContents:
    """Contents in a folder, each under its SHA-256."""

    folder: Path
    written: set[str] = field(default_factory=set[str])

    def put(self, data: bytes) -> str:
        """Keep a content; gives its hash."""
        name = self.name(data)
        if name not in self.written:
            target = self.place(name)
            if not (target.exists() and target.stat().st_size):
                write_whole(target, zlib.compress(data, 1))
            self.written.add(name)
        return name

    def name(self, data: bytes) -> str:
        """The hash of a content."""
        return hashlib.sha256(data).hexdigest()

    def hasher(self, size: int) -> Hasher:  # noqa: ARG002 - git's hash needs the size, this one does not
        """The same hash piece by piece."""
        return hashlib.sha256()

    def read(self, name: str) -> bytes | None:
        """A content by its hash; None where it is not here, or damaged."""
        try:
            data = zlib.decompress(self.place(name).read_bytes())
        except (OSError, zlib.error):
            return None
        return data if self.name(data) == name else None

    def place(self, name: str) -> Path:
        """The file of a content."""
        return self.folder / "objects" / name[:2] / name[2:]


class Hashed:
    """The keeper `hashes`. Several processes may use one folder at once: what is written appears whole, and never changes."""

    def __init__(self, kept: KeptHome, make_looker: Callable[[HashedContents, bytes], Looker]) -> None:
        self._kept = kept
        self._make_looker = make_looker
        self._open()

    def _open(self) -> None:
        place = self._kept.place
        if place.exists() and not place.is_dir():
            self._kept.put_aside("it is no folder")
        self._kept.open()
        self._contents = HashedContents(place)
        self._looker = self._make_looker(self._contents, self._kept.salt)
        self._kept.recall(self._looker)
        self._last: tuple[dict[str, Entry], str] | None = None
        self._checked = False
        self._lists: dict[str, dict[str, Entry]] = {}

    @property
    def root(self) -> Path:
        """The folder."""
        return self._looker.root

    @property
    def keeper(self) -> str:
        """`hashes`."""
        return "hashes"

    @property
    def notes(self) -> tuple[str, ...]:
        """What happened to the keeper that a person should know."""
        return tuple(self._kept.notes)

    def take(self) -> str:
        """A snapshot of the folder as it is now; gives its name. The same content has the same name."""
        if not (self._contents.folder / "identity").exists():
            self._kept.notes.append(
                "the snapshots of this folder were deleted and are begun anew; earlier ones are lost"
            )
            self._open()
        try:
            if not self._checked:
                self._forget_missing()
            entries = self._looker.look()
            self._kept.remember(self._looker)
            if self._last is not None and self._last[0] == entries and self._manifest(self._last[1]).exists():
                return self._last[1]
            document = _written(entries)
            name = hashlib.sha256(document).hexdigest()
            if not self._manifest(name).exists():
                write_whole(self._manifest(name), zlib.compress(document))
        except OSError as error:
            raise StoreError(
                f"snapshots cannot be kept in {self._kept.folder}: {error.strerror}",
                hint="is the disk full, or the folder read-only?",
                path=str(self._kept.folder),
            ) from error
        self._last = (entries, name)
        self._listed(name, entries)
        return name

    def _listed(self, name: str, entries: dict[str, Entry]) -> dict[str, Entry]:
        while len(self._lists) >= _REMEMBERED:
            self._lists.pop(next(iter(self._lists)))
        self._lists[name] = entries
        return entries

    def _manifest(self, name: str) -> Path:
        return self._contents.folder / "snapshots" / name

    def _forget_missing(self) -> None:
        """What was read in an earlier run counts as read only if it is still kept."""
        self._checked = True
        self._looker.memory = {
            path: (seen, entry)
            for path, (seen, entry) in self._looker.memory.items()
            if not entry.kept or self._contents.place(entry.hash).exists()
        }

    def now(self) -> dict[str, Entry]:
        """Every file of the folder as it is at this moment; nothing is kept."""
        return self._looker.look(keep=False)

    def holds(self, name: str) -> bool:
        """True where the content with this hash is kept by some snapshot."""
        return self.content(name) is not None

    def content(self, name: str) -> bytes | None:
        """A content by its hash; None where it is not kept."""
        return self._contents.read(name) if _NAME.fullmatch(name) else None

    def name(self, data: bytes) -> str:
        """The hash that this keeper gives to a content: SHA-256."""
        return self._contents.name(data)

    def ignores(self, path: str) -> bool:
        """True for a path that snapshots leave alone."""
        return self._looker.ignores(path)

    def compare(self, before: str, after: str) -> list[FileChange]:
        """What changed between two snapshots, renames found, in the order of the paths."""
        old, new = self.entries(before), self.entries(after)
        return compare_entries(old, new, self._reader(old), self._reader(new))

    def _reader(self, entries: Mapping[str, Entry]) -> Reader:
        def read(path: str) -> bytes | None:
            entry = entries.get(path)
            return None if entry is None or not entry.kept else self._content(entry, path)

        return read

    def diff(self, before: str, after: str, paths: Sequence[str] = (), *, longest: int = 200_000) -> str:
        """The same as a unified diff; binary files are only named, and what is too long is cut and says so."""
        old, new = self.entries(before), self.entries(after)
        read_before, read_after = self._reader(old), self._reader(new)
        pieces: list[str] = []
        length = 0
        for change in wanted_paths(self.compare(before, after), paths):
            if length > longest:
                break
            pieces.append(
                unified(
                    change, read_before(change.old_path or change.path) or b"", read_after(change.path) or b""
                )
            )
            length += len(pieces[-1])
        return cut_diff("".join(pieces), longest)

    def files(self, snapshot: str) -> dict[str, str]:
        """Every path of a snapshot with the hash of its content."""
        return {path: entry.hash for path, entry in self.entries(snapshot).items()}

    def entries(self, snapshot: str) -> dict[str, Entry]:
        """Every path of a snapshot, with what is known of it."""
        found = self._lists.get(snapshot)
        if found is None:
            found = self._listed(snapshot, self._read_manifest(snapshot))
        return dict(found)

    def _read_manifest(self, snapshot: str) -> dict[str, Entry]:
        if not self.has(snapshot):
            raise NotFound(
                f"no snapshot {snapshot} of {self.root}",
                hint="it may have been dropped, or belongs to another folder",
            )
        try:
            document = zlib.decompress(self._manifest(snapshot).read_bytes())
        except (OSError, zlib.error):
            document = b""
        if hashlib.sha256(document).hexdigest() != snapshot:
            raise StoreError(
                f"a snapshot of {self.root} is damaged",
                hint="other snapshots may still be sound",
                said=snapshot,
            )
        listed: Json = json.loads(document)
        return {path: Entry(*facts) for path, *facts in listed}

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

    def _mend(self, name: str) -> None:
        """Remove a damaged content, and write it anew where the folder still has it."""
        self._contents.place(name).unlink(missing_ok=True)
        self._contents.written.clear()
        self._looker.memory = {}
        self._last = None
        self.take()

    def has(self, snapshot: str) -> bool:
        """True where this keeper still knows the snapshot."""
        return bool(_NAME.fullmatch(snapshot)) and self._manifest(snapshot).exists()

    def tidy(self) -> None:
        """Nothing to pack here; only what was left half written goes."""
        clear_stale(self._contents.folder)

    def forget(self) -> None:
        """Drop every snapshot of this folder; the next one begins anew."""
        self._kept.forget()
        self._open()


def _written(entries: Mapping[str, Entry]) -> bytes:
    listed = [
        [path, entry.hash, entry.kind, entry.size, entry.why] for path, entry in sorted(entries.items())
    ]
    return json.dumps(listed, ensure_ascii=True, separators=(",", ":")).encode("ascii")
