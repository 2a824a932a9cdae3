"""Starting a chat: which thread, in which folder.

Owns finding the newest thread of a folder, making a new one, and reusing an empty one instead of leaving a trail of
empty threads. Refuses: opening the store and drawing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from backscroll.errors import InvalidInput, NotFound
from backscroll.surfaces.chat.screen.picker import of_folder, pick_thread
from backscroll.surfaces.cli.references import thread_named
from backscroll.surfaces.i18n import get_language, t
from backscroll.surfaces.screen.cells import cut
from backscroll.surfaces.screen.plain import one_line
from backscroll.vocab.part import Json, ToolResult

if TYPE_CHECKING:
    from backscroll.engine.engine import Engine
    from backscroll.engine.thread import Thread
    from backscroll.vocab.thread import ThreadInfo

_LOOKED = 300  # newest threads that are searched for one of this folder
_TITLE = 60


def folder(given: str | None) -> Path:
    """Return the folder to work in; raise an error if it does not exist."""
    path = Path(given).expanduser() if given else Path.cwd()
    if not path.is_dir():
        raise NotFound(t("chat.no_folder", path=str(path)), hint=t("chat.no_folder_hint"))
    return path.resolve()


def newest_of(engine: Engine, root: Path) -> ThreadInfo | None:
    """Return the thread of a folder that was last written to."""
    user = engine.settings.user or None
    found = engine.threads(user=user, limit=_LOOKED)
    return next((i for i in found if of_folder(i, root) and not i.forgotten), None)


def new_thread(engine: Engine, root: Path, title: str = "") -> Thread:
    """Return a thread for a folder: the newest one if it is still empty, else a new one."""
    newest = newest_of(engine, root)
    fresh = newest is not None and not newest.messages and not newest.title and not title
    if newest is not None and fresh and newest.user == engine.settings.user:
        return engine.thread(newest.id)
    return engine.create(
        title, project=str(root), kind="agent", language=get_language(), metadata={"workspace": str(root)}
    )


def thread_for(
    engine: Engine,
    root: Path,
    *,
    name: str | None = None,
    last: bool = False,
    pick: bool = False,
    new: bool = False,
    user: str | None = None,
) -> Thread | None:
    """Return the requested thread, of `user` if one is given; None if the user cancelled the picker."""
    if [name is not None, last, pick, new].count(True) > 1:
        raise InvalidInput(t("chat.one_way"), hint=t("chat.one_way_hint"))
    if name is not None:
        return thread_named(engine, name, user)
    if pick:
        found = pick_thread(engine, root)
        return None if found is None else thread_named(engine, found.id, user)
    if last:
        newest = newest_of(engine, root)
        if newest is None:
            raise NotFound(
                t("chat.nothing_to_continue", path=str(root)), hint=t("chat.nothing_to_continue_hint")
            )
        return engine.thread(newest.id)
    return new_thread(engine, root)


def verdict_given(thread: Thread) -> bool:
    """Return True if the last message is a result shown to the user: their verdict ended the run."""
    newest = next(iter(thread.messages(0, 1, newest_first=True)), None)
    if newest is None or newest.role != "tool":
        return False
    judged = any(isinstance(p, ToolResult) and p.name == "attempt_completion" for p in newest.parts)
    act = cast("dict[str, Json]", newest.content.metadata.get("act") or {})
    return judged and "result" in (act.get("facts") or ())  # a task that is worked on at once has none


def title_from(text: str) -> str:
    """Make a title from the first message."""
    return cut(one_line(text), _TITLE)
