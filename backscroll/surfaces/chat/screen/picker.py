"""The thread picker: a list that narrows with typing, with a preview of the selected thread.

Owns the labels of threads. Only a limited number of threads is read, and a preview is read when
its thread is selected. Refuses: what to do with the choice (`startup`, `/threads`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from backscroll.surfaces.chat.input import questions as asking
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.screen.times import format_time
from backscroll.surfaces.words.conversation import project_name, title_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backscroll.engine.engine import Engine
    from backscroll.vocab.thread import ThreadInfo

_MOST = 500  # threads offered
_LAST = 3  # messages of a preview
_LOOKED = 30  # newest messages that are searched for them
_EXCERPT = 300


def pick_thread(engine: Engine, root: Path | None = None) -> ThreadInfo | None:
    """Let the user pick a past thread, those of this folder first; None if there is none, or the user cancelled."""
    infos = list_threads(engine, root)
    seen: dict[int, str] = {}

    def preview(index: int) -> str:
        if index not in seen:
            seen[index] = preview_of(engine, infos[index])
        return seen[index]

    found = asking.choose(
        t("chat.pick_thread"), [label(info) for info in infos], preview=preview, filtering=True
    )
    return None if found is None else infos[found]


def list_threads(engine: Engine, root: Path | None = None) -> Sequence[ThreadInfo]:
    """Return the threads that are not empty, newest first; those of a folder before the others."""
    infos = [i for i in engine.threads(limit=_MOST) if i.messages and not i.forgotten]
    return sorted(infos, key=lambda info: not (root is not None and of_folder(info, root)))


def of_folder(info: ThreadInfo, root: Path) -> bool:
    """Return True for a thread that works in a folder."""
    return info.metadata.get("workspace") == str(root)


def label(info: ThreadInfo) -> str:
    """Return a thread as one line."""
    facts = [
        one_line(title_of(info)),
        count("words.messages", info.messages),
        format_time(info.updated_at, short=True),
        project_name(info.project),
        info.id[:8],
    ]
    return " · ".join(fact for fact in facts if fact)


def preview_of(engine: Engine, info: ThreadInfo) -> str:
    """Return the last messages of a thread."""
    lines: list[str] = []
    for message in engine.thread(info.id).recent(_LOOKED):
        words = one_line(message.text[:_EXCERPT])
        if words and message.role in {
            "user",
            "assistant",
        }:  # system texts and tool results say little about a conversation
            lines.append(f"{t(f'roles.{message.role}')}: {words}")
    return "\n".join(lines[-_LAST:])
