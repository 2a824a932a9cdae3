"""Commits of the agent's own changes to the user's git repository. In the making."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit that was made, or (where `id` is empty) would be."""

    id: str
    message: str
    files: tuple[str, ...] = ()
