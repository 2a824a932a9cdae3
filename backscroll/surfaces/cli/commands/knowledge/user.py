"""`user`: what is known about somebody over all of their threads, and what to do about it."""

from __future__ import annotations

from backscroll.surfaces.cli.families import user_changes as user_changing
from backscroll.surfaces.cli.families import user_reading
from backscroll.surfaces.cli.family import Family

user_command = Family(
    "user",
    [
        user_reading.list_,
        user_reading.show,
        user_reading.history,
        user_changing.correct,
        user_changing.reject,
        user_changing.remember,
        user_changing.export,
        user_changing.forget,
    ],
)
