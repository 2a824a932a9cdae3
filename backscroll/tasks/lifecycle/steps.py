"""The lifecycle of tasks: which steps are legal, and the fold of the steps in force into tasks.

Owns the states and the transitions between them; permissions and effects on the context are decided elsewhere. A
step names its task, and the position in the history where it was taken; these positions determine the messages of a task, so
messages that are deleted, inserted or moved later need no bookkeeping. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, cast

from backscroll.errors import Conflict, InvalidInput
from backscroll.record.acts import acts_in_force
from backscroll.record.chain import words_from_bytes
from backscroll.record.crops import fold_standing
from backscroll.tasks.notes import WITHHELD
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.part import Json
from backscroll.vocab.task import Attempt, Link, Task, TaskAct, TaskState

#: The legal steps of a task by its state. Ended tasks stay as they are; only their annotations can be corrected.
_KNOWING = frozenset({TaskAct.TITLE, TaskAct.LINK, TaskAct.MERGE})
ALLOWED: Mapping[TaskState, frozenset[TaskAct]] = {
    TaskState.NOT_STARTED: frozenset({TaskAct.START, TaskAct.CANCEL}) | _KNOWING,
    TaskState.IN_PROGRESS: frozenset(
        {
            TaskAct.ATTEMPT,
            TaskAct.COMPLETE,
            TaskAct.INCOMPLETE,
            TaskAct.CANCEL,
            TaskAct.RESUME,
            TaskAct.SPLIT,
        }
    )
    | _KNOWING,
    TaskState.INCOMPLETE: frozenset({TaskAct.RESUME, TaskAct.COMPLETE, TaskAct.CANCEL, TaskAct.SPLIT})
    | _KNOWING,
    TaskState.COMPLETED: frozenset({TaskAct.SPLIT}) | _KNOWING,
    TaskState.CANCELLED: frozenset({TaskAct.SPLIT}) | _KNOWING,
}
_AFTER: Mapping[TaskAct, TaskState] = {
    TaskAct.START: TaskState.IN_PROGRESS,
    TaskAct.COMPLETE: TaskState.COMPLETED,
    TaskAct.INCOMPLETE: TaskState.INCOMPLETE,
    TaskAct.CANCEL: TaskState.CANCELLED,
    TaskAct.RESUME: TaskState.IN_PROGRESS,
}
#: The kinds of links between two tasks.
LINKS = ("follows", "part of", "related", "split from")

Span: TypeAlias = tuple[bytes, bytes | None]
#: Returns True if a message is unchanged since an event of the log.
Intact: TypeAlias = Callable[[Ref, int], bool]


def is_allowed(state: TaskState, act: TaskAct) -> bool:
    """Return True if a step is legal in a state."""
    return act in ALLOWED[state] or act is TaskAct.PLAN


def checked_step(task: Task, act: TaskAct) -> None:
    """Validate a step against the state of a task; the error names the legal ones."""
    if is_allowed(task.state, act):
        return
    possible = ", ".join(sorted(a.value for a in ALLOWED[task.state]))
    raise Conflict(
        f"task {task.id} is {task.state.value}: {act.value} is not possible",
        hint=f"possible now: {possible}; undo takes the last step back",
    )


def checked_link(how: str) -> str:
    """Return a valid kind of link between two tasks, or raise a clear error."""
    if how not in LINKS:
        raise InvalidInput(f"unknown link: {how!r}", hint=f"use one of {', '.join(LINKS)}")
    return how


def fold_tasks(events: Iterable[Event], thread: str, *, intact: Intact | None = None) -> list[Task]:
    """Return the tasks described by the events of a thread, oldest first.

    `events` are all events but new messages (more do no harm), in order, the shared past of a fork included. Steps that do not
    lead on from where a task then stood (the user took back what lay between) are skipped. `first` and `last` are not filled
    in: the caller, who reads the history, knows which messages are live.
    """
    # A step whose words were forgotten still counts.
    rare = [replace(e, commit=b"") if e.kind is Kind.TASKED and e.forgotten else e for e in events]
    tasks: dict[str, Task] = {}
    for event in acts_in_force(rare, {Kind.TASKED}):
        _step(tasks, event, thread)
    cleared = _find_cleared(rare)
    touched = _find_touched(rare)
    rests = {e.id: e for e in rare if e.kind is Kind.TASKED}
    return [
        replace(
            task,
            cleared=bool(cleared & {task.id, *task.merged}),
            attempts=tuple(_withheld(a, rests.get(a.event), touched, intact) for a in task.attempts),
        )
        for task in tasks.values()
    ]


def current_of(tasks: Sequence[Task]) -> Task | None:
    """Return the task in progress; None if there is none."""
    return next((task for task in tasks if task.current), None)


def words_of(event: Event) -> Mapping[str, Json]:
    """Return the sealed body of a step; empty if there is none."""
    return {} if event.body is None else cast("dict[str, Json]", words_from_bytes(event.body))


def holds(spans: Sequence[Span], position: bytes) -> bool:
    """Return True if a position is in one of the spans."""
    return any(low < position and (high is None or position <= high) for low, high in spans)


# -- steps -------------------------------------------------------------------------------------------------------


def _step(tasks: dict[str, Task], event: Event, thread: str) -> None:
    """Apply one step to the tasks so far."""
    try:
        act = TaskAct(event.head["act"])
        name = str(event.head["task"])
    except (KeyError, ValueError):
        return  # written by a newer version: skipped
    if act is TaskAct.PLAN or (act is TaskAct.START and name not in tasks):
        tasks.setdefault(name, _begin_task(event, name, thread))
    if act is TaskAct.PLAN:
        return
    if act is TaskAct.SPLIT:
        _split(tasks, event, name, thread)
        return
    task = tasks.get(name)
    if task is None or not is_allowed(task.state, act):
        return
    if act in (TaskAct.START, TaskAct.RESUME):
        _go_on(tasks, event, task)
    elif act is TaskAct.MERGE:
        _merge(tasks, task, str(event.head.get("other", "")))
    elif act is TaskAct.LINK:
        _link(tasks, task, event)
    else:
        tasks[name] = _apply_act(task, act, event)


def _begin_task(event: Event, name: str, thread: str) -> Task:
    words = words_of(event)
    return Task(
        name,
        event.id,
        str(words.get("title", "")),
        TaskState.NOT_STARTED,
        thread,
        None,
        None,
        event.at,
        by=event.actor,
        told=(event.id,),
    )


def place_of(event: Event, key: str = "place") -> bytes:
    """Return the position that a step names; the very beginning if it names none."""
    text = event.head.get(key, "")
    return bytes.fromhex(text) if isinstance(text, str) else b""


def _go_on(tasks: dict[str, Task], event: Event, task: Task) -> None:
    """Start or resume a task; the one in progress rests from there."""
    after = place_of(event, "after")
    for other in list(tasks.values()):
        if other.current:
            tasks[other.id] = replace(other, current=False, spans=_close_spans(other.spans, after))
    task = tasks[task.id]
    links = task.links
    before = str(event.head.get("follows", ""))
    if before in tasks and before != task.id:
        links = _add_link(links, Link(before, "follows"))
    tasks[task.id] = replace(
        task,
        state=TaskState.IN_PROGRESS,
        spans=_join_spans((*task.spans, (after, None))),
        current=True,
        began=event.at if not task.spans else task.began,
        ended="",
        links=links,
        relevant=tuple(str(m) for m in event.head.get("relevant", task.relevant)),
    )


def _close_spans(spans: Sequence[Span], at: bytes) -> tuple[Span, ...]:
    """Return the spans with the open one closed; an empty span is dropped."""
    out = [(low, at if high is None else high) for low, high in spans]
    return tuple((low, high) for low, high in out if low < high)


def _apply_act(task: Task, act: TaskAct, event: Event) -> Task:
    words = words_of(event)
    task = replace(task, told=(*task.told, event.id) if words else task.told)
    decided = {"decided_by": event.actor, "decided_as": str(event.head.get("as", "person"))}
    if act is TaskAct.TITLE:
        return replace(task, title=str(words.get("title", "")))
    if act is TaskAct.ATTEMPT:
        made = Attempt(event.id, event.at, event.actor, str(words.get("result", "")), place=place_of(event))
        return replace(task, attempts=(*task.attempts, made))
    if act is TaskAct.COMPLETE:
        task = _apply_verdict(task, event, "accepted", str(words.get("note", "")), decided)
    elif act is TaskAct.INCOMPLETE:
        return replace(
            _apply_verdict(task, event, "refused", str(words.get("feedback", "")), decided),
            state=TaskState.INCOMPLETE,
            **decided,
        )
    return replace(
        task,
        state=_AFTER[act],
        ended=event.at,
        spans=_close_spans(task.spans, place_of(event)),
        current=False,
        reason=str(words.get("reason", "")) if act is TaskAct.CANCEL else task.reason,
        **decided,
    )


def _apply_verdict(task: Task, event: Event, verdict: str, said: str, decided: Mapping[str, str]) -> Task:
    """Apply the verdict to the result that was waiting for it; feedback without a result is kept as one."""
    media = tuple(str(name) for name in event.head.get("media", ()))
    waiting = [n for n, a in enumerate(task.attempts) if not a.verdict]
    attempts = list(task.attempts)
    if waiting:
        attempts[waiting[-1]] = replace(
            attempts[waiting[-1]], verdict=verdict, feedback=said, media=media, **decided
        )
    elif said or media or verdict == "refused":
        attempts.append(
            Attempt(
                event.id,
                event.at,
                event.actor,
                "",
                verdict,
                said,
                media,
                place=place_of(event),
                **decided,
            )
        )
    return replace(task, attempts=tuple(attempts), feedback=_feedback(attempts))


def _feedback(attempts: Sequence[Attempt]) -> tuple[str, ...]:
    return tuple(a.feedback for a in attempts if a.feedback and a.verdict == "refused")


def _link(tasks: dict[str, Task], task: Task, event: Event) -> None:
    other = str(event.head.get("other", ""))
    if other in tasks and other != task.id:
        link = Link(other, str(event.head.get("how", "related")))
        tasks[task.id] = replace(task, links=_add_link(task.links, link))


def _add_link(links: tuple[Link, ...], new: Link) -> tuple[Link, ...]:
    return (*(link for link in links if link.other != new.other), new)


# -- splitting and merging ---------------------------------------------------------------------------------------


def _split(tasks: dict[str, Task], event: Event, name: str, thread: str) -> None:
    """Split a task at a position: spans and results after it belong to another task, and so does its ending."""
    old = tasks.get(str(event.head.get("other", "")))
    if old is None or not is_allowed(old.state, TaskAct.SPLIT) or name in tasks:
        return
    at = place_of(event, "after")
    early = tuple(
        (low, high if high is not None and high <= at else at) for low, high in old.spans if low < at
    )
    late = tuple((max(low, at), high) for low, high in old.spans if high is None or high > at)
    if not late:
        return
    kept = tuple(a for a in old.attempts if a.place <= at)
    gone = tuple(a for a in old.attempts if a.place > at)
    tasks[name] = replace(
        old,
        id=name,
        event=event.id,
        title=str(words_of(event).get("title", "")),
        thread=thread,
        began=event.at,
        by=event.actor,
        attempts=gone,
        feedback=_feedback(gone),
        links=(Link(old.id, "split from"),),
        spans=late,
        merged=(),
        relevant=(),
        told=(*old.told, event.id),
    )
    tasks[old.id] = replace(old, spans=early, attempts=kept, feedback=_feedback(kept), current=False)


def _merge(tasks: dict[str, Task], first: Task, other: str) -> None:
    """Merge two tasks: the result takes the place of the later one, and nothing of either is lost."""
    second = tasks.get(other)
    if second is None or second.id == first.id:
        return
    spans = _join_spans((*first.spans, *second.spans))
    later = max((first, second), key=lambda t: _reach(t.spans))
    names = {first.id, second.id}
    links = tuple(dict.fromkeys(k for k in (*first.links, *second.links) if k.other not in names))
    attempts = tuple(sorted((*first.attempts, *second.attempts), key=lambda a: (a.place, a.event.seq)))
    del tasks[second.id]
    tasks[first.id] = replace(
        later,
        id=first.id,
        event=first.event,
        title=first.title or second.title,
        began=min(first.began, second.began),
        by=first.by,
        spans=spans,
        attempts=attempts,
        feedback=_feedback(attempts),
        links=links,
        reason=later.reason,
        current=first.current or second.current,
        relevant=tuple(dict.fromkeys((*first.relevant, *second.relevant))),
        merged=(*first.merged, second.id, *second.merged),
        told=(*first.told, *second.told),
    )
    for task in list(tasks.values()):
        if any(link.other == second.id for link in task.links):
            renamed = [Link(first.id, k.how) if k.other == second.id else k for k in task.links]
            kept = tuple(dict.fromkeys(k for k in renamed if k.other != task.id))
            tasks[task.id] = replace(task, links=kept)


def _reach(spans: Sequence[Span]) -> tuple[bool, bytes]:
    """Return the last position of a task."""
    return (any(high is None for _, high in spans), max((high or low for low, high in spans), default=b""))


def _join_spans(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Return spans in order, with adjacent ones joined."""
    out: list[Span] = []
    for low, high in sorted(spans, key=lambda s: (s[0], s[1] is None, s[1] or b"")):
        if out and (out[-1][1] is None or low <= out[-1][1]):
            before = out[-1][1]
            out[-1] = (out[-1][0], None if before is None or high is None else max(before, high))
        else:
            out.append((low, high))
    return tuple(out)


