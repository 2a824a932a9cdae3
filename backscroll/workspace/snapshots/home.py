"""The folder in which a keeper stores its data for one root.

Owns its location, its salt, the cache of files read (`workspace/snapshots/scan`), and detecting damage or deletion. Contents
belong to the keepers. The cache does not affect correctness: an entry is used only if a file's times and size match, and
without it everything is read again.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import shutil
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from backscroll.errors import StoreError
from backscroll.vocab.part import Json
from backscroll.workspace.folder_lock import hold_lock
from backscroll.workspace.snapshots.scan import FolderScanner, Seen
from backscroll.workspace.snapshots.shadow_objects import write_whole
from backscroll.workspace.snapshots.snapshots import SnapshotFile

_VERSION = 1
_PATIENCE = 60.0  # seconds to wait for a running erasure


def home_of(root: Path, home: Path) -> Path:
    """Return the folder for one root, below the folder for all of them."""
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    return home / name


@dataclass(slots=True)
class KeeperHome:
    """One keeper's folder."""

    folder: Path
    root: Path
    kind: str  # `git` or `hashes`: each keeper has a folder of its own inside
    notes: list[str] = field(default_factory=list[str])
    salt: bytes = b""
    identity: str = ""

    @property
    def place(self) -> Path:
        """The folder for the keeper's own data."""
        return self.folder / self.kind

    @property
    def begun(self) -> bool:
        """True if the opened folder still exists."""
        return (self.place / "identity").exists()

    @property
    def current(self) -> bool:
        """True if nothing was erased since it was opened, so remembered contents are still valid."""
        try:
            return (self.place / "identity").read_bytes().hex() == self.identity
        except OSError:
            return False

    @property
    def journal(self) -> Path:
        """The path of the erasure journal."""
        return self.folder / f"{self.kind}.erasing.json"

    @property
    def spared(self) -> Path:
        """The list of files that are not kept until the user changes them."""
        return self.folder / f"{self.kind}.spared.json"

    def hold_lock(self, *, shared: bool = False) -> AbstractContextManager[None]:
        """Lock these snapshots: shared to add, exclusive to remove."""
        return hold_lock(self.folder.parent / "locks" / f"{self.folder.name}.kept", _PATIENCE, shared=shared)

    def seal(self, content: bytes) -> bytes:
        """Return the seal that makes the name of a snapshot unguessable once the identity has changed."""
        return hmac.digest(bytes.fromhex(self.identity), content, "sha256")

    def renew(self) -> None:
        """Change the identity, which invalidates what any process has cached of these contents."""
        write_whole(self.place / "identity", secrets.token_bytes(32))
        self._memory.unlink(missing_ok=True)

    def drop_damaged(self) -> None:
        """Delete what was set aside as damaged: it may contain anything."""
        for aside in sorted(self.folder.glob("*.damaged-*")):
            shutil.rmtree(aside) if aside.is_dir() else aside.unlink(missing_ok=True)

    def open(self) -> None:
        """Create what is missing; a damaged folder is set aside and replaced, with a note."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not (self.folder / "root").exists():
                write_whole(self.folder / "root", os.fsencode(self.root) + b"\n")
            self.salt = self._draw_random("salt")
            self.identity = self._draw_random("identity", inside=True).hex()
        except OSError as error:
            raise StoreError(
                f"snapshots cannot be kept in {self.folder}: {error.strerror}",
                hint="check that the disk is not full and the folder is writable",
                path=str(self.folder),
            ) from error

    def _draw_random(self, name: str, *, inside: bool = False) -> bytes:
        """Return random bytes, drawn once. Concurrent processes agree: the first to link its file wins."""
        path = (self.place if inside else self.folder) / name
        for _ in range(3):
            try:
                found = path.read_bytes()
            except FileNotFoundError:
                found = b""
            if len(found) == 32:
                return found
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary = path.with_name(f"{name}.{os.getpid()}.{secrets.token_hex(4)}")
            temporary.write_bytes(secrets.token_bytes(32))
            if found:
                path.unlink(missing_ok=True)
            try:
                path.hardlink_to(temporary)
            except FileExistsError:
                continue
            finally:
                temporary.unlink(missing_ok=True)
        return path.read_bytes()

    def put_aside(self, why: str) -> None:
        """Move an unusable folder aside, and start over."""
        aside = self.folder / f"{self.kind}.damaged-{time.time_ns()}"
        try:
            if self.place.exists():
                self.place.rename(aside)
            (self.folder / f"{self.kind}.seen.json").unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"damaged snapshots cannot be put aside: {error.strerror}",
                hint=f"delete {self.place} yourself",
            ) from error
        self.notes.append(
            f"the snapshots of this folder were damaged ({why}); starting over without the earlier ones"
        )

    def forget(self) -> None:
        """Delete everything, including damaged data."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def remember(self, looker: FolderScanner) -> None:
        """Save the cache of a scanner if enough of it is new."""
        if looker.fresh <= max(20, len(looker.memory) // 50):
            return
        document = {
            "version": _VERSION,
            "identity": self.identity,
            "settings": _settings(looker),
            "files": [
                [path, *seen, entry.hash, entry.kind, entry.size, entry.why]
                for path, (seen, entry) in looker.memory.items()
            ],
        }
        try:
            write_whole(self._memory, json.dumps(document, ensure_ascii=True, separators=(",", ":")).encode())
        except OSError:
            self.notes.append(
                "what was read of the folder could not be written down; the next look takes longer"
            )
        looker.fresh = 0

    def recall(self, looker: FolderScanner) -> None:
        """Load the cache of an earlier run, if it belongs to these contents and settings."""
        try:
            document: Json = json.loads(self._memory.read_bytes())
            if document["identity"] != self.identity or document["settings"] != _settings(looker):
                return
            looker.memory = {
                path: (_as_seen(facts[:5]), SnapshotFile(*facts[5:])) for path, *facts in document["files"]
            }
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            looker.memory = {}  # missing or truncated: everything is read again

    @property
    def _memory(self) -> Path:
        return self.folder / f"{self.kind}.seen.json"


def _as_seen(values: Json) -> Seen:
    size, changed, noted, number, mode = (int(value) for value in values)
    return size, changed, noted, number, mode


def _settings(looker: FolderScanner) -> list[Json]:
    """Return the settings that cache entries depend on."""
    return [_VERSION, looker.largest, looker.counting.secret_version]
