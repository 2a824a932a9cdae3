"""Types for tasks and memories. A task is a unit of work that spans turns and ends with a verdict; a memory outlives it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from backscroll.vocab.ids import Ref


class TaskState(StrEnum):
    """The state of a task."""

    NOT_STARTED = "not_started"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    INCOMPLETE = "incomplete"  # attempted, and sent back with feedback
    CANCELLED = "cancelled"


class TaskAct(StrEnum):
    """A step of a task; the head of a `TASKED` event names it under `act`."""

    PLAN = "plan"  # noted for later: not started
    START = "start"
    ATTEMPT = "attempt"  # a result is submitted for review
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    CANCEL = "cancel"
    RESUME = "resume"  # work goes on: after feedback, or after another task
    TITLE = "title"
    LINK = "link"
    SPLIT = "split"  # from a message on, it is another task
    MERGE = "merge"  # it was the same task after all


@dataclass(frozen=True, slots=True)
class Link:
    """Two tasks that belong together."""

    other: str  # id of the task
    how: str  # follows, part of, related, split from


@dataclass(frozen=True, slots=True)
class Attempt:
    """A result submitted for review, and its verdict."""

    event: Ref
    at: str
    by: str
    result: str
    verdict: str = ""  # "", accepted, refused
    feedback: str = ""
    media: tuple[str, ...] = ()  # digests of images that came with the feedback
    decided_by: str = ""  # the actor
    decided_as: str = ""  # person or program
    place: bytes = b""  # of the newest message when it was submitted
    note: str = ""  # why its text is withheld, if it is


@dataclass(frozen=True, slots=True)
class Task:
    """A task, folded from its events."""

    id: str  # short id for display: the number of the event that started it, with the thread's first digits for other threads
    event: Ref  # that began it
    title: str
    state: TaskState
    thread: str
    first: Ref | None  # the first message that belongs to it; None: nothing yet
    last: Ref | None  # the last one; None: still going on
    began: str
    ended: str = ""
    by: str = ""  # who began it
    decided_by: str = ""
    decided_as: str = ""
    attempts: tuple[Attempt, ...] = ()
    links: tuple[Link, ...] = ()
    feedback: tuple[str, ...] = ()
    reason: str = ""  # of a cancellation
    cleared: bool = False  # its messages are out of prompts; a summary replaces them
    #: Spans of the history that belong to it: after one position, up to another (None: still open).
    spans: tuple[tuple[bytes, bytes | None], ...] = ()
    current: bool = False  # what is being worked on now
    relevant: tuple[str, ...] = ()  # ids of the memories with which it began
    merged: tuple[str, ...] = ()  # ids of tasks that turned out to be this one
    told: tuple[Ref, ...] = ()  # the events whose words it contains
    named: Ref | None = None  # the revision it is named after, if it has no given title


class MemoryKind(StrEnum):
    """The kind of a memory."""

    SUMMARY = "summary"
    OUTCOME = "outcome"
    LESSON = "lesson"
    PREFERENCE = "preference"
    FILE = "file"
    FACT = "fact"  # written by a person


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory that outlives its task. Its id depends only on its sources, so a rebuild keeps it."""

    id: str
    kind: MemoryKind
    text: str
    thread: str
    task: str = ""
    sources: tuple[Ref, ...] = ()  # revisions
    at: str = ""
    confidence: float = 1.0
    weight: float = 1.0  # fades unless used; never to nothing
    uses: int = 0
    pinned: bool = False
    by: str = "rules"  # rules, the model, or the person
    note: str = ""  # why its text is withheld, if it is
