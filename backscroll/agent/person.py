"""The user in front of an agent: questions and answers.

Owns the questions and the answers, and the behaviour if no user is present. Refuses: rules on when to ask (`agent/approval/approval`),
drawing (`surfaces`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from backscroll.vocab.part import Json

#: The effect of a tool: none, reads files, changes files, runs commands, asks the user, changes memories, uses the network.
Effect: TypeAlias = Literal["none", "read", "write", "command", "ask", "memory", "network"]
#: For how long a decision holds: this once, for this run of the program, for this folder, for everything.
Span: TypeAlias = Literal["once", "session", "project", "always"]


def _none() -> Mapping[str, Json]:
    return {}


@dataclass(frozen=True, slots=True)
class Preview:
    """What exactly a call will do if it is allowed."""

    line: str  # in one line: `run: git status`, `edit: a.py (+3 −1)`
    command: str = ""  # the exact command
    diff: str = ""  # a unified diff of everything that will change
    text: str = ""  # anything else the user should see (the messages a crop takes, and how relevant they are)
    paths: tuple[str, ...] = ()  # files touched
    subject: str = (
        ""  # what patterns of rules are compared with: the command, the path; empty: the tool alone
    )
    warnings: tuple[str, ...] = ()  # "outside the workspace", "deletes files", …
    folder: str = ""  # where a command runs, relative to the working folder; empty: the working folder
    sandbox: str = ""  # the sandbox of a command, in words; empty: none
    outside: bool = False  # there is a sandbox, and the call wants to run outside it


@dataclass(frozen=True, slots=True)
class WiderRule:
    """A rule that covers more than a call; the user chooses it explicitly."""

    pattern: str
    kind: str  # words: any words after it; below: also the folders below; folder: all files of a folder
    examples: tuple[str, ...] = ()  # examples of what it would allow


@dataclass(frozen=True, slots=True)
class Proposal:
    """A tool call that needs approval."""

    call_id: str
    tool: str
    effect: Effect
    arguments: Mapping[str, Json] = field(default_factory=_none)
    preview: Preview = Preview("")
    refused_before: str | None = None  # the reason given when the same call was refused before
    protected: str = ""  # the protected path it touches, with the reason: always requires approval
    narrow: str | None = (
        None  # the rule that a lasting decision makes; empty: exactly this call; None: not determined
    )
    wider: tuple[WiderRule, ...] = ()  # rules that cover more


@dataclass(frozen=True, slots=True)
class Decision:
    """The user's decision on a proposal."""

    allowed: bool
    reason: str = ""  # of a refusal; the model reads it
    span: Span = "once"
    pattern: str = ""  # for a lasting decision: what else it covers (`git *`); empty: exactly this
    by: str = "person"  # or: rule, policy


@dataclass(frozen=True, slots=True)
class Judgement:
    """The user's verdict on a result."""

    accepted: bool | None  # None: no user is present; the attempt stays open
    feedback: str = ""
    images: tuple[str, ...] = ()  # files


class Person(Protocol):
    """The user who answers. May block; may raise `KeyboardInterrupt` to stop the run."""

    def approve(self, proposals: Sequence[Proposal]) -> Sequence[Decision]:
        """Return one decision for each proposal of one reply, in the same order."""
        ...

    def judge(self, result: str, command: str = "") -> Judgement:
        """Judge whether the task is done; `command` shows the result, if the model names one."""
        ...

    def answer(self, question: str, options: Sequence[str] = ()) -> str | None:
        """Answer a follow-up question; None if there is no answer now."""
        ...


class Nobody:
    """No user is present: calls that no rule allows are refused; results and questions stay open."""

    def approve(self, proposals: Sequence[Proposal]) -> Sequence[Decision]:
        """Refuse everything, with the reason."""
        why = "nobody is there to allow this; only what rules allow can be done"
        return [Decision(False, why, by="policy") for _ in proposals]

    def judge(self, result: str, command: str = "") -> Judgement:  # noqa: ARG002 - the protocol's signature
        """Leave the attempt open."""
        return Judgement(None)

    def answer(self, question: str, options: Sequence[str] = ()) -> str | None:  # noqa: ARG002
        """Leave the question open."""
        return None
