"""The user's changes to memories: added, edited, pinned, hidden.

Owns the fold of these acts (`REMEMBERED` events in force, oldest first) over the derived memories. A text that the user wrote about
messages names them: if one was changed or deleted since, the text is withheld with a note, and the rule-made text is shown
again if the rules still find one. Not here: reading the log.

An act's head holds `act`, `memory` (its id; not for an added one), `kind`, `sources` (messages) and `revisions`; its sealed body the
`text`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias, cast

from backscroll.errors import InvalidInput
from backscroll.record.chain import words_from_bytes
from backscroll.tasks.notes import WITHHELD, memory_id
from backscroll.vocab.event import Event
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.part import Json
from backscroll.vocab.task import Memory, MemoryKind

#: Returns whether a revision that an act rests on is unchanged since the act.
Alive: TypeAlias = Callable[[Event, Ref], bool]


class MemoryAct(StrEnum):
    """What the user can do to a memory."""

    ADD = "add"
    EDIT = "edit"
    PIN = "pin"
    UNPIN = "unpin"
    HIDE = "hide"


@dataclass(frozen=True, slots=True)
class MemoryLayer:
    """Memories with the user's changes applied."""

    shown: tuple[Memory, ...]
    hidden: tuple[Memory, ...]
    acts: Mapping[str, tuple[Event, ...]]  # acts by memory, oldest first


def checked_kind(kind: str) -> MemoryKind:
    """Return a valid kind of memory, or raise a clear error."""
    try:
        return MemoryKind(kind)
    except ValueError as error:
        known = ", ".join(k.value for k in MemoryKind)
        raise InvalidInput(f"unknown kind of memory: {kind!r}", hint=f"use one of {known}") from error


def added_id(event: Ref) -> str:
    """Return the id of a memory that the user added."""
    return memory_id("added", "", (event,))


def memory_named(event: Event) -> str:
    """Return the id of the memory that an act concerns."""
    return added_id(event.id) if event.head.get("act") == MemoryAct.ADD else str(event.head.get("memory", ""))


def layer_acts(
    derived: Sequence[Memory], acts: Iterable[Event], alive: Alive, aliases: Mapping[str, str] | None = None
) -> MemoryLayer:
    """Apply the user's acts to the derived memories. `aliases` are other ids of a memory: it may have had another first source."""
    other = aliases or {}
    found: dict[str, Memory] = {m.id: m for m in derived}
    hidden: set[str] = set()
    done: dict[str, list[Event]] = {}
    for event in acts:
        name = other.get(memory_named(event), memory_named(event))
        try:
            act = MemoryAct(str(event.head.get("act")))
        except ValueError:
            continue  # written by a newer version: skipped
        done.setdefault(name, []).append(event)
        if act is MemoryAct.ADD:
            found[name] = _add_memory(event, name, alive)
        elif act is MemoryAct.EDIT:
            edited = _edit_memory(found.get(name), event, name, alive)
            if edited is not None:
                found[name] = edited
        elif act is MemoryAct.HIDE:
            hidden.add(name)
        elif name in found:
            found[name] = replace(found[name], pinned=act is MemoryAct.PIN)
    return MemoryLayer(
        tuple(m for m in found.values() if m.id not in hidden),
        tuple(m for m in found.values() if m.id in hidden),
        {name: tuple(events) for name, events in done.items()},
    )


def words_in(event: Event) -> str:
    """Return the text of an act."""
    if event.body is None:
        return ""
    body = cast("Mapping[str, Json]", words_from_bytes(event.body))
    return str(body.get("text", ""))


def revisions_in(event: Event) -> tuple[Ref, ...]:
    """Return the revisions that an act rests on."""
    return tuple(parse_ref(str(name)) for name in event.head.get("revisions", ()))


def _add_memory(event: Event, name: str, alive: Alive) -> Memory:
    kind = str(event.head.get("kind", MemoryKind.FACT))
    known = MemoryKind(kind) if kind in set(MemoryKind) else MemoryKind.FACT
    rests = revisions_in(event)
    sound = all(alive(event, ref) for ref in rests)
    return Memory(
        name,
        known,
        words_in(event) if sound else "",
        event.thread,
        sources=rests or (event.id,),
        at=event.at,
        by="person",
        note="" if sound else WITHHELD,
    )


def _edit_memory(now: Memory | None, event: Event, name: str, alive: Alive) -> Memory | None:
    """Return a memory with the user's text, as long as its sources are unchanged."""
    rests = revisions_in(event)
    if all(alive(event, ref) for ref in rests):
        if now is None:
            # The rules no longer find it although none of its sources has changed: a newer recipe.
            return replace(_add_memory(event, name, alive), sources=rests or (event.id,))
        return replace(now, text=words_in(event), by="person", sources=rests or now.sources, note="")
    if now is None:
        return _add_memory(event, name, alive)
    return replace(now, note=WITHHELD)
