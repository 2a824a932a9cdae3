"""Tool calls of a thread with their full results, by tool, target, turn or text.

Owns finding them through the search index or one turn, so that a long history is not read for a few of them. Only live
messages count, so an edit or a delete changes the answer. What a digest says is in `derive/digest`, the format of the list
in `derive/operations`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from backscroll.derive.digest import Digest, digests_of
from backscroll.derive.digests.calls import plain_name
from backscroll.derive.flat import flat
from backscroll.derive.operations import render_operations
from backscroll.engine.core.history import message_of
from backscroll.engine.core.lineage import View, reach
from backscroll.engine.folder.recent_operations import is_readable, operations, rows_backwards, view_of
from backscroll.engine.folder.result_memory import ResultMemory, memory_of, result_text
from backscroll.errors import InvalidInput
from backscroll.recall.question.query import Query, QueryPhrase, Term, parse_query
from backscroll.recall.text.words import index_words
from backscroll.record.history import Entry
from backscroll.record.ports import Reader, RevisionBody, SearchFilter
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json, ToolCall, ToolResult

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope

__all__ = ["Digest", "ToolUse", "operations", "render_operations", "same_tool", "tool_history"]

_PAGE = 64
_HITS = 3_000  # candidates of one search; stores rank about this many at most


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One tool call: its digest, its arguments, and on request the full result."""

    digest: Digest
    arguments: Json
    turn: int  # the number of the turn it is in
    _revision: Ref | None = field(repr=False, default=None)
    _memory: ResultMemory | None = field(repr=False, compare=False, default=None)

    @property
    def result(self) -> str:
        """The full text of the result, read from the store unless cached; empty if there is none yet."""
        if self._revision is None or self._memory is None:
            return ""
        return self._memory.text(self._revision, self.digest.call_id)


@dataclass(frozen=True, slots=True)
class _UseHit:
    """A tool call that matches, and its position."""

    digest: Digest
    arguments: Json
    position: bytes
    revision: Ref | None


@dataclass(frozen=True, slots=True)
class _UseFilter:
    """A filter for tool calls; a call must match all of it."""

    tool: str | None
    target: Query | None
    text: Query | None

    def fits(self, digest: Digest, call: str, result: str) -> bool:
        """Return True if a tool call matches; `call` and `result` are their full texts."""
        if self.tool is not None and not same_tool(self.tool, digest.tool_name):
            return False
        if self.target is not None and not _holds(self.target, f"{digest.target}\n{call}"):
            return False
        return self.text is None or _holds(self.text, f"{call}\n{result}")


def same_tool(wanted: str, name: str) -> bool:
    """Return True if a name means this tool: equal except for case and a server prefix."""
    return wanted == name or wanted.casefold() == name.casefold() or plain_name(wanted) == plain_name(name)


# -- tool history ------------------------------------------------------------------------------------------------


def tool_history(
    thread: ThreadScope,
    *,
    tool: str | None = None,
    target: str | None = None,
    turn: int | None = None,
    text: str | None = None,
    limit: int = 20,
) -> list[ToolUse]:
    """Return the tool calls that match, the newest first.

    `tool` is a name: exact if there is such a tool, else in any case, with or without a server prefix. `target` is text in
    the arguments, `text` a search in call and result with the syntax of `search`, `turn` the number of a turn.
    """
    if limit < 0:
        raise InvalidInput(f"cannot list {limit} tool calls", hint="give a number of 0 or more")
    asked = _UseFilter(_strip_filter(tool), _query(target), _query(text))
    if limit == 0:
        return []
    within = None if turn is None else thread.legible.turn(turn).messages

    def work(reader: Reader) -> list[ToolUse]:
        view = view_of(thread, reader)
        steps = _candidates(thread, view, asked) if within is None else iter([within])
        return _uses(thread, view, steps, asked, limit)

    return thread.store.read(work)


def _strip_filter(text: str | None) -> str | None:
    return text.strip() or None if text is not None else None


def _query(text: str | None) -> Query | None:
    return parse_query(text) if text is not None and text.strip() else None


def _uses(
    thread: ThreadScope, view: View, steps: Iterator[Sequence[Message]], asked: _UseFilter, limit: int
) -> list[ToolUse]:
    found: dict[tuple[Ref, str, Ref | None], _UseHit] = {}
    for step in steps:
        for use in _fitting(step, asked):
            found.setdefault((use.digest.call, use.digest.call_id, use.digest.result), use)
        if len(found) >= limit:
            break  # they come from the end; anything older is not needed
    ordered = sorted(found.values(), key=lambda use: use.position, reverse=True)
    # A step lists its calls in order; newest first applies to parallel calls too.
    return _add_turn_numbers(thread, view, _latest_first(ordered)[:limit])


def _latest_first(uses: Sequence[_UseHit]) -> list[_UseHit]:
    """Return tool calls by position, the last call of a message before its first."""
    out: list[_UseHit] = []
    group: list[_UseHit] = []
    for use in uses:
        if group and group[0].position != use.position:
            out += group[::-1]
            group = []
        group.append(use)
    return out + group[::-1]


def _fitting(step: Sequence[Message], asked: _UseFilter) -> Iterator[_UseHit]:
    """Yield the tool calls in some messages that match."""
    live = [message for message in step if not message.deleted]
    by_id = {message.id: message for message in live}
    for digest in digests_of(live, grows=False):
        home = by_id[digest.call]
        call = next((p for p in home.parts if isinstance(p, ToolCall) and p.id == digest.call_id), None)
        answer = None if digest.result is None else by_id[digest.result]
        told = "" if answer is None else result_text(answer.content, digest.call_id)
        words = "" if call is None else flat(_only(home, call))
        if asked.fits(digest, words, told):
            revision = None if answer is None else answer.revision
            yield _UseHit(digest, None if call is None else call.arguments, home.position, revision)


