"""The user in front of an agent: questions and answers.

Owns the questions and the answers, and the person who is not there. Refuses: rules on when to ask (`agent/approval/approval`),
drawing (`surfaces`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from backscroll.vocab.part import Json

#: What a tool does to the world: nothing, looks at files, changes files, runs commands, asks the person, changes what is remembered, goes out.
Effect: TypeAlias = Literal["none", "read", "write", "command", "ask", "memory", "network"]
#: For how long a decision holds: this once, for this run of the program, for this folder, for everything.
Span: TypeAlias = Literal["once", "session", "project", "always"]


def _none() -> Mapping[str, Json]:
    return {}


@dataclass(frozen=True, slots=True)
class Preview:
    """What exactly will happen if a call is allowed."""

    line: str  # in one line: `run: git status`, `edit: a.py (+3 −1)`
    command: str = ""  # the command to the letter
    diff: str = ""  # unified, of everything that will change
    text: str = ""  # anything else a person should see (the messages a crop takes, and how relevant they are)
    paths: tuple[str, ...] = ()  # that are touched
    subject: str = (
        ""  # what patterns of rules are compared with: the command, the path; empty: the tool alone
    )
    warnings: tuple[str, ...] = ()  # "outside the workspace", "deletes files", …
    folder: str = ""  # in which a command runs, relative to the working folder; empty: there
    sandbox: str = ""  # what a command is held in, in words; empty: in nothing
    outside: bool = False  # there is a sandbox, and the call wants to run outside of it


@dataclass(frozen=True, slots=True)
class WiderRule:
    """A rule that covers more than a call, for a person to choose on purpose."""

    pattern: str
    kind: str  # words: with any words behind; below: in the folders below as well; folder: all files of a folder
    examples: tuple[str, ...] = ()  # what it would let through


@dataclass(frozen=True, slots=True)
class Proposal:
    """A call that wants to be allowed."""

    call_id: str
    tool: str
    effect: Effect
    arguments: Mapping[str, Json] = field(default_factory=_none)
    preview: Preview = Preview("")
    refused_before: str | None = None  # the reason that was given when the same was refused before
    protected: str = ""  # the protected path that it touches, and why it is one: it is asked about every time
    narrow: str | None = (
        None  # the rule that a lasting decision makes; empty: exactly this call; None: not determined
    )
    wider: tuple[WiderRule, ...] = ()  # rules that cover more


@dataclass(frozen=True, slots=True)
class Decision:
    """What the person says to a proposal."""

    allowed: bool
    reason: str = ""  # of a refusal; reaches the model
    span: Span = "once"
    pattern: str = (
        ""  # for a decision that holds longer: what else it is to cover (`git *`); empty: exactly this
    )
    by: str = "person"  # or: rule, policy


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the person says to a result that is put before them."""

    accepted: bool | None  # None: no user is present; the attempt stays open
    feedback: str = ""
    images: tuple[str, ...] = ()  # files


class Person(Protocol):
    """The user who is asked. May block; may raise `KeyboardInterrupt` to stop the run."""

    def approve(self, proposals: Sequence[Proposal]) -> Sequence[Decision]:
        """One decision for each proposal of one reply, in the same order."""
        ...

    def judge(self, result: str, command: str = "") -> Judgement:
        """Is the task done? `command` shows the result, where the model names one."""
        ...

    def answer(self, question: str, options: Sequence[str] = ()) -> str | None:
        """Return an answer to a follow-up question; None if there is no answer now."""
        ...


class Nobody:
    """No user is present: what no rule allows is refused; results and questions stay open."""

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
