"""Keep snapshots in our own git repository, separate from the user's.

Owns taking, comparing and reading snapshots with git. A snapshot is a tree with two folders: `files` (contents) and `unkept` (for
files that are too large, secret or unreadable: a few lines with hash and size). It is named by its hash and kept alive by a
reference of the same name, so that git's garbage collection never deletes it. Never uses the user's `.git`, index, hooks,
settings or filters.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import tempfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from backscroll.errors import StoreError
from backscroll.vocab.change import FileChange
from backscroll.workspace.git.git import GitFailed, git_version, read_git, run_git
from backscroll.workspace.snapshots.comparison import cut_diff, merge_unkept, unkept_line, wanted_paths
from backscroll.workspace.snapshots.erasure import SnapshotErasure, Tick
from backscroll.workspace.snapshots.keeper import Keeper
from backscroll.workspace.snapshots.shadow_diff import parse_changes, parse_pointer, parse_tree, pointer
from backscroll.workspace.snapshots.shadow_erasure import Trees, rewrite, sweep
from backscroll.workspace.snapshots.shadow_objects import Objects, clear_stale, mode_of, write_whole
from backscroll.workspace.snapshots.snapshots import FileTraces, SnapshotFile

_DIFF = ("diff-tree", "-r", "-M", "-l1000", "--no-color", "--no-ext-diff", "--no-textconv")
_EMPTY = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"  # the empty content: reveals nothing, and many files have it
)
T = TypeVar("T")


class GitKeeper(Keeper[Objects]):
    """The keeper `git`."""

    kind = "git"
    named = re.compile(r"[0-9a-f]{40}")

    def _prepare(self, place: Path) -> None:
        if place.exists() and (why := _unsound(place)):
            self._kept.put_aside(why)
        if not place.exists():
            _create(place)

    def _contents_in(self, place: Path) -> Objects:
        return Objects(place)

    def _write(self, entries: dict[str, SnapshotFile]) -> str:
        put = self._contents
        kept = {path: (mode_of(entry), entry.hash) for path, entry in entries.items() if entry.kept}
        unkept = {
            path: (mode_of(entry), put.put(pointer(entry)))
            for path, entry in entries.items()
            if not entry.kept
        }
        files, beside = put.put_tree(kept), put.put_tree(unkept)
        # The seal is a dangling submodule-style entry that only affects the name.
        seal = self._kept.seal(f"{files} {beside}".encode()).hex()[:40]
        name = put.put_tree(
            {"files": (b"40000", files), "seal": (b"160000", seal), "unkept": (b"40000", beside)}
        )
        if not self._there(name):
            write_whole(self._reference(name), f"{name}\n".encode())
        return name

    def _reference(self, name: str) -> Path:
        return self._contents.folder / "refs" / "snapshots" / name

    def _there(self, snapshot: str) -> bool:
        return self._reference(snapshot).exists()

    def _missing(self, names: set[str]) -> set[str]:
        objects = self._contents.folder / "objects"
        loose = {
            f"{folder.name}{file.name}"
            for folder in objects.iterdir()
            if len(folder.name) == 2
            for file in folder.iterdir()
        }
        wanted = names - loose
        if not wanted:
            return set()
        asked = "".join(f"{name}\n" for name in sorted(wanted)).encode()
        ran = run_git(["cat-file", "--batch-check"], cwd=objects, git_dir=self._contents.folder, stdin=asked)
        return {line.split()[0].decode() for line in ran.out.splitlines() if line.endswith(b"missing")}

    def compare(self, before: str, after: str) -> list[FileChange]:
        """Return what changed between two snapshots, renames found, in the order of the paths."""
        self._check_known(before, after)
        if before == after:
            return []
        return self._retry_repaired(lambda: self._compare(before, after))

    def _compare(self, before: str, after: str) -> list[FileChange]:
        out = self._git(
            *_DIFF, "-z", "--raw", "--numstat", "--no-abbrev", f"{_ref(before)}:files", f"{_ref(after)}:files"
        )
        return merge_unkept(parse_changes(out), self._unkept(before), self._unkept(after))

    def diff(self, before: str, after: str, paths: Sequence[str] = (), *, longest: int = 200_000) -> str:
        """Return the same as a unified diff; binary files are only named, and a long diff is cut with a note."""
        changes = wanted_paths(self.compare(before, after), paths)
        wanted = [
            path for change in changes if change.kept for path in (change.path, change.old_path) if path
        ]
        unkept = "".join(unkept_line(change) for change in changes if not change.kept)
        if not wanted:
            return cut_diff(unkept, longest)
        # A command line cannot hold thousands of names; such a diff would be cut anyway.
        named = ["--", *wanted] if paths and len(wanted) <= 1000 else []
        out, more = self._retry_repaired(
            lambda: read_git(
                [
                    *_DIFF,
                    "-p",
                    "--src-prefix=a/",
                    "--dst-prefix=b/",
                    f"{_ref(before)}:files",
                    f"{_ref(after)}:files",
                    *named,
                ],
                git_dir=self._contents.folder,
                most=4 * longest,
            )
        )
        return cut_diff(out.decode("utf-8", "replace") + unkept, longest, more=more)

    def _load(self, snapshot: str) -> dict[str, SnapshotFile]:
        return self._retry_repaired(lambda: self._entries(snapshot))

    def _entries(self, snapshot: str) -> dict[str, SnapshotFile]:
        kept = parse_tree(self._git("ls-tree", "-r", "-z", "-l", f"{_ref(snapshot)}:files"))
        return dict(sorted((kept | self._unkept(snapshot)).items()))

    def _unkept(self, snapshot: str) -> dict[str, SnapshotFile]:
        listed = parse_tree(self._git("ls-tree", "-r", "-z", f"{_ref(snapshot)}:unkept"))
        found: dict[str, SnapshotFile] = {}
        for path, entry in listed.items():
            data = self._contents.read(entry.hash)
            if data is None:
                raise GitFailed(f"a content is missing: {path}")
            found[path] = parse_pointer(data, entry)
        return found

    def has(self, snapshot: str) -> bool:
        """Return True if this keeper still knows the snapshot."""
        if not self.named.fullmatch(snapshot) or not self._contents.folder.exists():
            return False
        if self._reference(snapshot).exists():
            return True
        ran = run_git(
            ["rev-parse", "--verify", "--quiet", _ref(snapshot)],
            cwd=self._contents.folder,
            git_dir=self._contents.folder,
            check=False,
        )
        return ran.code == 0

    def tidy(self) -> None:
        """Pack the repository; deletes nothing."""
        clear_stale(self._contents.folder)
        self._git("pack-refs", "--all")
        self._git("repack", "-a", "-d", "-q", "--keep-unreachable")
        self._contents.written.clear()

    def _find_held(self, paths: frozenset[str], names: frozenset[str]) -> FileTraces:
        trees = Trees(self._contents)
        trees.load()
        parts = {name: trees.parts(tree) for name, tree in trees.snapshots().items()}
        found = {trees.at(files, path) for files, _ in parts.values() for path in paths} - {"", _EMPTY}
        found |= names
        marked = {
            name: {m for p in paths if (m := trees.at(beside, p))} for name, (_, beside) in parts.items()
        }
        marks = {m for some in marked.values() for m in some if not self._is_erased(m)}
        shared: set[str] = set()
        snapshots = 0
        for name, (files, _) in parts.items():
            held = trees.holding(files, found)
            snapshots += bool(held or marked[name] & marks)
            shared.update(os.fsdecode(path) for _, path, _ in held)
        return FileTraces(frozenset(found), len(found | marks), snapshots, tuple(sorted(shared - paths)))

    def _is_erased(self, mark: str) -> bool:
        return (self._contents.read(mark) or b"").startswith(b"content not kept: erased\n")

    def _rewrite(self, erasure: SnapshotErasure, tick: Tick) -> int:
        trees = Trees(self._contents)
        trees.load()
        return rewrite(trees, erasure, tick)

    def _sweep(self, erasure: SnapshotErasure, tick: Tick) -> None:
        sweep(self._contents, erasure, tick)

    def _git(self, *arguments: str) -> bytes:
        return run_git(arguments, cwd=self._contents.folder, git_dir=self._contents.folder).out

    def _retry_repaired(self, work: Callable[[], T]) -> T:
        """Run the work; if something is damaged, store again what the folder still has, and retry once."""
        try:
            return work()
        except GitFailed:
            self._repair()
        try:
            return work()
        except GitFailed as error:
            raise StoreError(
                f"a snapshot of {self.root} is damaged",
                hint="other snapshots may still be intact",
                said=error.said,
            ) from error

    def _drop_damaged(self, name: str) -> None:  # noqa: ARG002 - the other keeper is told which, and needs no search
        """Remove every damaged object: git reports only that there is one, not always which."""
        for file in sorted((self._contents.folder / "objects").glob("[0-9a-f][0-9a-f]/*")):
            if not _sound(file):
                self._contents.drop_damaged(f"{file.parent.name}{file.name}")


def _ref(snapshot: str) -> str:
    """Return the reference of a snapshot, which points to its tree even after a rewrite."""
    return f"refs/snapshots/{snapshot}"


def _sound(file: Path) -> bool:
    try:
        whole = zlib.decompress(file.read_bytes())
    except (OSError, zlib.error):
        return False
    return hashlib.sha1(whole, usedforsecurity=False).hexdigest() == file.parent.name + file.name


def _unsound(place: Path) -> str:
    """Return why a repository of ours cannot be used; empty if it can."""
    for needed in ("HEAD", "config", "objects", "refs", "identity"):
        if not (place / needed).exists():
            return f"{needed} is missing"
    try:
        ran = run_git(["rev-parse", "--is-bare-repository"], cwd=place, git_dir=place, check=False)
    except GitFailed as error:
        return error.message
    return "" if ran.code == 0 else "git cannot read it"


def _create(place: Path) -> None:
    """Create a bare repository atomically: built beside and moved into place."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = Path(tempfile.mkdtemp(dir=place.parent, prefix="new-"))
    except OSError as error:
        raise StoreError(
            f"snapshots cannot be kept in {place.parent}: {error.strerror}",
            hint="check that the disk is not full and the folder is writable",
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
    """Return the options for the formats we write, if git supports them: newer versions default to others."""
    version = git_version()
    if version is None:
        return []
    named = ["--object-format=sha1"] if version >= (2, 29) else []
    return [*named, "--ref-format=files"] if version >= (2, 45) else named
