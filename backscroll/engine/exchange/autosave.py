"""Save a dialogue after every call as a readable JSON file, for users who want to see files grow."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, cast

from backscroll.engine.exchange.exports import foreign_thread, write_file
from backscroll.formats.detection import format_named
from backscroll.formats.dialogue.reader import file_name
from backscroll.regular_files import read_text
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope, ThreadScope


#: Maps threads to their files.
INDEX = ".dialogues.json"


class Autosave:
    """Writes `dialogue_YYYYmmdd_HHMMSS.json` files into a folder."""

    def __init__(self, engine: EngineScope, folder: Path) -> None:
        self._engine = engine
        self._folder = folder
        self._paths = self._read_index()
        self._lock = threading.Lock()

    def __call__(self, thread: ThreadScope) -> None:
        """Save one thread."""
        self.save(thread.id)

    def save(self, thread: str) -> Path:
        """Write the dialogue of a thread; return the file."""
        return self._save(thread, begin=True)

    def save_again(self) -> None:
        """Rewrite every dialogue that has a file, oldest first, in the order in which the files were named."""
        for info in sorted(self._engine.threads(), key=lambda info: (info.created_at, info.id)):
            self._save(info.id, begin=False)

    def _save(self, thread: str, *, begin: bool) -> Path:
        foreign = foreign_thread(self._engine, thread)
        write = format_named("dialogue").write
        assert write is not None
        text = "".join(write(foreign, self._engine.blob).text)
        with self._lock:
            path = self._paths.get(thread) or self._free(foreign.started or "", text, thread)
            if begin or path.exists():
                self._note(thread, path)
                write_file(path, [text])
        return path

    def _read_index(self) -> dict[str, Path]:
        """Return the file of each thread. A file is named after the first message, which may be added after the file, or deleted."""
        try:
            held: Json = json.loads(read_text(self._folder / INDEX))
        except (OSError, ValueError, RecursionError):
            return {}
        names = cast("dict[str, Json]", held) if isinstance(held, dict) else {}
        return {
            thread: self._folder / name
            for thread, name in names.items()
            if isinstance(name, str) and name == Path(name).name
        }

    def _note(self, thread: str, path: Path) -> None:
        """Record the file of a thread before its first text is written, so that a crash in between leaves no unknown file."""
        if self._paths.get(thread) == path:
            return
        self._paths = {**self._read_index(), **self._paths, thread: path}  # another process may save here too
        names = {name: each.name for name, each in self._paths.items()}
        write_file(self._folder / INDEX, [json.dumps(names, indent=1)])

    def _free(self, started: str, text: str, thread: str) -> Path:
        """Return a free file name for this dialogue; two that began in the same second get different names."""
        path = self._folder / file_name(started)
        own = path.with_name(f"{path.stem}_{thread[:8]}{path.suffix}")
        if own.exists():
            return own
        if path in self._paths.values() or (path.exists() and not _same_start(path, text)):
            return own
        return path


def _same_start(path: Path, text: str) -> bool:
    """Return True if a file on disk is an earlier state of this dialogue."""
    try:
        return _read_start_time(read_text(path)) == _read_start_time(text)
    except (OSError, ValueError, RecursionError):
        return False


def _read_start_time(text: str) -> Json:
    held: Json = json.loads(text)
    return cast("dict[str, Json]", held).get("start_time") if isinstance(held, dict) else None
