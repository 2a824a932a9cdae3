"""Data types for one edit of a file.

Nothing here has been checked against a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class TextReplacement:
    """Replace one text with another, which must occur as often as stated."""

    path: str
    old: str
    new: str
    count: int = 1  # how often `old` must occur in the file; every one is replaced
    replace_all: bool = False  # any number of times, at least once
    by_lines: bool = False  # whole lines only, as in search/replace blocks


@dataclass(frozen=True, slots=True)
class WholeFile:
    """The whole content of a file, new or replacing the present one."""

    path: str
    text: str
    new: bool = False  # it must not exist yet
    executable: bool | None = None


@dataclass(frozen=True, slots=True)
class FileDeletion:
    """Delete a file."""

    path: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """One piece of a unified diff: the lines before, and the lines after."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    start: int = 0  # the line of `old`, from 1; 0: unknown. For nothing old: the line after which to insert
    numbered: bool = True  # `start` was given
    old_ends: bool = True  # a newline follows the last of the old lines
    new_ends: bool = True
    near: str = ""  # a line above the hunk, if the diff names one


@dataclass(frozen=True, slots=True)
class Patch:
    """A diff of one file."""

    path: str
    hunks: tuple[Hunk, ...] = ()
    to: str = ""  # the new name, if the file is renamed
    created: bool = False
    deleted: bool = False
    copied: bool = False  # `to` is a copy, `path` stays
    executable: bool | None = None


Edit: TypeAlias = TextReplacement | WholeFile | FileDeletion | Patch
