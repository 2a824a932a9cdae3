"""Cache the rows of a window from one prompt to the next: an append-only history is read once.

The cache is valid while the log gains only new messages at its end and events that are not about messages; any other event
(an edit, a deletion, a pin, a crop, an undo, a forget, here or in another process) invalidates it. That no message was
missed is checked against the store's count. How far back a prompt reads is decided in `engine/inputs/inputs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

from backscroll.engine.core.lineage import View
from backscroll.record.history import Entry
from backscroll.record.ports import RevisionBody
from backscroll.vocab.event import HARMLESS
from backscroll.vocab.message import Message

_PAGE = 256
_FIRST, _PART = (
    64,
    16,
)  # rows of the first page back (each further page is twice as long), and those decoded at once
Row: TypeAlias = tuple[Entry, RevisionBody]
Sized: TypeAlias = tuple[Message, int]  # a message with its tokens
Telling: TypeAlias = Callable[[Sequence[Row]], list[Sized]]
Strides: TypeAlias = Sequence[tuple[bytes, bytes]]  # stretches without visible messages


class RowCaches(NamedTuple):
    """The cache of rows, and a name for how their tokens are counted."""

    memo: MutableMapping[object, Any]
    name: str


class _RowCache(NamedTuple):
    """The rows read from a thread."""

    head: int  # the newest event then
    live: int  # live messages then
    newest: bytes  # position of the newest of them
    after: bytes | None  # the position at which reading back was to stop
    rows: tuple[Sized, ...]  # the visible messages, newest first
    below: bytes | None  # reading continues before this position; None: `after` was reached


class WindowRows:
    """Reads visible messages from the end backwards."""

    def __init__(
        self, view: View, telling: Telling, visible: Callable[[Entry, RevisionBody], bool], strides: Strides
    ) -> None:
        self.view, self.telling, self.visible, self.strides = view, telling, visible, strides

    def back(self, after: bytes | None, shelf: RowCaches) -> Iterator[Sized]:
        """Yield the messages after a position, the newest first, with their tokens."""
        memo, key = shelf.memo, (self.view.state.id, shelf.name)
        kept = self._extend_rows(cast("_RowCache | None", memo.get(key)), after)
        if kept is None:
            kept = _RowCache(self.view.as_of, self.view.state.messages, b"", after, (), b"")
        else:
            memo[key] = kept
            yield from kept.rows
        page = _FIRST
        while kept.below is not None:
            rows = self.view.page(page, after=after, before=kept.below or None, newest_first=True)
            more, page = len(rows) == page, min(_PAGE, 2 * page)
            # In parts: no tokens are counted for what a prompt does not reach.
            for start in range(0, max(1, len(rows)), _PART):
                some = rows[start : start + _PART]
                below = some[-1][0].position if some and (more or start + _PART < len(rows)) else None
                if below is not None:
                    edge = below
                    below = next((low for low, high in self.strides if low < edge <= high), edge)
                found = self.telling([row for row in some if self.visible(*row)])
                newest = kept.newest or (some[0][0].position if some else b"")
                kept = memo[key] = kept._replace(newest=newest, rows=(*kept.rows, *found), below=below)
                yield from found

    def _extend_rows(self, kept: _RowCache | None, after: bytes | None) -> _RowCache | None:
        """Return the cached rows with those added since; None if they must be read again."""
        view = self.view
        if kept is None or not kept.newest or kept.head > view.as_of or view.as_of != view.state.head:
            return None
        if kept.after is not None and (after is None or after < kept.after):
            return None
        new: list[Row] = []
        if kept.head < view.as_of:
            if any(event.kind not in HARMLESS for event in view.others(kept.head)):
                return None
            new = view.page(_PAGE, after=kept.newest)
        if len(new) == _PAGE or kept.live + len(new) != view.state.messages:
            return None
        found = self.telling([row for row in new if self.visible(*row)])
        rows = (*reversed(found), *kept.rows)
        below = kept.below
        if after is not None and after != kept.after:
            rows = tuple(row for row in rows if row[0].position > after)
            below = None if below is None or below <= after else below
        newest = new[-1][0].position if new else kept.newest
        return _RowCache(view.as_of, view.state.messages, newest, after, rows, below)
