"""Which thread and folder a command about files means: the newest thread that works here, unless one is given."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from backscroll.errors import NotFound
from backscroll.surfaces.cli.references import thread_named
from backscroll.surfaces.i18n import t
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.screen.screen import Screen

if TYPE_CHECKING:
    from backscroll.engine.engine import Engine
    from backscroll.engine.folder.workroom import Workroom
    from backscroll.engine.thread import Thread


def thread_here(engine: Engine, name: str | None) -> Thread:
    """Return the given thread, else the newest that works in this folder or in one above it."""
    if name is not None:
        return thread_named(engine, name)
    here = Path.cwd()
    folders = [str(folder) for folder in (here, *here.parents)]
    newest: dict[str, str] = {}
    for info in engine.threads():
        folder = info.metadata.get("workspace")
        if isinstance(folder, str) and not info.forgotten:
            newest.setdefault(folder, info.id)
    for folder in folders:
        if folder in newest:
            return engine.thread(newest[folder])
    raise NotFound(t("workroom.none_here", folder=here), hint=t("workroom.none_here_hint"))


def folder_of(thread: Thread) -> Path:
    """Return the folder that a thread works in; the current one if it has none."""
    folder = thread.info.metadata.get("workspace")
    return Path(folder) if isinstance(folder, str) and folder else Path.cwd()


def room_of(screen: Screen, thread: Thread) -> Workroom:
    """Return the workroom of a thread; report if it finished what a crash had left."""
    room = thread.workroom(folder_of(thread))
    if room.recovered is not None:
        finished = room.recovered.outcome == "finished"
        key = "workroom.recovered" if finished else "workroom.rolled_back"
        screen.remark(t(key, turn=room.recovered.turn), "warn")
        for path in room.recovered.left:
            screen.remark(t("workroom.left", path=one_line(path)), "warn")
    return room


def named_inside(thread: Thread, path: str) -> str:
    """Convert a file name relative to the current folder to one relative to the thread's folder."""
    root = folder_of(thread)
    here = Path(os.path.normpath(Path.cwd() / path))
    for whole in (here, here.parent.resolve() / here.name):
        if whole.is_relative_to(root):
            return whole.relative_to(root).as_posix()
    return path
