"""Find the histories of other tools on this computer, and follow them as they grow.

Looks only in the folders where the tools write, and reads only names and times until an import is requested.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from backscroll.engine.core.clock import utc
from backscroll.engine.exchange.imports import ImportReport, import_path
from backscroll.errors import BackscrollError
from backscroll.vocab.foreign import Problem

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_CLINE = "User/globalStorage/saoudrizwan.claude-dev/tasks"
#: A project folder may hold a whole disk; aider's file is at the top of a project.
_AIDER_DEPTH = 2
_AIDER = ".aider.chat.history.md"
_SKIPPED = frozenset({"node_modules", "venv", "__pycache__", "target", "dist", "build"})


@dataclass(frozen=True, slots=True)
class HistoryFile:
    """A conversation history of another tool."""

    format: str
    path: str
    modified: str
    size: int


def discover(home: Path | None = None, here: Path | None = None) -> list[HistoryFile]:
    """Return the histories of Claude Code, Codex, Cline and aider on this computer, newest first."""
    base, place = home or Path.home(), here or Path.cwd()
    found: dict[Path, HistoryFile] = {}
    for format_name, path in (*_claude(base), *_codex(base), *_cline(base), *_aider(base, place)):
        try:
            status = path.stat()
        except OSError:
            continue  # deleted meanwhile, or not readable
        key = path.resolve()
        if key not in found:
            found[key] = HistoryFile(format_name, str(path), utc(status.st_mtime_ns // 1000), status.st_size)
    return sorted(found.values(), key=lambda d: d.modified, reverse=True)


def _glob(folder: Path, pattern: str) -> Iterator[Path]:
    try:
        yield from sorted(folder.glob(pattern))
    except OSError:
        return


def _claude(home: Path) -> Iterator[tuple[str, Path]]:
    root = Path(os.environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    for path in _glob(root / "projects", "*/*.jsonl"):
        yield "claude-code", path


def _codex(home: Path) -> Iterator[tuple[str, Path]]:
    root = Path(os.environ.get("CODEX_HOME") or home / ".codex")
    for folder in ("sessions", "archived_sessions"):
        for path in _glob(root / folder, "**/rollout-*.jsonl"):
            yield "codex", path


def _cline(home: Path) -> Iterator[tuple[str, Path]]:
    if sys.platform == "darwin":
        settings = home / "Library" / "Application Support"
    elif os.name == "nt":
        settings = Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming")
    else:
        settings = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    servers = [home / ".vscode-server" / "data", home / ".cursor-server" / "data"]
    folders = [
        *(settings / name / _CLINE for name in _EDITORS),
        *(s / _CLINE for s in servers),
        home / ".cline/data/tasks",
    ]
    for folder in folders:
        for task in _glob(folder, "*/api_conversation_history.json"):
            yield "cline", task.parent


def _aider(home: Path, here: Path) -> Iterator[tuple[str, Path]]:
    for folder in (here, *here.parents):
        if (folder / _AIDER).is_file():
            yield "aider", folder / _AIDER
    for root in dict.fromkeys((here, home)):
        for path in _below(root, _AIDER_DEPTH):
            yield "aider", path


def _below(folder: Path, depth: int) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda e: e.name)
    except OSError:
        return
    for entry in entries:
        if entry.name == _AIDER:
            yield Path(entry.path)
        elif (
            depth
            and entry.name[0] != "."
            and entry.name not in _SKIPPED
            and entry.is_dir(follow_symlinks=False)
        ):
            yield from _below(Path(entry.path), depth - 1)


def watch(
    engine: EngineScope,
    paths: Sequence[str],
    on_report: Callable[[ImportReport], None],
    stop: threading.Event,
    *,
    discovered: bool = False,
    every: float = 1.0,
) -> None:
    """Follow files (and, with `discovered`, newly found ones) until `stop` is set; report each import.

    Compares times and sizes, which works on every file system; a file is read only when it changed.
    """
    seen: dict[str, tuple[int, int]] = {}
    rounds = 0
    while True:
        names = list(paths)
        if discovered:
            names += [d.path for d in discover()] if rounds % 10 == 0 else list(seen)
        for name in dict.fromkeys(names):
            state = _state(Path(name))
            if state is None or seen.get(name) == state:
                continue
            seen[name] = state
            for report in _try_import(engine, name):
                if report.problems or report.new or _news(report):
                    on_report(report)
        rounds += 1
        if stop.wait(every):
            return


def _news(report: ImportReport) -> bool:
    return any(count for name, count in report.counts.items() if name not in ("unchanged", "branches"))


def _state(path: Path) -> tuple[int, int] | None:
    """Return a file's or task folder's time and size, which change with it."""
    try:
        if path.is_dir():
            inside = [p.stat() for p in path.iterdir() if p.is_file()]
            return max((s.st_mtime_ns for s in inside), default=0), sum(s.st_size for s in inside)
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _try_import(engine: EngineScope, path: str) -> list[ImportReport]:
    try:
        return import_path(engine, path)
    except BackscrollError as error:  # one bad file must not stop the others from being followed
        return [ImportReport("?", path, problems=[Problem(str(error))])]
