"""Inputs and results of a sync: our entries, operations, notes, and the plan that holds them.

Operations change our history when they are carried out in the order given. Notes change nothing: they report what was left
alone, and what is ambiguous.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Role

#: `full`: their list is the conversation (a file, a chat array). `prompt`: it is a rendering, as a proxy sees it.
Mode: TypeAlias = Literal["full", "prompt"]

#: Returns whether this text is the forgotten one (supplied by the caller, which has the salted hashes).
ForgetCheck: TypeAlias = Callable[[ForeignMessage], bool]


@dataclass(frozen=True, slots=True)
class KnownRevision:
    """A revision of ours: an old edit or an alternative."""

    id: Ref
    content: Content


@dataclass(frozen=True, slots=True)
class OurEntry:
    """One entry of our history, at its place in the order; hidden, deleted and forgotten ones included, and flagged.

    `known` holds the revisions besides the live one. `forget_check` belongs to a hole (`forgotten`), or to a living message of
    which some revision was forgotten.
    """

    id: Ref
    role: Role
    content: Content
    at: str | None = None
    source_ids: tuple[str, ...] = ()  # every id by which the other program is known to call it
    known: tuple[KnownRevision, ...] = ()
    hidden: bool = False
    deleted: bool = False
    forgotten: bool = False
    forget_check: ForgetCheck | None = None


class NewRef(NamedTuple):
    """The n-th message that a plan adds: its name until the engine has given it a real one."""

    number: int


Place: TypeAlias = Ref | NewRef | None  # None: before everything; may be a hole, because it keeps its place


@dataclass(frozen=True, slots=True)
class Append:
    """Add a message at the end, with flags, alternatives and times as `message` has them."""

    new: NewRef
    message: ForeignMessage
    theirs: int


@dataclass(frozen=True, slots=True)
class Insert:
    """Add a message right after another."""

    new: NewRef
    message: ForeignMessage
    after: Place
    theirs: int


@dataclass(frozen=True, slots=True)
class Edit:
    """A new revision of the alternative that is live."""

    id: Ref
    content: Content
    theirs: int


@dataclass(frozen=True, slots=True)
class Regenerate:
    """A new alternative, which becomes the live one."""

    id: Ref
    content: Content
    at: str | None
    theirs: int


@dataclass(frozen=True, slots=True)
class AddAlternative:
    """A new alternative beside the live one, which stays."""

    id: Ref
    content: Content
    at: str | None
    theirs: int


@dataclass(frozen=True, slots=True)
class Choose:
    """Make a known revision the live one."""

    id: Ref
    revision: Ref
    theirs: int


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a message that they no longer have."""

    id: Ref


@dataclass(frozen=True, slots=True)
class Restore:
    """Restore a message that we had deleted and they have."""

    id: Ref
    theirs: int


@dataclass(frozen=True, slots=True)
class Move:
    """Put a message right after another."""

    id: Ref
    after: Place


@dataclass(frozen=True, slots=True)
class Hide:
    """Hide a message from prompts."""

    id: Ref


@dataclass(frozen=True, slots=True)
class Unhide:
    """Show a message in prompts again."""

    id: Ref


Operation: TypeAlias = (
    Append | Insert | Edit | Regenerate | AddAlternative | Choose | Delete | Restore | Move | Hide | Unhide
)


@dataclass(frozen=True, slots=True)
class TrimNote:
    """Our messages older than what they sent; trimming proves nothing, so they stay."""

    ids: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class InjectionNote:
    """A block of theirs that is not part of the conversation: a system prompt, lore, a marker."""

    theirs: int
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class JoinNote:
    """A block of theirs that holds several messages of ours."""

    theirs: int
    ids: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class ForgottenNote:
    """Forgotten text that came back; it is not stored again."""

    id: Ref  # the entry that the text belonged to
    theirs: int
    alternative: int | None = None  # if only one of their alternatives contains it


@dataclass(frozen=True, slots=True)
class RegenerateRequest:
    """Their list ends before replies that we have: they request another. The answer is an alternative to the first."""

    ids: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """An ambiguous change: what it is, and how it was interpreted.

    `what` is a fixed word: `which-of-equals`, `edited-or-replaced`, `edited-or-regenerated`, `moved-or-resaid`,
    `deleted-or-hidden`, `injected-or-said`, `nothing-in-common`, `empty-list`, `forgotten-or-new`.
    """

    what: str
    considered: tuple[str, ...]
    done: str
    ours: tuple[Ref, ...] = ()
    theirs: tuple[int, ...] = ()


Note: TypeAlias = TrimNote | InjectionNote | JoinNote | ForgottenNote | RegenerateRequest | Ambiguity


@dataclass(frozen=True, slots=True)
class SyncPlan:
    """The operations that make our live history equal to theirs, and notes.

    Operations are applied in order. Each names live entries or messages that an operation before it has added, and leaving
    out all `Delete`s (or `Hide`s) leaves a plan that can be applied. `matched` says which entry is which of their messages.
    """

    operations: tuple[Operation, ...]
    notes: tuple[Note, ...]
    matched: tuple[tuple[Ref, int], ...]

    @property
    def changes(self) -> bool:
        """False if our history already equals theirs."""
        return bool(self.operations)
