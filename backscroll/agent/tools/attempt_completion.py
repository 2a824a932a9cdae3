"""The tool `attempt_completion`: submit a result for the user's verdict, which decides how the task continues.

Owns the way from the call to the verdict: a task is started from the user's request if none is open, the attempt is recorded,
the user judges, and the task is completed, sent back with feedback and a new plan, or left open if no user is present.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from backscroll.agent.commands.output import one_line
from backscroll.agent.person import Judgement, Preview
from backscroll.agent.tool import ToolContext, ToolOutput
from backscroll.agent.toolbox import tool
from backscroll.errors import InvalidInput
from backscroll.regular_files import read_bytes
from backscroll.vocab.message import is_spoken_by_user
from backscroll.vocab.part import Json, Media

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread
    from backscroll.vocab.task import Task

_IMAGE = 10_000_000  # bytes of one image
_TITLE = 80
_LOOKED = 400  # messages that are searched for the request
_TYPES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}


def _preview(_context: ToolContext, arguments: Mapping[str, Json]) -> Preview:
    result = str(arguments["result"])
    return Preview(f"result: {one_line(result)}", command=str(arguments.get("command") or ""), text=result)


@tool(effect="ask", preview=_preview)
def attempt_completion(context: ToolContext, result: str, command: str = "") -> ToolOutput:
    """Put the finished work before the person, who accepts it or says what is missing.

    Call it once the task is done and checked, alone and not beside other calls. Do not end the result with a question or an offer.
    If it is sent back, you get the feedback and go on.

    Args:
        result: What was achieved, for somebody who did not watch.
        command: A command with which the person can see the result, where there is one; it is shown, not run.
    """
    if not result.strip():
        raise InvalidInput("the result is empty", hint="say what was achieved")
    thread = context.thread
    task = _task(thread)
    thread.tasks.attempt(result, task=task)
    verdict = context.person.judge(result, command)
    if verdict.accepted:
        done = thread.tasks.complete(task, note=verdict.feedback)
        words = f"The person accepted the result; task {done.id} is completed."
        if verdict.feedback.strip():
            words += f" They add: {verdict.feedback.strip()}"
        return ToolOutput(words, line="accepted", facts={"result": result, "task": done.id}, ends="completed")
    if verdict.accepted is None:
        return ToolOutput(
            "Nobody is there to judge the result now. It stays open until the person decides.",
            line="waits for a verdict",
            facts={"result": result, "task": task.id},
            ends="incomplete",
        )
    return _sent_back(context, task, verdict, result)


def _task(thread: Thread) -> Task:
    """Return the current task; if there is none, start one from the user's latest request."""
    current = thread.tasks.current()
    if current is not None:
        return current
    asked = next((m for m in reversed(thread.legible.recent(_LOOKED)) if is_spoken_by_user(m)), None)
    title = one_line(asked.text, _TITLE) if asked is not None and asked.text.strip() else "the request"
    at = None if asked is None else asked.id
    return thread.tasks.start(title, at=at, keep=True, relevant=False, again=True, manual=False)


def _sent_back(context: ToolContext, task: Task, verdict: Judgement, result: str) -> ToolOutput:
    """Return the result for work sent back: the user's feedback, and the plan made from it."""
    images, trouble = _images(verdict.images)
    feedback = verdict.feedback.strip()
    tasks = context.thread.tasks
    # The feedback is the result of this call: a further user message would separate call and result.
    again = tasks.incomplete(feedback or "not accepted", [data for data, _ in images], task, say=False)
    words = [f"The person did not accept the result. Feedback: {feedback or '(none was given)'}", *trouble]
    if not feedback and not images:
        return ToolOutput(
            "\n".join(words),
            line="not accepted",
            facts={"result": result, "task": again.id},
            ends="incomplete",
        )
    plan = tasks.plan(again)
    if plan.steps:
        words += ["What to do next:", *(f"- {step.text}" for step in plan.steps)]
    if plan.avoid:
        words += ["Tried before, need not be tried again:", *(f"- {step.text}" for step in plan.avoid)]
    questions = tasks.questions(again)
    if questions:
        words += ["Open questions:", *(f"- {question.text}" for question in questions)]
    media = tuple(Media(kind, data=data, name=f"feedback-{n}") for n, (data, kind) in enumerate(images, 1))
    line = f"sent back: {one_line(feedback, 80)}" if feedback else "sent back with pictures"
    return ToolOutput("\n".join(words), line=line, media=media, facts={"task": again.id})


def _images(names: tuple[str, ...]) -> tuple[list[tuple[bytes, str]], list[str]]:
    """Return the images attached to the feedback, and what is wrong with those that cannot be used."""
    good: list[tuple[bytes, str]] = []
    trouble: list[str] = []
    for name in names:
        path = Path(name).expanduser()
        try:
            data = read_bytes(path) if path.stat().st_size <= _IMAGE else b""
        except OSError as error:
            trouble.append(f"(the picture {path.name} cannot be read: {error.strerror})")
            continue
        kind = next((kind for start, kind in _TYPES.items() if data.startswith(start)), "")
        if kind:
            good.append((data, kind))
        else:
            trouble.append(f"({path.name} is no picture, or too large)")
    return good, trouble
