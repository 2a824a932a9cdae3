"""Erase contents from our own git repository.

Owns walking through all trees at once (each is read once, however many snapshots share it), the references that lead from a
snapshot's name to its new tree, and git's garbage collection. Journal and sequence: `workspace/snapshots/keeper`,
`workspace/snapshots/erasure`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from backscroll.errors import StoreError
from backscroll.workspace.git.git import GitFailed, run_git
from backscroll.workspace.git.modes import KINDS
from backscroll.workspace.snapshots.erasure import SnapshotErasure, Tick
from backscroll.workspace.snapshots.shadow_diff import parse_pointer, pointer
from backscroll.workspace.snapshots.shadow_objects import TEMPORARY, Objects, write_whole
from backscroll.workspace.snapshots.snapshots import SnapshotFile

_FOLDER = b"40000"
_PORTION = 2000  # trees requested at once

#: Mode, name and hash of what is in a folder.
Item = tuple[bytes, bytes, str]


@dataclass(slots=True)
class Trees:
    """All trees of a repository, and their replacements."""

    objects: Objects
    known: dict[str, tuple[Item, ...]] = field(default_factory=dict[str, tuple[Item, ...]])
    _found: dict[str, tuple[Item, ...]] = field(default_factory=dict[str, tuple[Item, ...]])
    _cleaned: dict[str, str | None] = field(default_factory=dict[str, str | None])

    def load(self) -> None:
        """Read all trees."""
        listed = self._git("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
        names = [line.split()[0] for line in listed.splitlines() if line.endswith(b" tree")]
        for start in range(0, len(names), _PORTION):
            asked = b"".join(name + b"\n" for name in names[start : start + _PORTION])
            self.known.update(_batch(self._git("cat-file", "--batch", stdin=asked)))

    def _git(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        return run_git(arguments, cwd=self.objects.folder, git_dir=self.objects.folder, stdin=stdin).out

    def snapshots(self) -> dict[str, str]:
        """Return the name of every snapshot with its current tree."""
        out = self._git("for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/snapshots")
        return dict(line.split() for line in out.decode("ascii").splitlines())

    def parts(self, tree: str) -> tuple[str, str]:
        """Return the trees of the files that are kept, and of those that are not."""
        inside = {name: hashed for _, name, hashed in self._items(tree)}
        return inside[b"files"], inside[b"unkept"]

    def _items(self, tree: str) -> tuple[Item, ...]:
        found = self.known.get(tree)
        if found is None:
            raise GitFailed(f"a content is missing: {tree}")
        return found

    def at(self, tree: str, path: str) -> str:
        """Return the hash of the file at a path; empty if there is none."""
        *folders, last = os.fsencode(path).split(b"/")
        for part in folders:
            inner = [hashed for mode, name, hashed in self._items(tree) if name == part and mode == _FOLDER]
            if not inner:
                return ""
            tree = inner[0]
        return next((h for mode, name, h in self._items(tree) if name == last and mode != _FOLDER), "")

    def flat(self, tree: str) -> Iterator[Item]:
        """Yield every file below a tree, with its path as the name."""
        for mode, name, hashed in self._items(tree):
            if mode != _FOLDER:
                yield mode, name, hashed
            else:
                yield from ((m, name + b"/" + path, h) for m, path, h in self.flat(hashed))

    def holding(self, tree: str, names: Collection[str]) -> tuple[Item, ...]:
        """Return the files below a tree that have one of these contents."""
        if tree not in self._found:
            found: list[Item] = []
            for mode, name, hashed in self._items(tree):
                if mode == _FOLDER:
                    found += ((m, name + b"/" + path, h) for m, path, h in self.holding(hashed, names))
                elif hashed in names:
                    found.append((mode, name, hashed))
            self._found[tree] = tuple(found)
        return self._found[tree]

    def remove_contents(self, tree: str, names: Collection[str]) -> str | None:
        """Return the tree without these contents; None if nothing is left."""
        if not self.holding(tree, names):
            return tree
        if tree not in self._cleaned:
            left: dict[bytes, tuple[bytes, str]] = {}
            for mode, name, hashed in self._items(tree):
                kept = self.remove_contents(hashed, names) if mode == _FOLDER else hashed
                if kept is not None and (mode == _FOLDER or hashed not in names):
                    left[name] = (mode, kept)
            self._cleaned[tree] = self.objects.put_folder(left) if left else None
        return self._cleaned[tree]


def _batch(out: bytes) -> Iterator[tuple[str, tuple[Item, ...]]]:
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        name, _, size = out[at:end].split()
        start = end + 1
        at = start + int(size)
        yield name.decode("ascii"), tuple(_parse_tree(out[start:at]))
        at += 1  # the line end after it


def _parse_tree(data: bytes) -> Iterator[Item]:
    at = 0
    while at < len(data):
        end = data.index(b"\0", at)
        mode, _, name = data[at:end].partition(b" ")
        yield mode, name, data[end + 1 : end + 21].hex()
        at = end + 21


def rewrite(trees: Trees, erasure: SnapshotErasure, tick: Tick) -> int:
    """Rewrite the tree of every snapshot that refers to an erased content; return how many."""
    objects = trees.objects
    count = 0
    for name, tree in sorted(trees.snapshots().items()):
        files, unkept = trees.parts(tree)
        gone = trees.holding(files, erasure.names)
        marks = {path: (mode, hashed) for mode, path, hashed in trees.flat(unkept)}
        pointed = {path: _replace_pointer(objects, erasure, path, *facts) for path, facts in marks.items()}
        changed = {path: entry for path, entry in pointed.items() if entry is not None}
        if not gone and not changed:
            continue
        for path, entry in changed.items():
            marks[path] = (marks[path][0], objects.put(pointer(entry)))
        for mode, path, hashed in gone:
            marks[path] = (mode, objects.put(pointer(erasure.entry(KINDS[mode.decode()], hashed))))
        left = trees.remove_contents(files, erasure.names) or objects.put_folder({})
        beside = objects.put_tree({os.fsdecode(path): facts for path, facts in marks.items()})
        made = objects.put_tree({"files": (_FOLDER, left), "unkept": (_FOLDER, beside)})
        tick("reference")
        write_whole(objects.folder / "refs" / "snapshots" / name, f"{made}\n".encode())
        count += 1
    return count


def _replace_pointer(
    objects: Objects, erasure: SnapshotErasure, path: bytes, mode: bytes, name: str
) -> SnapshotFile | None:
    """Return the replacement of a file of which only a hash was kept; None if it stays."""
    if os.fsdecode(path) not in erasure.paths:
        return None
    data = objects.read(name)
    if data is None:
        raise GitFailed(f"a content is missing: {os.fsdecode(path)}")
    entry = parse_pointer(data, SnapshotFile(name, KINDS[mode.decode()]))
    return erasure.entry(entry.kind, entry.hash) if erasure.takes(os.fsdecode(path), entry) else None


def sweep(objects: Objects, erasure: SnapshotErasure, tick: Tick) -> None:
    """Delete every unreferenced object, in packs too, and verify that they are gone."""
    folder = objects.folder
    for left in _half_written(folder):
        tick("half written")
        left.unlink(missing_ok=True)
    if any((folder / "objects" / "pack").glob("*.pack")):
        tick("repack")
        run_git(["repack", "-a", "-d", "-q"], cwd=folder, git_dir=folder)
    tick("prune")
    run_git(["prune", "--expire=now"], cwd=folder, git_dir=folder)
    objects.written.clear()
    tick("check")
    asked = "".join(f"{name}\n" for name in sorted(erasure.names)).encode()
    out = run_git(["cat-file", "--batch-check"], cwd=folder, git_dir=folder, stdin=asked).out
    if any(not line.endswith(b"missing") for line in out.splitlines()):
        raise StoreError(
            "some contents could not be erased from the snapshots",
            hint="`backscroll changes --forget-snapshots` drops all of them",
        )


def _half_written(folder: Path) -> list[Path]:
    """Return partial files of killed processes; no other process is running now."""
    objects = folder / "objects"
    return sorted(
        {
            *folder.rglob(f"{TEMPORARY}*"),
            *(objects / "pack").glob("tmp_*"),
            *(objects / "pack").glob(".tmp-*"),
        }
    )
