"""Foreign conversations in transit: the output of readers and the input of writers.

A `ForeignThread` is one conversation on its way in or out. Items come lazily and in order, so that a file of any size needs
little memory. Nothing is dropped: a line that is not a message travels as an `Aside`, a problem as a `Problem`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from backscroll.vocab.message import Content, Role
from backscroll.vocab.part import Json


def _none() -> Mapping[str, Json]:
    return {}


@dataclass(frozen=True, slots=True)
class ForeignMessage:
    """One message of a foreign history.

    `source_id` is the id that the foreign tool gave it (or None). `parent_id` is set only where the foreign history is a
    tree and this message does not simply follow the item before it: it then starts (or goes on with) a branch, and the
    importer makes a fork at the message with that source id. `alternatives` holds all swipes in order, the live one
    included at index `chosen`; empty where there is only one.
    """

    role: Role
    content: Content
    at: str | None = None  # ISO 8601 with time zone; None if the source has none
    source_id: str | None = None
    parent_id: str | None = None
    alternatives: tuple[Content, ...] = ()
    alternative_times: tuple[str | None, ...] = ()
    chosen: int = 0
    hidden: bool = False
    pinned: bool = False
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Aside:
    """A line or record of the foreign file that is not a message (a snapshot, a progress note), kept verbatim."""

    kind: str
    raw: str
    at: str | None = None
    source_id: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class ForeignCodeChange:
    """A code change that the foreign file mentions."""

    description: str
    file_path: str
    at: str | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in the file that could not be parsed, or that the target format cannot express. Never silent."""

    what: str
    line: int | None = None
    where: str = ""


Item: TypeAlias = ForeignMessage | Aside | ForeignCodeChange | Problem


@dataclass(frozen=True, slots=True)
class ForeignThread:
    """One conversation of a foreign file. `items` may be read once."""

    format: str
    source_id: str  # stable name of this conversation in its tool: session id, chat file name, ...
    items: Iterable[Item]
    title: str = ""
    project: str = ""
    kind: str = "chat"  # chat | agent | roleplay
    language: str = ""
    started: str | None = None
    metadata: Mapping[str, Json] = field(default_factory=_none)
    forked_from: str | None = (
        None  # source_id of the parent conversation, if the tool stores branches as files
    )
    world: Mapping[str, str] = field(
        default_factory=dict[str, str]
    )  # descriptions of the world that come with it: name → text
