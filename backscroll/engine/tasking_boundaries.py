"""Where another task seems to begin: suggestions for a person, and acting on them where the settings say so.

`tasks/boundary` scores messages; this module reads the stretch that matters, leaves out what is a beginning already, and
remembers the score of the newest request for the calls of one turn. Off, suggest (the default) or act: `task_boundaries`. What
was done by itself is recorded as a program's decision, `undo` takes it back and merging loses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backscroll.engine.tasking_reading import all_tasks
from backscroll.engine.tasking_steps import start_task
from backscroll.engine.tasking_verdict import complete_task
from backscroll.engine.tasking_writing import Step
from backscroll.tasks.lifecycle import current_of
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message, is_spoken_by_user

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread
    from backscroll.tasks.boundary import Boundary

_BACK = 60  # messages before the newest request that are weighed with it


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What the newest request seems to mean for tasks: another one begins, or the one at hand is done."""

    what: str  # start or end
    message: Ref
    score: float
    reasons: tuple[str, ...]


def boundaries(
    thread: Thread, *, threshold: float | None = None, last: int | None = None
) -> Sequence[Boundary]:
    """Messages at which another task seems to begin and none was started; nothing where the settings say off."""
    if thread.engine.settings.task_boundaries == "off":
        return []
    from backscroll.tasks.boundary import THRESHOLD, suggest

    messages = list(thread.messages()) if last is None else thread.recent(last)
    begun = {task.first for task in all_tasks(thread)}
    found = suggest(messages, threshold=THRESHOLD if threshold is None else threshold)
    return [b for b in found if b.message not in begun]


def suggestion(thread: Thread) -> Suggestion | None:
    """What the newest request seems to mean; None where it goes on with what is at hand, or boundaries are off."""
    if thread.engine.settings.task_boundaries == "off":
        return None
    recent = thread.recent(_BACK)
    newest = next((n for n in range(len(recent) - 1, -1, -1) if is_spoken_by_user(recent[n])), None)
    if newest is None:
        return None
    asked = recent[newest]
    shelf = thread.engine.memo.shelf("boundaries", 1000)
    key = (thread.id, asked.revision, recent[0].revision)
    if key not in shelf:
        shelf[key] = _scored(recent[: newest + 1])
    found: Suggestion | None = shelf[key]
    if found is None or found.message in {task.first for task in all_tasks(thread)}:
        return None
    if found.what == "end" and current_of(all_tasks(thread)) is None:
        return None
    return found


def _scored(messages: Sequence[Message]) -> Suggestion | None:
    from backscroll.tasks.boundary import THRESHOLD, Detector, Score
    from backscroll.tasks.boundary_signals import placed_signals

    detector = Detector()
    score, where = Score(0.0), messages[-1].id
    for message, signal in placed_signals(messages):
        score, where = detector.step(signal), message
    if where != messages[-1].id:
        return None
    reasons = tuple(reason.name for reason in score.reasons[:3])
    if score.value > THRESHOLD:
        return Suggestion("start", where, score.value, reasons)
    return Suggestion("end", where, score.value, reasons) if score.explicit == "end" else None


def act(thread: Thread) -> Step | None:
    """Do what the newest request seems to ask for, where the settings say `act`; None where nothing was done."""
    if thread.engine.settings.task_boundaries != "act":
        return None
    found = suggestion(thread)
    if found is None:
        return None
    if found.what == "end":
        current = current_of(all_tasks(thread))
        # The person said so just now: what was said stays in the prompt until something else begins.
        return None if current is None else complete_task(thread, current, manual=False, keep=True)
    return start_task(thread, at=found.message, manual=False)
