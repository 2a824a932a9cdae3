"""Differences: between two revisions of a message, and between two moments of a history."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal, TypeAlias

from backscroll.engine.core.history import History
from backscroll.record.content import searchable
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message, Revision

DifferenceKind: TypeAlias = Literal["added", "removed", "changed", "moved", "flagged"]


@dataclass(frozen=True, slots=True)
class Difference:
    """How one message changed between two moments."""

    kind: DifferenceKind
    message: Ref
    role: str
    before: str | None
    after: str | None


def diff_texts(before: str, after: str, *, names: tuple[str, str] = ("", ""), context: int = 3) -> str:
    """Return a unified diff by lines."""
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), names[0], names[1], lineterm="", n=context
    )
    return "\n".join(lines)


def diff_revisions(old: Revision, new: Revision) -> str:
    """Return a unified diff of the text of two revisions."""
    return diff_texts(_words(old.content), _words(new.content), names=(old.id.short, new.id.short))


def _words(content: Content | None) -> str:
    return "" if content is None else searchable(Content(content.parts))


def diff_moments(thread: History, first: int, second: int) -> list[Difference]:
    """Return how the live history changed between two events of the log, in the order of the later moment."""
    before = {m.id: m for m in History(thread.store, thread.id, first)}
    after = {m.id: m for m in History(thread.store, thread.id, second)}
    out: list[Difference] = []
    stayed = [m for m in before if m in after]
    now = sorted(stayed, key=lambda m: after[m].position)
    moved = _out_of_order(stayed, now)
    for ref, message in after.items():
        old = before.get(ref)
        if old is None:
            out.append(_difference("added", message, None, message))
        elif old.revision != message.revision:
            out.append(_difference("changed", message, old, message))
        elif (old.hidden, old.pinned) != (message.hidden, message.pinned):
            out.append(Difference("flagged", ref, message.role, _flags(old), _flags(message)))
        if ref in moved:
            out.append(_difference("moved", message, old, message))
    out += [_difference("removed", m, m, None) for ref, m in before.items() if ref not in after]
    return out


def _out_of_order(before: list[Ref], after: list[Ref]) -> set[Ref]:
    """Return the smallest set of messages whose moves explain a new order."""
    rank = {ref: index for index, ref in enumerate(before)}
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    kept = {
        before[i] for block in matcher.get_matching_blocks() for i in range(block.a, block.a + block.size)
    }
    return set(rank) - kept if before != after else set()


def _flags(message: Message) -> str:
    names = [name for name, on in (("hidden", message.hidden), ("pinned", message.pinned)) if on]
    return ", ".join(names) or "-"


def _difference(
    kind: DifferenceKind, message: Message, old: Message | None, new: Message | None
) -> Difference:
    return Difference(
        kind,
        message.id,
        message.role,
        None if old is None else _words(old.content),
        None if new is None else _words(new.content),
    )
