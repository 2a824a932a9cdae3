"""Tasks of a thread, as users hold them: `thread.tasks`.

A task is started, attempted, and ends with a verdict; each step updates the context and can be reverted with `undo`. This
facade owns nothing: the steps are in `engine/work/task_steps`, `engine/work/verdict` and `engine/work/task_shape`, which
return a full report where these methods return the task alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from backscroll.deprecation import warn_renamed
from backscroll.engine.core.signatures import doors
from backscroll.engine.work.task_reader import all_tasks, find_task, task_messages
from backscroll.engine.work.task_writer import task_named
from backscroll.errors import InvalidInput
from backscroll.tasks.lifecycle.steps import current_of
from backscroll.tasks.lifecycle.tiers import Tier, tiers
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.task import Attempt, Task, TaskState

if TYPE_CHECKING:
    from backscroll.derive.essence.essentials import Essential
    from backscroll.engine.core.thread_scope import ThreadScope
    from backscroll.engine.work.memory.memories import RelevantHistory
    from backscroll.engine.work.verdict import Ask
    from backscroll.tasks.boundary.detector import Boundary
    from backscroll.tasks.lifecycle.comparison import Comparison
    from backscroll.tasks.lifecycle.followup import FollowUp
    from backscroll.tasks.lifecycle.plans import Plan
    from backscroll.vocab.message import Message


@doors
class Tasks:
    """The tasks of one thread. Keeps no state of its own, so two handles always agree."""

    def __init__(self, thread: ThreadScope) -> None:
        self.thread = thread

    # -- reading ---------------------------------------------------------------------------------------------

    def list(self, state: str | TaskState | None = None, *, text: str = "") -> Sequence[Task]:
        """Return the tasks, oldest first; filter by state, or by words in the title."""
        wanted = None if state is None else _checked_state(state)
        words = text.casefold()
        return [
            t
            for t in all_tasks(self.thread)
            if (wanted is None or t.state is wanted) and words in t.title.casefold()
        ]

    def get(self, task: str) -> Task:
        """Return a task by id; the id of a merged task returns the one it was merged into."""
        return find_task(all_tasks(self.thread), task)

    def current(self) -> Task | None:
        """Return the task that is being worked on; None if there is none."""
        return current_of(all_tasks(self.thread))

    def messages(self, task: str | Task) -> Sequence[Message]:
        """Return the live messages of a task in order, whether or not prompts show them."""
        found = task if isinstance(task, Task) else self.get(task)
        return task_messages(self.thread, found)

    # -- steps -----------------------------------------------------------------------------------------------

    def plan_for_later(self, title: str) -> Task:
        """Add a task for later without starting it."""
        # start-up: the chat shows the current task, and takes no step
        from backscroll.engine.work import task_steps

        return task_steps.plan_task(self.thread, title).task

    def start(
        self,
        title: str = "",
        *,
        keep: bool = False,
        relevant: bool = True,
        at: Ref | str | None = None,
        task: str | Task | None = None,
        again: bool = False,
        manual: bool = True,
    ) -> Task:
        """Start a task with the next message (or with `at`): what came before is summarized and leaves prompts.

        `keep` leaves it in prompts; `relevant` loads memories of similar tasks; `task` names one that was added for later.
        A title that was cancelled before requires `again`.
        """
        # start-up: the chat shows the current task, and takes no step
        from backscroll.engine.work import task_steps

        begin = None if at is None else parse_ref(at)
        return task_steps.start_task(
            self.thread,
            title,
            task=task,
            at=begin,
            keep=keep,
            relevant=relevant,
            again=again,
            manual=manual,
        ).task

    def attempt(self, result: str, *, as_actor: str | None = None, task: str | Task | None = None) -> Attempt:
        """Submit a result for review; accept it with `complete` or send it back with `incomplete`."""
        # start-up: the chat shows the current task, and takes no step
        from backscroll.engine.work import verdict

        thread = self.thread if as_actor is None else self.thread.as_actor(as_actor)
        return verdict.attempt_task(thread, result, task=task).task.attempts[-1]

    def put_before(self, result: str, ask: Ask, *, task: str | Task | None = None) -> Task:
        """Submit a result and ask at once: True completes the task, a text sends it back with that feedback."""
        # start-up: the chat shows the current task, and takes no step
        from backscroll.engine.work import verdict

        return verdict.put_before(self.thread, result, ask, task=task).task

    def complete(
        self,
        task: str | Task | None = None,
        *,
        manual: bool = True,
        note: str = "",
        keep: bool = False,
    ) -> Task:
        """Accept the result. `manual`: a person decided; `keep` leaves its messages in prompts until the next task starts."""
        # start-up: the chat shows the current task, and takes no step
        from backscroll.engine.work import verdict

        return verdict.complete_task(self.thread, task, manual=manual, note=note, keep=keep).task

    def incomplete(
        self,
        feedback: str,
        images: Sequence[bytes] = (),
        task: str | Task | None = None,
        *,
        manual: bool = True,
        say: bool | None = None,
    ) -> Task:
        """Send the result back with feedback and images; the essentials stay in prompts, the middle is condensed.

        `say` also adds the feedback to the history as the user's message; the default is to do so if there are images.
        """
        # start-up: the chat shows the current task, and takes no step
        from backscroll.engine.work import verdict

        return verdict.refuse_task(
            self.thread, feedback, images=images, task=task, manual=manual, say=say
        ).task

    def cancel(
        self,
        reason: str = "",
        task: str | Task | None = None,
        *,
        manual: bool = True,
        keep: bool = False,
    ) -> Task:
        """Cancel a task; it stays listed as cancelled."""
        # start-up: the chat shows the current task, and takes no step
        from backscroll.engine.work import verdict

        return verdict.cancel_task(self.thread, task, reason=reason, manual=manual, keep=keep).task

    def resume(self, task: str | Task, *, keep: bool = False, manual: bool = True) -> Task:
        """Resume a task: after feedback, or after another task."""
        # start-up: the chat shows the current task, and takes no step
        from backscroll.engine.work import task_steps

        return task_steps.resume_task(self.thread, task, keep=keep, manual=manual).task

    # -- corrections -----------------------------------------------------------------------------------------

    def title(self, title: str, task: str | Task | None = None) -> Task:
        """The old name of `rename`; deprecated."""
        warn_renamed("tasks.title()", "tasks.rename()")
        return self.rename(title, task)

    def rename(self, title: str, task: str | Task | None = None) -> Task:
        """Rename a task."""
        # start-up: the chat shows the current task, and takes no step
        from backscroll.engine.work import task_shape

        return task_shape.title_task(self.thread, title, task=task).task

    def link(self, first: str | Task, second: str | Task, how: str = "related") -> Task:
        """Link two tasks: follows, part of, related, split from."""
        # start-up: the chat shows the current task, and takes no step
        from backscroll.engine.work import task_shape

        return task_shape.link_tasks(self.thread, first, second, how).task

    def split(self, message: Ref | str, title: str = "") -> Task:
        """Split a task at a message; return the new task, which begins there."""
        # start-up: the chat shows the current task, and takes no step
        from backscroll.engine.work import task_shape

        return task_shape.split_task(self.thread, parse_ref(message), title).task

    def merge(self, first: str | Task, second: str | Task) -> Task:
        """Merge two tasks into one."""
        # start-up: the chat shows the current task, and takes no step
        from backscroll.engine.work import task_shape

        return task_shape.merge_tasks(self.thread, first, second).task

    # -- summaries, plans and history ------------------------------------------------------------------------

    def summary(self, task: str | Task | None = None) -> str:
        """Return the summary of a task."""
        # start-up: the chat shows the current task, and takes no step
        from backscroll.engine.work.memory.memories import task_summary

        return task_summary(self.thread, self._one(task))[0]

    def essentials(self, task: str | Task | None = None) -> Sequence[Essential]:
        """Return what is open or binding in a task, quoted; it survives every compression."""
        # start-up: the chat shows the current task, and takes no step
        from backscroll.derive.essence.reader import essentials

        return essentials(task_messages(self.thread, self._one(task)))

    def plan(self, task: str | Task | None = None, *, ask: bool = False) -> Plan:
        """Return what to do next, with the evidence for each step; with `ask`, the configured model is asked."""
        # start-up: the chat shows the current task, and takes no step
        from backscroll.engine.work.memory.plans import plan_for

        return plan_for(self.thread, self._one(task), ask=ask)

    def questions(self, task: str | Task | None = None, *, ask: bool = False) -> Sequence[FollowUp]:
        """Return the questions most worth asking the user, three at most."""
        # start-up: the chat shows the current task, and takes no step
        from backscroll.engine.work.memory.plans import followups_for

        return followups_for(self.thread, self._one(task), ask=ask)

    def relevant_history(self, task: str | Task, budget_tokens: int = 1_500) -> RelevantHistory:
        """Return what earlier work contributes to a task or a text, within a token budget."""
        # start-up: the chat shows the current task, and takes no step
        from backscroll.engine.work.memory.memories import load_relevant_history

        return load_relevant_history(self.thread, task, budget_tokens)

    def tiers(self) -> dict[str, Tier]:
        """Return the tier of each task: short (current), middle (recent, as summaries), long (as memories)."""
        return tiers(all_tasks(self.thread))

    def _one(self, task: str | Task | None) -> Task:
        return task_named(self.thread, all_tasks(self.thread), task)

    # -- comparison and boundaries ---------------------------------------------------------------------------

    def compare(self, first: str | Task, second: str | Task) -> Comparison:
        """Compare two tasks: what they share, and where they differ."""
        # start-up: the chat shows the current task, and takes no step
        from backscroll.engine.work import comparison

        return comparison.compare_tasks(self.thread, first, second)

    def boundaries(self, *, threshold: float | None = None, last: int | None = None) -> Sequence[Boundary]:
        """Return messages where a new task appears to start and none was started, oldest first, with reasons."""
        # start-up: the chat shows the current task, and takes no step
        from backscroll.engine.work import boundaries

        return boundaries.boundaries(self.thread, threshold=threshold, last=last)

    def act_on_boundary(self) -> Task | None:
        """Start a task if the newest message appears to begin one and the settings allow it (`act`)."""
        # start-up: the chat shows the current task, and takes no step
        from backscroll.engine.work import boundaries

        step = boundaries.act(self.thread)
        return None if step is None else step.task


def _checked_state(state: str | TaskState) -> TaskState:
    for known in TaskState:
        if state == known.value:
            return known
    raise InvalidInput(
        f"unknown state of a task: {state!r}", hint=f"use one of {', '.join(s.value for s in TaskState)}"
    )
