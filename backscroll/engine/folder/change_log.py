"""File changes as recorded in the log, and what a store knows about a folder.

Owns the shape of a `CODE_CHANGED` event (head: structure, no text; body: description, paths, hashes, diff, folder) and the
record in the store of the newest snapshot of a folder, whichever thread took it. Snapshots are taken in
`engine/folder/workroom`.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from backscroll.engine.core.pen import Pen
from backscroll.record.chain import DAMAGE, from_bytes, make_corrupt_error
from backscroll.record.ports import Reader, Writer
from backscroll.vocab.change import Action, By, Cause, CodeChange, FileChange
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.part import Json

#: Characters of a diff that the log keeps; the snapshots have the rest.
LONGEST = 40_000
_LISTED = 500  # files of one change that the log names; the snapshots have the rest
_NAMED = 3  # files that the name of a larger change lists
_META = "workspace "
_ACTIONS: frozenset[str] = frozenset(get_args(Action))
_BYS: frozenset[str] = frozenset(get_args(By))


@dataclass(frozen=True, slots=True)
class FolderState:
    """What a store knows about a folder: its newest snapshot, the number of changes, and the threads that hold them."""

    snapshot: str = ""
    count: int = 0
    threads: tuple[str, ...] = ()
    at: float = 0.0  # when that snapshot was started, in seconds since 1970 by this machine's clock


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """A change with the details that only the engine needs."""

    change: CodeChange
    place: str = ""  # which folder, on which machine; empty if a program reported it
    order: int = 0  # position among the changes of this folder, in any thread
    rewind: str = ""  # the id of the rewind that made it
    redo: str = ""  # the id of the rewind that it reverted
    turn: int = 0  # the turn before which a rewind went
    whole: bool = True  # False: the log does not list every file of it (too many, or its text is forgotten)

    @property
    def by(self) -> By:
        """Who made it."""
        return self.change.cause.by


def place_of(root: Path) -> str:
    """Return the key of a folder on this machine; it does not reveal the path."""
    return hashlib.sha256(f"{platform.node()}\0{root}".encode("utf-8", "surrogatepass")).hexdigest()[:24]


# -- the record about a folder -----------------------------------------------------------------------------------


def known_of(reader: Reader, place: str) -> FolderState:
    """Return what the store knows about a folder; an unreadable record counts as none."""
    text = reader.meta(_META + place)
    if text is None:
        return FolderState()
    try:
        data = json.loads(text)
        threads = tuple(str(t) for t in data["threads"])
        return FolderState(str(data["snapshot"]), int(data["count"]), threads, float(data.get("at", 0.0)))
    except (ValueError, KeyError, TypeError, RecursionError):
        return FolderState()


def keep_known(tx: Writer, place: str, snapshot: str, at: float, thread: str = "") -> None:
    """Record the newest snapshot and its time; with a thread, also that it holds one more change of the folder."""
    known = known_of(tx, place)
    threads = [*(t for t in known.threads if t != thread), thread] if thread else list(known.threads)
    data = {"snapshot": snapshot, "count": known.count + bool(thread), "threads": threads, "at": at}
    tx.set_meta(_META + place, json.dumps(data))


_SEEN = "workspace programs "


def seen_programs(reader: Reader, place: str) -> frozenset[str] | None:
    """Return the keys of the programs in the folder's repository that were there before an agent, or that the user has trusted since."""
    text = reader.meta(_SEEN + place)
    return None if text is None else frozenset(str(key) for key in json.loads(text))


def keep_seen_programs(tx: Writer, place: str, keys: Iterable[str]) -> None:
    """Add keys of programs to the known ones."""
    known = seen_programs(tx, place) or frozenset()
    tx.set_meta(_SEEN + place, json.dumps(sorted(known.union(keys))))


# -- writing to the log ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChangeDraft:
    """A change on its way into the log."""

    place: str
    root: str
    before: str
    after: str
    files: tuple[FileChange, ...]
    cause: Cause
    description: str
    diff: str
    rewind: str = ""
    redo: str = ""
    turn: int = 0  # the turn before which a rewind went
    at: float = 0.0  # when the snapshot after it was started
    own: bool = False  # the tool recorded that it wrote exactly this


