"""The files that can be mentioned, ranked by what the user has typed.

Owns a list of the folder with a limited age (reading it must never delay typing) and the ranking by parts: `su/ag`
finds `surfaces/agent.py`. Refuses: contents (`attachments`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from backscroll.errors import BackscrollError
from backscroll.workspace.files.files import Files
from backscroll.workspace.files.listing import FolderWalk, list_files

MOST = 40  # names offered
_FILES = 20_000  # names of a folder that are kept
_LISTED = 200  # lines of a folder listing attached to a message
_SHORTEST = 2.0  # seconds for which a list is valid; longer if it took long to read
_PATIENCE = 0.012  # seconds that typing may wait
_ROOTS = 8  # folders whose lists are cached
_SHARE = 20  # a list that took a second to read is valid for this many


@dataclass(frozen=True, slots=True)
class _NameList:
    """A list of names, the same in lower case, and until when it is valid."""

    names: tuple[str, ...]
    folded: tuple[str, ...]
    until: float


_known: dict[Path, _NameList] = {}
_looking: dict[Path, threading.Thread] = {}
_lock = threading.Lock()
_EMPTY = _NameList((), (), 0.0)


def known_names(root: Path, patience: float = _PATIENCE) -> _NameList:
    """Return every file and folder (with `/` after it) that is not ignored, as far as known by now.

    A list that is too old is refreshed in the background; typing waits at most `patience` and then uses the previous one.
    """
    with _lock:
        held = _known.get(root)
        if held is not None and time.monotonic() < held.until:
            return held
        worker = _looking.get(root)
        if worker is None or not worker.is_alive():
            worker = threading.Thread(target=_look, args=(root,), name="backscroll-files", daemon=True)
            _looking[root] = worker
            worker.start()
    worker.join(patience)
    return _known.get(root) or _EMPTY


def warm(root: Path, seconds: float = 30.0) -> None:
    """Prepare the list before the user types; waits until it is ready."""
    known_names(root, seconds)


def _look(root: Path) -> None:
    began = time.monotonic()
    try:
        names = tuple(_names(root))
    except (BackscrollError, OSError):
        names = ()  # the folder is gone: there is nothing to offer
    now = time.monotonic()
    with _lock:
        if len(_known) > _ROOTS:
            _known.clear()
        good = max(_SHORTEST, (now - began) * _SHARE)
        _known[root] = _NameList(names, tuple(n.casefold() for n in names), now + good)
        _looking.pop(root, None)


def forget_names() -> None:
    """Drop the cached lists."""
    with _lock:
        _known.clear()


def _names(root: Path) -> Iterator[str]:
    """Yield names, the nearest first, up to the limit; protected files cannot be mentioned."""
    for entry in islice(FolderWalk(Files(root)), _FILES):
        if not entry.protected and entry.kind in ("file", "folder", "link"):
            yield f"{entry.path}/" if entry.kind == "folder" else entry.path


def found_names(root: Path, typed: str, most: int = MOST) -> list[str]:
    """Return names for what was typed, best first; for nothing typed, the top level."""
    known = known_names(root)
    wanted = typed.casefold().removeprefix("./")
    if not wanted:
        return sorted((n for n in known.names if "/" not in n.rstrip("/")), key=_order)[:most]
    ranked: list[tuple[int, int, str]] = []
    parts = [part for part in wanted.split("/") if part]
    for name, folded in zip(known.names, known.folded, strict=True):
        rank = _rank(wanted, parts, folded)
        if rank is not None:
            ranked.append((rank, len(name), name))
    return [name for _, _, name in sorted(ranked)[:most]]


def file_names(root: Path, typed: str, most: int = MOST) -> list[str]:
    """Return the same without folders."""
    return [n for n in found_names(root, typed, most * 2) if not n.endswith("/")][:most]


def _order(name: str) -> tuple[bool, str]:
    return not name.endswith("/"), name


def _rank(wanted: str, parts: Sequence[str], folded: str) -> int | None:
    """Return how well a name matches, 0 best; None: not at all."""
    if folded.startswith(wanted):
        return 0
    last = folded.rstrip("/").rpartition("/")[2]
    if len(parts) == 1:
        if last.startswith(wanted):
            return 1
        if wanted in last:
            return 2
        if wanted in folded:
            return 3
        return 5 if len(wanted) > 2 and _in_order(wanted, last) else None
    return 4 if _parts_fit(parts, folded.split("/")) else None


def _parts_fit(parts: Sequence[str], names: Sequence[str]) -> bool:
    """Return True if every part is found in a path component of its own, in order, and the last one in the last."""
    at = 0
    for name in names:
        if at < len(parts) and parts[at] in name:
            at += 1
    tail = next((name for name in reversed(names) if name), "")
    return at == len(parts) and parts[-1] in tail


def _in_order(letters: str, name: str) -> bool:
    place = 0
    for letter in letters:
        place = name.find(letter, place) + 1
        if not place:
            return False
    return True


def folder_listing(files: Files, folder: str) -> tuple[str, bool]:
    """Return the contents of a folder, one per line, and whether there is more."""
    found = list_files(files, folder, limit=_LISTED)
    return found.text, found.cut
