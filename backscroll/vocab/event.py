"""Events: the facts that make up the log of a thread.

An event has a *head* (structure: what happened to which message; no text) and, if text is involved, a *sealed body* (JSON
bytes). The chain of hashes covers the head and a salted commitment to the body, so `forget` can destroy salt and body and the
chain still verifies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json


class Kind(StrEnum):
    """The kind of an event."""

    CREATED = "created"
    FORKED = "forked"
    RENAMED = "renamed"
    TAGGED = "tagged"
    UNTAGGED = "untagged"
    DESCRIBED = "described"  # project, kind, language or metadata of the thread changed
    APPENDED = "appended"
    INSERTED = "inserted"
    EDITED = "edited"
    REGENERATED = "regenerated"
    CHOSEN = "chosen"
    DELETED = "deleted"
    RESTORED = "restored"
    HIDDEN = "hidden"
    UNHIDDEN = "unhidden"
    PINNED = "pinned"
    UNPINNED = "unpinned"
    MOVED = "moved"
    CODE_CHANGED = "code_changed"
    REWOUND = "rewound"  # the conversation was rewound to before a turn, by the deletions of the same stroke
    CROPPED = "cropped"  # messages stay in the history and leave the prompt; a summary replaces them
    UNCROPPED = "uncropped"
    COMPACTED = "compacted"  # the level of detail at which prompts show the past from here on
    PLACED = "placed"  # text added to prompts after a message, as it was sent
    FLUSHED = "flushed"  # every turn so far may be analysed, without waiting for later ones
    OVERRIDDEN = (
        "overridden"  # a person changed the graph: set, pin, forbid, rename, merge, split, delete, add
    )
    LIFTED = "lifted"  # such a change, or one to a memory or the world, was reverted
    WORLD_TOLD = "world_told"  # entries of a world description (lorebook, project description)
    TASKED = "tasked"  # a task began, was attempted, ended, was linked, split or merged
    REMEMBERED = "remembered"  # a person added, changed, pinned or hid a memory
    ASIDE = "aside"  # a line of a foreign file that is not a message, kept verbatim
    NOTED = "noted"  # what an import or sync could not decide, recorded as such
    UNDONE = "undone"
    REDONE = "redone"
    FORGOTTEN = "forgotten"


#: Deliberate operations of a person or program, which can be undone.
DELIBERATE = frozenset(
    {
        Kind.RENAMED,
        Kind.TAGGED,
        Kind.UNTAGGED,
        Kind.DESCRIBED,
        Kind.INSERTED,
        Kind.EDITED,
        Kind.REGENERATED,
        Kind.CHOSEN,
        Kind.DELETED,
        Kind.RESTORED,
        Kind.HIDDEN,
        Kind.UNHIDDEN,
        Kind.PINNED,
        Kind.UNPINNED,
        Kind.MOVED,
        Kind.REWOUND,
        Kind.CROPPED,
        Kind.UNCROPPED,
        Kind.COMPACTED,
        Kind.OVERRIDDEN,
        Kind.LIFTED,
        Kind.WORLD_TOLD,
        Kind.TASKED,
        Kind.REMEMBERED,
    }
)

#: The most frequent kinds of events; stores can find the others quickly.
PLENTY = frozenset({Kind.APPENDED, Kind.ASIDE})

#: Kinds of events besides the conversation, which change no message.
BESIDE = frozenset(
    {
        Kind.REWOUND,
        Kind.FLUSHED,
        Kind.OVERRIDDEN,
        Kind.LIFTED,
        Kind.WORLD_TOLD,
        Kind.TASKED,
        Kind.REMEMBERED,
        Kind.PLACED,
    }
)

#: Events that leave every message, its place and its flags as they are.
HARMLESS = BESIDE | {
    Kind.COMPACTED,
    Kind.RENAMED,
    Kind.TAGGED,
    Kind.UNTAGGED,
    Kind.DESCRIBED,
    Kind.CODE_CHANGED,
    Kind.NOTED,
}

#: Events that carry the content of a message, and so create a revision.
SPEAKING = frozenset({Kind.APPENDED, Kind.INSERTED, Kind.EDITED, Kind.REGENERATED})


def _none() -> Mapping[str, Json]:
    return {}


@dataclass(frozen=True, slots=True)
class Event:
    """One fact in the append-only log of a thread."""

    thread: str
    seq: int
    kind: Kind
    actor: str
    at: str  # when it was logged, ISO 8601 with time zone
    target: Ref | None = None  # the message it is about; None for a message's own first event
    head: Mapping[str, Json] = field(default_factory=_none)
    body: bytes | None = None  # sealed JSON; None if there never was one, or once forgotten
    salt: bytes | None = None
    commit: bytes = b""  # salted hash of the body; empty if there never was one
    hash: bytes = b""

    @property
    def id(self) -> Ref:
        """The name of this event."""
        return Ref(self.thread, self.seq)

    @property
    def message(self) -> Ref | None:
        """The message that this event is about, its own first event included."""
        if self.target is not None:
            return self.target
        return self.id if self.kind in (Kind.APPENDED, Kind.INSERTED) else None

    @property
    def forgotten(self) -> bool:
        """True once the body of this event was erased."""
        return bool(self.commit) and self.body is None
