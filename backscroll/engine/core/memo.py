"""In-memory caches of an engine: bounded, and never the only copy.

Everything in them can be read or derived again; keys never change their meaning (revisions, artefact keys, thread with
event number), so no entry can be stale. Safe to share between OS threads.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, MutableMapping
from typing import Any, TypeVar

_MOST = 20_000
_MISSING = object()
T = TypeVar("T")


class Memo:
    """Named caches, each of which evicts its least recently used entries."""

    def __init__(self) -> None:
        self._shelves: dict[str, BoundedCache] = {}
        self._lock = threading.Lock()

    def shelf(self, name: str, most: int = _MOST) -> BoundedCache:
        """Return the cache by this name; created on first use."""
        with self._lock:
            found = self._shelves.get(name)
            if found is None:
                found = self._shelves[name] = BoundedCache(most)
            return found

    def clear(self) -> None:
        """Clear all caches; after a forget, no text may remain in memory."""
        with self._lock:
            self._shelves.clear()


class BoundedCache(MutableMapping[Any, Any]):
    """A mapping with at most so many entries, least recently used out first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def __getitem__(self, key: Hashable) -> Any:
        with self._lock:
            value = self._held[key]
            self._held.move_to_end(key)
            return value

    def get(self, key: Hashable, default: Any = None) -> Any:
        """Return an entry or the default; called for every message of every prompt, so it raises no exceptions."""
        with self._lock:
            value = self._held.get(key, _MISSING)
            if value is _MISSING:
                return default
            self._held.move_to_end(key)
            return value

    def __setitem__(self, key: Hashable, value: Any) -> None:
        with self._lock:
            self._held[key] = value
            self._held.move_to_end(key)
            while len(self._held) > self._most:
                self._held.popitem(last=False)

    def __delitem__(self, key: Hashable) -> None:
        with self._lock:
            del self._held[key]

    def __iter__(self) -> Iterator[Hashable]:
        with self._lock:
            return iter(list(self._held))

    def __len__(self) -> int:
        return len(self._held)


class IdentityMemo:
    """Results computed from the very same objects before, by name: for as long as one prompt is made.

    Keyed by identity, because comparing long lists would cost what it saves. It holds the objects, so their ids cannot be
    reused.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[tuple[object, ...], Any]] = {}

    def about(self, name: str, *objects: object, make: Callable[[], T]) -> T:
        """Return the result for these objects; computed on first use."""
        key = (name, *map(id, objects))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = (objects, make())
        return found[1]