def write_change(pen: Pen, draft: ChangeDraft) -> Event:
    """Record a change, and that its snapshot is the newest of the folder."""
    known = known_of(pen.tx, draft.place)
    event = pen.write(Kind.CODE_CHANGED, head=_head(draft, known.count + 1), body=_body(draft))
    keep_known(pen.tx, draft.place, draft.after, draft.at, pen.state.id)
    return event


def _head(draft: ChangeDraft, order: int) -> dict[str, Json]:
    cause = draft.cause
    facts: dict[str, Json] = {
        "by": cause.by,
        "message": None if cause.message is None else str(cause.message),
        "call": cause.call_id,
        "place": draft.place,
        "before": draft.before,
        "after": draft.after,
        "order": order,
        "files": len(draft.files),
        "added": sum(f.added for f in draft.files),
        "removed": sum(f.removed for f in draft.files),
        "rewind": draft.rewind,
        "redo": draft.redo,
        "turn": draft.turn or None,
        "own": draft.own or None,
    }
    return {name: value for name, value in facts.items() if value not in (None, "")}


def _body(draft: ChangeDraft) -> dict[str, Json]:
    listed = [_encode_file(f) for f in draft.files[:_LISTED]]
    body: dict[str, Json] = {
        "description": draft.description,
        "file": format_file_names(draft.files),
        "files": listed,
        "diff": draft.diff,
        "root": draft.root,
        "tool": draft.cause.tool,
    }
    return {name: value for name, value in body.items() if value or name in ("description", "file")}


def format_file_names(files: Sequence[FileChange]) -> str:
    """Return a short name for a change: the names of its files, or the first of them."""
    names = [f.path for f in files[:_NAMED]]
    return ", ".join(names) + (", …" if len(files) > _NAMED else "")


def _encode_file(file: FileChange) -> dict[str, Json]:
    data: dict[str, Json] = {
        "path": file.path,
        "action": file.action,
        "before": file.before,
        "after": file.after,
        "old_path": file.old_path,
        "added": file.added,
        "removed": file.removed,
        "binary": file.binary,
        "kept": file.kept,
    }
    out = {name: value for name, value in data.items() if value not in ("", 0, False)}
    if not file.kept:
        out["kept"] = False
    else:
        out.pop("kept", None)
    if file.executable is not None:
        out["executable"] = file.executable
    return out


# -- reading from the log ----------------------------------------------------------------------------------------


def recorded_of(event: Event, turn: int | None = None) -> ChangeRecord:
    """Return a change from its event; one with forgotten text keeps its snapshots."""
    body: Mapping[str, Any] = {} if event.body is None else cast("Mapping[str, Any]", from_bytes(event.body))
    head = event.head
    try:
        files = tuple(_decode_file(f) for f in body.get("files", ()))
        if not files and body.get("file") and "place" not in head:
            files = (FileChange(str(body["file"]), "changed", kept=False),)
        by = str(head.get("by", "program"))
        message = head.get("message")
        cause = Cause(
            cast("By", by) if by in _BYS else "program",
            None if message is None else parse_ref(str(message)),
            str(head.get("call", "")),
            str(body.get("tool", "")),
        )
        change = CodeChange(
            event.id,
            str(head.get("said", event.at)),
            str(body.get("description", "")),
            files,
            cause,
            turn,
            str(head.get("before", "")),
            str(head.get("after", "")),
            str(body.get("diff", "")),
            str(body.get("root", "")),
            own=bool(head.get("own", False)),
        )
        return ChangeRecord(
            change,
            str(head.get("place", "")),
            int(head.get("order", 0)),
            str(head.get("rewind", "")),
            str(head.get("redo", "")),
            int(head.get("turn", 0)),
            whole=event.body is not None and len(files) >= int(head.get("files", 0)),
        )
    except DAMAGE as error:
        raise make_corrupt_error(f"code change {event.id.short}", error) from error


def _decode_file(data: Mapping[str, Any]) -> FileChange:
    action = str(data.get("action", "changed"))
    return FileChange(
        str(data["path"]),
        cast("Action", action) if action in _ACTIONS else "changed",
        str(data.get("before", "")),
        str(data.get("after", "")),
        str(data.get("old_path", "")),
        int(data.get("added", 0)),
        int(data.get("removed", 0)),
        bool(data.get("binary", False)),
        data.get("executable"),
        bool(data.get("kept", True)),
    )


def cause_of(event: Event) -> Ref | None:
    """Return the message that a change names as its cause."""
    message = event.head.get("message")
    return None if message is None else parse_ref(str(message))
