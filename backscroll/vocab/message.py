"""Content, revisions and messages.

`Content` is what was said; a `Revision` is one immutable content of a message, named by the event that wrote it; a
`Message` is the live state of an entry in a history. Who said it is the role plus an optional author name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, cast, get_args

from backscroll.errors import InvalidInput
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json, Part, Text, text_of

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = get_args(Role)


def _none() -> Mapping[str, Json]:
    return {}


def checked_role(role: str) -> Role:
    """Return the role, or raise a clear error."""
    for known in ROLES:
        if role == known:
            return known
    raise InvalidInput(f"unknown role: {role!r}", hint=f"use one of {', '.join(ROLES)}")


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a message: parts in order, author, and metadata of the source."""

    parts: tuple[Part, ...]
    author: str | None = None
    metadata: Mapping[str, Json] = field(default_factory=_none)

    @property
    def text(self) -> str:
        """The plain text of all text parts."""
        return text_of(self.parts)


#: A content part as a dictionary, in the shape of the OpenAI Chat or Anthropic wire: `formats/content_blocks` reads it.
PartLike: TypeAlias = Part | Mapping[str, Json]
ContentLike: TypeAlias = str | Content | PartLike | Sequence[PartLike]


def content_of(value: str | Content | Part | Sequence[Part], *, author: str | None = None) -> Content:
    """Accept a string, a part, several parts or a whole content."""
    if isinstance(value, Content):
        return replace(value, author=author) if author is not None and value.author is None else value
    if isinstance(value, str):
        return Content((Text(value),), author)
    if isinstance(value, Sequence):
        return Content(tuple(value), author)
    return Content((value,), author)


@dataclass(frozen=True, slots=True)
class Revision:
    """One immutable content of a message. `alternative` counts swipes: 0 is the first answer."""

    id: Ref
    message: Ref
    alternative: int
    content: Content | None  # None once forgotten
    at: str  # when it was logged
    actor: str
    digest: str | None  # content hash; None once forgotten
    said: str = ""  # when it was said


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of a history as it is: its live revision and its flags."""

    id: Ref
    role: Role
    revision: Ref
    content: Content
    at: str  # when it was said, ISO 8601 with time zone
    alternative: int = 0
    alternatives: int = 1
    hidden: bool = False
    pinned: bool = False
    deleted: bool = False
    digest: str = ""
    position: bytes = b""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the live revision."""
        return self.content.parts

    @property
    def text(self) -> str:
        """The words of the live revision."""
        return self.content.text

    @property
    def author(self) -> str | None:
        """The name that signed the live revision, if any."""
        return self.content.author

    @property
    def metadata(self) -> Mapping[str, Json]:
        """The metadata of the live revision."""
        return self.content.metadata


def is_spoken_by_user(message: Message) -> bool:
    """Return True for messages the user wrote; those we write in the user's role (a crop's summary) are marked in their
    metadata."""
    return message.role == "user" and "backscroll" not in message.content.metadata


def is_cut(message: Message) -> bool:
    """Return True for an answer that stopped at its limit of tokens."""
    return message.role == "assistant" and _about(message).get("cut") is True


def cut_calls(message: Message) -> frozenset[str]:
    """Return the ids of calls in a truncated answer, which must not run."""
    named = _about(message).get("cut_calls")
    return frozenset(map(str, cast("list[Json]", named))) if isinstance(named, list) else frozenset()


def _about(message: Message) -> Mapping[str, Json]:
    """Return the agent's metadata of a message; foreign metadata may be anything."""
    found = message.content.metadata.get("act")
    return cast("Mapping[str, Json]", found) if isinstance(found, Mapping) else {}
