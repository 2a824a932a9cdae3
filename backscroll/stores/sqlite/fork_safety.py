"""Close store files around a fork of the process.

SQLite trusts its own memory of the locks it holds; a child inherits the memory but not the locks. Parent and child would then
each consider themselves the last user, and one would delete the write-ahead log that the other is writing to. So connections
are closed before a fork and reopened on both sides when next needed.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """The hooks of a store around a fork."""

    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def restart(self) -> None: ...


_stores: WeakSet[Forkable] = WeakSet()
_paused: list[Forkable] = []


def watch(store: Forkable) -> None:
    """Register a store."""
    _stores.add(store)


def _before() -> None:
    _paused[:] = sorted(_stores, key=id)  # always in the same order, or two forks would deadlock
    for store in _paused:
        store.pause()


def _in_parent() -> None:
    while _paused:
        _paused.pop().resume()


def _in_child() -> None:
    while _paused:
        _paused.pop().restart()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
