"""Compare two snapshots without git: renames, line counts, unified diffs.

Owns renames by equal content and by likeness, line counts, unified diffs, and the note for files whose content was not kept.
Contents are passed in.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from backscroll.vocab.change import FileChange
from backscroll.workspace.git.line_history import count_changes, hunks, split_lines
from backscroll.workspace.git.modes import is_binary
from backscroll.workspace.snapshots.snapshots import ERASED, SnapshotFile

_ALIKE = 0.5
_MOST_PAIRS = 40_000
_PIECE = 64
_AFTER_FEED = re.compile(rb"(?<=\n)")

Reader = Callable[[str], bytes | None]


def text_lines(data: bytes) -> list[str]:
    """Return the lines of a content; invalid UTF-8 bytes are kept distinct, so that different contents never look equal."""
    return split_lines(data.decode("utf-8", "surrogateescape"))


def compare_entries(
    before: Mapping[str, SnapshotFile],
    after: Mapping[str, SnapshotFile],
    read_before: Reader,
    read_after: Reader,
) -> list[FileChange]:
    """Return what changed between two lists of files, renames found, in the order of the paths."""
    gone = {path: entry for path, entry in before.items() if path not in after}
    new = {path: entry for path, entry in after.items() if path not in before}
    renames = _same_content(gone, new)
    left_gone = {path: entry for path, entry in gone.items() if path not in renames.values()}
    left_new = {path: entry for path, entry in new.items() if path not in renames}
    renames |= _alike(left_gone, left_new, read_before, read_after)
    moved = set(renames.values())
    changes: list[FileChange] = []
    for path in sorted({*before, *after}):
        old_path = renames.get(path, path)
        old, now = before.get(old_path), after.get(path)
        if path in moved or (old == now and old_path == path):
            continue
        changes.append(_change(path, old_path, old, now, read_before, read_after))
    return changes


def _change(
    path: str,
    old_path: str,
    old: SnapshotFile | None,
    now: SnapshotFile | None,
    read_before: Reader,
    read_after: Reader,
) -> FileChange:
    change = change_of(path, old, now, old_path=old_path if old_path != path else "")
    if not change.kept or change.before == change.after:
        return change
    data_before = read_before(old_path) or b"" if old else b""
    data_after = read_after(path) or b"" if now else b""
    if is_binary(data_before) or is_binary(data_after):
        return replace(change, binary=True)
    added, removed = count_changes(text_lines(data_before), text_lines(data_after))
    return replace(change, added=added, removed=removed)


def change_of(
    path: str, old: SnapshotFile | None, now: SnapshotFile | None, *, old_path: str = ""
) -> FileChange:
    """Return the change from one entry to another, without counted lines."""
    ran, runs = (old is not None and old.kind == "exec"), (now is not None and now.kind == "exec")
    return FileChange(
        path=path,
        action="renamed" if old_path else "added" if old is None else "deleted" if now is None else "changed",
        before=old.hash if old else "",
        after=now.hash if now else "",
        old_path=old_path,
        executable=runs if now is not None and runs != ran else None,
        kept=all(entry is None or entry.kept for entry in (old, now)),
    )


def _same_content(gone: Mapping[str, SnapshotFile], new: Mapping[str, SnapshotFile]) -> dict[str, str]:
    """Map new paths to old paths with the same content; a file of the same name is preferred."""
    by_hash: defaultdict[tuple[str, bool], list[str]] = defaultdict(list)
    for path, entry in sorted(gone.items()):
        if entry.size:  # empty files are always equal
            by_hash[entry.hash, entry.kind == "link"].append(path)
    found: dict[str, str] = {}
    for path, entry in sorted(new.items()):
        candidates = by_hash.get((entry.hash, entry.kind == "link"))
        if candidates:
            best = min(candidates, key=lambda old: (_name(old) != _name(path), old))
            candidates.remove(best)
            found[path] = best
    return found


def _alike(
    gone: Mapping[str, SnapshotFile], new: Mapping[str, SnapshotFile], read_before: Reader, read_after: Reader
) -> dict[str, str]:
    """Map new paths to old paths with at least half of the content in common. Of very many files only equal names are
    compared."""
    olds = [path for path, entry in gone.items() if entry.kept and entry.kind != "link" and entry.size]
    news = [path for path, entry in new.items() if entry.kept and entry.kind != "link" and entry.size]
    pairs = [
        (path, old)
        for path in news
        for old in olds
        if len(olds) * len(news) <= _MOST_PAIRS or _name(old) == _name(path)
    ]
    bags_before = {old: _bag(read_before(old)) for old in {old for _, old in pairs}}
    bags_after = {path: _bag(read_after(path)) for path in {path for path, _ in pairs}}
    scored = sorted(
        (-score, _name(old) != _name(path), path, old)
        for path, old in pairs
        if (score := _likeness(gone[old].size, bags_before[old], new[path].size, bags_after[path])) >= _ALIKE
    )
    found: dict[str, str] = {}
    taken: set[str] = set()
    for _, _, path, old in scored:
        if path not in found and old not in taken:
            found[path] = old
            taken.add(old)
    return found


def _bag(data: bytes | None) -> Counter[bytes]:
    """Return the pieces of a content as git counts them (lines, long ones in pieces of 64 bytes) with their bytes."""
    bag: Counter[bytes] = Counter()
    if data is None:
        return bag
    if not is_binary(data):
        data = data.replace(b"\r\n", b"\n")
    for line in _AFTER_FEED.split(data):
        for start in range(0, len(line), _PIECE):
            piece = line[start : start + _PIECE]
            bag[piece] += len(piece)
    return bag


def _likeness(old: int, before: Counter[bytes], new: int, after: Counter[bytes]) -> float:
    """Return the common bytes as a share of the larger content."""
    larger = max(old, new)
    if min(old, new) < larger * _ALIKE:
        return 0.0
    return (before & after).total() / larger


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def merge_unkept(
    changes: Iterable[FileChange], before: Mapping[str, SnapshotFile], after: Mapping[str, SnapshotFile]
) -> list[FileChange]:
    """Merge the changes of files with kept content and of the others into one list.

    `before` and `after` hold the files whose content was not kept. A file may be kept on one side only: it grew too large.
    """
    out: dict[str, FileChange] = {}
    for change in changes:
        if change.action == "renamed" and (change.old_path in after or change.path in before):
            # One side of a rename only: the file still exists but is no longer kept, or existed before.
            out[change.old_path] = FileChange(change.old_path, "deleted", before=change.before)
            out[change.path] = FileChange(change.path, "added", after=change.after)
        else:
            out[change.path] = change
    gone = {path: entry for path, entry in before.items() if path not in after and path not in out}
    new = {path: entry for path, entry in after.items() if path not in before and path not in out}
    renames = _same_content(gone, new)
    for path in sorted({*before, *after}):
        old, now = before.get(path), after.get(path)
        if old == now or path in renames.values():
            continue
        if path in renames:
            out[path] = change_of(path, before[renames[path]], now, old_path=renames[path])
            continue
        kept = out.get(path)
        made = change_of(path, old, now)
        if kept is not None:  # kept on the other side
            made = replace(
                made, action="changed", before=made.before or kept.before, after=made.after or kept.after
            )
        out[path] = made
    return [out[path] for path in sorted(out)]


def render_diff(change: FileChange, before: bytes, after: bytes) -> str:
    """Return the unified diff of one change, in git's format."""
    old_path = change.old_path or change.path
    head = [f"diff --git a/{old_path} b/{change.path}\n"]
    if change.action == "renamed":
        head += [f"rename from {old_path}\n", f"rename to {change.path}\n"]
    head += _modes(change)
    if not change.kept:
        return "".join(head) + unkept_line(change)
    if change.binary:
        return (
            "".join(head)
            + f"Binary files {_side('a', change.before, old_path)} and {_side('b', change.after, change.path)} differ\n"
        )
    body = "".join(hunks(_decode_lines(before), _decode_lines(after)))
    if not body:
        return "".join(head)
    return (
        "".join(head)
        + f"--- {_side('a', change.before, old_path)}\n+++ {_side('b', change.after, change.path)}\n"
        + body
    )


