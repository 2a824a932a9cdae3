"""Closing a wrapped client: which other wrappers still need its connections.

There may be several wrappers around one client, one for each thread. Owns the count of them: closing a wrapper closes the store that was
opened for it, and the connections of the client only with the last wrapper. A copy (`with_options`) shares the connections of the client
that it was made from and belongs to the same wrapper: closing it closes nothing, unless it was given connections of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

_holders: WeakKeyDictionary[object, WeakSet[ConnectionShare]] = WeakKeyDictionary()
_lock = threading.Lock()


def connections_of(client: object) -> object:
    """Return what a client sends with, which its copies share; the client itself if it does not say."""
    return getattr(client, "_client", client)


class ConnectionShare:
    """One wrapper's share in the connections of a client. A wrapper that is garbage-collected without being closed holds nothing."""

    def __init__(self, client: object) -> None:
        self.client = client
        self.connections = connections_of(client)
        self.closed = False
        with _lock:
            _holders.setdefault(self.connections, WeakSet()).add(self)

    def let_go(self) -> bool:
        """Release the share; True if no other wrapper has one, so that the connections must be closed."""
        with _lock:
            self.closed = True
            others = _holders.get(self.connections, WeakSet[ConnectionShare]())
            others.discard(self)
            return not others


def closing(
    client: object,
    close: Callable[..., Any],
    holder: ConnectionShare,
    store: Callable[[], None],
    *,
    later: bool,
) -> Callable[..., Any]:
    """Return the method `close` of a wrapped client, or of a copy of it; `later`: the client is asynchronous."""

    def close_client(*args: Any, **kwargs: Any) -> Any:
        if not leave(client, holder, store):
            return _nothing() if later else None
        return close(*args, **kwargs)

    return close_client


def leave(client: object, holder: ConnectionShare, store: Callable[[], None]) -> bool:
    """Release what a wrapper holds; True if the client itself must be closed too. `store` closes the store."""
    if client is not holder.client:
        return connections_of(client) is not holder.connections
    try:
        store()
    finally:
        last = holder.let_go()
    return last


async def _nothing() -> None:
    """Do nothing: others still use the connections."""
