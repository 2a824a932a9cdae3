"""Types for changes to files and their causes.

A change is one comparison of two snapshots of a folder, logged as a `CODE_CHANGED` event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from backscroll.vocab.ids import Ref

Action: TypeAlias = Literal["added", "changed", "deleted", "renamed"]
#: Who changed the files: a tool call, something else in a turn, a person by hand, a program that reports it, a rewind.
By: TypeAlias = Literal["tool", "turn", "person", "program", "rewind"]


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change to one file. Hashes are of the content; empty where that side has no file."""

    path: str  # inside the folder, with / between the parts
    action: Action
    before: str = ""
    after: str = ""
    old_path: str = ""  # the old path, for `renamed`
    added: int = 0  # lines
    removed: int = 0
    binary: bool = False
    executable: bool | None = None  # the new value, if it changed
    kept: bool = True  # False: too large, so only its hash and size are known


@dataclass(frozen=True, slots=True)
class Cause:
    """The cause of a change to files."""

    by: By
    message: Ref | None = None  # the message with the tool call, or the user's message that opened the turn
    call_id: str = ""  # of the tool call
    tool: str = ""  # its name


@dataclass(frozen=True, slots=True)
class CodeChange:
    """One change of the log, as it can be read back."""

    id: Ref  # the event
    at: str
    description: str
    files: tuple[FileChange, ...]
    cause: Cause
    turn: int | None = None  # the number of the turn it belongs to; None where that is gone
    before: str = ""  # names of the snapshots; empty for changes that a program reported
    after: str = ""
    diff: str = ""  # unified; cut where it is very long
    root: str = ""  # the folder
    own: bool = False  # True: recorded by the tool itself; otherwise observed while the tool ran
