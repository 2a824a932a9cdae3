"""Idle threads: analyse the last turns of a conversation once nothing was added for a while.

A turn normally waits for later ones, because users edit recent turns. When a thread is idle (setting `flush_minutes`), or
an imported conversation ended long ago, there is nothing to wait for.
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
_LATELY = 50  # threads that are checked, the most recently changed first


def flush_idle(engine: EngineScope) -> int:
    """Flush threads of the last days that have gone idle; return how many."""
    found = engine.store.read(lambda reader: reader.threads(limit=_LATELY))
    return sum(flush_if_idle(engine, state.id) for state in found)


def flush_if_idle(engine: EngineScope, thread: str) -> bool:
    """Flush a thread if it has been idle for long enough; True if turns were waiting."""
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
    """Return True if turns are waiting although they will not change any more. Reads only threads that are up to date."""
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
    """Return when the thread last grew; for an imported one, the time of its last message."""
    rows = View(reader, state).page(1, newest_first=True)
    if rows and is_imported(reader, rows[0][0].revision):
        return microseconds(rows[0][1].said)
    return microseconds(state.updated_at)
