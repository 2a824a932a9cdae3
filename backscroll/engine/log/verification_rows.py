"""Verify the row of a thread against its log, and find text that is missing without a record.

Owns: comparing every column of a thread's row with its log, and checking for each event without text whether the log
records that it was forgotten. Hashes and histories are in `engine/log/verification`; columns that only the database can see
in `stores/*/reading/check`.
"""

from __future__ import annotations

from collections.abc import Sequence

from backscroll.engine.core.lineage import ERASED, View
from backscroll.record.history import FORGOTTEN
from backscroll.record.ports import Reader, ThreadState
from backscroll.record.thread_info import last_change
from backscroll.vocab.event import Event, Kind


def wrong_in_row(reader: Reader, state: ThreadState, log: Sequence[Event]) -> list[str]:
    """Return what the row of a thread contains that contradicts its log."""
    out: list[str] = []
    parent = None if state.parent is None else reader.thread(state.parent)
    if state.root != (state.id if parent is None else parent.root):
        out.append(f"its row puts it into the family of {state.root[:8]}, which it does not belong to")
    first = log[0] if log else None
    if first is not None and not _began(state, first):
        out.append("its row gives another beginning than its first event")
    changed = state.created_at
    for event in log:
        changed = last_change(changed, event)
    if changed != state.updated_at:
        out.append(f"its row says it changed at {state.updated_at}, its log says {changed}")
    wiped = any(e.kind is Kind.FORGOTTEN and e.head.get("thread") for e in log)
    if wiped != state.forgotten:
        out.append(
            f"its row says it was {'' if state.forgotten else 'not '}forgotten, its log says otherwise"
        )
    if any(e.kind is Kind.FORGOTTEN for e in log) and reader.meta(ERASED) is None:
        out.append("something was forgotten, and the store does not remember that anything ever was")
    return out


def _began(state: ThreadState, first: Event) -> bool:
    if state.created_at not in (first.at, first.head.get("said")):
        return False
    if first.kind is not Kind.FORKED:
        return (state.parent, state.fork_seq, state.fork_position, state.fork_message) == (
            None,
            0,
            None,
            None,
        )
    position = None if state.fork_position is None else state.fork_position.hex()
    message = None if state.fork_message is None else str(state.fork_message)
    head = first.head
    held = (state.parent, state.fork_seq, position, message)
    return held == (head.get("parent"), head.get("at"), head.get("position"), head.get("message"))


def lost_words(log: Sequence[Event], views: Sequence[View]) -> list[Event]:
    """Return the events whose sealed text is missing although no log of the family records that it was forgotten."""
    missing = [event for event in log if event.forgotten]
    if not missing or any(e.kind is Kind.FORGOTTEN and e.head.get("thread") for e in log):
        return []
    forgot = any(
        e.kind is Kind.FORGOTTEN
        for view in views
        for e in view.reader.others(view.state.id, view.state.fork_seq + 1)
    )
    return [event for event in missing if not _is_explained(event, views, forgot=forgot)]


def _is_explained(event: Event, views: Sequence[View], *, forgot: bool) -> bool:
    message = event.message
    if message is None:
        return forgot
    entries = [view.entry(message) for view in views]
    return any(entry is not None and entry.flags & FORGOTTEN for entry in entries)
