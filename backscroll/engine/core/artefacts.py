"""Store derived artefacts as a side effect of reading them.

Artefacts can always be made again, so a store that cannot be written to must not make reading fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from backscroll.errors import StoreError
from backscroll.record.derived import Artefact

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope


def keep_artefacts(engine: EngineScope, fresh: Sequence[Artefact]) -> None:
    """Store artefacts that were made while reading; best effort."""
    if not fresh:
        return
    try:
        engine.store.write(lambda tx: tx.make(fresh))
    except StoreError:
        return  # best effort: a read-only store must not break recall
