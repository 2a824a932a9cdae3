"""Silence: the last turns of a conversation are analysed once nothing more was said for a while.

A turn waits for later ones because people change what is new. When a thread is idle (setting `flush_minutes`), or a conversation was
brought in that ended long ago, there is nothing to wait for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from backscroll.derive.window import window_of
from backscroll.engine.core.lineage import View
from backscroll.engine.knowledge.analysis import progress_name
from backscroll.engine.models.extraction import is_imported
from backscroll.record.ports import Reader, ThreadState
from backscroll.vocab.event import Kind
from backscroll.vocab.values.moment import microseconds

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

ACTOR = "backscroll"
_LATELY = 50  # threads that are looked at, the last changed first


def flush_idle(engine: EngineScope) -> int:
    """Flush threads of the last days in which nothing more is said; return how many."""
    found = engine.store.read(lambda reader: reader.threads(limit=_LATELY))
    return sum(flush_if_idle(engine, state.id) for state in found)


def flush_if_idle(engine: EngineScope, thread: str) -> bool:
    """Let the last turns of a thread be analysed where nothing was said for long enough; True if some waited."""
    settings = engine.settings
    if not settings.flush_minutes or settings.extractor == "none":
        return False
    now = microseconds(engine.means.now())
    if not engine.store.read(lambda reader: _waits(engine, reader, thread, now)):
        return False
    found = engine.thread(thread).as_actor(ACTOR)
    found.stroke(lambda pen: pen.write(Kind.FLUSHED))
    return True


def _waits(engine: EngineScope, reader: Reader, thread: str, now: int) -> bool:
    """Return True if turns wait that are not going to change any more. Asks only about threads that are up to date."""
    state = reader.thread(thread)
    if state is None or state.forgotten:
        return False
    if now - _find_end(reader, state) < engine.settings.flush_minutes * 60 * 1_000_000:
        return False
    window = window_of(engine.settings)
    if reader.progress(thread, progress_name(window)) < state.head:
        return False
    newest = reader.turn_marks(thread, window.rule, newest_first=True, limit=window.delay + 4)
    return any(not mark.due and not mark.gone for mark in newest)


def _find_end(reader: Reader, state: ThreadState) -> int:
    """Since when nothing more was said: of what was brought in, since its last message was said."""
    rows = View(reader, state).page(1, newest_first=True)
    if rows and is_imported(reader, rows[0][0].revision):
        return microseconds(rows[0][1].said)
    return microseconds(state.updated_at)
