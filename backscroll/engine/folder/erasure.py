"""Forget a file: erase its versions from every snapshot, and what the log repeats of them.

Owns following a file through its names, which changes in the log mention it, and what a `forget` of messages reports about
snapshots that still contain what they changed. Contents are erased in `workspace/snapshots/erasure`, text in
`engine/log/erasure`. The log goes first: after a crash in between, the snapshots still show which changes were meant, and
the same call finishes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from backscroll.engine.folder.blame import files_of, steps_of
from backscroll.engine.folder.change_log import ChangeRecord, place_of, recorded_of
from backscroll.engine.folder.folder_scope import default_home
from backscroll.engine.log.scrub import forget_acts
from backscroll.errors import NotFound
from backscroll.record.ports import Reader
from backscroll.vocab.event import Kind
from backscroll.vocab.ids import Ref
from backscroll.workspace.snapshots.home import home_of

if TYPE_CHECKING:
    from backscroll.engine.folder.folder_scope import FolderScope
    from backscroll.vocab.change import FileChange
    from backscroll.workspace.snapshots.snapshots import Snapshots

_NAMED = 5  # files that a sentence names


@dataclass(frozen=True, slots=True)
class FileForgetReport:
    """What forgetting a file did, or (with `done` False) would do."""

    path: str
    names: tuple[str, ...]  # names that the file had
    versions: int  # contents erased
    snapshots: int  # snapshots that contained one of them
    changes: int  # changes in the log whose text mentioned it
    shared: tuple[str, ...] = ()  # other files that had the same contents, and lose them too
    present: tuple[
        str, ...
    ] = ()  # files that currently have such a content: they stay, and are not stored until they change
    messages: tuple[Ref, ...] = ()  # messages that wrote it: their own text may repeat it
    unreachable: tuple[str, ...] = ()
    done: bool = False


def forget_file(room: FolderScope, path: str, *, dry_run: bool = False) -> FileForgetReport:
    """Erase all versions of a file; see `Workroom.forget_file`."""
    with room.alone():
        everything = room.everywhere()
        names, hashes = _follow_renames(room.keeper, everything, path)
        keepers = room.keepers()
        held = [keeper.find_held([path], hashes) for keeper in keepers]
        erased = {name for one in held for name in one.names}
        doomed = [one for one in everything if _speaks(room.keeper, one, path, erased)]
        if not any(one.versions for one in held) and not doomed:
            raise NotFound(
                f"no snapshot of {room.root} holds {path}", hint="run `backscroll changes` to list files"
            )
        left = tuple(room.out_of_reach())
        if not dry_run:
            left += _out_of_the_log(room, doomed)
            for keeper, one in zip(keepers, held, strict=True):
                keeper.erase(one.names, [path])
        written = [one.change.cause.message for one in doomed if one.change.cause.message is not None]
        return FileForgetReport(
            path,
            tuple(names),
            sum(one.versions for one in held),
            sum(one.snapshots for one in held),
            len(doomed),
            tuple(sorted({p for one in held for p in one.shared} - set(names))),
            tuple(sorted({p for one in held for p in one.present})),
            tuple(dict.fromkeys(written)),
            left,
            done=not dry_run,
        )


def _follow_renames(
    keeper: Snapshots, everything: Sequence[ChangeRecord], path: str
) -> tuple[list[str], frozenset[str]]:
    """Return every name that a file ever had, and the hashes of its contents under the other names."""
    names = dict.fromkeys([path])
    hashes: set[str] = set()
    touched = [*((one, file) for _, one, file in steps_of(keeper, everything, path))]
    touched += _forward(keeper, everything, path)
    for _, file in touched:
        names.update(dict.fromkeys(name for name in (file.path, file.old_path) if name))
        hashes |= {file.before, file.after} - {""}
    return list(names), frozenset(hashes)


def _forward(
    keeper: Snapshots, everything: Sequence[ChangeRecord], path: str
) -> Iterator[tuple[ChangeRecord, FileChange]]:
    """Yield the changes of files that were once this one, under their later names."""
    later: set[str] = set()
    for one in everything:
        for file in files_of(keeper, one):
            if file.action == "renamed" and (file.old_path == path or file.old_path in later):
                later.discard(file.old_path)
                if file.path != path:
                    later.add(file.path)
                yield one, file
            elif file.path in later:
                if file.action == "deleted":
                    later.discard(file.path)
                yield one, file


def _speaks(keeper: Snapshots, one: ChangeRecord, path: str, erased: set[str]) -> bool:
    """Return True for a change that still has text and touched the file, or a content to be erased."""
    if not (one.change.description or one.change.files):
        return False
    return any(
        path in (file.path, file.old_path) or not erased.isdisjoint({file.before, file.after})
        for file in files_of(keeper, one)
    )


def _out_of_the_log(room: FolderScope, doomed: Sequence[ChangeRecord]) -> tuple[str, ...]:
    by_thread: defaultdict[str, list[int]] = defaultdict(list)
    for one in doomed:
        by_thread[one.change.id.thread].append(one.change.id.seq)
    left: dict[str, None] = {}
    for thread, seqs in by_thread.items():
        done = forget_acts(room.thread.engine, thread, seqs, room.thread.actor)
        left.update(dict.fromkeys(done.unreachable))
    return tuple(left)


# -- what a forget of messages does not erase --------------------------------------------------------------------


def snapshots_left(reader: Reader, thread: str, messages: Sequence[Ref] | None) -> tuple[str, ...]:
    """Return sentences about folders on this machine whose snapshots contain what messages, or a whole thread (None), changed."""
    state = reader.thread(thread)
    if state is None:
        return ()
    names = None if messages is None else {str(message) for message in messages}
    found: defaultdict[str, set[str]] = defaultdict(set)
    for kin in [state] if names is None else reader.family(state.root):
        for event in reader.others(kin.id):
            if event.kind is not Kind.CODE_CHANGED or event.body is None or "place" not in event.head:
                continue
            if names is None or event.head.get("message") in names:
                change = recorded_of(event).change
                if event.head["place"] == place_of(Path(change.root)):
                    found[change.root].update(file.path for file in change.files)
    home = default_home().resolve()
    return tuple(
        f"the snapshots of {root} still hold what was changed in {_join_names(files)};"
        " `backscroll changes --forget-file` erases a file from all of them"
        for root, files in sorted(found.items())
        if home_of(Path(root), home).exists()
    )


def _join_names(files: set[str]) -> str:
    return ", ".join(sorted(files)[:_NAMED]) + (", …" if len(files) > _NAMED else "")