# -- references to messages --------------------------------------------------------------------------------------


def _find_cleared(events: Sequence[Event]) -> set[str]:
    """Return tasks that prompts show as a summary."""
    crops = set(fold_standing(events).crops)
    return {str(e.head["task"]) for e in events if e.seq in crops and e.head.get("whole")}


def _find_touched(events: Iterable[Event]) -> dict[Ref, int]:
    """Return messages that were changed, with the last event that did."""
    out: dict[Ref, int] = {}
    for event in events:
        if event.kind in (Kind.APPENDED, Kind.INSERTED):
            continue
        if event.target is not None:
            out[event.target] = event.seq
        for was in (*event.head.get("entries", ()), *event.head.get("messages", ())):
            if isinstance(was, Mapping):
                out[parse_ref(cast("Mapping[str, str]", was)["message"])] = event.seq
    return out


def _withheld(
    attempt: Attempt, event: Event | None, touched: Mapping[Ref, int], intact: Intact | None
) -> Attempt:
    """Return a result without its text if a message that it refers to has changed."""
    runs = () if event is None else cast("Sequence[Sequence[int]]", event.head.get("runs", ()))
    if event is None or not runs or not attempt.result:
        return attempt
    changed = [
        ref
        for ref, when in touched.items()
        if when > event.seq and any(low <= ref.seq <= high for low, high in runs)
    ]
    if all(intact is not None and intact(ref, event.seq) for ref in changed):
        return attempt
    return replace(attempt, result="", note=WITHHELD)
