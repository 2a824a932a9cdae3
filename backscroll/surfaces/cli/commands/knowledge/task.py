"""`task`: units of work that end with a verdict."""

from __future__ import annotations

from backscroll.surfaces.cli.families import task_reading, task_steps
from backscroll.surfaces.cli.family import Family

task_command = Family(
    "task",
    [
        task_steps.start,
        task_reading.status,
        task_steps.attempt,
        task_steps.complete,
        task_steps.incomplete,
        task_steps.cancel,
        task_steps.resume,
        task_reading.list_,
        task_reading.show,
        task_steps.title,
        task_steps.link,
        task_steps.split,
        task_steps.merge,
        task_reading.compare,
        task_reading.boundaries,
    ],
)
