"""Find the threads of a store that cannot be read; `verify --repair` repairs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope


def unreadable(engine: EngineScope) -> list[str]:
    """Return the ids of threads whose rows are damaged."""
    return engine.store.read(lambda reader: reader.unreadable())
