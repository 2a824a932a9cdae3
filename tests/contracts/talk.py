"""Short ways to say in a test what a conversation holds."""

from __future__ import annotations

from collections.abc import Iterable

import backscroll
from backscroll.vocab.part import Text, ToolCall, ToolResult

ROLES: dict[str, backscroll.Role] = {"u": "user", "a": "assistant", "s": "system", "t": "tool"}


def say(thread: backscroll.Thread, *lines: str) -> list[backscroll.Message]:
    """Append `u hello`, `a hi` and so on; gives the messages."""
    return [thread.append(ROLES[line[0]], line[2:]) for line in lines]


def texts(messages: Iterable[backscroll.Message]) -> list[str]:
    """The words of each message."""
    return [message.text for message in messages]


def last_event(thread: backscroll.History) -> backscroll.Event:
    """The newest event of a log."""
    return next(iter(thread.events(newest_first=True)))


def kinds(thread: backscroll.History) -> list[str]:
    """What happened, in order."""
    return [event.kind.value for event in thread.events()]


def work(thread: backscroll.Thread, *numbers: int) -> None:
    """Turns with a question, a step with a result, and an answer; Chinese ones among them."""
    for n in numbers:
        thread.append("user", f"Please look at src/module{n}.py and mend function_{n}. 请检查第{n}个文件。")
        call = ToolCall(f"c{n}", "Read", {"path": f"src/module{n}.py"})
        thread.append("assistant", [Text(f"I read module{n} first."), call])
        lines = "\n".join(f"def helper_{n}_{i}(): return {i}" for i in range(20))
        thread.append("tool", [ToolResult(f"c{n}", (Text(lines),), name="Read")])
        thread.append("assistant", f"Mended function_{n}; 决定把超时改成 {n} 秒，因为网络很慢。")
