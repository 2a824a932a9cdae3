"""Snapshots in a git repository of our own, beside the user's and without touching it.

Owns taking, comparing and reading snapshots with git. A snapshot is a tree with two folders: `files` (contents) and `unkept` (for
files that are too large, secret or unreadable: a few lines with hash and size). It is named by its hash and kept alive
by a reference of the same name, so that git's tidying never drops it. Refuses: the user's `.git`, index, hooks, settings,
filters. Before: `workspace/looking`, `workspace/shadow_objects`. After: `engine/changing`, `workspace/restoring`.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import shutil
import tempfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from backscroll.errors import NotFound, StoreError
from backscroll.vocab.change import FileChange
from backscroll.workspace.comparing import cut_diff, merge_unkept, unkept_line, wanted_paths
from backscroll.workspace.git import GitFailed, git_version, read_git, run_git
from backscroll.workspace.kept_home import KeptHome
from backscroll.workspace.looking import Looker
from backscroll.workspace.shadow_objects import Objects, clear_stale, mode_of, write_whole
from backscroll.workspace.shadow_reading import parse_changes, parse_pointer, parse_tree, pointer
from backscroll.workspace.snapshots import Entry

_NAME = re.compile(r"[0-9a-f]{40}")
_DIFF = ("diff-tree", "-r", "-M", "-l1000", "--no-color", "--no-ext-diff", "--no-textconv")
_REMEMBERED = 8  # snapshots whose lists of files stay in memory
T = TypeVar("T")


class Shadow:
    """The keeper `git`. Several processes may use one folder at once: what is written appears whole, and never changes."""

    def __init__(self, kept: KeptHome, make_looker: Callable[[Objects, bytes], Looker]) -> None:
        self._kept = kept
        self._make_looker = make_looker
        self._open()

    def _open(self) -> None:
        place = self._kept.place
        if place.exists() and (why := _unsound(place)):
            self._kept.put_aside(why)
        if not place.exists():
            _create(place)
        self._kept.open()
        self._objects = Objects(place)
        self._looker = self._make_looker(self._objects, self._kept.salt)
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
        """`git`."""
        return "git"

    @property
    def notes(self) -> tuple[str, ...]:
        """What happened to the keeper that a person should know."""
        return tuple(self._kept.notes)

    def take(self) -> str:
        """A snapshot of the folder as it is now; gives its name. The same content has the same name."""
        if not (self._objects.folder / "identity").exists():
            self._kept.notes.append(
                "the snapshots of this folder were deleted and are begun anew; earlier ones are lost"
            )
            self._open()
        try:
            if not self._checked:
                self._forget_missing()
            entries = self._looker.look()
            self._kept.remember(self._looker)
            if (
                self._last is not None
                and self._last[0] == entries
                and self._reference(self._last[1]).exists()
            ):
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

    def _listed(self, name: str, entries: dict[str, Entry]) -> dict[str, Entry]:
        while len(self._lists) >= _REMEMBERED:
            self._lists.pop(next(iter(self._lists)))
        self._lists[name] = entries
        return entries

    def _write(self, entries: dict[str, Entry]) -> str:
        put = self._objects
        kept = {path: (mode_of(entry), entry.hash) for path, entry in entries.items() if entry.kept}
        unkept = {
            path: (mode_of(entry), put.put(pointer(entry)))
            for path, entry in entries.items()
            if not entry.kept
        }
        name = put.put_tree(
            {"files": (b"40000", put.put_tree(kept)), "unkept": (b"40000", put.put_tree(unkept))}
        )
        if not self._reference(name).exists():
            write_whole(self._reference(name), f"{name}\n".encode())
        return name

    def _reference(self, name: str) -> Path:
        return self._objects.folder / "refs" / "snapshots" / name

    def _forget_missing(self) -> None:
        """What was read in an earlier run counts as read only if it is still kept."""
        self._checked = True
        objects = self._objects.folder / "objects"
        loose = {
            f"{folder.name}{file.name}"
            for folder in objects.iterdir()
            if len(folder.name) == 2
            for file in folder.iterdir()
        }
        wanted = {entry.hash for _, entry in self._looker.memory.values() if entry.kept} - loose
        if not wanted:
            return
        asked = "".join(f"{name}\n" for name in sorted(wanted)).encode()
        ran = run_git(["cat-file", "--batch-check"], cwd=objects, git_dir=self._objects.folder, stdin=asked)
        gone = {line.split()[0].decode() for line in ran.out.splitlines() if line.endswith(b"missing")}
        self._looker.memory = {
            path: (seen, entry)
            for path, (seen, entry) in self._looker.memory.items()
            if not entry.kept or entry.hash not in gone
        }

    def now(self) -> dict[str, Entry]:
        """Every file of the folder as it is at this moment; nothing is kept."""
        return self._looker.look(keep=False)

    def holds(self, name: str) -> bool:
        """True where the content with this hash is kept by some snapshot."""
        return self.content(name) is not None

    def content(self, name: str) -> bytes | None:
        """A content by its hash; None where it is not kept."""
        return self._objects.read(name) if _NAME.fullmatch(name) else None

    def name(self, data: bytes) -> str:
        """The hash that this keeper gives to a content: git's own."""
        return self._objects.name(data)

    def ignores(self, path: str) -> bool:
        """True for a path that snapshots leave alone."""
        return self._looker.ignores(path)

    def compare(self, before: str, after: str) -> list[FileChange]:
        """What changed between two snapshots, renames found, in the order of the paths."""
        self._known(before, after)
        if before == after:
            return []
        return self._mending(lambda: self._compare(before, after))

    def _compare(self, before: str, after: str) -> list[FileChange]:
        out = self._git(
            *_DIFF, "-z", "--raw", "--numstat", "--no-abbrev", f"{before}:files", f"{after}:files"
        )
        return merge_unkept(parse_changes(out), self._unkept(before), self._unkept(after))

    def diff(self, before: str, after: str, paths: Sequence[str] = (), *, longest: int = 200_000) -> str:
        """The same as a unified diff; binary files are only named, and what is too long is cut and says so."""
        changes = wanted_paths(self.compare(before, after), paths)
        wanted = [
            path for change in changes if change.kept for path in (change.path, change.old_path) if path
        ]
        unkept = "".join(unkept_line(change) for change in changes if not change.kept)
        if not wanted:
            return cut_diff(unkept, longest)
        # A command line has no room for thousands of names; a diff of so many files would be cut anyway.
        named = ["--", *wanted] if paths and len(wanted) <= 1000 else []
        out, more = self._mending(
            lambda: read_git(
                [
                    *_DIFF,
                    "-p",
                    "--src-prefix=a/",
                    "--dst-prefix=b/",
                    f"{before}:files",
                    f"{after}:files",
                    *named,
                ],
                git_dir=self._objects.folder,
                most=4 * longest,
            )
        )
        return cut_diff(out.decode("utf-8", "replace") + unkept, longest, more=more)

    def files(self, snapshot: str) -> dict[str, str]:
        """Every path of a snapshot with the hash of its content."""
        return {path: entry.hash for path, entry in self.entries(snapshot).items()}

    def entries(self, snapshot: str) -> dict[str, Entry]:
        """Every path of a snapshot, with what is known of it."""
        self._known(snapshot)
        found = self._lists.get(snapshot)
        if found is None:
            found = self._listed(snapshot, self._mending(lambda: self._entries(snapshot)))
        return dict(found)

    def _entries(self, snapshot: str) -> dict[str, Entry]:
        kept = parse_tree(self._git("ls-tree", "-r", "-z", "-l", f"{snapshot}:files"))
        return dict(sorted((kept | self._unkept(snapshot)).items()))

    def _unkept(self, snapshot: str) -> dict[str, Entry]:
        listed = parse_tree(self._git("ls-tree", "-r", "-z", f"{snapshot}:unkept"))
        found: dict[str, Entry] = {}
        for path, entry in listed.items():
            data = self._objects.read(entry.hash)
            if data is None:
                raise GitFailed(f"a content is missing: {path}")
            found[path] = parse_pointer(data, entry)
        return found

    def read(self, snapshot: str, path: str) -> bytes | None:
        """The content of a file in a snapshot; None where there is no such file, or its content was not kept."""
        entry = self.entries(snapshot).get(path)
        if entry is None or not entry.kept:
            return None
        data = self._objects.read(entry.hash)
        if data is None:
            self._mend()
            data = self._objects.read(entry.hash)
        if data is None:
            raise StoreError(
                f"the content of {path} in this snapshot is damaged",
                hint="other snapshots may still be sound",
            )
        return data

    def has(self, snapshot: str) -> bool:
        """True where this keeper still knows the snapshot."""
        if not _NAME.fullmatch(snapshot) or not self._objects.folder.exists():
            return False
        if self._reference(snapshot).exists():
            return True
        ran = run_git(
            ["rev-parse", "--verify", "--quiet", f"refs/snapshots/{snapshot}"],
            cwd=self._objects.folder,
            git_dir=self._objects.folder,
            check=False,
        )
        return ran.code == 0

    def tidy(self) -> None:
        """Pack what is kept; drops nothing."""
        clear_stale(self._objects.folder)
        self._git("pack-refs", "--all")
        self._git("repack", "-a", "-d", "-q", "--keep-unreachable")
        self._objects.written.clear()

    def forget(self) -> None:
        """Drop every snapshot of this folder; the next one begins anew."""
        self._kept.forget()
        self._open()

    def _git(self, *arguments: str) -> bytes:
        return run_git(arguments, cwd=self._objects.folder, git_dir=self._objects.folder).out

    def _known(self, *names: str) -> None:
        for name in names:
            if not self.has(name):
                raise NotFound(
                    f"no snapshot {name} of {self.root}",
                    hint="it may have been dropped, or belongs to another folder",
                )

    def _mending(self, work: Callable[[], T]) -> T:
        """Do it; where something is damaged, keep again what the folder still holds, and try once more."""
        try:
            return work()
        except GitFailed:
            self._mend()
        try:
            return work()
        except GitFailed as error:
            raise StoreError(
                f"a snapshot of {self.root} is damaged",
                hint="other snapshots may still be sound",
                said=error.said,
            ) from error

    def _mend(self) -> None:
        """Remove damaged objects, and write those anew whose content the folder still has."""
        damaged = [
            f"{file.parent.name}{file.name}"
            for file in sorted((self._objects.folder / "objects").glob("[0-9a-f][0-9a-f]/*"))
            if not _sound(file)
        ]
        for name in damaged:
            self._objects.drop_damaged(name)
        self._objects.written.clear()
        self._looker.memory = {}
        self._lists.clear()
        self._last = None
        self.take()


