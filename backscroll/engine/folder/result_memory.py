"""Cache of full tool results, bounded in bytes and backed by the store.

Owns one cache per engine, least recently used out first. A result that was forgotten since is not returned, even if a
caller still holds its name. Finding results is in `engine/folder/tool_uses`. Safe to share between OS threads.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from backscroll.errors import Forgotten
from backscroll.record.content import decode
from backscroll.record.ports import Reader, Store
from backscroll.vocab.event import Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content
from backscroll.vocab.part import Opaque, Text, ToolResult

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

_memories: WeakKeyDictionary[EngineScope, ResultMemory] = WeakKeyDictionary()
_making = threading.Lock()


@dataclass(slots=True)
class _CachedResult:
    text: str
    size: int
    seen: int  # the newest event of the log that was checked for a forget


class ResultMemory:
    """Results by the revision that contains them and the call they answer."""

    def __init__(self, store: Store, bound: int) -> None:
        self._store = store
        self._render_bound = bound
        self._held: OrderedDict[tuple[Ref, str], _CachedResult] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """The number of bytes held."""
        return self._size

    def __len__(self) -> int:
        return len(self._held)

    def text(self, revision: Ref, call_id: str) -> str:
        """Return the full text of a result; raises if it was forgotten."""
        key = (revision, call_id)
        with self._lock:
            held = self._held.get(key)
            if held is not None:
                self._held.move_to_end(key)
        if held is not None and self._stands(revision, held):
            return held.text
        self._drop(key)
        text, head = self._store.read(lambda reader: _read(reader, revision, call_id))
        self._keep(key, _CachedResult(text, sys.getsizeof(text), head))
        return text

    def _stands(self, revision: Ref, held: _CachedResult) -> bool:
        """Return False if anything was forgotten in this log since the text was read."""

        def look(reader: Reader) -> tuple[bool, int]:
            state = reader.thread(revision.thread)
            if state is None or state.forgotten:
                return False, held.seen
            if state.head == held.seen:
                return True, held.seen
            later = reader.others(revision.thread, held.seen + 1)
            return all(event.kind is not Kind.FORGOTTEN for event in later), state.head

        stands, held.seen = self._store.read(look)
        return stands

    def _keep(self, key: tuple[Ref, str], held: _CachedResult) -> None:
        with self._lock:
            if held.size > self._render_bound or key in self._held:
                return
            self._held[key] = held
            self._size += held.size
            while self._size > self._render_bound:
                _, old = self._held.popitem(last=False)
                self._size -= old.size

    def _drop(self, key: tuple[Ref, str]) -> None:
        with self._lock:
            old = self._held.pop(key, None)
            self._size -= old.size if old is not None else 0


def _read(reader: Reader, revision: Ref, call_id: str) -> tuple[str, int]:
    spoken = reader.read_spoken([revision]).get(revision)
    state = reader.thread(revision.thread)
    if spoken is None or spoken.body is None or state is None:
        raise Forgotten(f"message {revision.short} was forgotten", hint="its content cannot be restored")
    return result_text(decode(spoken.body), call_id), state.head


def result_text(content: Content, call_id: str) -> str:
    """Return the full text of the answers to a call in one message."""
    parts = [part for part in content.parts if isinstance(part, ToolResult) and part.call_id == call_id]
    return "\n".join(
        inner.text if isinstance(inner, Text) else inner.raw
        for part in parts
        for inner in part.content
        if isinstance(inner, Text | Opaque)
    )


def memory_of(engine: EngineScope) -> ResultMemory:
    """Return the cache of an engine."""
    with _making:
        found = _memories.get(engine)
        if found is None:
            found = _memories[engine] = ResultMemory(engine.store, engine.settings.tool_memory)
        return found
