"""`user`: what is known about a user across all of their threads, and managing it."""

from __future__ import annotations

from backscroll.surfaces.cli.families import user_changes as user_changing
from backscroll.surfaces.cli.families import user_views
from backscroll.surfaces.cli.family import CommandFamily

user_command = CommandFamily(
    "user",
    [
        user_views.list_,
        user_views.show,
        user_views.history,
        user_changing.correct,
        user_changing.reject,
        user_changing.remember,
        user_changing.export,
        user_changing.forget,
    ],
)
