"""Read tasks: the steps of a thread in force, folded, with the messages that belong to each task.

A task's messages are the live ones in its stretches of the history, so deletions, insertions and moves need no bookkeeping.
A fork sees the steps taken up to the message at which it forked. Steps are few; the rest that the fold needs from a long
log (who changed which message) is cached without its text.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from backscroll.engine.core.history import message_of
from backscroll.engine.core.lineage import View
from backscroll.engine.inputs.inputs import in_past_of
from backscroll.errors import NotFound
from backscroll.record.history import FORGOTTEN, HIDDEN
from backscroll.tasks.lifecycle.steps import fold_tasks
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.task import Task

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope

_PAGE, _FEW = 256, 4
_TITLE = 60  # characters of a title taken from the first message
_SHELF = 400  # threads whose steps are cached, and places of tasks


@dataclass(frozen=True, slots=True)
class _TaskEvents:
    """The rare events of a thread read so far, without their texts."""

    seen: int = 0
    events: tuple[Event, ...] = ()

    @property
    def last(self) -> int:
        """The number of the last event read."""
        return self.events[-1].seq if self.events else 0


def tasks_of(view: View, memo: MutableMapping[Any, Any] | None = None) -> list[Task]:
    """Return the tasks of a thread as of a view, oldest first, with their first and last message."""
    if memo is None:
        return [_place_task(view, task) for task in _fold_tasks(view, memo)]
    # Only rare events can move or change a task that is not being worked on: it is read once between two.
    key = (view.state.id, _read_rare_events(view, memo).last)
    found = cast("tuple[Task, ...] | None", memo.get(key))
    if found is None:
        found = memo[key] = tuple(_place_task(view, task) for task in _fold_tasks(view, memo))
        return list(found)
    return [_place_task(view, task, task.first) if task.current else task for task in found]


def _fold_tasks(view: View, memo: MutableMapping[Any, Any] | None) -> list[Task]:
    """Return the tasks of a thread, without their messages."""
    events = [e for e in _rare(view, memo) if in_past_of(view, e)]
    if not any(e.kind is Kind.TASKED for e in events):
        return []

    def intact(message: Ref, event: int) -> bool:
        then, now = View(view.reader, view.state, event).entry(message), view.entry(message)
        if then is None or now is None:
            return then is now
        return now.live and then.live and now.revision == then.revision

    return fold_tasks(events, view.state.id, intact=intact)


def _rare(view: View, memo: MutableMapping[Any, Any] | None) -> list[Event]:
    """Return the rare events in order: steps with their texts, others without."""
    known = _read_rare_events(view, memo)
    out: list[Event] = []
    for event in known.events:
        if event.kind is Kind.TASKED:
            # Read again every time: its text may have been forgotten meanwhile.
            read = view.event(event.seq)
            out.append(event if read is None else read)
        else:
            out.append(event)
    return out


def _read_rare_events(view: View, memo: MutableMapping[Any, Any] | None) -> _TaskEvents:
    """Return the rare events without their texts; those read before are not read again."""
    key = view.state.id
    known = cast("_TaskEvents | None", None if memo is None else memo.get(key))
    if known is None or known.seen > view.as_of:
        known = _TaskEvents()
    if known.seen < view.as_of:
        fresh = view.others(known.seen)
        lean = tuple(replace(e, body=None, salt=None, commit=b"", hash=b"") for e in fresh)
        known = _TaskEvents(view.as_of, (*known.events, *lean) if lean else known.events)
        if memo is not None:
            memo[key] = known
    return known


def _place_task(view: View, task: Task, known: Ref | None = None) -> Task:
    """Return a task with its current first and last message; an untitled task is named after the first.

    `known`: the first message, if it cannot have changed.
    """
    if known is not None and task.current and task.title:
        return task
    first = next(_rows(view, task, size=_FEW), None)
    if first is None:
        return task
    last = None if task.current else next(_rows(view, task, newest_first=True, size=_FEW), None)
    title, named = (task.title, None) if task.title else _title(view, task)
    return replace(
        task, first=first.id, last=None if last is None else last.id, title=title, named=named or task.named
    )


def _title(view: View, task: Task) -> tuple[str, Ref | None]:
    """Return the user's first request, shortened, and the revision that contains it."""
    for message in _rows(view, task, size=_FEW):
        if message.role == "user" and message.text.strip():
            line = next(line for line in message.text.splitlines() if line.strip())
            words = " ".join(line.split())
            return words if len(words) <= _TITLE else f"{words[:_TITLE].rstrip()}…", message.revision
    return "", None


def messages_in(view: View, task: Task) -> list[Message]:
    """Return the live messages of a task in order, without hidden ones."""
    return list(_rows(view, task))


def _rows(view: View, task: Task, *, newest_first: bool = False, size: int = _PAGE) -> Iterator[Message]:
    """Yield the messages of a task; `size` is the size of the first page."""
    spans = sorted(task.spans, key=lambda span: span[0], reverse=newest_first)
    for low, high in spans:
        yield from _stretch(view, low, high, size, newest_first=newest_first)


def _stretch(
    view: View, low: bytes, high: bytes | None, size: int, *, newest_first: bool
) -> Iterator[Message]:
    after = low
    # A position just above the last one of the stretch: no position lies between one and itself plus a zero byte.
    before = None if high is None else high + b"\0"
    while True:
        rows = view.page(size, after=after, before=before, newest_first=newest_first)
        for entry, spoken in rows:
            if not entry.flags & (HIDDEN | FORGOTTEN) and spoken.body is not None:
                yield message_of(entry, spoken)
        if len(rows) < size:
            return
        size = _PAGE
        if newest_first:
            before = rows[-1][0].position
        else:
            after = rows[-1][0].position


def newest_place(view: View) -> bytes:
    """Return the position of the newest message, deleted ones included; empty before the first."""
    rows = view.page(1, newest_first=True, gone=True)
    return rows[0][0].position if rows else b""


def place_before(view: View, message: Ref) -> bytes:
    """Return the position right before a live message."""
    entry = view.entry(message)
    if entry is None or not entry.live:
        raise NotFound(
            f"message {message.short} is not in the history of {view.state.id[:8]}",
            hint="run `backscroll show` to list messages",
        )
    rows = view.page(1, before=entry.position, newest_first=True, gone=True)
    return rows[0][0].position if rows else b""


def find_task(tasks: Sequence[Task], name: str) -> Task:
    """Return a task by its id, or by the id of one that was merged into it."""
    wanted = name.strip().removeprefix("#")
    for task in tasks:
        if wanted in (task.id, *task.merged, task.event.short, str(task.event)):
            return task
    known = ", ".join(task.id for task in tasks[-8:])
    raise NotFound(
        f"task {name} not found",
        hint=f"latest tasks: {known}" if known else "run `backscroll task start` to start one",
    )


def all_tasks(thread: ThreadScope) -> list[Task]:
    """Return the current tasks of a thread, oldest first."""
    memo = thread.engine.memo.shelf("tasks", _SHELF)
    return thread.reading(lambda view: tasks_of(view, memo))


def task_messages(thread: ThreadScope, task: Task) -> list[Message]:
    """Return the live messages of a task, in order."""
    return thread.reading(lambda view: messages_in(view, task))