def _sound(file: Path) -> bool:
    try:
        whole = zlib.decompress(file.read_bytes())
    except (OSError, zlib.error):
        return False
    return hashlib.sha1(whole, usedforsecurity=False).hexdigest() == file.parent.name + file.name


def _unsound(place: Path) -> str:
    """Why a repository of ours cannot be used; empty where it can."""
    for needed in ("HEAD", "config", "objects", "refs", "identity"):
        if not (place / needed).exists():
            return f"{needed} is missing"
    try:
        ran = run_git(["rev-parse", "--is-bare-repository"], cwd=place, git_dir=place, check=False)
    except GitFailed as error:
        return error.message
    return "" if ran.code == 0 else "git cannot read it"


def _create(place: Path) -> None:
    """A new bare repository. Made beside and moved into place, so that it is there whole or not at all."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = Path(tempfile.mkdtemp(dir=place.parent, prefix="new-"))
    except OSError as error:
        raise StoreError(
            f"snapshots cannot be kept in {place.parent}: {error.strerror}",
            hint="is the disk full, or the folder read-only?",
            path=str(place.parent),
        ) from error
    try:
        run_git(["init", "-q", "--bare", "--template=", *_formats(), str(temporary)], cwd=temporary)
        (temporary / "refs" / "snapshots").mkdir(parents=True, exist_ok=True)
        (temporary / "identity").write_bytes(secrets.token_bytes(32))
        temporary.rename(place)
    except OSError:
        if not place.exists():
            raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)  # another process was first


def _formats() -> list[str]:
    """The formats that we write, named where git knows the word: newer ones prefer others."""
    version = git_version()
    if version is None:
        return []
    named = ["--object-format=sha1"] if version >= (2, 29) else []
    return [*named, "--ref-format=files"] if version >= (2, 45) else named
