"""Types of a prompt: wires, sections, levels of detail, and the blocks it consists of.

A prompt is a view: it is built from the live history, holds no data of its own, and every block names its source revisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Literal, TypeAlias, get_args

from backscroll.errors import InvalidInput
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Role
from backscroll.vocab.part import Part, Text

Wire: TypeAlias = Literal["openai-chat", "openai-responses", "anthropic"]
WIRES: tuple[Wire, ...] = get_args(Wire)


def checked_wire(wire: str) -> Wire:
    """Return the wire, or raise a clear error."""
    for known in WIRES:
        if wire == known:
            return known
    raise InvalidInput(f"unknown wire: {wire!r}", hint=f"use one of {', '.join(WIRES)}")


class Section(StrEnum):
    """The parts of a prompt, most stable first."""

    SYSTEM = "system"
    MEMORY = "memory"  # long-term memory and pinned facts
    SUMMARIES = "summaries"  # the far past
    HISTORY = "history"  # at the resolution chosen at the last compaction
    RECENT = "recent"  # verbatim, up to the newest message
    TASK = "task"  # the task at hand, its plan, feedback, to-dos, reminders
    OPERATIONS = "operations"  # what the tools did lately
    RECALLED = "recalled"  # details relevant to the newest message
    GRAPH = "graph"  # graph facts about the current topics
    PROFILE = "profile"  # from other conversations of the user or the project
    LORE = "lore"  # lorebook entries that the newest messages activated


#: Sections of insertions: texts of ours that follow the message that made them relevant.
INSERTED = frozenset(
    {
        Section.MEMORY,
        Section.TASK,
        Section.OPERATIONS,
        Section.RECALLED,
        Section.GRAPH,
        Section.PROFILE,
        Section.LORE,
    }
)
#: Those that only follow messages.
TAIL = INSERTED - {Section.MEMORY}


class Level(IntEnum):
    """The level of detail in a prompt; higher is less."""

    VERBATIM = 0
    DIGEST = 1  # text unchanged, tool results and long arguments as one line with a handle
    GIST = 2  # a line or two instead of the whole
    SUMMARY = 3  # replaced by the summary of a span
    GONE = 4  # not shown; the store has it


@dataclass(frozen=True, slots=True)
class Block:
    """One message of a prompt, before a wire renders it."""

    role: Role
    parts: tuple[Part, ...]
    section: Section
    level: Level = Level.VERBATIM
    sources: tuple[Ref, ...] = ()  # revisions it rests on
    message: Ref | None = None  # the message it shows, if exactly one
    author: str | None = None
    reason: str = ""  # why it is here at this level, for the receipt
    tokens: int = 0
    tells: tuple[str, ...] = ()  # the memories it contains, by id and digest

    @property
    def text(self) -> str:
        """The words of its text parts."""
        return "\n".join(p.text for p in self.parts if isinstance(p, Text))
