"""How the last run in a thread ended: stopped by the user, at a limit, or with a verdict.

Owns one mark per thread. After a crash there is none, so the next start can tell an interrupted run from one that the user
stopped, and offers to resume only the former. The mark names the newest message, so any later message voids it. It is not
part of the log: losing it costs one unnecessary question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from backscroll.formats.sources.json_text import dumps
from backscroll.record.chain import from_bytes

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread

_ENDED = "act:ended:"


def mark_ended(thread: Thread, how: str) -> None:
    """Record how a run ended; empty: a run has started and not ended."""
    told = dumps({"how": how, "newest": _newest(thread)}) if how else ""
    known = thread.store.read(lambda reader: reader.meta(_ENDED + thread.id))
    if (known or "") != told:
        thread.store.write(lambda tx: tx.set_meta(_ENDED + thread.id, told))


def how_ended(thread: Thread) -> str:
    """Return how the last run ended; empty if it was interrupted, or messages were added since."""
    raw = thread.store.read(lambda reader: reader.meta(_ENDED + thread.id))
    if not raw:
        return ""
    told = from_bytes(raw.encode())
    return str(told["how"]) if told["newest"] == _newest(thread) else ""


def _newest(thread: Thread) -> str:
    newest = next(iter(thread.messages(0, 1, newest_first=True)), None)
    return "" if newest is None else str(newest.revision)
