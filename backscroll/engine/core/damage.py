"""Which threads of a store cannot be read: nothing else may hide them, and `verify --repair` mends them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from backscroll.engine.engine import Engine


def unreadable(engine: Engine) -> list[str]:
    """The ids of threads whose rows are damaged."""
    return engine.store.read(lambda reader: reader.unreadable())
