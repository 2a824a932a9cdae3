"""`task`: units of work that end with a verdict."""

from __future__ import annotations

from backscroll.surfaces.cli.families import task_steps, task_views
from backscroll.surfaces.cli.family import CommandFamily

task_command = CommandFamily(
    "task",
    [
        task_steps.start,
        task_views.status,
        task_steps.attempt,
        task_steps.complete,
        task_steps.incomplete,
        task_steps.cancel,
        task_steps.resume,
        task_views.list_,
        task_views.show,
        task_steps.rename,
        task_steps.link,
        task_steps.split,
        task_steps.merge,
        task_views.compare,
        task_views.boundaries,
    ],
)