def _only(message: Message, call: ToolCall) -> Message:
    """Return a message reduced to one of its calls."""
    return replace(message, content=replace(message.content, parts=(call,), author=None))


def _add_turn_numbers(thread: ThreadScope, view: View, uses: Sequence[_UseHit]) -> list[ToolUse]:
    """Return the tool calls with their turn numbers, counted from the end, where the newest are."""
    out: list[ToolUse] = []
    memory = memory_of(thread.engine)
    number, edge = view.state.turns, None
    for use in uses:
        if edge is None or use.position != edge:
            number -= view.count(role="user", after=use.position, upto=edge)
            edge = use.position
        out.append(ToolUse(use.digest, use.arguments, number, use.revision, memory))
    return out


# -- candidates --------------------------------------------------------------------------------------------------


def _candidates(thread: ThreadScope, view: View, asked: _UseFilter) -> Iterator[Sequence[Message]]:
    """Yield messages that may match, through the index if the filter contains a word."""
    if asked.text is not None:
        hits = _hits(thread, view, asked.text, None) or _hits(thread, view, asked.text.relax(), None)
    elif asked.target is not None:
        hits = _hits(thread, view, asked.target, None)
    elif asked.tool is not None and (named := _word_of(asked.tool)) is not None:
        hits = _hits(thread, view, named, asked.tool) or _hits(thread, view, named, None)
    else:
        return _every_block(view)
    return _blocks_around(view, hits)


def _word_of(tool: str) -> Query | None:
    """Return a query for the name of a tool; None if it has no letter or digit."""
    try:
        return parse_query(f'"{plain_name(tool).replace(chr(34), " ")}"')
    except InvalidInput:
        return None


def _hits(thread: ThreadScope, view: View, query: Query, tool: str | None) -> list[Ref]:
    """Return the assistant and tool messages that the index finds in this thread and its shared history."""
    logs = tuple(log for log, _ in reach(view.reader, view.state))
    wanted = SearchFilter(logs, roles=("assistant", "tool"), tool=tool)
    expression = query.to_fts5() if thread.store.dialect == "fts5" else query.to_tsquery()
    return [hit.message for hit in view.reader.search(expression, wanted, _HITS)]


def _blocks_around(view: View, hits: Iterable[Ref]) -> Iterator[Sequence[Message]]:
    """Yield the blocks that contain messages, each once, the newest first."""
    entries = [entry for hit in dict.fromkeys(hits) if (entry := view.entry(hit)) is not None and entry.live]
    seen: set[Ref] = set()
    for entry in sorted(entries, key=lambda entry: entry.position, reverse=True):
        if entry.message not in seen:
            block = _block(view, entry)
            seen.update(message.id for message in block)
            yield block


def _block(view: View, entry: Entry) -> list[Message]:
    """Return the messages around one in which every call has its result and every result its call, if the turn has them.

    Some tools write parallel calls as separate replies, before any of the results.
    """
    block = [message_of(entry, view.reader.read_spoken([entry.revision])[entry.revision])]
    for message in _near(lambda edge: view.page(8, after=edge), entry.position):
        if message.role == "user" or (message.role != "tool" and not _open(block)[0]) or len(block) > _PAGE:
            break
        block.append(message)
    for message in _near(lambda edge: view.page(8, before=edge, newest_first=True), entry.position):
        if message.role == "user" or not _open(block)[1] or len(block) > 2 * _PAGE:
            break
        block.insert(0, message)
    return block


def _open(messages: Iterable[Message]) -> tuple[set[str], set[str]]:
    """Return the calls without result, and the results without call."""
    parts = [part for message in messages for part in message.parts]
    asked = {part.id for part in parts if isinstance(part, ToolCall)}
    told = {part.call_id for part in parts if isinstance(part, ToolResult)}
    return asked - told, told - asked


def _near(page: Callable[[bytes], list[tuple[Entry, RevisionBody]]], edge: bytes) -> Iterator[Message]:
    while rows := page(edge):
        yield from (message_of(*row) for row in rows if is_readable(row))
        edge = rows[-1][0].position


def _backwards(view: View) -> Iterator[Message]:
    """Yield live messages from the end, a page at a time."""
    return (message_of(*row) for row in rows_backwards(view))


def _every_block(view: View) -> Iterator[Sequence[Message]]:
    """Yield all messages that relate to tools, the newest first, split where no result awaits its call."""
    block: list[Message] = []
    waiting: set[str] = set()
    used = False
    for message in _backwards(view):
        block.append(message)
        waiting |= {part.call_id for part in message.parts if isinstance(part, ToolResult)}
        waiting -= {part.id for part in message.parts if isinstance(part, ToolCall)}
        used = used or any(isinstance(part, ToolCall | ToolResult) for part in message.parts)
        if message.role != "tool" and (not waiting or message.role == "user"):
            if used:
                yield block[::-1]
            block, used = [], False
            waiting.clear()
    if used:
        yield block[::-1]


# -- text --------------------------------------------------------------------------------------------------------


def _holds(query: Query, text: str) -> bool:
    """Return True if a text matches a query, by the rules of the index."""
    words = f" {index_words(text)} "
    wanted = all(any(_has(term, words) for term in group) for group in query.groups)
    return wanted and not any(_has(term, words) for term in query.excluded)


def _has(term: Term, words: str) -> bool:
    return any(_stands(phrase, words) for phrase in term.phrases)


def _stands(phrase: QueryPhrase, words: str) -> bool:
    row = " " + " ".join(phrase.words)
    return (row if phrase.prefix else row + " ") in words
