"""Write native files: complete logs, with the blobs, replies and lessons that belong to them.

A fork that is exported alone includes the history that it shares; lines mark what was forgotten later. Damage in one part
of a store does not prevent exporting the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from backscroll.engine.core.lineage import View
from backscroll.engine.exchange.native.journal import reply_lines
from backscroll.engine.exchange.native.lesson_lines import lesson_lines
from backscroll.errors import StoreCorrupt
from backscroll.formats.native import blob_line, event_line, header
from backscroll.formats.sources.json_text import dumps
from backscroll.record.content import blobs_in
from backscroll.record.history import FORGOTTEN
from backscroll.record.ports import Reader, ThreadState
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.foreign import Problem
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

_BATCH = 500
_EVERY = 1 << 40


def native_lines(
    engine: EngineScope, threads: Sequence[str] | None, problems: list[Problem] | None = None
) -> Iterator[str]:
    """Yield the lines of a native file: some threads with the history that they share, or the whole store.

    Damaged parts of a whole store are left out and recorded in `problems`.
    """
    store = engine.store
    left = [] if problems is None else problems
    states = store.read(lambda reader: _select_threads(reader, threads, left))
    yield header("store" if threads is None else "thread", engine.means.now(), len(states))
    sent: set[str] = set()
    for state in states:
        yield thread_line(state)
        try:
            yield from _log_lines(engine, state, sent)
        except StoreCorrupt as error:
            if threads is not None:
                raise
            left.append(
                Problem(f"the rest of thread {state.id[:8]} is damaged and was left out: {error.message}")
            )
    yield from reply_lines(engine, [state.id for state in states])
    yield from lesson_lines(engine, [state.id for state in states])


def _log_lines(engine: EngineScope, state: ThreadState, sent: set[str]) -> Iterator[str]:
    """Yield the events of a thread, each after the blobs that it is the first to refer to."""
    store, seq = engine.store, state.fork_seq
    while page := store.read(lambda r, q=seq: r.events(state.id, q + 1, state.head, limit=_BATCH)):
        gone = [event for event in page if event.forgotten]
        untold = store.read(lambda r, g=gone: _untold(r, state, g)) if gone else set[Ref]()
        for event in page:
            for name in blobs_in(event) - sent:
                data = engine.blob(name)
                if data is not None:
                    yield blob_line(name, data)
                    sent.add(name)
            yield event_line(event, forgotten=event.id in untold)
        seq = page[-1].seq


def _untold(reader: Reader, state: ThreadState, events: Sequence[Event]) -> set[Ref]:
    """Return the events whose text is gone although the exported part of the log does not record that it was forgotten."""
    whole = reader.thread(state.id)
    if whole is None or whole.head == state.head:
        return set()
    view = View(reader, whole, state.head)
    told = any(e.kind is Kind.FORGOTTEN for e in reader.others(state.id, state.fork_seq + 1, state.head))
    out: set[Ref] = set()
    for event in events:
        entry = None if event.message is None else view.entry(event.message)
        known = told if event.message is None else entry is not None and bool(entry.flags & FORGOTTEN)
        if not known:
            out.add(event.id)
    return out


def _select_threads(reader: Reader, threads: Sequence[str] | None, left: list[Problem]) -> list[ThreadState]:
    """Return the threads in order of creation, ancestors first; an ancestor that was not asked for ends where it is shared."""
    out: dict[str, ThreadState] = {}
    whole = set(threads or ())
    names = list(threads) if threads is not None else [s.id for s in _every(reader)]
    if threads is None:
        lost = set(reader.unreadable())
        names = [name for name in names if not _rests_on(reader, name, lost)]
        known = reader.threads_like("", _EVERY)
        what = "the thread is damaged and was left out; `backscroll verify --repair` repairs what can be repaired"
        left += [Problem(what, where=name[:8]) for name in known if name not in set(names)]
    for name in names:
        line: list[ThreadState] = []
        state, head = reader.thread(name), None
        while state is not None:
            cut = state if head is None or threads is None or state.id in whole else _cut(reader, state, head)
            line.append(cut)
            head = state.fork_seq
            state = reader.thread(state.parent) if state.parent else None
        for state in reversed(line):
            if state.id not in out or out[state.id].head < state.head:
                out[state.id] = state
    return list(out.values())


def _rests_on(reader: Reader, thread: str, lost: set[str]) -> bool:
    """Return True for a fork of an unreadable thread."""
    seen: set[str] = set()
    at: str | None = thread
    while at is not None and at not in seen and at not in lost:
        seen.add(at)
        state = reader.thread(at)
        if state is None:
            return True
        at = state.parent
    return at is not None


def _cut(reader: Reader, state: ThreadState, head: int) -> ThreadState:
    last = reader.event(Ref(state.id, head))
    return state if last is None else replace(state, head=head, hash=last.hash)


def _every(reader: Reader) -> Iterator[ThreadState]:
    after: tuple[str, str] | None = None
    while page := reader.threads(after=after, limit=_BATCH):
        yield from page
        after = (page[-1].updated_at, page[-1].id)


def thread_line(state: ThreadState) -> str:
    """Return the line about a thread itself, apart from its events."""
    data: dict[str, Json] = {
        "thread": state.id,
        "root": state.root,
        "parent": state.parent,
        "fork_seq": state.fork_seq,
        "fork_position": None if state.fork_position is None else state.fork_position.hex(),
        "fork_message": None if state.fork_message is None else str(state.fork_message),
        "created_at": state.created_at,
        "head": state.head,
        "hash": state.hash.hex(),
    }
    return dumps({k: v for k, v in data.items() if v is not None})
