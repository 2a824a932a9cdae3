"""Recent tool calls, oldest first: read back from the end, no further than needed.

Digests are made once per revision. What a digest says is in `derive/digest`, the format of the list in `derive/operations`,
and queries by tool, target or text in `tool_uses`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from backscroll.derive.digest import Digest, digests_of
from backscroll.engine.core.history import message_of
from backscroll.engine.core.lineage import View
from backscroll.errors import InvalidInput
from backscroll.record.history import FORGOTTEN, HIDDEN, Entry
from backscroll.record.ports import Reader, RevisionBody
from backscroll.vocab.part import ToolCall, ToolResult

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope

_PAGE = 64
_TURNS = 5  # turns in which unanswered calls are searched


def operations(thread: ThreadScope, rounds: int | None = None, *, last: int | None = None) -> list[Digest]:
    """Return the tool calls of the last rounds, or the `last` so many; oldest first, at most `max_summaries`.

    Reads back from the end only as far as needed: a turn of hundreds of steps is not read whole for twenty lines.
    """
    settings = thread.engine.settings
    rounds = settings.operations_rounds if rounds is None else rounds
    for name, number in (("rounds", rounds), ("last", last or 0)):
        if number < 0:
            raise InvalidInput(f"cannot list {number} operations ({name})", hint="give a number of 0 or more")
    limit = settings.max_summaries if last is None else last
    if limit == 0 or (last is None and rounds == 0):
        return []
    memo = thread.engine.memo.shelf("operations")
    return thread.store.read(
        lambda reader: _recent(view_of(thread, reader), limit, rounds if last is None else None, memo)
    )


def view_of(thread: ThreadScope, reader: Reader) -> View:
    """Return the current view of a thread; raises if there is none."""
    state = reader.thread(thread.id)
    if state is None:
        thread.engine.resolve(thread.id)
    assert state is not None
    return View(reader, state)


def _recent(view: View, limit: int, rounds: int | None, memo: MutableMapping[Any, Any]) -> list[Digest]:
    """Return the newest operations of a view. Results come after their calls, so reading backwards meets them first."""
    waiting = view.count(role="tool") if rounds is None else None
    taken: list[_ToolMessage] = []
    calls = turns = 0
    for row in rows_backwards(view):
        seen = _read_calls(row, memo)
        if not row[0].flags & HIDDEN:
            taken.append(seen)
            calls += len(seen.calls)
        role = row[0].role
        if role == "tool" and waiting is not None:
            waiting -= 1
        if role == "user":
            turns += 1
            if rounds is not None and turns >= rounds:
                break
            if waiting is not None and waiting <= 0 and turns >= _TURNS:
                break  # there are no earlier tool results
        if calls >= limit and role == "assistant":
            break
    return [digest for block in _split_blocks(taken[::-1]) for digest in _digest_block(block, memo)][-limit:]


@dataclass(frozen=True, slots=True)
class _ToolMessage:
    """A message whose relation to tools is known without reading it."""

    row: tuple[Entry, RevisionBody]
    calls: frozenset[str]
    results: frozenset[str]


def _read_calls(row: tuple[Entry, RevisionBody], memo: MutableMapping[Any, Any]) -> _ToolMessage:
    known = memo.get(row[0].revision)
    if known is None:
        parts = message_of(*row).parts
        known = memo[row[0].revision] = (
            frozenset(part.id for part in parts if isinstance(part, ToolCall)),
            frozenset(part.call_id for part in parts if isinstance(part, ToolResult)),
        )
    return _ToolMessage(row, *known)


def _split_blocks(taken: Iterable[_ToolMessage]) -> Iterator[list[_ToolMessage]]:
    """Split where no call awaits its result, so that a block stays the same while the history grows."""
    block: list[_ToolMessage] = []
    waiting: set[str] = set()
    for seen in taken:
        if block and not seen.results and not waiting:
            yield block
            block = []
        if seen.row[0].role == "user":
            waiting.clear()  # no result will follow
        waiting |= seen.calls
        waiting -= seen.results
        block.append(seen)
    if block:
        yield block


def _digest_block(block: Sequence[_ToolMessage], memo: MutableMapping[Any, Any]) -> list[Digest]:
    """Return the digests of a block, made once for these revisions."""
    if not any(seen.calls or seen.results for seen in block):
        return []
    key = tuple(seen.row[0].revision for seen in block)
    made: list[Digest] | None = memo.get(key)
    if made is None:
        made = memo[key] = digests_of([message_of(*seen.row) for seen in block], grows=False)
    return made


def rows_backwards(view: View) -> Iterator[tuple[Entry, RevisionBody]]:
    """Yield live rows from the end, a page at a time."""
    before: bytes | None = None
    while rows := view.page(_PAGE, before=before, newest_first=True):
        yield from (row for row in rows if is_readable(row))
        before = rows[-1][0].position
        if len(rows) < _PAGE:
            return


def is_readable(row: tuple[Entry, RevisionBody]) -> bool:
    """Return False for a message whose text is forgotten."""
    return row[1].body is not None and not row[0].flags & FORGOTTEN
