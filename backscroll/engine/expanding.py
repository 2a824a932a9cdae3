"""Expanding: from a handle to the full originals. What is asked for again is noted, so that its like fades later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backscroll.assemble.crop import within
from backscroll.engine.lineage import View
from backscroll.engine.reading import message_of
from backscroll.errors import Forgotten, NotFound
from backscroll.record.history import FORGOTTEN, Entry
from backscroll.vocab.event import Kind
from backscroll.vocab.handle import Handle, parse_handle
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread

_PAGE = 256


def expand(thread: Thread, handle: str, *, learn: bool = True) -> list[Message]:
    """The live messages behind a handle, in order and in full.

    A handle of a crop (its first to its last message) leaves out what is not cropped in between only where it was never
    part of it: whoever expands a range gets every live message whose number lies in it.
    """
    wanted = parse_handle(handle)
    owner = thread
    if wanted.thread is not None and not thread.id.startswith(wanted.thread):
        owner = thread.engine.thread(wanted.thread, actor=thread.actor)
    found = owner.reading(lambda view: _found(view, wanted))
    if learn:
        from backscroll.engine.learning import note_all

        note_all(thread.engine, owner.id, found)
    return found


def _found(view: View, wanted: Handle) -> list[Message]:
    if wanted.first == wanted.last:
        event = view.event(wanted.first)
        if event is not None and event.kind is Kind.CROPPED:  # a receipt names a crop by its event
            runs = [(int(first), int(last)) for first, last in event.head["runs"]]
            whole = _range(view, wanted._replace(first=runs[0][0], last=runs[-1][1]))
            return [m for m in whole if within(m.id.seq, runs)]
        return [_one(view, wanted)]
    return _range(view, wanted)


def _range(view: View, wanted: Handle) -> list[Message]:
    edges = [entry for seq in (wanted.first, wanted.last) if (entry := _entry(view, seq)) is not None]
    if len(edges) < 2:
        raise NotFound(f"nothing is behind the handle {wanted}", hint="`backscroll show` lists what there is")
    low, high = min(e.position for e in edges), max(e.position for e in edges)
    out: list[Message] = []
    after: bytes | None = None
    first = view.page(1, before=low, newest_first=True, gone=True)
    after = first[0][0].position if first else None
    while rows := view.page(_PAGE, after=after):
        inside = [row for row in rows if row[0].position <= high]
        out += [message_of(*row) for row in inside if row[1].body is not None]
        if len(inside) < _PAGE:
            break
        after = rows[-1][0].position
    if not out:
        raise NotFound(f"nothing is behind the handle {wanted}", hint="`backscroll show` lists what there is")
    return out


def _entry(view: View, seq: int) -> Entry | None:
    event = view.event(seq)
    message = None if event is None else event.message
    return None if message is None else view.entry(message)


def _one(view: View, wanted: Handle) -> Message:
    entry = _entry(view, wanted.first)
    if entry is None:
        raise NotFound(f"nothing is behind the handle {wanted}", hint="`backscroll show` lists what there is")
    spoken = view.reader.spoken([entry.revision])[entry.revision]
    if spoken.body is None or entry.flags & FORGOTTEN:
        raise Forgotten(f"what is behind {wanted} was forgotten", hint="its words cannot be brought back")
    if not entry.live:
        raise NotFound(
            f"what is behind {wanted} was deleted",
            hint="`backscroll restore` brings the message back; `backscroll revisions` shows its words",
        )
    return message_of(entry, spoken)


def resolved(view: View, seq: int) -> Ref | None:
    """The message that a number names along this history; None where it names none."""
    entry = _entry(view, seq)
    return None if entry is None else entry.message
