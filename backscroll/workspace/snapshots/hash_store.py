"""Keep snapshots without git: contents by hash, and a list of files per snapshot.

The counterpart of `workspace/snapshots/shadow` for machines without git. A content is one compressed file named by its
SHA-256; a snapshot is a JSON document named by its own. No packing; a private format.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from backscroll.errors import StoreError
from backscroll.vocab.change import FileChange
from backscroll.vocab.part import Json
from backscroll.workspace.snapshots.comparison import (
    Reader,
    compare_entries,
    cut_diff,
    render_diff,
    wanted_paths,
)
from backscroll.workspace.snapshots.erasure import SnapshotErasure, Tick
from backscroll.workspace.snapshots.keeper import Keeper
from backscroll.workspace.snapshots.scan import Hasher
from backscroll.workspace.snapshots.shadow_objects import TEMPORARY, clear_stale, write_whole
from backscroll.workspace.snapshots.snapshots import FileTraces, SnapshotFile

_INSTEAD = b"instead: "  # prefix of the name of the rewritten snapshot
_FOLLOWED = 1000  # maximum number of rewrites of one snapshot


@dataclass(slots=True)
class HashedContents:
    """Contents in a folder, each under its SHA-256."""

    folder: Path
    written: set[str] = field(default_factory=set[str])

    def put(self, data: bytes) -> str:
        """Keep a content; return its hash."""
        name = self.name(data)
        if name not in self.written:
            target = self.place(name)
            if not (target.exists() and target.stat().st_size):
                write_whole(target, zlib.compress(data, 1))
            self.written.add(name)
        return name

    def name(self, data: bytes) -> str:
        """Return the hash of a content."""
        return hashlib.sha256(data).hexdigest()

    def hasher(self, size: int) -> Hasher:  # noqa: ARG002 - git's hash needs the size, this one does not
        """Return a hasher for the same hash piece by piece."""
        return hashlib.sha256()

    def read(self, name: str) -> bytes | None:
        """Return a content by its hash; None if missing or damaged."""
        try:
            data = zlib.decompress(self.place(name).read_bytes())
        except (OSError, zlib.error):
            return None
        return data if self.name(data) == name else None

    def place(self, name: str) -> Path:
        """Return the file of a content."""
        return self.folder / "objects" / name[:2] / name[2:]


class HashKeeper(Keeper[HashedContents]):
    """The keeper `hashes`."""

    kind = "hashes"
    named = re.compile(r"[0-9a-f]{64}")

    def _prepare(self, place: Path) -> None:
        if place.exists() and not place.is_dir():
            self._kept.put_aside("it is not a folder")

    def _contents_in(self, place: Path) -> HashedContents:
        return HashedContents(place)

    def _write(self, entries: dict[str, SnapshotFile]) -> str:
        listed = _dump_entries(entries)
        document = _document(listed, self._kept.seal(listed).hex())
        name = hashlib.sha256(document).hexdigest()
        if not self._there(name):
            write_whole(self._manifest(name), zlib.compress(document))
        return name

    def _there(self, snapshot: str) -> bool:
        return self._manifest(snapshot).exists()

    def _manifest(self, name: str) -> Path:
        return self._contents.folder / "snapshots" / name

    def _missing(self, names: set[str]) -> set[str]:
        return {name for name in names if not self._contents.place(name).exists()}

    def has(self, snapshot: str) -> bool:
        """Return True if this keeper still knows the snapshot."""
        return bool(self.named.fullmatch(snapshot)) and self._there(snapshot)

    def compare(self, before: str, after: str) -> list[FileChange]:
        """Return what changed between two snapshots, renames found, in the order of the paths."""
        old, new = self.entries(before), self.entries(after)
        return compare_entries(old, new, self._reader(old), self._reader(new))

    def _reader(self, entries: Mapping[str, SnapshotFile]) -> Reader:
        def read(path: str) -> bytes | None:
            entry = entries.get(path)
            return None if entry is None or not entry.kept else self._content(entry, path)

        return read

    def diff(self, before: str, after: str, paths: Sequence[str] = (), *, longest: int = 200_000) -> str:
        """Return the same as a unified diff; binary files are only named, and a long diff is cut with a note."""
        old, new = self.entries(before), self.entries(after)
        read_before, read_after = self._reader(old), self._reader(new)
        pieces: list[str] = []
        length = 0
        for change in wanted_paths(self.compare(before, after), paths):
            if length > longest:
                break
            pieces.append(
                render_diff(
                    change, read_before(change.old_path or change.path) or b"", read_after(change.path) or b""
                )
            )
            length += len(pieces[-1])
        return cut_diff("".join(pieces), longest)

    def _load(self, snapshot: str) -> dict[str, SnapshotFile]:
        for _ in range(_FOLLOWED):
            try:
                document = zlib.decompress(self._manifest(snapshot).read_bytes())
            except (OSError, zlib.error):
                document = b""
            if not document.startswith(_INSTEAD):
                break
            snapshot = document.removeprefix(_INSTEAD).decode("ascii", "replace")
        else:
            document = b""
        if hashlib.sha256(document).hexdigest() != snapshot:
            raise StoreError(
                f"a snapshot of {self.root} is damaged",
                hint="other snapshots may still be intact",
                said=snapshot,
            )
        listed: Json = json.loads(document)
        files: Json = listed if document.startswith(b"[") else listed["files"]  # the first ones had no seal
        return {path: SnapshotFile(*facts) for path, *facts in files}

    def _everything(self) -> Iterator[tuple[str, dict[str, SnapshotFile]]]:
        """Yield every stored snapshot; references to others and damaged ones are skipped."""
        folder = self._contents.folder / "snapshots"
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            try:
                document = zlib.decompress(path.read_bytes())
            except (OSError, zlib.error):
                continue
            if hashlib.sha256(document).hexdigest() == path.name:
                yield path.name, self._load(path.name)

    def _find_held(self, paths: frozenset[str], names: frozenset[str]) -> FileTraces:
        everything = list(self._everything())
        found = {
            e.hash for _, files in everything for p, e in files.items() if p in paths and e.kept and e.size
        }
        found |= names
        marks = {
            e.hash
            for _, files in everything
            for p, e in files.items()
            if p in paths and not e.kept and e.why != "erased"
        }
        shared: set[str] = set()
        snapshots = 0
        for _, files in everything:
            held = [
                p
                for p, e in files.items()
                if (e.kept and e.hash in found) or (p in paths and e.hash in marks)
            ]
            snapshots += bool(held)
            shared.update(held)
        return FileTraces(frozenset(found), len(found | marks), snapshots, tuple(sorted(shared - paths)))

    def _rewrite(self, erasure: SnapshotErasure, tick: Tick) -> int:
        count = 0
        for name, files in self._everything():
            if not any(erasure.takes(path, entry) for path, entry in files.items()):
                continue
            cleaned = {
                path: erasure.entry(entry.kind, entry.hash) if erasure.takes(path, entry) else entry
                for path, entry in files.items()
            }
            document = _document(_dump_entries(cleaned), "")
            made = hashlib.sha256(document).hexdigest()
            tick("snapshot")
            write_whole(self._manifest(made), zlib.compress(document))
            tick("reference")
            write_whole(self._manifest(name), zlib.compress(_INSTEAD + made.encode()))
            count += 1
        return count

    def _sweep(self, erasure: SnapshotErasure, tick: Tick) -> None:
        for name in sorted(erasure.names):
            tick("content")
            self._contents.place(name).unlink(missing_ok=True)
        for left in sorted(self._contents.folder.rglob(f"{TEMPORARY}*")):
            tick("half written")
            left.unlink(missing_ok=True)

    def _drop_damaged(self, name: str) -> None:
        if name:
            self._contents.place(name).unlink(missing_ok=True)

    def tidy(self) -> None:
        """Remove partially written files; there is nothing to pack."""
        clear_stale(self._contents.folder)


def _dump_entries(entries: Mapping[str, SnapshotFile]) -> bytes:
    listed = [
        [path, entry.hash, entry.kind, entry.size, entry.why] for path, entry in sorted(entries.items())
    ]
    return json.dumps(listed, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def _document(listed: bytes, seal: str) -> bytes:
    return b'{"seal":"%s","files":%s}' % (seal.encode("ascii"), listed)