def _modes(change: FileChange) -> list[str]:
    mode = "100755" if change.executable else "100644"
    if change.action == "added":
        return [f"new file mode {mode}\n"]
    if change.action == "deleted":
        return ["deleted file mode 100644\n"]
    if change.executable is None:
        return []
    return [f"old mode {'100644' if change.executable else '100755'}\n", f"new mode {mode}\n"]


def unkept_line(change: FileChange) -> str:
    """Return the line of a diff for a file whose content was not kept."""
    erased = any(name.startswith(ERASED) for name in (change.before, change.after))
    return f"Content of {change.path} was {'erased' if erased else 'not kept'} ({change.action})\n"


def _decode_lines(data: bytes) -> list[str]:
    return split_lines(data.decode("utf-8", "replace"))


def _side(letter: str, name: str, path: str) -> str:
    return f"{letter}/{path}" if name else "/dev/null"


def wanted_paths(changes: Sequence[FileChange], paths: Sequence[str]) -> list[FileChange]:
    """Return the changes of the paths, and of the contents of folders."""
    if not paths:
        return list(changes)
    roots = tuple(path.rstrip("/") + "/" for path in paths)
    return [
        change
        for change in changes
        if any(f"{one}/".startswith(roots) for one in (change.path, change.old_path) if one)
    ]


def cut_diff(text: str, longest: int, *, more: bool = False) -> str:
    """Cut a diff to a length at the end of a line, with a note. `more`: it was cut before."""
    if len(text) <= longest and not more:
        return text
    kept = text[:longest]
    kept = kept[: kept.rfind("\n") + 1]
    return kept + "[the diff goes on; the rest is not shown]\n"
