"""Scrub after an erasure: remove the text from memory, from files beside the store, and from old pages of the store.

Owns the order of these steps. The transaction that erased has recorded that they are due; the store's own rewrite comes
last and clears that record. After a crash in between, the next opening finishes it (`finish_forgetting`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from backscroll.derive.essence import reader as essentials_reading
from backscroll.derive.summaries import gist, summary
from backscroll.engine.core.thread_scope import ThreadScope
from backscroll.engine.log import erasure
from backscroll.engine.log.erasure import ForgetReport
from backscroll.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from backscroll.engine.core.thread_scope import EngineScope


def scrub(engine: EngineScope, threads: Iterable[str], actor: str) -> list[str]:
    """Finish an erasure that was just committed; return what cannot be reached."""
    clear_memory(engine)
    for name in dict.fromkeys(threads):
        engine.notify_change(ThreadScope(engine, name, actor))
    return engine.store.scrub()


def forget_acts(engine: EngineScope, thread: str, seqs: Sequence[int], actor: str) -> ForgetReport:
    """Erase the text of events that are not messages, by their numbers; then scrub."""
    thread = engine.resolve(thread)
    done = engine.store.write(lambda tx: erasure.forget_acts(tx, engine.means, thread, seqs, actor))
    return replace(done, unreachable=tuple(scrub(engine, [thread, *done.threads], actor)))


def clear_memory(engine: EngineScope) -> None:
    """Clear all caches of this process that may contain text."""
    from backscroll.graph import fold  # start-up: a store opens without it

    engine.memo.clear()
    essentials_reading.let_go()
    gist.let_go()
    summary.let_go()
    fold.let_go()


def finish_forgetting(engine: EngineScope, *, wait: bool = False) -> bool:
    """Finish an interrupted `forget`; False if it is still due, as `doctor` and `verify` report.

    `wait`: for other users of the store. An opening does not wait: it leaves the rest to the next one.
    """
    try:
        if not engine.store.read(lambda reader: reader.scrub_due()):
            return True
        clear_memory(engine)
        for rewrite in engine.rewriters:
            rewrite()
    except StoreError:
        return False  # damaged: readers get the error
    if wait:
        engine.store.scrub()
        return not engine.store.read(lambda reader: reader.scrub_due())
    return engine.store.resume_scrub()
