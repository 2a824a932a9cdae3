"""Messages and tasks by hand, for tests of a room that reads no store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from backscroll.derive.essence.sentences import rough_count
from backscroll.derive.recipe import Count
from backscroll.derive.summaries.gist import filter_quotable
from backscroll.record.content import digest
from backscroll.record.order import at_end
from backscroll.tasks.memory.memory import ENDED, assemble_memories, found_in
from backscroll.tasks.notes import FileChangeNote
from backscroll.tasks.preferences.preferences import fold
from backscroll.tasks.preferences.reader import statements
from backscroll.tasks.preferences.tuning import SHOWN
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message, Role, content_of
from backscroll.vocab.part import Text, ToolCall, ToolResult
from backscroll.vocab.task import Attempt, Memory, Task, TaskState

HOME = "a" * 32


class Talk:
    """A conversation that grows; messages are numbered from 1."""

    def __init__(self, thread: str = HOME) -> None:
        self.thread = thread
        self.messages: list[Message] = []

    def say(self, role: Role, content: Any, *, at: str = "") -> Message:
        """Add a message."""
        seq = len(self.messages) + 1
        what: Content = content_of(content)
        when = at or f"2026-11-{1 + seq // 1440:02}T{seq // 60 % 24:02}:{seq % 60:02}:00+00:00"
        ref = Ref(self.thread, seq)
        made = Message(ref, role, ref, what, when, digest=digest(role, what).hex(), position=at_end(seq))
        self.messages.append(made)
        return made

    def user(self, text: str, **more: Any) -> Message:
        """The user says something."""
        return self.say("user", text, **more)

    def assistant(self, text: str) -> Message:
        """The assistant says something."""
        return self.say("assistant", text)

    def tool(self, name: str, arguments: Any, result: str, *, error: bool = False, text: str = "") -> Message:
        """The assistant calls a tool, which answers; gives the message with the answer."""
        call = f"c{len(self.messages)}"
        self.say("assistant", [*([Text(text)] if text else []), ToolCall(call, name, arguments)])
        return self.say("tool", [ToolResult(call, (Text(result),), is_error=error, name=name)])

    def without(self, message: Message) -> list[Message]:
        """The messages as they are once one is deleted."""
        return [m for m in self.messages if m.id != message.id]

    def edited(self, message: Message, text: str) -> list[Message]:
        """The messages as they are once one has other words."""
        what = content_of(text)
        new = replace(
            message, revision=Ref(self.thread, 900), content=what, digest=digest(message.role, what).hex()
        )
        return [new if m.id == message.id else m for m in self.messages]


def task(state: TaskState = TaskState.COMPLETED, *attempts: Attempt, **more: Any) -> Task:
    """A task of the conversation."""
    facts: dict[str, Any] = {
        "title": "Mend the login",
        "first": None,
        "last": None,
        "began": "2026-11-01T00:00:00+00:00",
        "ended": "2026-11-02T00:00:00+00:00",
        "attempts": attempts,
        "feedback": tuple(a.feedback for a in attempts if a.feedback),
        **more,
    }
    return Task("500", Ref(HOME, 500), state=state, thread=HOME, **facts)


def attempt(result: str, verdict: str = "", feedback: str = "", seq: int = 501) -> Attempt:
    """A result that was put before the person."""
    return Attempt(Ref(HOME, seq), "2026-11-01T12:00:00+00:00", "ann", result, verdict, feedback)


def preferences_in(messages: Iterable[Message], *, task: str = "") -> list[Memory]:
    """Return what some messages alone say about preferences, as memories."""
    found = fold(s for m in messages for s in statements(m))
    return [p.memory(task) for p in found if p.confidence >= SHOWN and not p.superseded]


def remember(
    task: Task,
    messages: Sequence[Message],
    *,
    changes: Sequence[FileChangeNote] = (),
    preferences: bool = True,
    count: Count = rough_count,
) -> list[Memory]:
    """Return what is remembered of a task, given its live messages; nothing before it was sent back or ended.

    `changes` are code changes that were logged beside the messages. With `preferences` what the messages of this task alone
    say about those is there too.
    """
    if task.state not in ENDED:
        return []
    out = assemble_memories(task, found_in(task.state, messages, count), changes)
    return [*out, *(preferences_in(filter_quotable(messages), task=task.id) if preferences else ())]
