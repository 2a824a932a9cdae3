"""Row types of derived data: artefacts, model replies, the summary tree, the ledger, lessons.

Each row names the revisions it is made from, so that it can be detected as stale, rebuilt, and erased with them.
"""

from __future__ import annotations

from dataclasses import dataclass

from backscroll.vocab.ids import Ref


@dataclass(frozen=True, slots=True)
class Artefact:
    """An artefact: what a recipe made of some revisions, keyed by the hash of all inputs."""

    key: bytes
    recipe: str
    thread: str  # the thread for which it was made
    body: bytes  # JSON
    sources: tuple[Ref, ...]  # revisions it was made from; empty: made from other artefacts
    at: str


@dataclass(frozen=True, slots=True)
class RecipeReply:
    """A model's reply to a recipe's request: paid for once, kept with the log."""

    key: bytes  # of the request
    recipe: str
    thread: str
    model: str
    body: bytes  # JSON
    sources: tuple[Ref, ...]
    at: str


#: The purpose of a call under way; its result replaces the row.
UNANSWERED = "unanswered"


@dataclass(frozen=True, slots=True)
class Charge:
    """One model call on the ledger. Money is in billionths of a US dollar, at the price of the day."""

    id: str  # 32 hex digits
    at: str
    at_us: int
    model: str
    purpose: str  # answer, summary, extraction, retry, failed, unanswered …
    input: int = 0  # all tokens of the prompt, cached ones included
    cached: int = 0  # of these, read from the cache
    written: int = 0  # of these, written to the cache
    output: int = 0  # all tokens of the reply, reasoning included
    reasoning: int = 0
    nano: int | None = None  # None: unknown price
    provider: str = ""
    thread: str = ""
    task: str = ""
    turn: int | None = None
    estimated: bool = False  # counted by us, not reported by the vendor
    day: str = ""  # YYYY-MM-DD, in the caller's time zone


@dataclass(frozen=True, slots=True)
class SpendingTotal:
    """A sum over the ledger; `group` holds the values of the fields that were asked for, in that order."""

    group: tuple[str, ...]
    calls: int
    input: int
    cached: int
    written: int
    output: int
    reasoning: int
    nano: int
    unpriced: int  # calls without a price
    estimated: int = 0  # calls whose tokens were counted by us, not reported by the vendor
    unanswered: int = 0  # of these, calls without a recorded answer so far
    unanswered_tokens: int = 0  # estimated tokens of their prompts
    unanswered_nano: int = 0  # their maximum cost, with the longest answer


@dataclass(frozen=True, slots=True)
class SummaryNode:
    """A span of turns in the summary tree of a thread, from its opening message to the next opening of its level."""

    thread: str
    level: int  # 1: of turns; 2: of level 1 …
    opening: Ref  # the message that opens its first turn; sequence 0: the very beginning
    position: bytes  # of its first message
    end: bytes  # of its last message
    version: str  # changes exactly when the covered content does
    key: bytes  # of the artefact that holds its summary
    turns: int = 0
    messages: int = 0


@dataclass(frozen=True, slots=True)
class TurnMark:
    """The analysis state of a turn: when it became due and settled, and the revisions analysed."""

    thread: str
    rule: str  # the settings of window and delay under which this holds
    opening: Ref  # the message that opens the turn; sequence 0: the very beginning
    position: bytes  # of its opening message; empty for the very beginning
    due: int = 0  # the event that made it due; 0: it waits
    pinned: int = 0  # the event that moved it out of the window; 0: it is inside
    gone: bool = False  # its opening is no longer in the history
    ends: bytes = b""  # where the next turn began when this one left the window
    version: str = ""  # of the revisions that are analysed; empty: none
    key: bytes = b""  # of the rule-made assertions of that version; empty: none
    sources: tuple[Ref, ...] = ()  # these revisions, in order


@dataclass(frozen=True, slots=True)
class Lesson:
    """Content that was requested again after it had been condensed (or a crop that was reverted)."""

    at: str
    thread: str
    feature: str  # its features: "tool:read", "content:error" …
    amount: float
